//! Claims, pins and evictions against a model of each block.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use proptest::prelude::*;

use super::{fill, key};
use crate::eviction::Token;
use crate::index::{BlockId, Claim, Index, Stage};
use crate::pool::Slot;

const KEYS: u32 = 6;
const SHARDS: u16 = 3;

#[derive(Debug, Clone, Copy)]
enum Step {
    Claim(u32, u16),
    Fill(u32, u16),
    Abandon(u32, u16),
    Pin(u32),
    Unpin(u32),
    Evict(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let shard = || (0..KEYS, 0..SHARDS);
    let step = prop_oneof![
        4 => shard().prop_map(|(key, shard)| Step::Claim(key, shard)),
        4 => shard().prop_map(|(key, shard)| Step::Fill(key, shard)),
        1 => shard().prop_map(|(key, shard)| Step::Abandon(key, shard)),
        3 => (0..KEYS).prop_map(Step::Pin),
        2 => (0..KEYS).prop_map(Step::Unpin),
        2 => (0..KEYS).prop_map(Step::Evict),
    ];
    prop::collection::vec(step, 1..300)
}

/// A block of the model: its shards by number, whether filled and where.
#[derive(Default)]
struct Model {
    id: Option<BlockId>,
    claimed: BTreeSet<u16>,
    filled: BTreeMap<u16, Slot>,
    pins: u32,
}

impl Model {
    fn is_visible(&self) -> bool {
        self.filled.len() == usize::from(SHARDS)
    }

    fn is_evictable(&self) -> bool {
        !self.filled.is_empty() && self.claimed.is_empty() && self.pins == 0
    }
}

proptest! {
    #[test]
    fn the_index_agrees_with_a_model(steps in steps()) {
        let index = Index::new();
        let mut model: Vec<Model> = (0..KEYS).map(|_| Model::default()).collect();
        let mut next_slot = 0;
        for step in steps {
            match step {
                Step::Claim(number, shard) => {
                    let block = &mut model[number as usize];
                    match index.claim(key(number), SHARDS, shard) {
                        Claim::Granted(id) => {
                            prop_assert!(!block.filled.contains_key(&shard));
                            prop_assert!(block.id.is_none_or(|known| known == id));
                            prop_assert!(block.claimed.insert(shard));
                            block.id = Some(id);
                        }
                        Claim::Present => prop_assert!(block.filled.contains_key(&shard)),
                        Claim::InFlight => prop_assert!(block.claimed.contains(&shard)),
                    }
                }
                Step::Fill(number, shard) => {
                    let block = &mut model[number as usize];
                    if block.claimed.remove(&shard) {
                        next_slot += 1;
                        block.filled.insert(shard, Slot(next_slot));
                        let id = block.id.unwrap();
                        let slots = fill(&index, id, shard, Slot(next_slot), Token(number), Instant::now());
                        prop_assert_eq!(slots.is_some(), block.is_visible());
                        if let Some(slots) = slots {
                            prop_assert_eq!(slots, block.filled.values().copied().collect::<Vec<_>>());
                        }
                    }
                }
                Step::Abandon(number, shard) => {
                    let block = &mut model[number as usize];
                    if block.claimed.remove(&shard) {
                        index.abandon(block.id.unwrap(), shard);
                        if block.claimed.is_empty() && block.filled.is_empty() {
                            *block = Model::default();
                        }
                    }
                }
                Step::Pin(number) => {
                    let block = &mut model[number as usize];
                    let pinned = index.pin(&key(number));
                    prop_assert_eq!(pinned.is_some(), block.is_visible());
                    if let Some(pinned) = pinned {
                        prop_assert_eq!(Some(pinned.block), block.id);
                        prop_assert_eq!((pinned.token, pinned.is_first), (Token(number), block.pins == 0));
                        block.pins += 1;
                        for (shard, slot) in &block.filled {
                            prop_assert_eq!(index.slot(pinned.block, *shard), Some(*slot));
                        }
                    }
                }
                Step::Unpin(number) => {
                    let block = &mut model[number as usize];
                    if block.pins > 0 {
                        block.pins -= 1;
                        prop_assert_eq!(index.unpin(block.id.unwrap()).is_last, block.pins == 0);
                    }
                }
                Step::Evict(number) => {
                    let block = &mut model[number as usize];
                    let may_go = block.is_evictable();
                    prop_assert_eq!(index.evictable(&key(number)).is_some(), may_go);
                    if let Some(id) = block.id {
                        let left = RefCell::new(Vec::new());
                        let removed = index.evict(id, |slot| left.borrow_mut().push(slot));
                        prop_assert_eq!(removed.is_some(), may_go);
                        if let Some(removed) = removed {
                            prop_assert_eq!((removed.key, removed.token), (key(number), Token(number)));
                            prop_assert_eq!(removed.stage == Stage::Visible, block.is_visible());
                            prop_assert_eq!(&removed.slots, &block.filled.values().copied().collect::<Vec<_>>());
                            prop_assert_eq!(removed.slots, left.into_inner());
                            *block = Model::default();
                        }
                    }
                }
            }
            prop_assert_eq!(index.blocks(), model.iter().filter(|block| block.id.is_some()).count());
            let is_partial = |block: &&Model| !block.filled.is_empty() && !block.is_visible();
            prop_assert_eq!(index.partial_blocks(), model.iter().filter(is_partial).count());
        }
    }
}
