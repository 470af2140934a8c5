//! How often fingerprints were seen lately, about: counters of four bits that many fingerprints share.

/// Each fingerprint has a counter in each row; the least of them counts.
const ROWS: usize = 3;
const COUNTERS_PER_WORD: usize = 16;
const COUNTER_BITS: usize = 4;
const MOST: u64 = 15;
const LOWER_BITS: u64 = 0x7777_7777_7777_7777;
/// Most fingerprints that come are of blocks that are never kept: so many counters of a row for each kept one tell them apart.
const COUNTERS_PER_BLOCK: usize = 7;
const GROWTH_DIVISOR: usize = 4;
/// All counts are halved after so many uses for each block.
const USES_PER_BLOCK: usize = 10;
const LEAST_WORDS: usize = 64;
const SEEDS: [u32; ROWS] = [0x9e37_79b1, 0x85eb_ca6b, 0xc2b2_ae35];

#[derive(Debug, Default)]
pub(super) struct Sketch {
    rows: [Vec<u64>; ROWS],
    blocks: usize,
    uses: usize,
}

impl Sketch {
    /// Has room for the counts of what comes while so many blocks are kept. What was counted with less room is forgotten: before there
    /// is as much as there will be, nothing has to go.
    pub(super) fn reserve(&mut self, blocks: usize) {
        self.blocks = self.blocks.max(blocks);
        let words = (blocks * COUNTERS_PER_BLOCK)
            .div_ceil(COUNTERS_PER_WORD)
            .max(LEAST_WORDS);
        for row in &mut self.rows {
            if row.len() < words {
                *row = vec![0; words + words / GROWTH_DIVISOR];
            }
        }
    }

    /// The fingerprint was seen.
    pub(super) fn add(&mut self, fingerprint: u32) {
        let least = self.count(fingerprint);
        for (row, seed) in self.rows.iter_mut().zip(SEEDS) {
            let (at, shift) = place(row.len(), fingerprint, seed);
            // Larger counters are so because of others.
            if let Some(word) = row.get_mut(at)
                && least < MOST
                && *word >> shift & MOST == least
            {
                *word += 1 << shift;
            }
        }
        self.uses += 1;
        if self.uses >= self.blocks.max(LEAST_WORDS) * USES_PER_BLOCK {
            self.uses /= 2;
            for word in self.rows.iter_mut().flatten() {
                *word = *word >> 1 & LOWER_BITS;
            }
        }
    }

    /// How often it was seen, or more often.
    pub(super) fn count(&self, fingerprint: u32) -> u64 {
        let counts = self.rows.iter().zip(SEEDS).map(|(row, seed)| {
            let (at, shift) = place(row.len(), fingerprint, seed);
            row.get(at).map_or(0, |word| word >> shift & MOST)
        });
        counts.min().unwrap_or(0)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.rows.iter().map(Vec::capacity).sum::<usize>() * size_of::<u64>()
    }
}

/// The word and the bits of a fingerprint's counter in a row.
fn place(words: usize, fingerprint: u32, seed: u32) -> (usize, usize) {
    let mixed = (fingerprint ^ fingerprint >> 15).wrapping_mul(seed);
    let at = (u64::from(mixed) * words as u64) >> u32::BITS;
    (at as usize, mixed as usize % COUNTERS_PER_WORD * COUNTER_BITS)
}
