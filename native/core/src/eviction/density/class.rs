//! Classes of blocks that are alike in how often they are used again.

/// Classes, with numbers that nobody has.
pub(super) const CLASSES: usize = 128;
/// Numbers of uses are told apart up to a few, then by what one in so many of such uses adds to.
const ONE_IN: [u32; 15] = [1, 1, 1, 2, 2, 3, 5, 7, 10, 15, 23, 34, 50, 75, u32::MAX];
/// From so many on, the size of what was new beside a block says little of it.
const SEVERAL_USES: u8 = 3;
/// Behind them are blocks that nobody asked for twice, and of which something else is known.
const OTHERS: u8 = ONE_IN.len() as u8;
const LAST_OF_BEGINNING: u8 = 1;
const LAST_OF_GOING_ON: u8 = 2;
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
    pub(super) const UNANNOUNCED: Self = Self(OTHERS << TAIL_BITS);

    /// A block that is used for the first time.
    pub(super) fn first(tail: Tail) -> Self {
        Self(tail.0)
    }

    /// The last block of a prompt, used for the first time: where engines cache what does not fill a block, it has no successors.
    pub(super) fn last(tail: Tail) -> Self {
        let which = if tail.begins() {
            LAST_OF_BEGINNING
        } else {
            LAST_OF_GOING_ON
        };
        Self(OTHERS << TAIL_BITS | which)
    }

    /// A block of this class that is used once more; `coin` decides whether it is one of those that were used more often.
    pub(super) fn again(self, tail: Tail, coin: u32) -> Self {
        let uses = match self.0 >> TAIL_BITS {
            OTHERS => 1,
            uses => {
                let one_in = ONE_IN.get(usize::from(uses)).copied().unwrap_or(u32::MAX);
                uses + u8::from(coin < u32::MAX / one_in)
            }
        };
        let tail = if uses < SEVERAL_USES { tail } else { tail.kind() };
        Self(uses << TAIL_BITS | tail.0)
    }

    /// The kind of request that used it last.
    pub(super) fn tail(self) -> Tail {
        match (self.0 >> TAIL_BITS, self.0 & ((1 << TAIL_BITS) - 1)) {
            (OTHERS, LAST_OF_GOING_ON) => Tail::GOING_ON,
            (OTHERS, _) => Tail::BEGINNING,
            (_, tail) => Tail(tail),
        }
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

impl Tail {
    const BEGINNING: Self = Self(0);
    const GOING_ON: Self = Self(QUARTERS as u8);

    /// What there is of it without the size.
    fn kind(self) -> Self {
        if self.begins() {
            Self::BEGINNING
        } else {
            Self::GOING_ON
        }
    }

    fn begins(self) -> bool {
        self.0 < Self::GOING_ON.0
    }
}

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
