//! A memory of blocks that are not kept: of each its class, and when it was used last.

use std::hint::black_box;

use super::class::Class;

const WAYS: usize = 8;
const GROWTH_DIVISOR: usize = 8;
const CLASS_SHIFT: u32 = 25;
const MOMENT_MASK: u32 = (1 << CLASS_SHIFT) - 1;
const FINGERPRINT_SHIFT: u32 = 32;

/// What is remembered of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) class: Class,
    /// When it was used last, in moments.
    pub(super) used: u32,
}

/// A fingerprint and its memory in one word; 0 is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Entry(u64);

impl Entry {
    const NONE: Self = Self(0);

    fn new(fingerprint: u32, memory: Memory) -> Self {
        let what = u32::from(memory.class.bits()) << CLASS_SHIFT | memory.used & MOMENT_MASK;
        Self(u64::from(fingerprint) << FINGERPRINT_SHIFT | u64::from(what))
    }

    fn fingerprint(self) -> u32 {
        (self.0 >> FINGERPRINT_SHIFT) as u32
    }

    /// Its last use was at most 2^25 moments (25 days) ago.
    fn memory(self, now: u32) -> Memory {
        let what = self.0 as u32;
        Memory {
            class: Class::from_bits((what >> CLASS_SHIFT) as u8),
            used: now.wrapping_sub(now.wrapping_sub(what) & MOMENT_MASK),
        }
    }
}

/// Entries from the youngest to the oldest; what is pushed out is forgotten. All are in one line of a processor's cache: most
/// looks at a bucket wait for memory, and so only once.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
struct Bucket([Entry; WAYS]);

/// The memory: buckets, each for a range of fingerprints.
#[derive(Debug, Default)]
pub(super) struct Ghosts {
    buckets: Vec<Bucket>,
}

impl Ghosts {
    /// Has room for at least so many entries, and not for many more; what was forgotten for that goes to `forget`.
    pub(super) fn reserve(&mut self, entries: usize, now: u32, mut forget: impl FnMut(Memory)) {
        let needed = entries.div_ceil(WAYS);
        if needed <= self.buckets.len() {
            return;
        }
        let count = needed + self.buckets.len() / GROWTH_DIVISOR;
        let old = std::mem::replace(&mut self.buckets, vec![Bucket::default(); count]);
        for bucket in old {
            for entry in bucket.0.into_iter().rev().filter(|entry| *entry != Entry::NONE) {
                if let Some(memory) = self.insert(entry.fingerprint(), entry.memory(now), now) {
                    forget(memory);
                }
            }
        }
    }

    /// Remembers a block that is not remembered; what had to be forgotten for it.
    pub(super) fn insert(&mut self, fingerprint: u32, memory: Memory, now: u32) -> Option<Memory> {
        let fingerprint = fingerprint.max(1);
        let Some(bucket) = self.bucket(fingerprint) else {
            return Some(memory);
        };
        bucket.rotate_right(1);
        let [first, ..] = bucket;
        let forgotten = std::mem::replace(first, Entry::new(fingerprint, memory));
        (forgotten != Entry::NONE).then(|| forgotten.memory(now))
    }

    /// What is remembered of these blocks, which are forgotten with that.
    pub(super) fn take_all(&mut self, fingerprints: &[u32], now: u32) -> Vec<Option<Memory>> {
        // No look at a first entry depends on another: all wait for memory together, and `take` hardly at all then.
        let bucket = |fingerprint: &u32| self.buckets.get(self.index(*fingerprint));
        let firsts = fingerprints.iter().filter_map(bucket).map(|bucket| bucket.0[0].0);
        black_box(firsts.fold(0, |all, first| all ^ first));
        fingerprints
            .iter()
            .map(|fingerprint| self.take(*fingerprint, now))
            .collect()
    }

    /// What is remembered of a block, which is forgotten with that.
    pub(super) fn take(&mut self, fingerprint: u32, now: u32) -> Option<Memory> {
        let fingerprint = fingerprint.max(1);
        let bucket = self.bucket(fingerprint)?;
        let at = bucket
            .iter()
            .position(|entry| *entry != Entry::NONE && entry.fingerprint() == fingerprint)?;
        let found = *bucket.get(at)?;
        bucket.copy_within(at + 1.., at);
        *bucket.last_mut()? = Entry::NONE;
        Some(found.memory(now))
    }

    /// Remembers only these fingerprints; what was forgotten goes to `forget`.
    pub(super) fn retain(&mut self, now: u32, keeps: impl Fn(u32) -> bool, mut forget: impl FnMut(Memory)) {
        for bucket in &mut self.buckets {
            let mut kept = [Entry::NONE; WAYS];
            let mut places = kept.iter_mut();
            for entry in bucket.0.iter().filter(|entry| **entry != Entry::NONE) {
                if !keeps(entry.fingerprint()) {
                    forget(entry.memory(now));
                } else if let Some(place) = places.next() {
                    *place = *entry;
                }
            }
            bucket.0 = kept;
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
    }

    fn index(&self, fingerprint: u32) -> usize {
        ((u64::from(fingerprint) * self.buckets.len() as u64) >> u32::BITS) as usize
    }

    fn bucket(&mut self, fingerprint: u32) -> Option<&mut [Entry; WAYS]> {
        let index = self.index(fingerprint);
        self.buckets.get_mut(index).map(|bucket| &mut bucket.0)
    }
}
