//! Blocks that were asked for and not found: an engine computes them now, and may save them.

use std::collections::VecDeque;

use hashbrown::HashTable;

use crate::eviction::Token;
use crate::index::BlockId;

/// The block before an expected one in its chain, when it was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) token: Token,
    /// What the token has to name still.
    pub(super) block: BlockId,
}

/// What is known of an expected block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    fingerprint: u32,
    pub(super) parent: Option<Parent>,
    /// The fingerprint of the block that comes after it.
    pub(super) next: Option<u32>,
}

/// The expected blocks, the first asked for forgotten first.
#[derive(Debug, Default)]
pub(super) struct Expected {
    places: HashTable<Place>,
    order: VecDeque<u32>,
}

impl Expected {
    /// A block is expected, among at most `most`.
    pub(super) fn insert(
        &mut self,
        fingerprint: u32,
        parent: Option<Parent>,
        next: Option<u32>,
        most: usize,
    ) {
        let place = Place {
            fingerprint,
            parent,
            next,
        };
        let is_same = |known: &Place| known.fingerprint == fingerprint;
        match self.places.find_mut(hash(fingerprint), is_same) {
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
    pub(super) fn set_parent(&mut self, fingerprint: u32, parent: Parent) {
        let is_same = |known: &Place| known.fingerprint == fingerprint;
        if let Some(known) = self.places.find_mut(hash(fingerprint), is_same) {
            known.parent = Some(parent);
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.places.allocation_size() + self.order.capacity() * size_of::<u32>()
    }
}

/// Fingerprints are hashes, in the lower half of what a table wants.
fn hash(fingerprint: u32) -> u64 {
    u64::from(fingerprint).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
