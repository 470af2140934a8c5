//! Making index, slabs and eviction order anew from the slot table of a pool that was taken over.

use std::time::{Duration, Instant};

use super::Store;
use crate::error::Result;
use crate::index::{BlockId, BlockKey, Claim};
use crate::pool::{Slot, Survey};
use crate::space::{SpaceId, SpaceNumber};
use crate::sync::Ordering;

/// What an ended daemon's pool gave to this one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TakeOver {
    /// Blocks that are cached again.
    pub blocks: u64,
    /// Bytes of their pages.
    pub bytes: u64,
    /// Pages dropped because their block was not sealed, or was being evicted.
    pub unsealed_pages: u64,
    /// Sealed pages dropped because nobody had made their checksum yet.
    pub pages_without_checksum: u64,
    /// Pages dropped because their record cannot be believed.
    pub bad_records: u64,
    /// Pages dropped because others of their block were.
    pub incomplete_pages: u64,
    /// How long the open took for that.
    pub duration: Duration,
}

/// A block of which all shards were found.
struct Found {
    space: SpaceId,
    block: BlockId,
    fingerprint: u32,
}

impl Store {
    /// Takes the blocks over that the slot table has; None for a new pool. Nobody else uses the store yet.
    pub(super) fn take_over(&self) -> Result<Option<TakeOver>> {
        let start = Instant::now();
        let Some(survey) = self.pool.survey()? else {
            return Ok(None);
        };
        let mut report = TakeOver {
            unsealed_pages: survey.dropped.unsealed,
            pages_without_checksum: survey.dropped.no_checksum,
            bad_records: survey.dropped.bad_records,
            ..TakeOver::default()
        };
        let Survey { spaces, pages, .. } = survey;
        for space in spaces {
            let number = space.number;
            if !self
                .spaces
                .add_known(&self.pool, self.policy, space)
                .unwrap_or(false)
            {
                self.pool.spaces.clear(number);
            }
        }
        let newest = pages.last().map_or(0, |(sequence, _)| sequence + 1);
        self.counts.sequence.store(newest, Ordering::Relaxed);
        // Newest first: of two records of one page the higher sequence counts.
        let mut found = Vec::new();
        let mut last_sequence = None;
        for (sequence, slot) in pages.into_iter().rev() {
            if let Some(whole) = self.find(slot, start) {
                found.extend(whole);
            } else {
                self.free_known(slot);
                // A page that was being moved is there twice under one sequence.
                report.bad_records += u64::from(last_sequence != Some(sequence));
            }
            last_sequence = Some(sequence);
        }
        for removed in self.index.remove_partial() {
            report.incomplete_pages += removed.slots.len() as u64;
            for slot in &removed.slots {
                self.free_known(*slot);
            }
        }
        for whole in found.into_iter().rev() {
            report.bytes += self.keep(&whole)?;
            report.blocks += 1;
        }
        self.apply_rules();
        self.spaces.free_unused(&self.pool);
        report.duration = start.elapsed();
        tracing::info!(?report, "took the pool of an ended daemon over");
        Ok(Some(report))
    }

    /// Puts a page into its slab and into the index; the block with its last page, None when the page is one too many.
    fn find(&self, slot: Slot, now: Instant) -> Option<Option<Found>> {
        let record = self.pool.slots.read(slot)?;
        let space = self.spaces.at(SpaceNumber(record.space)).ok()?;
        let pages = space.shards.get(record.shard as usize)?;
        if !self.pool.retake(slot, pages.class) {
            return None;
        }
        space.namespace.add(pages.stride);
        let key = BlockKey {
            hash: record.hash,
            space: space.id.number,
        };
        let Claim::Granted(block) = self.index.claim(key, space.shards.len() as u16, record.shard) else {
            return None;
        };
        self.pool.slots.set_unverified(slot, true);
        let filled = self.index.fill(block, record.shard, slot, now)?;
        Some(filled.whole.map(|_| Found {
            space: space.id,
            block,
            fingerprint: self.index.fingerprint(&key),
        }))
    }

    /// Frees a page of a space that its record names.
    fn free_known(&self, slot: Slot) {
        let record = self.pool.slots.read(slot);
        let bytes = self.pool.free(slot);
        if let Some(space) = record.and_then(|record| self.spaces.at(SpaceNumber(record.space)).ok()) {
            space.namespace.give_back(bytes);
        }
    }

    /// Makes a whole block visible, as the youngest so far; the bytes of its pages.
    fn keep(&self, found: &Found) -> Result<u64> {
        let space = self.spaces.get(found.space)?;
        let now = self.tick();
        let token = space
            .policy
            .lock()
            .insert(found.block, found.fingerprint, None, now);
        space.counts.kept.fetch_add(1, Ordering::Relaxed);
        space.counts.blocks.fetch_add(1, Ordering::Relaxed);
        self.index.keep(found.block, token);
        self.index.publish(found.block, now);
        Ok(space.block_bytes)
    }
}
