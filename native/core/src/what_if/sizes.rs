//! Uses by the size of the pool that would have hit them.

/// Sizes of one class differ by less than a sixteenth,
const CLASSES_PER_DOUBLING: f64 = 16.0;
/// and there are classes up to 2^64 bytes.
const CLASSES: usize = 64 * 16 + 1;

#[derive(Debug)]
pub(super) struct Sizes {
    /// By class of the least pool that hits: blocks.
    hits: Vec<f64>,
    /// Blocks that the sample stands for, first uses among them.
    sampled: f64,
    /// Blocks that there were.
    seen: f64,
    /// Of these since the last fading.
    fresh: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            hits: vec![0.0; CLASSES],
            sampled: 0.0,
            seen: 0.0,
            fresh: 0,
        }
    }
}

impl Sizes {
    pub(super) fn seen(&self) -> f64 {
        self.seen
    }

    /// So many blocks were asked for.
    pub(super) fn pass(&mut self, blocks: u64) {
        self.seen += blocks as f64;
        self.fresh += blocks;
    }

    /// A sampled block, which stands for so many, is hit by pools from this size on; None for a first use.
    pub(super) fn add(&mut self, size: Option<f64>, blocks: f64) {
        self.sampled += blocks;
        if let Some(hits) = size.and_then(|size| self.hits.get_mut(class(size))) {
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

    /// For each of these sizes, the part of the blocks that it hits.
    pub(super) fn hit_parts(&self, sizes: &[u64]) -> Vec<f64> {
        if self.seen <= 0.0 {
            return Vec::new();
        }
        // What the sample has too little or too much of is what is used most, which pools of all sizes hit.
        let missed = self.seen - self.sampled;
        let part = |size: &u64| {
            let hits: f64 = self.hits.iter().take(class(*size as f64) + 1).sum();
            ((hits + missed) / self.seen).clamp(0.0, 1.0)
        };
        sizes.iter().map(part).collect()
    }
}

fn class(size: f64) -> usize {
    // Sizes from 1 on have logarithms from 0 on.
    (size.max(1.0).log2() * CLASSES_PER_DOUBLING) as usize
}
