//! Filling the pool's free room from ssd, in the background.

use std::collections::HashMap;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Tier;
use super::warm_run::{Planned, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::index::BlockKey;
use crate::space::SpaceId;
use crate::ssd::{BlockOrder, SsdSpaceId};
use crate::store::Store;
use crate::sync::{Arc, AtomicBool, Condvar, Mutex, Ordering};

/// What is to be fetched.
#[derive(Debug, Clone, Default)]
pub struct WarmRequest {
    /// Blocks of this namespace only.
    pub namespace: Option<[u8; 32]>,
    /// Blocks on this path only.
    pub path: Option<PathBuf>,
    /// At most so many bytes of pages.
    pub limit_bytes: Option<u64>,
    /// Which blocks come first.
    pub order: BlockOrder,
    /// At most so many bytes a second.
    pub bytes_per_s: Option<u64>,
    /// Only say what would be done.
    pub is_dry_run: bool,
    /// Drive other blocks out when the pool is full, the least recently used first.
    pub may_evict: bool,
}

/// What a warming does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WarmState {
    /// It goes on.
    #[default]
    Running,
    /// It has done what it could.
    Done,
    /// It was ended before.
    Cancelled,
}

/// How far a warming is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WarmProgress {
    /// What it does.
    pub state: WarmState,
    /// Blocks that it was to fetch when it began.
    pub planned_blocks: u64,
    /// Bytes of their pages.
    pub planned_bytes: u64,
    /// Blocks that were in the pool already when it began; not planned.
    pub present_blocks: u64,
    /// Whether the limit left out blocks that would have been planned.
    pub is_limited: bool,
    /// Blocks that were fetched.
    pub fetched_blocks: u64,
    /// Their bytes.
    pub fetched_bytes: u64,
    /// Planned blocks that came into the pool in another way, or left the ssd tier.
    pub passed_blocks: u64,
    /// Planned blocks for which there is no room.
    pub no_room_blocks: u64,
    /// Planned blocks that could not be read.
    pub failed_blocks: u64,
    /// How long it has taken so far.
    pub elapsed: Duration,
}

/// A warming, which goes on by itself.
#[derive(Debug)]
pub struct Warm {
    pub(super) began: Instant,
    progress: Mutex<WarmProgress>,
    ended: Condvar,
    is_cancelled: AtomicBool,
}

/// The warming of a store, and its thread.
#[derive(Debug, Default)]
pub(super) struct Warming {
    current: Mutex<Option<(Arc<Warm>, JoinHandle<()>)>>,
}

impl Warm {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            progress: Mutex::default(),
            ended: Condvar::new(),
            is_cancelled: AtomicBool::new(false),
        })
    }

    /// How far it is.
    pub fn progress(&self) -> WarmProgress {
        let mut progress = *self.progress.lock();
        if progress.state == WarmState::Running {
            progress.elapsed = self.began.elapsed();
        }
        progress
    }

    /// Ends it soon; what was fetched stays.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Waits until it has ended, or `deadline`; how far it is then.
    pub fn wait(&self, deadline: Instant) -> WarmProgress {
        let mut progress = self.progress.lock();
        while progress.state == WarmState::Running {
            if self.ended.wait_until(&mut progress, deadline).timed_out() {
                break;
            }
        }
        drop(progress);
        self.progress()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    pub(super) fn note(&self, change: impl FnOnce(&mut WarmProgress)) {
        change(&mut self.progress.lock());
    }

    fn end(&self) {
        let mut progress = self.progress.lock();
        progress.state = if self.is_cancelled() {
            WarmState::Cancelled
        } else {
            WarmState::Done
        };
        progress.elapsed = self.began.elapsed();
        tracing::info!(progress = ?*progress, "the warming has ended");
        drop(progress);
        self.ended.notify_all();
    }
}

impl Warming {
    /// The last one, which may have ended.
    pub(super) fn current(&self) -> Option<Arc<Warm>> {
        self.current.lock().as_ref().map(|(warm, _)| Arc::clone(warm))
    }

    /// Ends it, and waits for that.
    pub(super) fn stop(&self) {
        if let Some((warm, thread)) = self.current.lock().take() {
            warm.cancel();
            // A thread that panicked has nothing left to end.
            drop(thread.join());
        }
    }
}

impl Store {
    /// Begins to fetch blocks from ssd that are not in the pool; it goes on in the background, and lets loads go first.
    ///
    /// A dry run has ended when this returns.
    ///
    /// # Errors
    /// `NotFound` without an ssd tier, `Conflict` while another warming goes on.
    pub fn warm(self: &Arc<Self>, request: WarmRequest) -> Result<Arc<Warm>> {
        let tier = self.tier()?;
        let mut current = tier.warming.current.lock();
        let is_busy = current
            .as_ref()
            .is_some_and(|(warm, _)| warm.progress().state == WarmState::Running);
        if is_busy && !request.is_dry_run {
            return Err(Error::new(
                ErrorKind::Conflict,
                "the memory tier is being warmed already: wait for that, or cancel it",
            ));
        }
        let warm = Warm::new();
        let plan = self.plan(tier, &request, &warm);
        if request.is_dry_run {
            warm.end();
            return Ok(warm);
        }
        if let Some((_, thread)) = current.take() {
            // It has ended, or is about to, and holds the store until then.
            drop(thread.join());
        }
        let (store, handle) = (Arc::clone(self), Arc::clone(&warm));
        let thread = thread::Builder::new().name("warm".into()).spawn(move || {
            if let Some(tier) = store.tier.get() {
                Run::new(&store, tier, &handle, &request).run(plan);
            }
            handle.end();
        });
        let thread = thread.map_err(|error| Error::io("start to warm", error))?;
        *current = Some((Arc::clone(&warm), thread));
        Ok(warm)
    }

    /// The warming that goes on, or the last one.
    pub fn warming(&self) -> Option<Arc<Warm>> {
        self.tier.get()?.warming.current()
    }

    fn plan(&self, tier: &Tier, request: &WarmRequest, warm: &Warm) -> Vec<Planned> {
        let spaces: HashMap<SsdSpaceId, Option<SpaceId>> = tier
            .ssd
            .spaces()
            .into_iter()
            .filter(|space| {
                request
                    .namespace
                    .is_none_or(|wanted| wanted == space.key.namespace)
            })
            .map(|space| (space.id, self.spaces.find(&space.key)))
            .collect();
        let only = match spaces.len() {
            1 => spaces.keys().next().copied(),
            _ => None,
        };
        let mut plan = Vec::new();
        let mut progress = WarmProgress::default();
        for block in tier.ssd.blocks(only, request.path.as_deref(), request.order) {
            let Some(known) = spaces.get(&block.space) else {
                continue;
            };
            if known.is_some_and(|id| self.index.contains(&BlockKey::new(id, &block.hash))) {
                progress.present_blocks += 1;
                continue;
            }
            let bytes = progress.planned_bytes + block.bytes;
            if request.limit_bytes.is_some_and(|limit| bytes > limit) {
                progress.is_limited = true;
                break;
            }
            progress.planned_bytes = bytes;
            progress.planned_blocks += 1;
            plan.push(Planned {
                space: block.space,
                hash: block.hash,
                bytes: block.bytes,
            });
        }
        warm.note(|of| *of = progress);
        plan
    }
}
