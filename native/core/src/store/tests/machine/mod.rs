//! Random operations on a tiny pool, against a model of what was saved and what is held, by a process that may end at any
//! step.
//!
//! The model does not know what will be evicted: it notices, and knows what may not be. The evictor's thread is stopped, and
//! its work is a step of its own, so that a failure can be repeated and shrunk.

mod crash;
mod every_store;
mod leases;
mod model;

use std::time::Duration;

use proptest::prelude::*;

use crate::eviction::PolicyKind;
use model::{HASHES, LOADERS, Machine, POOL_BYTES};

use super::fixture::MIB;

const OWNERS: u64 = 2;

#[derive(Debug, Clone)]
enum Step {
    Reserve {
        space: usize,
        hash: usize,
        shard: usize,
    },
    Seal(prop::sample::Index),
    Abandon(prop::sample::Index),
    Save {
        space: usize,
        first: usize,
        count: usize,
    },
    Lookup {
        space: usize,
        first: usize,
        count: usize,
    },
    LetGo(prop::sample::Index),
    Lease {
        which: prop::sample::Index,
        owner: u64,
    },
    BeginLoad {
        which: prop::sample::Index,
        rank: u32,
    },
    EndLoad(prop::sample::Index),
    Release(prop::sample::Index),
    Renew(prop::sample::Index),
    EndOwner(u64),
    MakeRoom {
        space: usize,
    },
    DropPartial,
    Resize {
        slabs: u64,
    },
    Checksum(prop::sample::Index),
    Wait(Duration),
    Crash,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let which = || any::<prop::sample::Index>();
    // Pages as large as a slab are rare: each drives much else out.
    let space = || prop::sample::select(vec![0, 0, 0, 0, 1, 1, 1, 1, 2]);
    let run = || (space(), 0..HASHES, 1..6_usize);
    let step = prop_oneof![
        6 => (space(), 0..HASHES, 0..2_usize)
            .prop_map(|(space, hash, shard)| Step::Reserve { space, hash, shard }),
        5 => which().prop_map(Step::Seal),
        1 => which().prop_map(Step::Abandon),
        6 => run().prop_map(|(space, first, count)| Step::Save { space, first, count }),
        5 => run().prop_map(|(space, first, count)| Step::Lookup { space, first, count }),
        3 => which().prop_map(Step::LetGo),
        3 => (which(), 0..OWNERS).prop_map(|(which, owner)| Step::Lease { which, owner }),
        3 => (which(), 0..LOADERS + 1).prop_map(|(which, rank)| Step::BeginLoad { which, rank }),
        3 => which().prop_map(Step::EndLoad),
        1 => which().prop_map(Step::Release),
        1 => which().prop_map(Step::Renew),
        1 => (0..OWNERS).prop_map(Step::EndOwner),
        2 => space().prop_map(|space| Step::MakeRoom { space }),
        1 => Just(Step::DropPartial),
        1 => (2..=POOL_BYTES / MIB).prop_map(|slabs| Step::Resize { slabs }),
        6 => which().prop_map(Step::Checksum),
        1 => Just(Step::Crash),
        1 => (0..400_u64).prop_map(|seconds| Step::Wait(Duration::from_secs(seconds))),
    ];
    prop::collection::vec(step, 1..120)
}

/// Takes one of `items`, if there are any.
fn take<T>(items: &mut Vec<T>, which: &prop::sample::Index) -> Option<T> {
    (!items.is_empty()).then(|| items.swap_remove(which.index(items.len())))
}

impl Machine {
    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Reserve { space, hash, shard } => {
                self.reserve((space, hash), shard)?;
            }
            Step::Seal(which) => {
                if let Some(writer) = take(&mut self.writers, &which) {
                    self.seal(writer);
                }
            }
            Step::Abandon(which) => drop(take(&mut self.writers, &which)),
            Step::Save { space, first, count } => {
                for hash in first..first + count {
                    self.save((space, hash % HASHES))?;
                }
            }
            Step::Lookup { space, first, count } => self.lookup(space, first, count)?,
            Step::LetGo(which) => drop(take(&mut self.held, &which)),
            Step::Lease { which, owner } => {
                if let Some(held) = take(&mut self.held, &which) {
                    self.lease(held, owner)?;
                }
            }
            Step::BeginLoad { which, rank } => self.begin_load(&which, rank)?,
            Step::EndLoad(which) => {
                if let Some(pass) = take(&mut self.passes, &which) {
                    self.end_load(pass)?;
                }
            }
            Step::Release(which) => self.release(&which)?,
            Step::Renew(which) => self.renew(&which)?,
            Step::EndOwner(owner) => self.end_owner(owner)?,
            Step::MakeRoom { space } => self.make_room(space)?,
            Step::DropPartial => self.drop_partial()?,
            Step::Resize { slabs } => self.resize(slabs)?,
            Step::Checksum(which) => self.make_checksums(|lacking| which.index(lacking)),
            Step::Crash => {}
            Step::Wait(time) => self.wait(time),
        }
        Ok(())
    }
}

/// How often the process ends, and goes on all the same: at every such store, the first one after so many.
fn crashes() -> impl Strategy<Value = (usize, usize)> {
    (50..250_usize).prop_flat_map(|every| (Just(every), 0..every))
}

fn run(policy: PolicyKind, steps: Vec<Step>, (every, first): (usize, usize)) -> Result<(), TestCaseError> {
    let mut machine = Machine::new(policy, every, first);
    for step in steps {
        machine = match step {
            Step::Crash => machine.crash(),
            step => {
                machine.with_crashes(|machine| machine.step(step))?;
                machine
            }
        };
        machine.check_counts()?;
    }
    machine.end()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_store_agrees_with_a_model_under_lru(steps in steps(), crashes in crashes()) {
        run(PolicyKind::Lru, steps, crashes)?;
    }

    #[test]
    fn the_store_agrees_with_a_model_under_s3fifo(steps in steps(), crashes in crashes()) {
        run(PolicyKind::S3Fifo, steps, crashes)?;
    }

    #[test]
    fn the_store_agrees_with_a_model_under_density(steps in steps(), crashes in crashes()) {
        run(PolicyKind::Density, steps, crashes)?;
    }
}
