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

/// Steps, and whether the process ends at each of their stores; others only bring about what these need.
const ACTS: [(bool, Act); 19] = [
    (true, |machine| save(machine, PAIRS, 0..2)),
    (true, |machine| half_saved(machine, (PAIRS, 4))),
    (true, |machine| {
        machine.make_checksums(|_| 0);
        Ok(())
    }),
    (true, |machine| machine.reserve((SMALL, 20), 0).map(drop)),
    (true, |machine| machine.lookup(PAIRS, 0, 1)),
    (true, |machine| {
        let held = machine.held.pop().expect("hits");
        machine.lease(held, 0)
    }),
    (true, |machine| {
        (0..LOADERS).try_for_each(|rank| machine.begin_load_of(0, rank))
    }),
    (false, |machine| save(machine, SMALL, 0..HASHES - 4)),
    (false, |machine| {
        (0..HASHES - 6).for_each(|_| machine.make_checksums(|_| 0));
        Ok(())
    }),
    // Slabs are emptied for larger pages, as far as nobody loads from them.
    (true, |machine| save(machine, SLABS, 0..3)),
    (false, |machine| save(machine, SLABS, 3..4)),
    (true, |machine| save(machine, PAIRS, 5..7)),
    (false, |machine| {
        machine.make_checksums(|_| 0);
        machine.writers.clear();
        while let Some(pass) = machine.passes.pop() {
            machine.end_load(pass)?;
        }
        Ok(())
    }),
    (true, |machine| {
        machine.wait(PARTIAL_BLOCK_TTL);
        machine.drop_partial()
    }),
    (true, |machine| machine.make_room(PAIRS)),
    (true, |machine| save(machine, SLABS, 4..6)),
    (false, |machine| save(machine, PAIRS, 8..12)),
    // Pages move out of the slabs that go.
    (true, |machine| machine.resize(2)),
    (true, |machine| machine.resize(4)),
];

#[test]
fn whichever_store_is_the_last_the_next_process_serves_what_was_saved() {
    let mut machine = Machine::new(PolicyKind::Lru, 0, 0);
    for (ends, act) in ACTS {
        if ends {
            machine.with_crashes(act).unwrap();
        } else {
            act(&mut machine).unwrap();
        }
        machine.check_counts().unwrap();
    }
    assert!(machine.evicted > 0 && machine.dropped > 0);
    assert!(machine.fixture.snapshot().pool.slabs_moved > 0);
    machine.end().unwrap();
}

#[test]
fn a_take_over_that_ends_at_any_store_is_made_by_the_next_process() {
    let mut machine = Machine::new(PolicyKind::Lru, usize::MAX, usize::MAX);
    // Before, amid and after the moves of slabs.
    for (number, (_, act)) in ACTS.into_iter().enumerate() {
        act(&mut machine).unwrap();
        if [3, 9, 15].contains(&number) {
            machine.crashes.files.copy();
            let dir = machine.fixture.dir.path().to_owned();
            let checked = machine.oracle.checked.borrow().clone();
            let copies = machine.oracle.judge_each_end(&dir);
            assert!(
                copies > 0 && copies >= checked.len(),
                "the take-over stores nothing"
            );
            machine.check_found(&checked).unwrap();
        }
    }
}
