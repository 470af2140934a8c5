//! How much of what was used last stays, whatever the classes say.
//!
//! LRU would have found a block if fewer blocks were used since than are kept. Both is known of each block that is kept or
//! remembered, so LRU's hits are counted without a second cache. While it hits more, more of what was used last stays.

/// The part that stays is so many of these of the kept blocks.
const PARTS: usize = 16;
/// Before anything is known, half of them.
const FIRST_PART: usize = 8;
/// LRU is better when so many percent of its hits are missing: less may be chance, or that its hits are not known exactly.
const MISSING_PERCENT: usize = 5;
/// So much more stays then; else half as much.
const PARTS_OF_LRU: usize = 4;
/// Blocks that are asked for between two decisions, or one for so many kept ones. What was hit before counts half.
const LEAST_WINDOW: usize = 1024;
const BLOCKS_PER_ASKED: usize = 2;

/// The part, and what was hit since it was set.
#[derive(Debug)]
pub(super) struct Recency {
    part: usize,
    asked: usize,
    own_hits: usize,
    lru_hits: usize,
}

impl Default for Recency {
    fn default() -> Self {
        Self {
            part: FIRST_PART,
            asked: 0,
            own_hits: 0,
            lru_hits: 0,
        }
    }
}

impl Recency {
    /// How many of the kept blocks stay.
    pub(super) fn blocks(&self, kept: usize) -> usize {
        kept * self.part / PARTS
    }

    /// So many blocks were asked for; the cache had the first of them, and so had LRU.
    pub(super) fn count(&mut self, asked: usize, own_hits: usize, lru_hits: usize, kept: usize) {
        self.asked += asked;
        self.own_hits += own_hits;
        self.lru_hits += lru_hits;
        if self.asked < LEAST_WINDOW.max(kept / BLOCKS_PER_ASKED) {
            return;
        }
        if self.own_hits * 100 < self.lru_hits * (100 - MISSING_PERCENT) {
            self.part = (self.part + PARTS_OF_LRU).min(PARTS);
        } else {
            self.part /= 2;
        }
        self.asked = 0;
        self.own_hits /= 2;
        self.lru_hits /= 2;
    }
}

/// A cache of as many blocks under LRU: it has what was used since an edge, which goes on with each block that comes to it.
#[derive(Debug)]
pub(super) struct Lru {
    edge: u32,
    next_edge: u32,
    /// Blocks until the edge is the next one, and how many of them came.
    ahead: usize,
    came: usize,
}

impl Lru {
    /// The next edge is where it will be when one for so many kept blocks has come.
    pub(super) const AHEAD_DIVISOR: usize = 8;

    pub(super) fn new(edge: u32, next_edge: u32, ahead: usize) -> Self {
        Self {
            edge,
            next_edge,
            ahead,
            came: 0,
        }
    }

    /// How many it has of the first blocks of a request, of which this is when they were used before.
    pub(super) fn hits(&mut self, used: impl Iterator<Item = Option<u32>>, now: u32) -> usize {
        let way = u64::from(self.next_edge.wrapping_sub(self.edge));
        let done = way * self.came.min(self.ahead) as u64 / self.ahead.max(1) as u64;
        let reach = now.wrapping_sub(self.edge.wrapping_add(done as u32));
        let (mut hits, mut is_prefix) = (0, true);
        for used in used {
            let has = used.is_some_and(|used| now.wrapping_sub(used) < reach);
            is_prefix &= has;
            hits += usize::from(is_prefix);
            self.came += usize::from(!has);
        }
        hits
    }
}
