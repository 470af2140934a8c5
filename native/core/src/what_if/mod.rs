//! What a pool of another size would hit, known while the daemon serves, from a sample of the blocks that are asked for.
//!
//! After Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC Construction with SHARDS" (FAST 2015): blocks whose fingerprint
//! is below a threshold are sampled, the threshold falls so that their number is bounded, and how much was used between
//! two uses of a block, divided by the sampled share, is the size from which on a pool under lru has it. Blocks of a prompt
//! are used together, its first one last, so a block that lru keeps has all before it.

mod distances;
mod sizes;
#[cfg(test)]
mod tests;

use crate::sync::{AtomicU64, Mutex, Ordering};
use distances::Distances;
use sizes::Sizes;

/// Most blocks that are sampled at a time.
const SAMPLES: usize = 8 << 10;
/// Fingerprints have 32 bits.
const ALL: u64 = 1 << 32;
/// After so many blocks what was seen counts half.
const FADE_BLOCKS: u64 = 1 << 24;

/// Watches lookups.
#[derive(Debug)]
pub(crate) struct WhatIf {
    /// Fingerprints below it are sampled.
    threshold: AtomicU64,
    /// Blocks that were looked at and not sampled, not yet counted in the sample.
    passed: AtomicU64,
    sample: Mutex<Sample>,
}

#[derive(Debug)]
struct Sample {
    distances: Distances,
    sizes: Sizes,
}

/// What pools of other sizes would have hit under lru.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Blocks that were asked for; old ones count less.
    pub seen_blocks: u64,
    /// Blocks that are sampled now.
    pub sampled_blocks: u64,
    /// For each size that was asked for in bytes, the part of the blocks that it would have hit; none before anything was asked.
    pub hit_parts: Vec<f64>,
}

impl Default for WhatIf {
    fn default() -> Self {
        Self::with_samples(SAMPLES)
    }
}

impl WhatIf {
    fn with_samples(samples: usize) -> Self {
        Self {
            threshold: AtomicU64::new(ALL),
            passed: AtomicU64::new(0),
            sample: Mutex::new(Sample {
                distances: Distances::new(samples),
                sizes: Sizes::default(),
            }),
        }
    }

    /// The blocks of a prompt, each of so many bytes, were asked for.
    pub(crate) fn see(&self, fingerprints: &[u32], block_bytes: u64) {
        let threshold = self.threshold.load(Ordering::Relaxed);
        let is_sampled = |fingerprint: &&u32| u64::from(**fingerprint) < threshold;
        let count = fingerprints.len() as u64;
        if !fingerprints.iter().any(|fingerprint| is_sampled(&fingerprint)) {
            self.passed.fetch_add(count, Ordering::Relaxed);
            return;
        }
        let mut sample = self.sample.lock();
        let Sample { distances, sizes } = &mut *sample;
        sizes.pass(self.passed.swap(0, Ordering::Relaxed) + count);
        let sampled = || fingerprints.iter().filter(is_sampled).copied();
        let scale = ALL as f64 / threshold as f64;
        for fingerprint in sampled() {
            let distance = distances.of(fingerprint);
            sizes.add(distance.map(|bytes| bytes as f64 * scale), scale);
        }
        for fingerprint in sampled().rev() {
            distances.touch(fingerprint, block_bytes);
        }
        if let Some(most) = distances.shrink() {
            self.threshold.store(u64::from(most), Ordering::Relaxed);
        }
        sizes.fade(FADE_BLOCKS);
    }

    /// What pools of these sizes would have hit.
    pub(crate) fn curve(&self, pool_bytes: &[u64]) -> Curve {
        let mut sample = self.sample.lock();
        sample.sizes.pass(self.passed.swap(0, Ordering::Relaxed));
        Curve {
            seen_blocks: sample.sizes.seen() as u64,
            sampled_blocks: sample.distances.len() as u64,
            hit_parts: sample.sizes.hit_parts(pool_bytes),
        }
    }
}
