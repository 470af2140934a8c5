//! Events that are seen by looking, once a second.

use std::collections::BTreeMap;

use pegaflow_core::count::counted;
use pegaflow_core::self_test::SelfTest;

use super::{EventKind, EventLevel, EventLog};
use crate::daemon::Daemon;
use crate::status::{Readiness, State};

/// Looks for which evictions are counted together.
const EVICTION_LOOKS: u32 = 60;
/// The part of all blocks, in percent, that is worth an event when it was evicted meanwhile.
const EVICTED_PERCENT: u64 = 10;

/// What one look sees.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) state: Option<State>,
    /// Sentences on what is degraded.
    pub(super) reasons: Vec<String>,
    /// Paths of the ssd tier, with state and reason.
    pub(super) paths: BTreeMap<String, (&'static str, Option<String>)>,
    /// Round trips that have ended.
    pub(super) self_tests: Vec<SelfTest>,
    /// Blocks in memory now.
    pub(super) blocks: u64,
    /// Blocks evicted since the start.
    pub(super) evictions: u64,
    /// Corrupt blocks dropped since the start.
    pub(super) corrupt_blocks: u64,
}

impl Seen {
    fn of(daemon: &Daemon) -> Self {
        let store = daemon.store.snapshot();
        let readiness = Readiness::of(daemon);
        let paths = store.tier.iter().flat_map(|tier| &tier.ssd.paths);
        Self {
            state: Some(readiness.state),
            reasons: readiness.reasons,
            paths: paths
                .map(|path| {
                    let reason = path.state.reason().map(str::to_owned);
                    (path.dir.display().to_string(), (path.state.name(), reason))
                })
                .collect(),
            self_tests: daemon.self_tests(),
            blocks: store.spaces.iter().map(|space| space.blocks).sum(),
            evictions: store.spaces.iter().map(|space| space.evictions).sum(),
            corrupt_blocks: store.checksums.corrupt_blocks,
        }
    }
}

/// The last look.
#[derive(Debug, Default)]
pub(crate) struct EventWatch {
    seen: Seen,
    looks: u32,
    /// Evictions when the count of looks began.
    evictions: u64,
}

impl EventWatch {
    /// Looks, and adds what has happened since the last time.
    pub(crate) fn look(&mut self, daemon: &Daemon) {
        self.compare(Seen::of(daemon), &daemon.events);
    }

    pub(super) fn compare(&mut self, now: Seen, log: &EventLog) {
        self.states(&now, log);
        self.paths(&now, log);
        for test in now.self_tests.iter().skip(self.seen.self_tests.len()) {
            tell_self_test(test, log);
        }
        let corrupt = now.corrupt_blocks.saturating_sub(self.seen.corrupt_blocks);
        if corrupt > 0 {
            let text = format!(
                "{} dropped: the bytes were not those that were saved",
                counted(corrupt, "corrupt block")
            );
            log.add(EventKind::Integrity, EventLevel::Critical, None, text);
        }
        self.looks += 1;
        if self.looks == EVICTION_LOOKS {
            let evicted = now.evictions.saturating_sub(self.evictions);
            if evicted > 0 && evicted * 100 >= (now.blocks + evicted) * EVICTED_PERCENT {
                let evicted = counted(evicted, "block");
                let text = format!("{evicted} evicted within a minute, {} in memory now", now.blocks);
                log.add(EventKind::Eviction, EventLevel::Warning, None, text);
            }
            (self.looks, self.evictions) = (0, now.evictions);
        }
        self.seen = now;
    }

    fn states(&self, now: &Seen, log: &EventLog) {
        if let Some(state) = now.state.filter(|state| Some(*state) != self.seen.state) {
            let reasons = now.reasons.join("; ");
            let (level, why) = match state {
                State::Degraded => (EventLevel::Critical, format!(": {reasons}")),
                State::Starting | State::Ready | State::Draining => (EventLevel::Ok, String::new()),
            };
            log.add(
                EventKind::Daemon,
                level,
                None,
                format!("the daemon is {}{why}", state.name()),
            );
        }
    }

    fn paths(&self, now: &Seen, log: &EventLog) {
        let add = |level, path: &str, text| log.add(EventKind::Path, level, Some(path), text);
        for (path, (state, reason)) in &now.paths {
            let before = self.seen.paths.get(path).map(|(state, _)| *state);
            if before == Some(state) {
                continue;
            }
            let why = reason.as_ref().map_or(String::new(), |why| format!(": {why}"));
            let was = before.map_or(String::new(), |before| format!(", was {before}"));
            let level = match *state {
                "online" => EventLevel::Ok,
                "degraded" => EventLevel::Warning,
                _ => EventLevel::Critical,
            };
            add(level, path, format!("ssd path {path} is {state}{was}{why}"));
        }
        for path in self
            .seen
            .paths
            .keys()
            .filter(|path| !now.paths.contains_key(*path))
        {
            add(EventLevel::Ok, path, format!("ssd path {path} left the tier"));
        }
    }
}

fn tell_self_test(test: &SelfTest, log: &EventLog) {
    let (level, text) = match test.problem() {
        Some(problem) => (EventLevel::Critical, problem),
        None => {
            let took = test.duration.as_secs_f64() * 1e3;
            let text = format!(
                "{} copies passed their self-test: {} bytes in {took:.1} ms",
                test.copy_path, test.bytes
            );
            (EventLevel::Ok, text)
        }
    };
    log.add(EventKind::SelfTest, level, Some(&test.copy_path), text);
}
