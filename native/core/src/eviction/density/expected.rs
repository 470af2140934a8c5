//! Blocks that were asked for and not found: an engine computes them now, and may save them.

use std::collections::VecDeque;

use hashbrown::HashTable;

use crate::eviction::Kept;

/// The block that comes after an expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// By its fingerprint: expected, too.
    Expected(u32),
    /// It came first.
    Kept(Kept),
}

/// What is known of an expected block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    fingerprint: u32,
    /// The block before it in its chain, when that was kept.
    pub(super) parent: Option<Kept>,
    pub(super) next: Option<Next>,
}

/// The expected blocks, the first asked for forgotten first.
#[derive(Debug, Default)]
pub(super) struct Expected {
    places: HashTable<Place>,
    order: VecDeque<u32>,
}

impl Expected {
    /// A block is expected, among at most `most`.
    pub(super) fn insert(&mut self, fingerprint: u32, parent: Option<Kept>, next: Option<Next>, most: usize) {
        let place = Place {
            fingerprint,
            parent,
            next,
        };
        match self.find_mut(fingerprint) {
            Some(known) => *known = place,
            None => {
                self.places
                    .insert_unique(hash(fingerprint), place, |known| hash(known.fingerprint));
                self.order.push_back(fingerprint);
            }
        }
        while self.order.len() > most {
            if let Some(oldest) = self.order.pop_front() {
                self.take(oldest);
            }
        }
    }

    /// An expected block has come.
    pub(super) fn take(&mut self, fingerprint: u32) -> Option<Place> {
        let is_same = |known: &Place| known.fingerprint == fingerprint;
        let entry = self.places.find_entry(hash(fingerprint), is_same).ok()?;
        Some(entry.remove().0)
    }

    /// The block before this one has come.
    pub(super) fn set_parent(&mut self, fingerprint: u32, parent: Kept) {
        if let Some(known) = self.find_mut(fingerprint) {
            known.parent = Some(parent);
        }
    }

    /// The block after this one has come first: this one is expected in any case, among at most `most`.
    pub(super) fn set_next(&mut self, fingerprint: u32, next: Kept, most: usize) {
        let next = Some(Next::Kept(next));
        match self.find_mut(fingerprint) {
            Some(known) => known.next = next,
            None => self.insert(fingerprint, None, next, most),
        }
    }

    fn find_mut(&mut self, fingerprint: u32) -> Option<&mut Place> {
        self.places
            .find_mut(hash(fingerprint), |known| known.fingerprint == fingerprint)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.places.allocation_size() + self.order.capacity() * size_of::<u32>()
    }
}

/// Fingerprints are hashes, in the lower half of what a table wants.
fn hash(fingerprint: u32) -> u64 {
    u64::from(fingerprint).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
