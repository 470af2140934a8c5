//! The prefixes that are asked for most, in bounded memory.
//!
//! After Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams" (ICDT 2005):
//! a new prefix takes the place of one that was seen least, and its count, by which it may be overrated.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;

use super::label;

/// Prefixes that are counted,
const KEPT: usize = 256;
/// and that are shown.
const SHOWN: usize = 20;
/// Prefixes of 1, 4, 16 ... blocks are looked at.
const DEPTH_STEP: usize = 4;
/// After so many what was counted counts half.
const FADE: u64 = 1 << 20;
/// Bytes of a hash that name it.
const NAME_BYTES: usize = 16;

/// Clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct HotPrefixes(Arc<Mutex<Table>>);

/// The first blocks of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Prefix {
    namespace: [u8; 32],
    /// The beginning of its last block's hash, which stands for all before it.
    hash: [u8; NAME_BYTES],
    blocks: u32,
}

#[derive(Debug, Default)]
struct Table {
    places: HashMap<Prefix, usize>,
    entries: Vec<Entry>,
    /// No entry has a lower count,
    least: u64,
    /// and none before the hand has this one.
    hand: usize,
    fresh: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    prefix: Prefix,
    lookups: u64,
    overrated: u64,
    found: u64,
}

/// A prefix that is asked for often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct HotPrefix {
    pub(crate) namespace: String,
    pub(crate) block_hash: String,
    pub(crate) blocks: u32,
    pub(crate) lookups: u64,
    pub(crate) overrated_lookups: u64,
    pub(crate) found_lookups: u64,
}

impl HotPrefixes {
    /// A lookup asked for the blocks of these hashes and found the first of them.
    pub(crate) fn see<'a>(
        &self,
        namespace: &[u8; 32],
        hashes: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
        found: u64,
    ) {
        let mut table = self.0.lock();
        let mut blocks = 1;
        while let Some(last) = hashes.clone().nth(blocks - 1) {
            let mut hash = [0; NAME_BYTES];
            hash.iter_mut().zip(last).for_each(|(to, from)| *to = *from);
            let prefix = Prefix {
                namespace: *namespace,
                hash,
                blocks: blocks as u32,
            };
            table.count(prefix, blocks as u64 <= found);
            blocks *= DEPTH_STEP;
        }
    }

    /// The hottest first: those that were asked for most, and among equals the longest.
    pub(crate) fn hottest(&self) -> Vec<HotPrefix> {
        let mut entries = self.0.lock().entries.clone();
        entries
            .sort_by_key(|entry| std::cmp::Reverse((entry.lookups - entry.overrated, entry.prefix.blocks)));
        entries.truncate(SHOWN);
        entries.into_iter().map(HotPrefix::of).collect()
    }
}

impl HotPrefix {
    fn of(entry: Entry) -> Self {
        let hash = entry.prefix.hash.iter();
        Self {
            namespace: label(&entry.prefix.namespace),
            block_hash: hash.map(|byte| format!("{byte:02x}")).collect(),
            blocks: entry.prefix.blocks,
            lookups: entry.lookups,
            overrated_lookups: entry.overrated,
            found_lookups: entry.found,
        }
    }
}

impl Table {
    fn count(&mut self, prefix: Prefix, is_found: bool) {
        let place = self.places.get(&prefix).copied();
        let place = place.unwrap_or_else(|| self.admit(prefix));
        if let Some(entry) = self.entries.get_mut(place) {
            entry.lookups += 1;
            entry.found += u64::from(is_found);
        }
        self.fresh += 1;
        if self.fresh == FADE {
            self.fade();
        }
    }

    fn admit(&mut self, prefix: Prefix) -> usize {
        let is_full = self.entries.len() == KEPT;
        let (place, count) = if is_full {
            self.take_least()
        } else {
            (self.entries.len(), 0)
        };
        let entry = Entry {
            prefix,
            lookups: count,
            overrated: count,
            found: 0,
        };
        match self.entries.get_mut(place) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
        self.places.insert(prefix, place);
        place
    }

    /// Frees the place of an entry that was counted least; its place and its count.
    fn take_least(&mut self) -> (usize, u64) {
        loop {
            let rest = self.entries.iter().enumerate().skip(self.hand);
            let mut least = rest.filter(|(_, entry)| entry.lookups == self.least);
            if let Some((place, entry)) = least.next() {
                let prefix = entry.prefix;
                self.hand = place + 1;
                self.places.remove(&prefix);
                return (place, self.least);
            }
            self.find_least();
        }
    }

    fn find_least(&mut self) {
        let counts = self.entries.iter().map(|entry| entry.lookups);
        (self.least, self.hand) = (counts.min().unwrap_or(0), 0);
    }

    fn fade(&mut self) {
        for entry in &mut self.entries {
            entry.lookups /= 2;
            entry.overrated /= 2;
            entry.found /= 2;
        }
        self.fresh = 0;
        self.find_least();
    }
}
