//! All engine sessions of the daemon.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use parking_lot::Mutex;
use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::lease::{LeaseTable, SessionId};
use pegaflow_core::store::Store;
use pegaflow_proto::limits::SESSIONS;
use tokio::sync::watch;

use super::engine::Engine;
use super::snapshot::{EngineSnapshot, SessionCounts};
use super::{EndReason, EngineKey, EngineState, Peer, PendingLookups, Registration, Role, Session};
use crate::events::{EventKind, EventLevel, EventLog};
use crate::telemetry::Metrics;

/// The sessions, by id and by engine.
///
/// What leaves a table is dropped after the lock is let go: a registration removes its file, and nobody waits for a disk.
#[derive(Debug)]
pub(crate) struct Sessions {
    tables: Mutex<Tables>,
    next_id: AtomicU64,
    store: Arc<Store>,
    leases: Arc<LeaseTable>,
    pending: Arc<PendingLookups>,
    metrics: Metrics,
    events: Arc<EventLog>,
}

#[derive(Debug, Default)]
struct Tables {
    sessions: HashMap<SessionId, Arc<Session>>,
    engines: HashMap<EngineKey, Engine>,
}

impl Sessions {
    /// No sessions yet.
    pub(crate) fn new(
        store: Arc<Store>,
        leases: Arc<LeaseTable>,
        pending: Arc<PendingLookups>,
        metrics: Metrics,
        events: Arc<EventLog>,
    ) -> Arc<Self> {
        // A random start: an id that another daemon gave names nothing here.
        let next_id = AtomicU64::new(rand::random_range(1..1 << 62));
        Arc::new(Self {
            tables: Mutex::default(),
            next_id,
            store,
            leases,
            pending,
            metrics,
            events,
        })
    }

    /// An id for a session or a registration, never given before.
    pub(crate) fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Relaxed)
    }

    /// Opens a session; an older one of the same engine and place ends.
    ///
    /// # Errors
    /// `Limit` when there are too many sessions.
    pub(crate) fn open(&self, peer: Peer) -> Result<Arc<Session>> {
        let mut tables = self.tables.lock();
        let replaced = tables
            .engines
            .get(&peer.engine_key)
            .and_then(|engine| engine.holder(&peer.role));
        if replaced.is_none() && tables.sessions.len() >= SESSIONS {
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "{SESSIONS} engine sessions are open and no more are allowed: end engines that are not needed"
                ),
            ));
        }
        let engine = tables.engines.entry(peer.engine_key).or_insert_with(Engine::new);
        let session = Arc::new(Session {
            id: SessionId(self.new_id()),
            peer,
            opened: Instant::now(),
            traffic: Arc::clone(&engine.traffic),
            engine: engine.state.subscribe(),
            ended: watch::Sender::new(false),
        });
        let displaced = engine.seat(&session);
        engine.resolve(&self.store);
        tables.sessions.insert(session.id, Arc::clone(&session));
        let replaced = replaced.and_then(|id| tables.sessions.remove(&id));
        drop(tables);
        drop(displaced);
        if let Some(replaced) = replaced {
            self.finish(&replaced, EndReason::Replaced);
        }
        self.tell(&session, EventLevel::Ok, "attached");
        Ok(session)
    }

    /// Ends a session, unless it has ended already; how many leases it held.
    pub(crate) fn end(&self, id: SessionId, reason: EndReason) -> usize {
        let mut tables = self.tables.lock();
        let Some(session) = tables.sessions.remove(&id) else {
            return 0;
        };
        let left = tables.engines.get_mut(&session.peer.engine_key).map(|engine| {
            let left = engine.unseat(&session);
            engine.resolve(&self.store);
            (left, engine.is_empty())
        });
        if left.as_ref().is_some_and(|(_, is_empty)| *is_empty) {
            tables.engines.remove(&session.peer.engine_key);
        }
        drop(tables);
        drop(left);
        self.finish(&session, reason)
    }

    /// Ends all sessions.
    pub(crate) fn end_all(&self, reason: EndReason) {
        let ids: Vec<SessionId> = self.tables.lock().sessions.keys().copied().collect();
        for id in ids {
            self.end(id, reason);
        }
    }

    /// Ends all sessions of engines with this name; how many there were, and the leases that they held.
    pub(crate) fn evict(&self, engine_id: &str) -> (usize, usize) {
        let tables = self.tables.lock();
        let named = tables.sessions.values();
        let named = named.filter(|session| session.peer.engine_id == engine_id);
        let ids: Vec<SessionId> = named.map(|session| session.id).collect();
        drop(tables);
        let leases = ids.iter().map(|id| self.end(*id, EndReason::Evicted)).sum();
        (ids.len(), leases)
    }

    /// The session with this id, which must be of the process `pid`.
    ///
    /// # Errors
    /// `NotFound` for one that is not open, or is another process's.
    pub(crate) fn find(&self, id: u64, pid: u32) -> Result<Arc<Session>> {
        let found = self.tables.lock().sessions.get(&SessionId(id)).cloned();
        found
            .filter(|session| session.peer.process.identity().pid == pid)
            .inspect(|session| session.traffic.note_call())
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::NotFound,
                    format!("engine session {id} is not open: attach again"),
                )
            })
    }

    /// The registration of this worker's session.
    ///
    /// # Errors
    /// `NotFound` for one that is not there.
    pub(crate) fn registration(&self, session: &Session, id: u64) -> Result<Arc<Registration>> {
        let tables = self.tables.lock();
        let found = match session.peer.role {
            Role::Worker { rank, .. } => {
                let engine = tables.engines.get(&session.peer.engine_key);
                engine
                    .and_then(|engine| engine.workers.get(&rank))
                    .and_then(|worker| worker.registration.clone())
            }
            Role::Scheduler(_) => None,
        };
        found
            .filter(|registration| registration.id == id && registration.session.id == session.id)
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::NotFound,
                    format!("registration {id} is not this session's: register again"),
                )
            })
    }

    /// Adds a worker's registration in place of an earlier one.
    ///
    /// # Errors
    /// `NotFound` when the session has ended, `Conflict` when the engine does not fit together with it.
    pub(crate) fn register(&self, registration: Arc<Registration>) -> Result<()> {
        let session = Arc::clone(&registration.session);
        let mut tables = self.tables.lock();
        let engine = tables.engines.get_mut(&session.peer.engine_key);
        let mut worker = engine.and_then(|engine| {
            let Role::Worker { rank, .. } = session.peer.role else {
                return None;
            };
            let worker = engine
                .workers
                .get_mut(&rank)
                .filter(|worker| worker.session.id == session.id)?;
            let before = worker.registration.replace(registration);
            engine.resolve(&self.store);
            let state = engine.state.borrow().clone();
            Some((before, state))
        });
        drop(tables);
        match worker.take() {
            None => Err(Error::new(
                ErrorKind::NotFound,
                "the engine session has ended: attach again",
            )),
            Some((_, EngineState::Refused(why))) => {
                let text = format!("is served without the cache: {why}");
                self.tell(&session, EventLevel::Warning, &text);
                Err(Error::new(ErrorKind::Conflict, &*why))
            }
            Some(_) => Ok(()),
        }
    }

    /// How many of each kind there are.
    pub(crate) fn counts(&self) -> SessionCounts {
        let tables = self.tables.lock();
        let mut counts = SessionCounts {
            sessions: tables.sessions.len() as u64,
            ..SessionCounts::default()
        };
        for engine in tables.engines.values() {
            counts.add(engine);
        }
        counts
    }

    /// The engines, oldest first.
    pub(crate) fn snapshot(&self) -> Vec<EngineSnapshot> {
        let mut engines: Vec<_> = self
            .tables
            .lock()
            .engines
            .values()
            .map(EngineSnapshot::of)
            .collect();
        engines.sort_by(|a, b| b.attached_s.total_cmp(&a.attached_s));
        engines
    }

    /// Adds an event: that the session's side of the engine did this.
    fn tell(&self, session: &Session, level: EventLevel, what: &str) {
        let peer = &session.peer;
        let (engine, role, pid) = (&peer.engine_id, &peer.role, peer.process.identity().pid);
        let text = format!("engine {engine}: {role} (pid {pid}) {what}");
        self.events.add(EventKind::Engine, level, Some(engine), text);
    }

    fn finish(&self, session: &Session, reason: EndReason) -> usize {
        session.ended.send_replace(true);
        self.pending.end_owner(session.id);
        let leases = self.leases.end_owner(session.id);
        self.metrics.count_session_end(reason.name());
        self.tell(session, reason.level(), reason.sentence());
        tracing::info!(
            engine = session.peer.engine_id,
            session = session.id.0,
            pid = session.peer.process.identity().pid,
            reason = reason.name(),
            leases,
            "engine session ended"
        );
        leases
    }
}
