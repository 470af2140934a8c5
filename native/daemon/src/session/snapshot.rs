//! The engines at one time, for status and metrics.

use serde::Serialize;

use super::engine::Engine;
use super::{EngineState, Role, TransferCounts};
use crate::telemetry::Direction;

/// One engine in the status document.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct EngineSnapshot {
    pub(crate) engine_id: String,
    model: String,
    namespace: String,
    complete: bool,
    /// Why it serves without the cache, if it was refused.
    refused: Option<String>,
    scheduler_pid: Option<u32>,
    worker_pids: Vec<u32>,
    workers: u32,
    client_version: String,
    pub(crate) attached_s: f64,
    pub(crate) last_call_s: f64,
    pub(crate) mapped_bytes: u64,
    pub(crate) saves: TransferCounts,
    pub(crate) loads: TransferCounts,
}

impl EngineSnapshot {
    pub(super) fn of(engine: &Engine) -> Self {
        let scheduler = engine.scheduler.as_deref();
        let role = scheduler.and_then(|session| match &session.peer.role {
            Role::Scheduler(role) => Some(role),
            Role::Worker { .. } => None,
        });
        let registered = engine
            .workers
            .values()
            .find_map(|worker| worker.registration.as_deref());
        let namespace = role
            .map(|role| role.namespace)
            .or(registered.map(|registration| registration.namespace));
        let sessions = || {
            scheduler
                .into_iter()
                .chain(engine.workers.values().map(|worker| &*worker.session))
        };
        let state = engine.state.borrow().clone();
        Self {
            engine_id: engine.name().to_owned(),
            model: role.map(|role| role.model.clone()).unwrap_or_default(),
            namespace: namespace
                .iter()
                .flatten()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            complete: matches!(state, EngineState::Complete(_)),
            refused: if let EngineState::Refused(why) = state {
                Some(why.to_string())
            } else {
                None
            },
            scheduler_pid: scheduler.map(|session| session.peer.process.identity().pid),
            worker_pids: engine
                .workers
                .values()
                .map(|worker| worker.session.peer.process.identity().pid)
                .collect(),
            workers: role.map_or(0, |role| role.workers),
            client_version: sessions()
                .map(|session| session.peer.client_version.clone())
                .next()
                .unwrap_or_default(),
            attached_s: sessions()
                .map(|session| session.opened.elapsed().as_secs_f64())
                .fold(0.0, f64::max),
            last_call_s: engine.traffic.quiet_for().as_secs_f64(),
            mapped_bytes: engine.mapped_bytes(),
            saves: engine.traffic.of(Direction::Save).counts(),
            loads: engine.traffic.of(Direction::Load).counts(),
        }
    }
}

/// How many sessions, registrations and engines there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SessionCounts {
    pub(crate) sessions: u64,
    pub(crate) registrations: u64,
    pub(crate) complete: u64,
    pub(crate) incomplete: u64,
    pub(crate) refused: u64,
}

impl SessionCounts {
    pub(super) fn add(&mut self, engine: &Engine) {
        self.registrations += engine
            .workers
            .values()
            .filter(|worker| worker.registration.is_some())
            .count() as u64;
        match *engine.state.borrow() {
            EngineState::Complete(_) => self.complete += 1,
            EngineState::Incomplete => self.incomplete += 1,
            EngineState::Refused(_) => self.refused += 1,
        }
    }
}
