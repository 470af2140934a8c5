//! One engine: its sessions, and whether they fit together.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::lease::SessionId;
use pegaflow_core::space::{ShardGeometry, SpaceGeometry, SpaceId, SpaceKey};
use pegaflow_core::store::{SpaceHold, Store};
use tokio::sync::watch;

use super::{Registration, Role, SchedulerRole, Session, Traffic};

/// Whether an engine can use the cache.
#[derive(Debug, Clone)]
pub(crate) enum EngineState {
    /// Some of its sessions or registrations are not there.
    Incomplete,
    /// All are there and fit together.
    Complete(Joined),
    /// They do not fit together, or not into the cache; the sentence says why.
    Refused(Arc<str>),
}

/// What a complete engine has in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Joined {
    pub(crate) space: SpaceId,
    pub(crate) group: u32,
    pub(crate) hash_bytes: u32,
    pub(crate) workers: u32,
    /// The session that owns the engine's leases.
    pub(crate) scheduler: SessionId,
}

/// The sessions that have one engine key.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) scheduler: Option<Arc<Session>>,
    pub(super) workers: BTreeMap<u32, Worker>,
    pub(super) state: watch::Sender<EngineState>,
    pub(super) traffic: Arc<Traffic>,
    /// Its space stays while it is complete.
    space: Option<SpaceHold>,
}

/// One rank's place in an engine.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) session: Arc<Session>,
    pub(super) shard: u32,
    pub(super) registration: Option<Arc<Registration>>,
}

impl Engine {
    pub(super) fn new() -> Self {
        Self {
            scheduler: None,
            workers: BTreeMap::new(),
            state: watch::Sender::new(EngineState::Incomplete),
            traffic: Arc::new(Traffic::new()),
            space: None,
        }
    }

    /// The session that has the place of this role now.
    pub(super) fn holder(&self, role: &Role) -> Option<SessionId> {
        match role {
            Role::Scheduler(_) => self.scheduler.as_ref().map(|session| session.id),
            Role::Worker { rank, .. } => self.workers.get(rank).map(|worker| worker.session.id),
        }
    }

    /// Gives the session the place of its role; the worker that had it before.
    pub(super) fn seat(&mut self, session: &Arc<Session>) -> Option<Worker> {
        let session = Arc::clone(session);
        match session.peer.role {
            Role::Scheduler(_) => {
                self.scheduler = Some(session);
                None
            }
            Role::Worker { rank, shard } => self.workers.insert(
                rank,
                Worker {
                    session,
                    shard,
                    registration: None,
                },
            ),
        }
    }

    /// Frees the place of this session; what a worker had registered.
    pub(super) fn unseat(&mut self, session: &Session) -> Option<Arc<Registration>> {
        match session.peer.role {
            Role::Scheduler(_) => {
                self.scheduler.take_if(|scheduler| scheduler.id == session.id);
                None
            }
            Role::Worker { rank, .. } => {
                self.workers
                    .get(&rank)
                    .filter(|worker| worker.session.id == session.id)?;
                self.workers.remove(&rank)?.registration
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.scheduler.is_none() && self.workers.is_empty()
    }

    /// Looks again whether the sessions fit together, after any of them changed.
    pub(super) fn resolve(&mut self, store: &Store) {
        let state = match self.joined(store) {
            Ok(Some((joined, space))) => {
                self.space = Some(space);
                EngineState::Complete(joined)
            }
            Ok(None) => EngineState::Incomplete,
            Err(error) => EngineState::Refused(error.message().into()),
        };
        if let EngineState::Refused(why) = &state
            && !matches!(&*self.state.borrow(), EngineState::Refused(before) if before == why)
        {
            tracing::warn!(engine = self.name(), "the engine serves without the cache: {why}");
        }
        self.state.send_replace(state);
    }

    /// The engine's name for operators.
    pub(super) fn name(&self) -> &str {
        let sessions = self
            .scheduler
            .iter()
            .chain(self.workers.values().map(|worker| &worker.session));
        sessions
            .map(|session| session.peer.engine_id.as_str())
            .next()
            .unwrap_or_default()
    }

    /// Bytes of its workers' memory that saves and loads reach.
    pub(super) fn mapped_bytes(&self) -> u64 {
        let registrations = self
            .workers
            .values()
            .filter_map(|worker| worker.registration.as_ref());
        registrations
            .map(|registration| registration.mapped_bytes())
            .sum()
    }

    fn joined(&self, store: &Store) -> Result<Option<(Joined, SpaceHold)>> {
        let Some((scheduler, role)) = self.scheduler_role() else {
            return Ok(None);
        };
        for (&rank, worker) in &self.workers {
            check_below("rank", rank, "workers", role.workers)?;
            check_below("shard", worker.shard, "shards", role.shards)?;
        }
        let registrations: Vec<&Registration> = self
            .workers
            .values()
            .filter_map(|worker| worker.registration.as_deref())
            .collect();
        let Some(first) = registrations
            .first()
            .filter(|_| registrations.len() == role.workers as usize)
        else {
            return Ok(None);
        };
        for registration in &registrations {
            check_equal("namespace", hex(&registration.namespace), hex(&role.namespace))?;
            check_equal("cache group", registration.group, first.group)?;
            check_equal("hash length", registration.hash_bytes, first.hash_bytes)?;
        }
        let geometry = SpaceGeometry {
            hash_bytes: first.hash_bytes,
            shards: self.shards(role.shards)?,
        };
        let space = store.space(
            SpaceKey {
                namespace: role.namespace,
                group: first.group,
            },
            geometry,
        )?;
        let joined = Joined {
            space,
            group: first.group,
            hash_bytes: first.hash_bytes,
            workers: role.workers,
            scheduler: scheduler.id,
        };
        Ok(Some((joined, store.hold_space(space)?)))
    }

    fn scheduler_role(&self) -> Option<(&Session, &SchedulerRole)> {
        let session = self.scheduler.as_deref()?;
        match &session.peer.role {
            Role::Scheduler(role) => Some((session, role)),
            Role::Worker { .. } => None,
        }
    }

    /// Each shard's geometry; workers that hold copies of one shard must agree on it.
    fn shards(&self, count: u32) -> Result<Vec<ShardGeometry>> {
        let mut shards: BTreeMap<u32, ShardGeometry> = BTreeMap::new();
        for (rank, worker) in &self.workers {
            let Some(registration) = &worker.registration else {
                continue;
            };
            let known = *shards.entry(worker.shard).or_insert(registration.geometry);
            if known != registration.geometry {
                return Err(mismatch(format!(
                    "worker {rank} has pages of {} bytes for shard {}, another worker has {}: copies of a shard have one \
                     layout",
                    registration.geometry.page_bytes, worker.shard, known.page_bytes
                )));
            }
        }
        match (0..count).find(|shard| !shards.contains_key(shard)) {
            Some(shard) => Err(mismatch(format!(
                "no worker holds shard {shard} of {count}: each shard needs one"
            ))),
            None => Ok(shards.into_values().collect()),
        }
    }
}

fn check_below(what: &str, value: u32, limit_name: &str, limit: u32) -> Result<()> {
    if value < limit {
        return Ok(());
    }
    Err(mismatch(format!(
        "a worker has {what} {value}, but its scheduler side says {limit_name} = {limit}"
    )))
}

fn check_equal<T: PartialEq + Display>(what: &str, value: T, expected: T) -> Result<()> {
    if value == expected {
        return Ok(());
    }
    Err(mismatch(format!(
        "a worker has {what} {value}, the rest of its engine has {expected}: all must be equal"
    )))
}

fn mismatch(message: String) -> Error {
    Error::new(ErrorKind::Conflict, message)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
