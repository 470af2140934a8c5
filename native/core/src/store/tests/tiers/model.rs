//! Random operations on a pool over a disk, against a model of where each block may be.
//!
//! The threads that write and make checksums go on as they like, so the model says "maybe" where they decide; what it is sure
//! of has to be so.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::store::{WarmRequest, WarmState};

/// Room for all blocks of a run, so that nothing is evicted unless a step says so.
const POOL: u64 = 32 * MIB;
const SPACES: [&[u64]; 2] = [&[PAGE], &[4_096, 20_000]];

#[derive(Debug, Clone)]
enum Step {
    Save {
        space: usize,
        count: usize,
    },
    Lookup {
        space: usize,
        picked: Vec<Index>,
        unknown: bool,
    },
    Flush,
    EvictMemory,
    EvictNamespace {
        space: usize,
    },
    RemoveFromSsd {
        space: usize,
        picked: Index,
    },
    Warm,
    /// A clean stop and a start, which take the pool over unless it is purged.
    Restart {
        purge: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let space = || 0..SPACES.len();
    prop_oneof![
        4 => (space(), 1..6_usize).prop_map(|(space, count)| Step::Save { space, count }),
        6 => (space(), prop::collection::vec(any::<Index>(), 1..8), any::<bool>())
            .prop_map(|(space, picked, unknown)| Step::Lookup { space, picked, unknown }),
        3 => Just(Step::Flush),
        3 => Just(Step::EvictMemory),
        1 => space().prop_map(|space| Step::EvictNamespace { space }),
        2 => (space(), any::<Index>()).prop_map(|(space, picked)| Step::RemoveFromSsd { space, picked }),
        2 => Just(Step::Warm),
        2 => any::<bool>().prop_map(|purge| Step::Restart { purge }),
    ]
}

/// Whether a block is in a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    There,
    Maybe,
    Gone,
}

#[derive(Debug)]
struct Kept {
    block: Block,
    in_memory: Is,
    on_ssd: Is,
}

impl Kept {
    fn is_found(&self) -> bool {
        self.in_memory == Is::There || self.on_ssd == Is::There
    }

    fn may_be_found(&self) -> bool {
        self.in_memory != Is::Gone || self.on_ssd != Is::Gone
    }
}

/// One space of the model.
#[derive(Debug)]
struct Space {
    key: SpaceKey,
    kept: Vec<Kept>,
    /// Blocks that lookups asked for since the store was opened.
    requested: u64,
}

struct Machine {
    /// None only while it is replaced.
    tiers: Option<Tiers>,
    spaces: Vec<Space>,
}

impl Machine {
    fn new() -> Self {
        let space = |_| Space {
            key: key(),
            kept: Vec::new(),
            requested: 0,
        };
        Self {
            tiers: Some(Tiers::new(POOL)),
            spaces: SPACES.iter().map(space).collect(),
        }
    }

    fn tiers(&self) -> &Tiers {
        self.tiers.as_ref().unwrap()
    }

    fn id(&self, space: usize) -> SpaceId {
        self.tiers().space(self.spaces[space].key, SPACES[space])
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Kept> {
        self.spaces.iter_mut().flat_map(|space| &mut space.kept)
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Save { space, count } => self.save(space, count),
            Step::Lookup {
                space,
                picked,
                unknown,
            } => self.lookup(space, &picked, unknown),
            Step::Flush => self.flush(),
            Step::EvictMemory => {
                let store = &self.tiers().fixture.store;
                let evicted = store.evict_memory(None, &Progress::default()).unwrap();
                self.all().for_each(|kept| kept.leave_memory(evicted.kept_blocks));
            }
            Step::EvictNamespace { space } => self.evict_namespace(space),
            Step::RemoveFromSsd { space, picked } => self.remove_from_ssd(space, picked),
            Step::Warm => self.warm(),
            Step::Restart { purge } => self.restart(purge),
        }
        for (at, space) in self.spaces.iter().enumerate() {
            let (hits, misses) = self.counted(at);
            assert_eq!(
                hits + misses,
                space.requested,
                "hits and misses are what was asked for"
            );
        }
    }

    fn save(&mut self, space: usize, count: usize) {
        let shards = SPACES[space].len() as u32;
        let saved = self.tiers().save(self.id(space), shards, count);
        self.spaces[space]
            .kept
            .extend(saved.into_iter().map(|block| Kept {
                block,
                in_memory: Is::There,
                on_ssd: Is::Maybe,
            }));
    }

    fn lookup(&mut self, space: usize, picked: &[Index], unknown: bool) {
        let kept = &self.spaces[space].kept;
        if kept.is_empty() {
            return;
        }
        let mut wanted: Vec<usize> = picked.iter().map(|index| index.index(kept.len())).collect();
        // A block twice in one prefix is what no engine asks for.
        wanted.sort_unstable();
        wanted.dedup();
        let mut asked: Vec<Hash> = wanted.iter().map(|&at| kept[at].block.0).collect();
        if unknown {
            asked.push(super::super::fixture::random_hash());
        }
        let found = self.tiers().lookup(self.id(space), &asked);
        let space = &mut self.spaces[space];
        space.requested += asked.len() as u64;

        let hits = found.hits.len();
        let wanted_kept = || wanted.iter().map(|&at| &space.kept[at]);
        let sure = wanted_kept().take_while(|kept| kept.is_found()).count();
        let most = wanted_kept().take_while(|kept| kept.may_be_found()).count();
        assert!((sure..=most).contains(&hits), "{hits} hits, not {sure} to {most}");
        let blocks: Blocks = wanted_kept().take(hits).map(|kept| kept.block.clone()).collect();
        check_bytes(&found, &blocks);
        let count = |is: Is| {
            wanted_kept()
                .take(hits)
                .filter(|kept| kept.in_memory == is)
                .count()
        };
        let from_ssd = count(Is::Gone)..=count(Is::Gone) + count(Is::Maybe);
        assert!(
            from_ssd.contains(&found.ssd_blocks),
            "{} from ssd, not {from_ssd:?}",
            found.ssd_blocks
        );
        for &at in &wanted[..hits] {
            space.kept[at].in_memory = Is::There;
        }
        if let Some(&missed) = wanted.get(hits) {
            // Its bytes may be on the disk already, and their record not yet.
            space.kept[missed].in_memory = Is::Gone;
        }
    }

    fn flush(&mut self) {
        self.tiers().flush();
        let in_memory = self.all().filter(|kept| kept.in_memory == Is::There);
        in_memory.for_each(|kept| kept.on_ssd = Is::There);
    }

    fn evict_namespace(&mut self, space: usize) {
        // The memory tier knows it from here on.
        self.id(space);
        let key = self.spaces[space].key;
        let store = &self.tiers().fixture.store;
        let ssd = store.ssd().unwrap();
        let on_ssd = ssd.spaces().into_iter().filter(|of| of.key == key);
        on_ssd.for_each(|of| {
            ssd.remove_space(of.id);
        });
        let evicted = store
            .evict_namespace(&key.namespace, &Progress::default())
            .unwrap();
        for kept in &mut self.spaces[space].kept {
            kept.leave_ssd();
            kept.leave_memory(evicted.kept_blocks);
        }
    }

    fn remove_from_ssd(&mut self, space: usize, picked: Index) {
        let key = self.spaces[space].key;
        let ssd = self.tiers().fixture.store.ssd().unwrap();
        let Some(of) = ssd.spaces().into_iter().find(|of| of.key == key) else {
            return;
        };
        let kept = &self.spaces[space].kept;
        if kept.is_empty() {
            return;
        }
        let at = picked.index(kept.len());
        let was_there = ssd.remove(of.id, &kept[at].block.0);
        match kept[at].on_ssd {
            Is::There => assert!(was_there),
            Is::Gone => assert!(!was_there),
            Is::Maybe => {}
        }
        self.spaces[space].kept[at].leave_ssd();
    }

    fn warm(&mut self) {
        let warm = self.tiers().fixture.store.warm(WarmRequest::default()).unwrap();
        let progress = warm.wait(Instant::now() + Duration::from_secs(60));
        assert_eq!((progress.state, progress.failed_blocks), (WarmState::Done, 0));
        for kept in self.all() {
            match kept.on_ssd {
                Is::There => kept.in_memory = Is::There,
                Is::Maybe if kept.in_memory == Is::Gone => kept.in_memory = Is::Maybe,
                Is::Maybe | Is::Gone => {}
            }
        }
    }

    fn restart(&mut self, purge: bool) {
        let tiers = self.tiers.take().unwrap();
        // What lacks its checksum is not taken over.
        eventually("all checksums are made", || {
            tiers.fixture.snapshot().checksums.pending_pages == 0
        });
        let config = tier(tiers.disk.path());
        let fixture = if purge {
            tiers.fixture.store.close(true).unwrap();
            drop(tiers.fixture);
            Fixture::with(POOL, |store| store.tier = Some(config))
        } else {
            tiers.fixture.reopen(|store| store.tier = Some(config))
        };
        self.tiers = Some(Tiers {
            fixture,
            disk: tiers.disk,
        });
        for kept in self.all() {
            if purge {
                kept.in_memory = Is::Gone;
            } else if kept.on_ssd == Is::Gone && kept.in_memory != Is::Gone {
                // The start brings what was taken over to the disk.
                kept.on_ssd = Is::Maybe;
            }
        }
        self.spaces.iter_mut().for_each(|space| space.requested = 0);
    }

    /// Hits and misses of a space that the store has counted.
    fn counted(&self, space: usize) -> (u64, u64) {
        let key = self.spaces[space].key;
        let snapshot = self.tiers().fixture.snapshot();
        let found = snapshot.spaces.iter().find(|of| of.key == key);
        found.map_or((0, 0), |of| (of.hits, of.misses))
    }
}

impl Kept {
    /// Memory let all go but so many blocks, which were in use just then.
    fn leave_memory(&mut self, in_use: u64) {
        if self.in_memory != Is::Gone {
            self.in_memory = if in_use == 0 { Is::Gone } else { Is::Maybe };
        }
    }

    /// It is taken from ssd, and written again if it is in memory and its turn comes.
    fn leave_ssd(&mut self) {
        self.on_ssd = match (self.in_memory, self.on_ssd) {
            (Is::Gone, Is::There) => Is::Gone,
            (_, Is::Gone) => Is::Gone,
            _ => Is::Maybe,
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn both_tiers_agree_with_a_model(steps in prop::collection::vec(step(), 1..30)) {
        let mut machine = Machine::new();
        for step in steps {
            machine.take(step);
        }
        machine.flush();
        machine.take(Step::Restart { purge: true });
        for space in 0..SPACES.len() {
            // All that is on ssd is found one by one: a miss of one hides none of the others.
            for at in 0..machine.spaces[space].kept.len() {
                let kept = &machine.spaces[space].kept[at];
                let found = machine.tiers().lookup(machine.id(space), &[kept.block.0]);
                assert!(found.hits.len() == 1 || kept.on_ssd != Is::There);
                assert!(found.hits.is_empty() || kept.on_ssd != Is::Gone);
                if !found.hits.is_empty() {
                    check_bytes(&found, std::slice::from_ref(&kept.block));
                }
            }
        }
        machine.tiers().check_idle();
    }
}
