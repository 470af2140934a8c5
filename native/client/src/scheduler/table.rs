//! The lookups of one session: who asked what, and what became of it.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::lookup::Lookup;

/// How long a request is told "ask again" before the daemon is asked again about an engine that was incomplete.
const INCOMPLETE_FOR: Duration = Duration::from_millis(5);

/// Names one call, so that a late answer is never taken for a newer call's.
pub(super) type Token = u64;

/// Every lookup that its request has not taken or given up.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: HashMap<String, Entry>,
    last_token: Token,
}

#[derive(Debug)]
struct Entry {
    hashes: Bytes,
    token: Token,
    state: State,
}

#[derive(Debug)]
enum State {
    /// No answer yet, be it late.
    InFlight,
    /// The engine was incomplete.
    Incomplete {
        since: Instant,
    },
    /// Blocks are on their way to the daemon's memory; the call's task asks for them again and again.
    Fetching,
    /// Given up, or an error: told once, then asked anew.
    Failed,
    Ready(Lookup),
}

/// What a request's question finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Nothing that counts any more; the answer to other hashes, if there was one, left the table.
    Nothing { superseded: Option<Lookup> },
    /// A call is under way.
    InFlight(Token),
    /// This.
    Answer(Lookup),
}

/// What an answer finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The call that asked for it.
    Matched,
    /// Nobody who wants it: its lease has to be released.
    Unwanted,
}

impl Table {
    /// What is known for this request about these hashes.
    pub(super) fn find(&mut self, request_id: &str, hashes: &Bytes) -> Known {
        match self.entries.get(request_id) {
            Some(entry) if entry.hashes == hashes => match &entry.state {
                State::InFlight => return Known::InFlight(entry.token),
                State::Ready(lookup) => return Known::Answer(*lookup),
                State::Fetching => return Known::Answer(Lookup::PENDING),
                State::Incomplete { since } if since.elapsed() < INCOMPLETE_FOR => {
                    return Known::Answer(Lookup::ASK_AGAIN);
                }
                State::Failed => {
                    self.entries.remove(request_id);
                    return Known::Answer(Lookup::OFF);
                }
                State::Incomplete { .. } => {}
            },
            _ => {}
        }
        Known::Nothing {
            superseded: self.remove(request_id),
        }
    }

    /// Notes a call that is about to be made.
    pub(super) fn begin(&mut self, request_id: &str, hashes: Bytes) -> Token {
        self.last_token += 1;
        let token = self.last_token;
        self.entries.insert(
            request_id.to_owned(),
            Entry {
                hashes,
                token,
                state: State::InFlight,
            },
        );
        token
    }

    /// What became of the call, as its request is told; `None` while it is under way.
    pub(super) fn outcome(&mut self, request_id: &str, token: Token) -> Option<Lookup> {
        match self.entries.get(request_id) {
            Some(entry) if entry.token == token => match &entry.state {
                State::InFlight => None,
                State::Incomplete { .. } => Some(Lookup::ASK_AGAIN),
                State::Fetching => Some(Lookup::PENDING),
                State::Ready(lookup) => Some(*lookup),
                State::Failed => {
                    self.entries.remove(request_id);
                    Some(Lookup::OFF)
                }
            },
            _ => Some(Lookup::OFF),
        }
    }

    /// The call's answer came.
    pub(super) fn answered(&mut self, request_id: &str, token: Token, lookup: Lookup) -> Arrival {
        self.settle(request_id, token, State::Ready(lookup))
    }

    /// The engine is incomplete.
    pub(super) fn incomplete(&mut self, request_id: &str, token: Token) {
        let since = Instant::now();
        self.settle(request_id, token, State::Incomplete { since });
    }

    /// Blocks are on their way.
    pub(super) fn fetching(&mut self, request_id: &str, token: Token) -> Arrival {
        self.settle(request_id, token, State::Fetching)
    }

    /// The call failed or is given up; an answer that still comes counts until the request was told.
    pub(super) fn failed(&mut self, request_id: &str, token: Token) {
        self.settle(request_id, token, State::Failed);
    }

    /// Every call under way is given up.
    pub(super) fn fail_in_flight(&mut self) {
        for entry in self.entries.values_mut() {
            if matches!(entry.state, State::InFlight | State::Fetching) {
                entry.state = State::Failed;
            }
        }
    }

    fn settle(&mut self, request_id: &str, token: Token, state: State) -> Arrival {
        match self.entries.get_mut(request_id) {
            Some(entry) if entry.token == token => {
                entry.state = state;
                Arrival::Matched
            }
            _ => Arrival::Unwanted,
        }
    }

    /// The answer with a lease, which leaves the table.
    pub(super) fn take(&mut self, request_id: &str) -> Option<Lookup> {
        let entry = self.entries.get(request_id)?;
        match entry.state {
            State::Ready(lookup) if lookup.lease().is_some() => self.remove(request_id),
            _ => None,
        }
    }

    /// Forgets the request; its answer if there is one.
    pub(super) fn remove(&mut self, request_id: &str) -> Option<Lookup> {
        match self.entries.remove(request_id)?.state {
            State::Ready(lookup) => Some(lookup),
            State::InFlight | State::Incomplete { .. } | State::Fetching | State::Failed => None,
        }
    }

    /// The leases of answers that nobody took yet.
    pub(super) fn lease_ids(&self) -> impl Iterator<Item = u64> + '_ {
        self.entries.values().filter_map(|entry| match entry.state {
            State::Ready(lookup) => lookup.lease().map(|lease| lease.lease_id),
            State::InFlight | State::Incomplete { .. } | State::Fetching | State::Failed => None,
        })
    }

    /// Drops answers whose lease has ended; their requests ask anew.
    pub(super) fn drop_leases(&mut self, ended: &HashSet<u64>) {
        self.entries.retain(|_, entry| match entry.state {
            State::Ready(lookup) => !ended.contains(&lookup.lease_id),
            State::InFlight | State::Incomplete { .. } | State::Fetching | State::Failed => true,
        });
    }

    /// The session is over: so is everything that was asked in it.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}
