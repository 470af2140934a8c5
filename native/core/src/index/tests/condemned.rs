//! A condemned block is found by nobody, and goes with its last user; its key is free at once.

use std::cell::RefCell;
use std::time::Instant;

use proptest::prelude::*;

use super::{insert, key};
use crate::eviction::Token;
use crate::index::{BlockId, Claim, Index, Stage, Unpinned};
use crate::pool::Slot;

const SHARDS: u16 = 2;

#[derive(Debug, Clone)]
enum Step {
    Save,
    Pin,
    Unpin(prop::sample::Index),
    Inspect,
    EndInspection(prop::sample::Index),
    Condemn,
    Evict,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let which = any::<prop::sample::Index>;
    let step = prop_oneof![
        3 => Just(Step::Save),
        3 => Just(Step::Pin),
        3 => which().prop_map(Step::Unpin),
        2 => Just(Step::Inspect),
        2 => which().prop_map(Step::EndInspection),
        2 => Just(Step::Condemn),
        1 => Just(Step::Evict),
    ];
    prop::collection::vec(step, 1..200)
}

/// A block that was saved under the one key and is not gone.
struct Saved {
    block: BlockId,
    slots: [Slot; SHARDS as usize],
    pins: u32,
    is_inspected: bool,
    is_condemned: bool,
}

impl Saved {
    fn is_used(&self) -> bool {
        self.pins > 0 || self.is_inspected
    }

    fn check(&self, unpinned: &Unpinned) -> Result<bool, TestCaseError> {
        let is_over = self.is_condemned && !self.is_used();
        prop_assert_eq!(unpinned.is_last, self.pins == 0);
        prop_assert_eq!(unpinned.removed.is_some(), is_over);
        if let Some(removed) = &unpinned.removed {
            prop_assert_eq!((removed.stage, removed.key), (Stage::Condemned, key(1)));
            prop_assert_eq!(&removed.slots, &self.slots.to_vec());
        }
        Ok(is_over)
    }
}

proptest! {
    #[test]
    fn the_index_agrees_with_a_model_of_one_key(steps in steps()) {
        let index = Index::new();
        let mut all: Vec<Saved> = Vec::new();
        let mut next_slot = 0;
        for step in steps {
            let visible = all.iter().position(|saved| !saved.is_condemned);
            match step {
                Step::Save if visible.is_none() => {
                    insert(&index, key(1), SHARDS, next_slot);
                    let pinned = index.pin(&key(1)).expect("saved anew");
                    index.unpin(pinned.block);
                    all.push(Saved {
                        block: pinned.block,
                        slots: [Slot(next_slot), Slot(next_slot + 1)],
                        pins: 0,
                        is_inspected: false,
                        is_condemned: false,
                    });
                    next_slot += 2;
                }
                Step::Save => {}
                Step::Pin => {
                    let pinned = index.pin(&key(1));
                    prop_assert_eq!(pinned.map(|pinned| pinned.block), visible.map(|at| all[at].block));
                    if let Some(at) = visible {
                        all[at].pins += 1;
                    }
                }
                Step::Unpin(which) if !all.is_empty() => {
                    let at = which.index(all.len());
                    if all[at].pins > 0 {
                        all[at].pins -= 1;
                        let unpinned = index.unpin(all[at].block);
                        if all[at].check(&unpinned)? {
                            all.remove(at);
                        }
                    }
                }
                Step::Inspect => {
                    let free = visible.filter(|at| !all[*at].is_inspected);
                    prop_assert_eq!(index.begin_inspection(&key(1)), free.map(|at| all[at].block));
                    if let Some(at) = free {
                        all[at].is_inspected = true;
                    }
                }
                Step::EndInspection(which) if !all.is_empty() => {
                    let at = which.index(all.len());
                    if all[at].is_inspected {
                        all[at].is_inspected = false;
                        let unpinned = index.end_inspection(all[at].block);
                        if all[at].check(&unpinned)? {
                            all.remove(at);
                        }
                    }
                }
                Step::Condemn => {
                    if let Some(at) = visible.filter(|at| all[*at].is_used()) {
                        let left = RefCell::new(Vec::new());
                        prop_assert!(index.condemn(all[at].block, |slot| left.borrow_mut().push(slot)));
                        prop_assert_eq!(left.into_inner(), all[at].slots);
                        prop_assert!(!index.condemn(all[at].block, |_| panic!("only once")));
                        all[at].is_condemned = true;
                    }
                }
                Step::Evict => {
                    if let Some(at) = visible {
                        let evicted = index.evict(all[at].block, |_| {});
                        prop_assert_eq!(evicted.is_some(), !all[at].is_used());
                        if evicted.is_some() {
                            all.remove(at);
                        }
                    }
                }
                Step::Unpin(_) | Step::EndInspection(_) => {}
            }
            prop_assert_eq!(index.blocks(), all.len());
            for saved in &all {
                let slot = (!saved.is_condemned).then_some(saved.slots[1]);
                prop_assert_eq!(index.slot(saved.block, 1), slot);
            }
        }
    }
}

/// Two threads fill a block's shards: the second publishes it, and the first has yet to name it to a policy.
#[test]
fn a_block_that_no_policy_keeps_yet_is_not_condemned() {
    let index = Index::new();
    let now = Instant::now();
    let blocks: Vec<_> = (0..SHARDS)
        .map(|shard| match index.claim(key(1), SHARDS, shard) {
            Claim::Granted(block) => block,
            refused => panic!("{refused:?}"),
        })
        .collect();
    assert!(index.fill(blocks[0], 0, Slot(0), now).unwrap().is_first);
    assert!(index.fill(blocks[1], 1, Slot(1), now).unwrap().whole.is_some());
    index.publish(blocks[1], 0);
    let pinned = index.pin(&key(1)).expect("visible");
    assert!(!index.condemn(pinned.block, |_| panic!("it stays")));
    index.keep(blocks[0], Token(7));
    assert!(index.condemn(pinned.block, |_| {}));
    let removed = index.unpin(pinned.block).removed.expect("its last pin");
    assert_eq!(removed.token, Token(7));
}
