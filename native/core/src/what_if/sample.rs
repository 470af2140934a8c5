//! Miniatures of pools of several sizes, and what they hit.

use super::backlog::{Event, EventKind};
use super::miniature::Miniature;
use super::tally::Tally;
use super::{Curve, CurvePoint, SIZES, is_sampled};
use crate::eviction::PolicyKind;

/// Sizes of the pool that are looked at, in eighths of what it is.
const EIGHTHS: [u64; SIZES] = [1, 2, 4, 8, 16, 32, 64, 128];
/// A smaller sample than this one says little of a pool that lets blocks go.
const LEAST_BLOCKS: usize = 256;
/// Of fingerprints of 32 bits, so many tell blocks apart that are sampled at the highest level.
const MOST_LEVEL: u32 = 12;

#[derive(Debug)]
pub(super) struct Sample {
    kind: PolicyKind,
    miniatures: [Miniature; SIZES],
    /// One of 2^level blocks is sampled.
    level: u32,
    most_blocks: usize,
    pool_bytes: u64,
    pub(super) tally: Tally,
}

impl Sample {
    /// Of a pool of this size, with so many blocks at most in each miniature.
    pub(super) fn new(kind: PolicyKind, pool_bytes: u64, most_blocks: usize) -> Self {
        let mut sample = Self {
            kind,
            miniatures: std::array::from_fn(|_| Miniature::new(kind)),
            level: 0,
            most_blocks,
            pool_bytes,
            tally: Tally::default(),
        };
        sample.fit();
        sample
    }

    pub(super) fn level(&self) -> u32 {
        self.level
    }

    /// The pool has another size: what was counted is not of the sizes around it.
    pub(super) fn resize(&mut self, pool_bytes: u64) {
        if pool_bytes != self.pool_bytes {
            self.pool_bytes = pool_bytes;
            self.tally = Tally::default();
            self.fit();
        }
    }

    /// Counts what happened to blocks that were sampled at this level, or before it was as high.
    pub(super) fn count(&mut self, event: Event, blocks: &[u32]) {
        let level = self.level;
        let sampled: Vec<_> = blocks
            .iter()
            .copied()
            .filter(|block| is_sampled(*block, level))
            .collect();
        match event.kind {
            EventKind::Asked => self.serve(&sampled, event),
            EventKind::Saved { after } => {
                let after = after.filter(|after| is_sampled(*after, level));
                for miniature in &mut self.miniatures {
                    for block in &sampled {
                        miniature.save(*block, event.block_bytes, after, event.time);
                    }
                }
            }
        }
        while self.largest() > self.most_blocks && self.level < MOST_LEVEL {
            self.narrow();
        }
    }

    /// Samples half as many blocks.
    pub(super) fn narrow(&mut self) {
        self.level = (self.level + 1).min(MOST_LEVEL);
        for miniature in &mut self.miniatures {
            miniature.narrow(self.level);
        }
        self.fit();
    }

    pub(super) fn curve(&self) -> Curve {
        let parts = self.tally.hit_parts().into_iter().flatten();
        let points = EIGHTHS.iter().zip(&self.miniatures).zip(parts);
        Curve {
            policy: self.kind,
            seen_blocks: self.tally.seen() as u64,
            sampled_blocks: self.largest() as u64,
            points: points
                .map(|((eighths, miniature), hit_part)| CurvePoint {
                    pool_bytes: bytes_of(self.pool_bytes, *eighths),
                    hit_part,
                    is_rough: self.is_rough(miniature),
                })
                .collect(),
        }
    }

    fn serve(&mut self, prompt: &[u32], event: Event) {
        let stands_for = f64::from(1_u32 << self.level);
        self.tally.sample(prompt.len() as f64 * stands_for);
        for (size, miniature) in self.miniatures.iter_mut().enumerate() {
            let hits = miniature.serve(prompt, event.block_bytes, event.time);
            self.tally.hit(size, hits as f64 * stands_for);
        }
    }

    fn fit(&mut self) {
        for (miniature, eighths) in self.miniatures.iter_mut().zip(EIGHTHS) {
            miniature.resize(bytes_of(self.pool_bytes, eighths) >> self.level);
        }
    }

    fn largest(&self) -> usize {
        self.miniatures
            .iter()
            .map(Miniature::len)
            .max()
            .unwrap_or_default()
    }

    fn is_rough(&self, miniature: &Miniature) -> bool {
        let knows_order = self.kind.goes_leaf_first() && miniature.len() >= LEAST_BLOCKS;
        self.level > 0 && miniature.has_evicted() && !knows_order
    }
}

fn bytes_of(pool_bytes: u64, eighths: u64) -> u64 {
    pool_bytes.saturating_mul(eighths) / 8
}
