//! Which pages of a slab are taken.

/// One bit a page.
#[derive(Debug)]
pub(super) struct Bitmap {
    words: Box<[u64]>,
    len: u32,
    taken: u32,
    /// No word before this one has a free bit.
    hint: usize,
}

impl Bitmap {
    pub(super) fn new(len: u32) -> Self {
        Self {
            words: vec![0; len.div_ceil(64) as usize].into(),
            len,
            taken: 0,
            hint: 0,
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn taken(&self) -> u32 {
        self.taken
    }

    pub(super) fn free(&self) -> u32 {
        self.len - self.taken
    }

    /// Takes the lowest free bit.
    pub(super) fn take(&mut self) -> Option<u32> {
        for (at, word) in self.words.iter_mut().enumerate().skip(self.hint) {
            let bit = word.trailing_ones();
            if bit < 64 {
                let index = at as u32 * 64 + bit;
                if index >= self.len {
                    return None;
                }
                *word |= 1 << bit;
                self.hint = at;
                self.taken += 1;
                return Some(index);
            }
        }
        None
    }

    /// Takes this bit; false when it was taken, or does not exist.
    pub(super) fn take_bit(&mut self, index: u32) -> bool {
        let bit = 1 << (index % 64);
        match self.words.get_mut((index / 64) as usize) {
            Some(word) if index < self.len && *word & bit == 0 => {
                *word |= bit;
                self.taken += 1;
                true
            }
            _ => false,
        }
    }

    /// The first bit from `index` on that is taken.
    pub(super) fn next_taken(&self, index: u32) -> Option<u32> {
        let first = (index / 64) as usize;
        let mut words = self.words.iter().enumerate().skip(first);
        words.find_map(|(at, word)| {
            let before = if at == first {
                (1_u64 << (index % 64)) - 1
            } else {
                0
            };
            let rest = word & !before;
            (rest != 0).then(|| at as u32 * 64 + rest.trailing_zeros())
        })
    }

    /// Frees a bit; false when it was not taken.
    pub(super) fn free_bit(&mut self, index: u32) -> bool {
        let at = (index / 64) as usize;
        let bit = 1 << (index % 64);
        match self.words.get_mut(at) {
            Some(word) if *word & bit != 0 => {
                *word &= !bit;
                self.hint = self.hint.min(at);
                self.taken -= 1;
                true
            }
            _ => false,
        }
    }

    /// The bits that are taken, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.len).filter(|index| {
            self.words
                .get((index / 64) as usize)
                .is_some_and(|word| word & 1 << (index % 64) != 0)
        })
    }
}
