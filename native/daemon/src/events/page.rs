//! A reader's share of the events. Its schema is pegaflow/schemas/events.schema.json.

use std::time::Duration;

use serde::Serialize;
use tokio::time::timeout;

use super::{Event, EventLog};

/// The form of the document; an incompatible change has another number.
const SCHEMA: &str = "pegaflow.events/1";
/// Events in one answer; a reader asks again for more.
const PAGE_EVENTS: usize = 1_000;

/// Events in order, and what to ask for next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct EventPage {
    schema: &'static str,
    /// Numbers are of this run of the daemon.
    boot_id: String,
    /// Events after the number that was asked for that are not kept any more.
    lost: u64,
    /// The number to ask for next.
    last: u64,
    events: Vec<Event>,
}

impl EventLog {
    /// What came after the event with this number, oldest first. Of an empty log, or a number that was not given yet, nothing.
    pub(crate) fn after(&self, sequence: u64, boot_id: String) -> EventPage {
        let kept = self.kept.lock();
        let oldest = kept.front().map_or(1, |event| event.sequence);
        let events: Vec<Event> = kept
            .iter()
            .skip_while(|event| event.sequence <= sequence)
            .take(PAGE_EVENTS)
            .cloned()
            .collect();
        EventPage {
            schema: SCHEMA,
            boot_id,
            lost: oldest.saturating_sub(sequence.saturating_add(1)),
            last: events.last().map_or(sequence, |event| event.sequence),
            events,
        }
    }

    /// Waits until there is an event after this number, at most for so long.
    pub(crate) async fn wait_after(&self, sequence: u64, limit: Duration) {
        let mut last = self.last.subscribe();
        // Without one in time the page is empty.
        drop(timeout(limit, last.wait_for(|&last| last > sequence)).await);
    }
}
