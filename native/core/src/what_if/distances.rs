//! How many bytes were used since a sampled block was used last.

use std::collections::BTreeMap;

/// Places of uses for each sampled block, so that they are seldom numbered anew.
const PLACES_PER_SAMPLE: usize = 4;

#[derive(Debug)]
pub(super) struct Distances {
    samples: usize,
    /// By fingerprint: where its last use is.
    last: BTreeMap<u32, Use>,
    /// Bytes of last uses, in the order of the uses.
    bytes: Sums,
    next: usize,
}

#[derive(Debug, Clone, Copy)]
struct Use {
    place: usize,
    bytes: u64,
}

impl Distances {
    pub(super) fn new(samples: usize) -> Self {
        Self {
            samples,
            last: BTreeMap::new(),
            bytes: Sums::new(samples * PLACES_PER_SAMPLE),
            next: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.last.len()
    }

    /// Bytes of the sampled blocks that were used after this one was, itself included; None for a new one.
    pub(super) fn of(&self, fingerprint: u32) -> Option<u64> {
        let last = self.last.get(&fingerprint)?;
        Some(self.bytes.from(last.place))
    }

    /// The block is used now.
    pub(super) fn touch(&mut self, fingerprint: u32, bytes: u64) {
        if self.next == self.bytes.len() {
            self.number_anew();
        }
        if self.next == self.bytes.len() {
            // One prompt has more blocks than there are places: its first ones stay where they were.
            return;
        }
        let place = self.next;
        self.next += 1;
        if let Some(old) = self.last.insert(fingerprint, Use { place, bytes }) {
            self.bytes.subtract(old.place, old.bytes);
        }
        self.bytes.add(place, bytes);
    }

    /// Lets blocks with the largest fingerprints go until there are not too many; below what fingerprints are now.
    pub(super) fn shrink(&mut self) -> Option<u32> {
        let mut least = None;
        while self.last.len() > self.samples {
            let (fingerprint, last) = self.last.pop_last()?;
            self.bytes.subtract(last.place, last.bytes);
            least = Some(fingerprint);
        }
        least
    }

    fn number_anew(&mut self) {
        let mut uses: Vec<_> = self.last.values_mut().collect();
        uses.sort_unstable_by_key(|last| last.place);
        self.bytes = Sums::new(self.bytes.len());
        self.next = uses.len();
        for (place, last) in uses.into_iter().enumerate() {
            last.place = place;
            self.bytes.add(place, last.bytes);
        }
    }
}

/// Numbers by place, of which those from a place on are summed up in logarithmic time: a Fenwick tree.
#[derive(Debug)]
struct Sums {
    nodes: Vec<u64>,
    total: u64,
}

impl Sums {
    fn new(places: usize) -> Self {
        Self {
            nodes: vec![0; places],
            total: 0,
        }
    }

    fn len(&self) -> usize {
        self.nodes.len()
    }

    fn add(&mut self, place: usize, number: u64) {
        self.total += number;
        self.change(place, |node| node + number);
    }

    fn subtract(&mut self, place: usize, number: u64) {
        self.total -= number;
        self.change(place, |node| node - number);
    }

    fn change(&mut self, place: usize, change: impl Fn(u64) -> u64) {
        let mut at = place + 1;
        while let Some(node) = self.nodes.get_mut(at - 1) {
            *node = change(*node);
            at += at & at.wrapping_neg();
        }
    }

    fn from(&self, place: usize) -> u64 {
        let (mut before, mut at) = (0, place);
        while at > 0 {
            before += self.nodes.get(at - 1).copied().unwrap_or(0);
            at &= at - 1;
        }
        self.total - before
    }
}
