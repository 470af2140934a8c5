//! What is asked of a path while it works: to be safe, smaller, or emptier.

use super::super::block::{Evicted, PathFiles};
use super::super::inbox::Reply;
use super::writer::{Writer, too_large};
use crate::error::{Error, ErrorKind, Result};

/// What has been asked for and not come true.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    flushes: Vec<Flush>,
    pub(super) resizes: Vec<Reply>,
    evictions: Vec<Eviction>,
    /// What becomes of the files, and who waits for the end.
    pub(super) end: Option<(PathFiles, Reply)>,
}

/// Somebody waits until what was accepted is safe.
#[derive(Debug)]
struct Flush {
    reply: Reply,
    /// Batches before this one are meant; None while a block waits for its place.
    batches: Option<u64>,
    /// Once they have their records: what those are known by.
    mark: Option<u64>,
}

/// Somebody waits until so many bytes are evicted.
#[derive(Debug)]
struct Eviction {
    reply: Reply,
    bytes: u64,
    evicted: Evicted,
}

impl Wishes {
    /// Somebody waits until so many bytes are evicted.
    pub(super) fn want_evicted(&mut self, bytes: u64, reply: Reply) {
        self.evictions.push(Eviction {
            reply,
            bytes,
            evicted: Evicted::default(),
        });
    }

    /// All who wait for something else than the end.
    pub(super) fn take_replies(&mut self) -> Vec<Reply> {
        let flushes = self.flushes.drain(..).map(|flush| flush.reply);
        let evictions = self.evictions.drain(..).map(|eviction| eviction.reply);
        flushes.chain(evictions).chain(self.resizes.drain(..)).collect()
    }
}

impl Writer {
    /// Somebody waits until what was accepted is safe.
    pub(super) fn want_flush(&mut self, reply: Reply) {
        self.wishes.flushes.push(Flush {
            reply,
            batches: self.held.is_none().then_some(self.next_batch),
            mark: None,
        });
    }

    /// Makes the files smaller than the capacity when that was made smaller.
    pub(super) fn fit_capacity(&mut self) -> Result<()> {
        let capacity = self.path.capacity();
        while self.ring.used() > capacity {
            self.ring.shrink(capacity)?;
            let is_denied = self.ring.denied(capacity).is_some();
            if self.ring.used() <= capacity || is_denied || !self.ring.draining.is_empty() {
                break;
            }
            if self.retire_oldest().is_none() {
                // Only what is being filled is left: it is let go once its blocks have their records.
                self.ring.close_head();
                break;
            }
            self.ring.collect_drained(&mut self.safety)?;
        }
        Ok(())
    }

    /// Evicts what was asked for.
    pub(super) fn evict(&mut self) {
        let mut evictions = std::mem::take(&mut self.wishes.evictions);
        for eviction in &mut evictions {
            while eviction.evicted.bytes < eviction.bytes {
                let Some(evicted) = self.retire_oldest() else {
                    // A head of nothing but records stays: what was removed is told there.
                    if self.ring.has_open_blocks() {
                        self.ring.close_head();
                    }
                    break;
                };
                eviction.evicted.blocks += evicted.blocks;
                eviction.evicted.bytes += evicted.bytes;
            }
        }
        self.ring.settle(&self.path);
        self.wishes.evictions = evictions;
    }

    /// Answers those whose wish has come true.
    pub(super) fn answer(&mut self) -> Result<()> {
        if self.wishes.end.is_some() {
            self.safety.want();
        }
        let is_small = self.ring.used() <= self.path.capacity();
        if is_small && !self.wishes.resizes.is_empty() {
            self.grow_ahead()?;
            self.report();
            self.path.tier.fail_unfit(&too_large());
            for reply in self.wishes.resizes.drain(..) {
                drop(reply.send(Ok(Evicted::default())));
            }
        }
        let denied = self.ring.denied(self.path.capacity()).filter(|_| !is_small);
        if let Some(reason) = denied {
            for reply in self.wishes.resizes.drain(..) {
                drop(reply.send(Err(Error::new(ErrorKind::Permission, reason))));
            }
        }
        let is_denied = denied.is_some();
        let is_all_gone = self.ring.full.is_empty() && !self.ring.has_open_blocks();
        let is_drained = self.ring.draining.is_empty();
        self.wishes.evictions.retain(|eviction| {
            let is_done = is_drained && (is_all_gone || eviction.evicted.bytes >= eviction.bytes);
            if is_done {
                drop(eviction.reply.send(Ok(eviction.evicted)));
            }
            !is_done
        });
        if !self.wishes.evictions.is_empty() || !is_small && !is_denied {
            self.wake_for_more();
        }
        self.answer_flushes();
        Ok(())
    }

    /// There is more to evict, unless something is waited for.
    fn wake_for_more(&self) {
        let is_waiting = !self.ring.draining.is_empty() || self.ring.full.is_empty();
        if !is_waiting {
            self.path.inbox.wake();
        }
    }

    fn answer_flushes(&mut self) {
        let first = self.batches.front().map_or(self.next_batch, |batch| batch.number);
        let has_records = self.journaling.is_none() && self.removals.is_empty();
        let (is_held, next) = (self.held.is_some(), self.next_batch);
        let safety = &mut self.safety;
        self.wishes.flushes.retain_mut(|flush| {
            if flush.batches.is_none() && !is_held {
                flush.batches = Some(next);
            }
            if flush.mark.is_none() && has_records && flush.batches.is_some_and(|batches| first >= batches) {
                flush.mark = Some(safety.mark());
            }
            match flush.mark {
                Some(mark) if safety.is_safe(mark) => drop(flush.reply.send(Ok(Evicted::default()))),
                Some(_) => {
                    safety.want();
                    return true;
                }
                None => return true,
            }
            false
        });
    }
}
