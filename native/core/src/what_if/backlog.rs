//! Sampled blocks that are still to be counted, so that a lookup does not wait for it.

use std::mem;

use crate::sync::{Condvar, Mutex};

/// So many are worth waking the thread.
const WORTH_A_TURN: usize = 8 << 10;
/// Above it lookups count by themselves: 1 MiB of fingerprints.
const MOST: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct Backlog {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    prompts: Prompts,
    is_closing: bool,
}

/// Prompts in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    fingerprints: Vec<u32>,
    each: Vec<Prompt>,
}

#[derive(Debug, Clone, Copy)]
struct Prompt {
    sampled: usize,
    block_bytes: u64,
}

impl Backlog {
    /// Takes one prompt's sampled blocks; false when there are so many that the caller should count them.
    pub(super) fn push(&self, sampled: impl Iterator<Item = u32>, block_bytes: u64) -> bool {
        let mut waiting = self.waiting.lock();
        let Prompts { fingerprints, each } = &mut waiting.prompts;
        let before = fingerprints.len();
        fingerprints.extend(sampled);
        let after = fingerprints.len();
        each.push(Prompt {
            sampled: after - before,
            block_bytes,
        });
        drop(waiting);
        if before < WORTH_A_TURN && after >= WORTH_A_TURN {
            self.changed.notify_one();
        }
        after < MOST
    }

    /// What waits.
    pub(super) fn take(&self) -> Prompts {
        mem::take(&mut self.waiting.lock().prompts)
    }

    /// Returns when there is enough for a turn; false at the end.
    pub(super) fn wait(&self) -> bool {
        let mut waiting = self.waiting.lock();
        while !waiting.is_closing && waiting.prompts.fingerprints.len() < WORTH_A_TURN {
            self.changed.wait(&mut waiting);
        }
        !waiting.is_closing
    }

    /// Ends the wait.
    pub(super) fn close(&self) {
        self.waiting.lock().is_closing = true;
        self.changed.notify_one();
    }
}

impl Prompts {
    /// Each prompt's sampled blocks, and the bytes of one.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u32], u64)> {
        let mut rest = self.fingerprints.as_slice();
        self.each.iter().map(move |prompt| {
            let (sampled, others) = rest.split_at_checked(prompt.sampled).unwrap_or((rest, &[]));
            rest = others;
            (sampled, prompt.block_bytes)
        })
    }
}
