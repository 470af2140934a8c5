//! A process that ends at each store there is: in saves, checksums, loads, evictions, moves of slabs, and in a take-over.

use proptest::prelude::*;

use super::model::{Block, HASHES, LOADERS, Machine};
use crate::eviction::PolicyKind;
use crate::store::PARTIAL_BLOCK_TTL;

type Act = fn(&mut Machine) -> Result<(), TestCaseError>;

/// Small pages, pairs of pages, and pages as large as a slab.
const SMALL: usize = 0;
const PAIRS: usize = 1;
const SLABS: usize = 2;

fn save(machine: &mut Machine, space: usize, hashes: std::ops::Range<usize>) -> Result<(), TestCaseError> {
    hashes
        .into_iter()
        .try_for_each(|hash| machine.save((space, hash)))
}

fn half_saved(machine: &mut Machine, block: Block) -> Result<(), TestCaseError> {
    machine.reserve(block, 0)?;
    let writer = machine.writers.pop().expect("a page");
    machine.seal(writer);
    Ok(())
}

/// All that happens to a page, by what the store does then.
const ACTS: [Act; 13] = [
    |machine| save(machine, PAIRS, 0..4),
    |machine| half_saved(machine, (PAIRS, 4)),
    |machine| {
        (0..3).for_each(|_| machine.make_checksums(|_| 0));
        Ok(())
    },
    |machine| machine.reserve((SMALL, 20), 0).map(drop),
    |machine| machine.lookup(PAIRS, 1, 1),
    |machine| {
        let held = machine.held.pop().expect("hits");
        machine.lease(held, 0)
    },
    |machine| (0..LOADERS).try_for_each(|rank| machine.begin_load_of(0, rank)),
    |machine| save(machine, SMALL, 0..HASHES - 4),
    |machine| {
        (0..HASHES).for_each(|_| machine.make_checksums(|lacking| lacking - 1));
        Ok(())
    },
    // Slabs are emptied for larger pages, as far as nobody loads from them.
    |machine| save(machine, SLABS, 0..4),
    |machine| save(machine, PAIRS, 5..12),
    |machine| {
        machine.writers.clear();
        while let Some(pass) = machine.passes.pop() {
            machine.end_load(pass)?;
        }
        machine.wait(PARTIAL_BLOCK_TTL);
        machine.drop_partial()
    },
    |machine| {
        machine.make_room(PAIRS)?;
        save(machine, SLABS, 4..8)
    },
];

#[test]
fn whichever_store_is_the_last_the_next_process_serves_what_was_saved() {
    let mut machine = Machine::new(PolicyKind::Lru, 0, 0);
    for act in ACTS {
        machine.with_crashes(act).unwrap();
        machine.check_counts().unwrap();
    }
    assert!(machine.evicted > 0 && machine.dropped > 0);
    assert!(machine.fixture.snapshot().pool.slabs_moved > 0);
    machine.end().unwrap();
}

#[test]
fn a_take_over_that_ends_at_any_store_is_made_by_the_next_process() {
    let mut machine = Machine::new(PolicyKind::Lru, usize::MAX, usize::MAX);
    for act in ACTS {
        act(&mut machine).unwrap();
        machine.crashes.files.copy();
        let dir = machine.fixture.dir.path().to_owned();
        let checked = machine.oracle.checked.borrow().clone();
        let copies = machine.oracle.judge_each_end(&dir);
        assert!(copies >= checked.len(), "the take-over stores nothing");
        machine.check_found(&checked).unwrap();
    }
}
