//! Classes of blocks that are alike in how often they are used again.

/// Classes, with numbers that nobody has.
pub(super) const CLASSES: usize = 64;
/// Numbers of uses differ by doublings, from one use on, up to these.
const MOST_USES: u8 = 5;
const UNANNOUNCED: u8 = 6;
const TAIL_BITS: u32 = 3;
/// A request of which less than this part was seen before begins something new.
const KNOWN_DIVISOR: usize = 8;
const QUARTERS: usize = 4;
/// Sizes are told apart by half their doublings.
const SIZES: usize = 40;
/// What was seen of sizes counts half after so many requests.
const REQUESTS_PER_FADE: u32 = 1 << 12;

/// How often the block was used, and what the request looked like that used it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class(u8);

impl Class {
    /// A block that was saved and not asked for before: what an engine has computed beyond the prompt.
    pub(super) const UNANNOUNCED: Self = Self(UNANNOUNCED << TAIL_BITS);

    /// A block that is used for the first time.
    pub(super) fn first(tail: Tail) -> Self {
        Self(tail.0)
    }

    /// A block of this class that is used once more; `coin` decides whether it is one of those that were used about twice as often.
    pub(super) fn again(self, tail: Tail, coin: u32) -> Self {
        let uses = match self.0 >> TAIL_BITS {
            UNANNOUNCED | 0 => 1,
            uses => {
                let wins = coin >> (u32::BITS - u32::from(uses)) == 0;
                (uses + u8::from(wins)).min(MOST_USES)
            }
        };
        Self(uses << TAIL_BITS | tail.0)
    }

    /// The kind of request that used it last.
    pub(super) fn tail(self) -> Tail {
        Tail(self.0 & ((1 << TAIL_BITS) - 1))
    }

    pub(super) fn from_bits(bits: u8) -> Self {
        Self(bits % CLASSES as u8)
    }

    pub(super) fn bits(self) -> u8 {
        self.0
    }

    pub(super) fn number(self) -> usize {
        self.0 as usize
    }
}

/// What a request adds: whether it begins something new or goes on, and in which quarter its new blocks are by number among such requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tail(u8);

/// The sizes of what requests added lately.
#[derive(Debug, Default)]
pub(super) struct Tails {
    beginning: Sizes,
    going_on: Sizes,
}

impl Tails {
    /// The tail of a request of which so many first blocks were seen before.
    pub(super) fn of(&mut self, known: usize, blocks: usize) -> Tail {
        let new = blocks.saturating_sub(known);
        let begins = known * KNOWN_DIVISOR < blocks;
        let (sizes, first) = if begins {
            (&mut self.beginning, 0)
        } else {
            (&mut self.going_on, QUARTERS)
        };
        Tail((first + sizes.quarter(new)) as u8)
    }
}

#[derive(Debug)]
struct Sizes {
    counts: [u32; SIZES],
    requests: u32,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            counts: [0; SIZES],
            requests: 0,
        }
    }
}

impl Sizes {
    /// The quarter of all sizes that this one is in, which counts from now on.
    fn quarter(&mut self, size: usize) -> usize {
        let doublings = (size + 1).ilog2() as usize;
        let half = ((size + 1) >> doublings.saturating_sub(1)) & 1;
        let at = (doublings * 2 + half).min(SIZES - 1);
        let smaller: u32 = self.counts.iter().take(at).sum();
        let Some(count) = self.counts.get_mut(at) else {
            return 0;
        };
        let middle = smaller + *count / 2;
        let quarter = middle as usize * QUARTERS / self.requests.max(1) as usize;
        *count += 1;
        self.requests += 1;
        if self.requests >= REQUESTS_PER_FADE {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.requests = self.counts.iter().sum();
        }
        quarter.min(QUARTERS - 1)
    }
}
