//! What happened in the daemon, for operators: the last few thousand events, numbered without a gap.
//!
//! A reader asks for what came after the number that it knows. What it missed is a difference of numbers, so nothing is lost
//! without it being told.

mod page;
mod watch;

use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch as channel;

pub(crate) use watch::EventWatch;

#[cfg(test)]
mod tests;

/// Events that are kept; older ones go.
const KEPT: usize = 4_096;

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EventKind {
    /// Its start, its states, its end.
    Daemon,
    /// Round trips of random bytes at the start.
    SelfTest,
    /// Engines' sessions.
    Engine,
    /// Leases that nobody renewed.
    Lease,
    /// Paths of the ssd tier.
    Path,
    /// Many blocks that left the memory tier.
    Eviction,
    /// Blocks whose bytes had changed.
    Integrity,
    /// Recordings of lookups that cannot be written, or not as large as they may be.
    Recording,
    /// What operators have done.
    Operation,
    /// What operators changed of the settings.
    Configuration,
}

/// How much an event matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EventLevel {
    /// As it should be.
    Ok,
    /// Worth a look.
    Warning,
    /// Something does not work.
    Critical,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Event {
    /// 1 for a daemon's first event, one more for each.
    sequence: u64,
    /// Seconds since 1970, UTC.
    at: f64,
    kind: EventKind,
    level: EventLevel,
    /// The engine, path or operation that it is about.
    subject: Option<String>,
    /// A sentence for people.
    text: String,
}

/// The events of one daemon.
#[derive(Debug)]
pub(crate) struct EventLog {
    kept: Mutex<VecDeque<Event>>,
    /// The number of the last event.
    last: channel::Sender<u64>,
}

impl EventLog {
    /// No event yet.
    pub(crate) fn new() -> Self {
        Self {
            kept: Mutex::default(),
            last: channel::Sender::new(0),
        }
    }

    /// The number of the last event; 0 before the first.
    pub(crate) fn last(&self) -> u64 {
        *self.last.borrow()
    }

    /// One more event, which happened now.
    pub(crate) fn add(
        &self,
        kind: EventKind,
        level: EventLevel,
        subject: Option<&str>,
        text: impl Into<String>,
    ) {
        let mut kept = self.kept.lock();
        let sequence = self.last() + 1;
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Event {
            sequence,
            at: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs_f64(),
            kind,
            level,
            subject: subject.map(str::to_owned),
            text: text.into(),
        });
        self.last.send_replace(sequence);
    }
}
