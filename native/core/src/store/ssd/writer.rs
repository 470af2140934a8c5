//! The thread that hands blocks to the ssd tier: those that were sealed, and those that earlier ones left behind.
//!
//! It knows blocks by key, and pins one only while its bytes go to a disk. A block that is evicted before its turn is not
//! written; what does not fit into the queue is found again by a look at all of the pool.

use std::collections::VecDeque;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::copied::Spare;
use super::{Admission, Tier};
use crate::error::{Error, ErrorKind, Result};
use crate::index::{BlockId, BlockKey};
use crate::pool::Slot;
use crate::space::SpaceNumber;
use crate::ssd::{BlockWrite, Refused};
use crate::store::space::Space;
use crate::store::{Hits, Store};
use crate::sync::{Arc, AtomicU64, Condvar, Mutex, Ordering, Weak};

/// Keys that wait; the oldest goes when there are more.
const QUEUE_MOST: usize = 1 << 18;
/// At most this share of the pool is pinned for writes.
const PINNED_DIVISOR: u64 = 8;
/// How long the thread sleeps when the tier takes nothing more.
const BUSY_WAIT: Duration = Duration::from_millis(100);

/// What became of blocks that were to be written.
#[derive(Debug, Default)]
pub(super) struct WriteCounts {
    pub(super) written: AtomicU64,
    pub(super) written_bytes: AtomicU64,
    /// Evicted before their turn.
    pub(super) evicted: AtomicU64,
    pub(super) failed: AtomicU64,
    /// Not taken: no path is online or large enough, or the budget is used up.
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct Wanted {
    keys: VecDeque<BlockKey>,
    /// How far the look at all of the pool is, while there is one.
    sweep: Option<Slot>,
    /// Blocks taken from the queue or found by the look, whose write is not accepted yet.
    in_hand: bool,
    in_flight_bytes: u64,
    /// When the thread ends at the latest, whatever is left to do.
    end: Option<Instant>,
}

impl Wanted {
    fn is_idle(&self) -> bool {
        self.keys.is_empty() && self.sweep.is_none() && !self.in_hand
    }
}

#[derive(Debug, Default)]
struct Signal {
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

/// The way to the thread, which sleeps while nothing is to be written.
#[derive(Debug)]
pub(in crate::store) struct Writer {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Bytes that may be pinned for writes.
    most_bytes: u64,
    pub(super) counts: Arc<WriteCounts>,
}

/// Bytes that are pinned for a write.
struct InFlight {
    signal: Arc<Signal>,
    bytes: u64,
    _hits: Hits,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.signal.wanted.lock().in_flight_bytes -= self.bytes;
        self.signal.changed.notify_all();
    }
}

impl Writer {
    pub(super) fn new(pool_bytes: u64) -> Self {
        Self {
            signal: Arc::default(),
            thread: Mutex::default(),
            most_bytes: pool_bytes / PINNED_DIVISOR,
            counts: Arc::default(),
        }
    }

    /// Starts the thread; it ends with the store.
    pub(in crate::store) fn start(&self, store: &Arc<Store>) -> Result<()> {
        let (signal, store) = (Arc::clone(&self.signal), Arc::downgrade(store));
        let thread = thread::Builder::new()
            .name("ssd-writer".into())
            .spawn(move || run(&signal, &store));
        *self.thread.lock() = Some(thread.map_err(|error| Error::io("start the ssd writer", error))?);
        Ok(())
    }

    /// These blocks are to be written.
    pub(super) fn add(&self, keys: impl IntoIterator<Item = BlockKey>) {
        let mut wanted = self.signal.wanted.lock();
        wanted.keys.extend(keys);
        while wanted.keys.len() > QUEUE_MOST {
            wanted.keys.pop_front();
            wanted.sweep.get_or_insert(Slot(0));
        }
        drop(wanted);
        self.signal.changed.notify_all();
    }

    /// All that is in the pool and not on ssd is to be written.
    pub(in crate::store) fn sweep(&self) {
        self.signal.wanted.lock().sweep = Some(Slot(0));
        self.signal.changed.notify_all();
    }

    /// Blocks that wait, and bytes on their way.
    pub(super) fn load(&self) -> (u64, u64) {
        let wanted = self.signal.wanted.lock();
        (wanted.keys.len() as u64, wanted.in_flight_bytes)
    }

    /// Waits until nothing is to be written; false at `deadline`.
    pub(super) fn wait_until_idle(&self, deadline: Instant) -> bool {
        let mut wanted = self.signal.wanted.lock();
        while !(wanted.is_idle() && wanted.in_flight_bytes == 0) {
            if self.signal.changed.wait_until(&mut wanted, deadline).timed_out() {
                return false;
            }
        }
        true
    }

    /// Asks the thread to end once nothing is to be written, or at `end`.
    pub(in crate::store) fn stop(&self, end: Instant) {
        self.signal.wanted.lock().end = Some(end);
        self.signal.changed.notify_all();
    }

    /// Waits until the thread has ended.
    pub(in crate::store) fn join(&self) -> Result<()> {
        match self.thread.lock().take().map(JoinHandle::join) {
            Some(Err(_)) => Err(Error::new(ErrorKind::Io, "the ssd writer ended in a panic")),
            _ => Ok(()),
        }
    }
}

/// What the thread does next.
enum Work {
    Write(BlockKey),
    Look(Slot),
}

fn run(signal: &Arc<Signal>, store: &Weak<Store>) {
    let mut spare = Spare::default();
    while let Some(work) = next(signal) {
        let Some(store) = store.upgrade() else { return };
        let Some(tier) = store.tier.get() else { return };
        match work {
            Work::Write(key) => store.write_block(tier, signal, &key, true),
            Work::Look(from) => {
                if from == Slot(0) {
                    spare = Spare::default();
                }
                let found = store.pool.next_taken(from);
                let next = found.map(|slot| Slot(slot.0 + 1));
                let key = found.and_then(|slot| store.first_page_at(slot));
                let mut wanted = signal.wanted.lock();
                // A look that was asked for meanwhile begins anew.
                if wanted.sweep == Some(from) {
                    wanted.sweep = next;
                }
                drop(wanted);
                if let Some(key) = key
                    && store.is_worth_writing(tier, &key, &mut spare)
                {
                    store.write_block(tier, signal, &key, false);
                }
            }
        }
        signal.wanted.lock().in_hand = false;
        signal.changed.notify_all();
    }
}

/// What is to be done next; None when the store closes.
fn next(signal: &Signal) -> Option<Work> {
    let mut wanted = signal.wanted.lock();
    loop {
        if wanted.end.is_some_and(|end| end <= Instant::now()) {
            return None;
        }
        let work = match wanted.keys.pop_front() {
            Some(key) => Some(Work::Write(key)),
            None => wanted.sweep.map(Work::Look),
        };
        if work.is_some() {
            wanted.in_hand = true;
            return work;
        }
        match wanted.end {
            Some(_) => return None,
            None => signal.changed.wait(&mut wanted),
        }
    }
}

/// Waits until so many bytes may be pinned; false when the store closes before.
fn wait_for_share(signal: &Signal, most_bytes: u64) -> bool {
    let mut wanted = signal.wanted.lock();
    loop {
        if wanted.end.is_some_and(|end| end <= Instant::now()) {
            return false;
        }
        if wanted.in_flight_bytes <= most_bytes {
            return true;
        }
        match wanted.end {
            None => signal.changed.wait(&mut wanted),
            Some(end) => drop(signal.changed.wait_until(&mut wanted, end)),
        }
    }
}

impl Store {
    /// A page has its checksum now: its block is to be written once all its pages have.
    pub(in crate::store) fn offer_sealed(&self, space: &Space, block: BlockId, key: BlockKey) {
        if let Some(tier) = self.tier.get()
            && tier.admission == Admission::All
            && self.checksums_of(space, block).is_some()
        {
            tier.writer.add([key]);
        }
    }

    /// A lookup has found these blocks in the pool.
    pub(super) fn offer_reused(&self, keys: impl Iterator<Item = BlockKey>) {
        if let Some(tier) = self.tier.get()
            && tier.admission == Admission::Reused
        {
            tier.writer.add(keys);
        }
    }

    /// The tier of this store.
    pub(in crate::store) fn tier(&self) -> Result<&Tier> {
        self.tier.get().ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                "there is no ssd tier: give it a path with `pegaflow tier add-path PATH=SIZE`, or start the daemon with one",
            )
        })
    }

    /// Whether a block of the pool could be read from ssd now.
    pub(in crate::store) fn is_on_ssd(&self, space: &Space, block: BlockId) -> bool {
        let slot = self.index.slot(block, 0);
        let key = slot.and_then(|slot| self.first_page_at(slot));
        let tier = self.tier.get();
        tier.zip(key)
            .is_some_and(|(tier, key)| tier.find(space, &key).is_some())
    }

    /// The key of the block that has its first page in a slot.
    pub(super) fn first_page_at(&self, slot: Slot) -> Option<BlockKey> {
        let record = self.pool.slots.read(slot).filter(|record| record.shard == 0)?;
        Some(BlockKey {
            hash: record.hash,
            space: SpaceNumber(record.space),
        })
    }

    /// Whether a block is not on ssd yet, and drives out no other of the pool there.
    fn is_worth_writing(&self, tier: &Tier, key: &BlockKey, spare: &mut Spare) -> bool {
        let space = self.spaces.at(key.space);
        space.is_ok_and(|space| tier.find(&space, key).is_none() && spare.take(self, tier, space.block_bytes))
    }

    /// Hands a block to the tier, unless it is there already or is not in the pool any more.
    fn write_block(self: &Arc<Self>, tier: &Tier, signal: &Arc<Signal>, key: &BlockKey, is_offered: bool) {
        let counts = &tier.writer.counts;
        let Ok(space) = self.spaces.at(key.space) else {
            return;
        };
        let Some(id) = tier.space(&space) else {
            counts.refused.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let hash = space.hash_of(key);
        while wait_for_share(signal, tier.writer.most_bytes.saturating_sub(space.block_bytes)) {
            if tier.ssd.contains(id, hash) {
                return;
            }
            let Some(hits) = self.pin_one(&space, key) else {
                // A write of an earlier offer may have ended since, and the block been evicted after it.
                // One that a look has found counts with its own offer.
                if is_offered && !tier.ssd.contains(id, hash) {
                    counts.evicted.fetch_add(1, Ordering::Relaxed);
                }
                return;
            };
            let pages: Option<_> = (0..space.shards.len())
                .map(|shard| hits.page(0, shard as u32))
                .collect();
            let block = hits.pins.blocks.first();
            let checksums = block.and_then(|block| self.checksums_of(&space, *block));
            let (Some(pages), Some(checksums)) = (pages, checksums) else {
                // Condemned, or offered again once the last page has its checksum.
                return;
            };
            let bytes = space.block_bytes;
            signal.wanted.lock().in_flight_bytes += bytes;
            let (signal, done_counts) = (Arc::clone(signal), Arc::clone(counts));
            let refused = tier.ssd.write(BlockWrite {
                space: id,
                hash: hash.to_vec(),
                pages,
                checksums,
                keep: Box::new(InFlight {
                    signal,
                    bytes,
                    _hits: hits,
                }),
                done: Box::new(move |written| done_counts.count(written, bytes)),
            });
            match refused {
                Err(Refused::Busy) => {
                    tier.ssd.wait_for_room(Instant::now() + BUSY_WAIT);
                }
                Err(Refused::Budget | Refused::Offline | Refused::Unfit) => {
                    counts.refused.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                Ok(()) | Err(Refused::Present) => return,
            }
        }
    }

    /// The checksums of a block that cannot be evicted, once all its pages have one.
    fn checksums_of(&self, space: &Space, block: BlockId) -> Option<Vec<u128>> {
        let shards = 0..space.shards.len() as u16;
        let records = shards.map(|shard| self.pool.slots.read(self.index.slot(block, shard)?));
        records.map(|record| record?.checksum).collect()
    }
}

impl WriteCounts {
    /// Blocks that the disks did not take.
    pub(super) fn missed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed) + self.refused.load(Ordering::Relaxed)
    }

    fn count(&self, written: Result<()>, bytes: u64) {
        if written.is_ok() {
            self.written.fetch_add(1, Ordering::Relaxed);
            self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
        } else {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }
}
