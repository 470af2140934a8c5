//! What was asked for, and how much of it each miniature had.

use super::SIZES;

/// Old blocks count less.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By size: blocks that the hits of its miniature stand for.
    hits: [f64; SIZES],
    /// Blocks that the sample stands for.
    sampled: f64,
    /// Blocks that there were.
    seen: f64,
    /// Of these since the last fading.
    fresh: u64,
}

impl Tally {
    pub(super) fn seen(&self) -> f64 {
        self.seen
    }

    /// So many blocks were asked for.
    pub(super) fn pass(&mut self, blocks: u64) {
        self.seen += blocks as f64;
        self.fresh += blocks;
    }

    /// The sample has this one of them, and stands for `blocks`.
    pub(super) fn sample(&mut self, blocks: f64) {
        self.sampled += blocks;
    }

    /// The miniature of this size had so many.
    pub(super) fn hit(&mut self, size: usize, blocks: f64) {
        if let Some(hits) = self.hits.get_mut(size) {
            *hits += blocks;
        }
    }

    /// Lets everything count half when so many blocks have come.
    pub(super) fn fade(&mut self, blocks: u64) {
        if self.fresh >= blocks {
            self.fresh = 0;
            self.sampled /= 2.0;
            self.seen /= 2.0;
            self.hits.iter_mut().for_each(|hits| *hits /= 2.0);
        }
    }

    /// The part of the blocks that each size hits; None before any was asked for.
    pub(super) fn hit_parts(&self) -> Option<[f64; SIZES]> {
        // What the sample has too little or too much of is what is used most, which pools of all sizes hit.
        let missed = self.seen - self.sampled;
        let part = |hits: f64| ((hits + missed) / self.seen).clamp(0.0, 1.0);
        (self.seen > 0.0).then(|| self.hits.map(part))
    }
}
