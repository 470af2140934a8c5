//! Random operations on a tiny pool, against a model of what was saved and what is held.
//!
//! The model does not know what will be evicted: it notices, and knows what may not be. The evictor's thread is stopped, and
//! its work is a step of its own, so that a failure can be repeated and shrunk.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::fixture::{Fixture, Hash, MIB, random_bytes, random_hash};
use crate::error::ErrorKind;
use crate::eviction::PolicyKind;
use crate::index::BlockKey;
use crate::lease::{LEASE_TTL, LeaseId, LeaseTable, LoadPass, SessionId};
use crate::space::SpaceId;
use crate::store::evictor::make_room_ahead;
use crate::store::{Hits, PARTIAL_BLOCK_TTL, PageWriter, Reserved};
use crate::sync::Arc;

const POOL_BYTES: u64 = 4 * MIB;
/// Page sizes of the spaces: one shard, two of unequal size, and pages as large as a slab.
const SPACES: [&[u64]; 3] = [&[64 << 10], &[64 << 10, 100_000], &[1 << 20]];
const HASHES: usize = 24;
const OWNERS: u64 = 2;
const LOADERS: u32 = 2;

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
    Wait(Duration),
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
        1 => (0..400_u64).prop_map(|seconds| Step::Wait(Duration::from_secs(seconds))),
    ];
    prop::collection::vec(step, 1..120)
}

/// A block, by its space and hash.
type Block = (usize, usize);

struct Writer {
    writer: PageWriter,
    block: Block,
    shard: usize,
    bytes: Vec<u8>,
}

/// Hits, and the blocks that they have to be.
struct Held {
    hits: Hits,
    blocks: Vec<Block>,
}

struct ModelLease {
    id: LeaseId,
    owner: u64,
    blocks: Vec<Block>,
    begun: Vec<u32>,
    done: u32,
    expires: Instant,
}

struct Pass {
    pass: LoadPass,
    lease: LeaseId,
    blocks: Vec<Block>,
}

struct Machine {
    fixture: Fixture,
    leases: Arc<LeaseTable>,
    spaces: Vec<SpaceId>,
    hashes: Vec<Hash>,
    now: Instant,
    /// By block, the bytes of each shard that was filled.
    filled: BTreeMap<Block, BTreeMap<usize, Vec<u8>>>,
    writers: Vec<Writer>,
    held: Vec<Held>,
    model_leases: Vec<ModelLease>,
    passes: Vec<Pass>,
    /// Whole blocks that were evicted, and partial ones.
    evicted: u64,
    dropped: u64,
}

/// Takes one of `items`, if there are any.
fn take<T>(items: &mut Vec<T>, which: &prop::sample::Index) -> Option<T> {
    (!items.is_empty()).then(|| items.swap_remove(which.index(items.len())))
}

impl Machine {
    fn new(policy: PolicyKind) -> Self {
        let fixture = Fixture::with_policy(POOL_BYTES, policy);
        fixture.store.evictor.stop();
        fixture.store.evictor.join().unwrap();
        Self {
            spaces: SPACES.iter().map(|pages| fixture.space(pages)).collect(),
            hashes: (0..HASHES).map(|_| random_hash()).collect(),
            fixture,
            leases: LeaseTable::new(),
            now: Instant::now(),
            filled: BTreeMap::new(),
            writers: Vec::new(),
            held: Vec::new(),
            model_leases: Vec::new(),
            passes: Vec::new(),
            evicted: 0,
            dropped: 0,
        }
    }

    fn is_whole(&self, block: Block) -> bool {
        self.filled
            .get(&block)
            .is_some_and(|shards| shards.len() == SPACES[block.0].len())
    }

    /// Blocks that a pin, lease or load has to keep.
    fn is_held(&self, block: Block) -> bool {
        let held = self.held.iter().flat_map(|held| &held.blocks);
        let leased = self.model_leases.iter().flat_map(|lease| &lease.blocks);
        let loading = self.passes.iter().flat_map(|pass| &pass.blocks);
        held.chain(leased).chain(loading).any(|kept| *kept == block)
    }

    fn has_writer(&self, block: Block, shard: usize) -> bool {
        self.writers
            .iter()
            .any(|writer| (writer.block, writer.shard) == (block, shard))
    }

    fn key(&self, block: Block) -> BlockKey {
        BlockKey::new(self.spaces[block.0], &self.hashes[block.1])
    }

    /// Forgets what was evicted since the last call, which nobody may have held or been saving.
    fn notice_evictions(&mut self) -> Result<(), TestCaseError> {
        for block in self.filled.keys().copied().collect::<Vec<_>>() {
            let found = self.fixture.store.index.filled(&self.key(block));
            if found == self.filled[&block].len() {
                continue;
            }
            prop_assert_eq!(found, 0, "a block loses all its shards or none");
            prop_assert!(!self.is_held(block), "a held block was evicted");
            let is_being_saved = self.writers.iter().any(|writer| writer.block == block);
            prop_assert!(!is_being_saved, "a block was evicted under its writer");
            let gone = if self.is_whole(block) {
                &mut self.evicted
            } else {
                &mut self.dropped
            };
            *gone += 1;
            self.filled.remove(&block);
        }
        Ok(())
    }

    fn make_room(&mut self, space: usize) -> Result<(), TestCaseError> {
        let store = &self.fixture.store;
        let class = store.spaces.get(self.spaces[space]).unwrap().shards[0].class;
        make_room_ahead(store, class);
        self.notice_evictions()
    }

    fn reserve(&mut self, block: Block, shard: usize) -> Result<bool, TestCaseError> {
        let (space, hash) = block;
        let shard = shard % SPACES[space].len();
        let is_filled = self
            .filled
            .get(&block)
            .is_some_and(|shards| shards.contains_key(&shard));
        let is_free = !is_filled && !self.has_writer(block, shard);
        let reserved = self
            .fixture
            .reserve(self.spaces[space], shard as u32, &self.hashes[hash]);
        self.notice_evictions()?;
        match reserved {
            Reserved::Present => prop_assert!(is_filled),
            Reserved::InFlight => prop_assert!(self.has_writer(block, shard)),
            Reserved::NoSpace => prop_assert!(is_free),
            Reserved::Page(writer) => {
                prop_assert!(is_free);
                let bytes = random_bytes(writer.page().len());
                writer.page().write(&bytes);
                self.writers.push(Writer {
                    writer,
                    block,
                    shard,
                    bytes,
                });
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn seal(&mut self, writer: Writer) {
        writer.writer.seal();
        self.filled
            .entry(writer.block)
            .or_default()
            .insert(writer.shard, writer.bytes);
    }

    fn save(&mut self, block: Block) -> Result<(), TestCaseError> {
        for shard in 0..SPACES[block.0].len() {
            if self.reserve(block, shard)? {
                let writer = self.writers.pop().expect("just reserved");
                self.seal(writer);
            }
        }
        Ok(())
    }

    fn lookup(&mut self, space: usize, first: usize, count: usize) -> Result<(), TestCaseError> {
        let blocks: Vec<_> = (first..first + count)
            .map(|hash| (space, hash % HASHES))
            .collect();
        let hashes: Vec<_> = blocks.iter().map(|(_, hash)| self.hashes[*hash]).collect();
        let hits = self.fixture.lookup(self.spaces[space], &hashes);
        let found: Vec<_> = blocks
            .into_iter()
            .take_while(|block| self.is_whole(*block))
            .collect();
        prop_assert_eq!(hits.len(), found.len());
        let held = Held { hits, blocks: found };
        self.check_bytes(&held.blocks, |index, shard| {
            held.hits.page(index, shard).map(|page| page.read())
        })?;
        self.held.push(held);
        Ok(())
    }

    fn check_bytes(
        &self,
        blocks: &[Block],
        read: impl Fn(usize, u32) -> Option<Vec<u8>>,
    ) -> Result<(), TestCaseError> {
        for (index, block) in blocks.iter().enumerate() {
            prop_assert!(self.is_whole(*block), "visible before it was whole");
            for (shard, bytes) in &self.filled[block] {
                prop_assert_eq!(
                    &read(index, *shard as u32).expect("a page of a hit"),
                    bytes,
                    "other bytes"
                );
            }
        }
        Ok(())
    }

    fn lease(&mut self, held: Held, owner: u64) -> Result<(), TestCaseError> {
        let is_empty = held.hits.is_empty();
        match self.leases.grant(SessionId(owner), held.hits, LOADERS, self.now) {
            Ok(id) => {
                prop_assert!(!is_empty);
                let expires = self.now + LEASE_TTL;
                let blocks = held.blocks;
                self.model_leases.push(ModelLease {
                    id,
                    owner,
                    blocks,
                    begun: Vec::new(),
                    done: 0,
                    expires,
                });
            }
            Err(error) => prop_assert!(is_empty && error.kind() == ErrorKind::Invalid),
        }
        Ok(())
    }

    fn begin_load(&mut self, which: &prop::sample::Index, rank: u32) -> Result<(), TestCaseError> {
        if self.model_leases.is_empty() {
            return Ok(());
        }
        let at = which.index(self.model_leases.len());
        let lease = &mut self.model_leases[at];
        let count = lease.blocks.len() as u32;
        match self.leases.begin_load(lease.id, rank, 0, count) {
            Ok(pass) => {
                prop_assert!(rank < LOADERS && !lease.begun.contains(&rank));
                lease.begun.push(rank);
                self.passes.push(Pass {
                    pass,
                    lease: lease.id,
                    blocks: lease.blocks.clone(),
                });
            }
            Err(error) if error.kind() == ErrorKind::Conflict => prop_assert!(lease.begun.contains(&rank)),
            Err(error) => prop_assert!(error.kind() == ErrorKind::Invalid && rank >= LOADERS),
        }
        Ok(())
    }

    fn end_load(&mut self, pass: Pass) -> Result<(), TestCaseError> {
        self.check_bytes(&pass.blocks, |index, shard| {
            pass.pass.page(index, shard).map(|page| page.read())
        })?;
        drop(pass.pass);
        if let Some(lease) = self.model_leases.iter_mut().find(|lease| lease.id == pass.lease) {
            lease.done += 1;
        }
        self.model_leases.retain(|lease| lease.done < LOADERS);
        Ok(())
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        let ended = self
            .model_leases
            .extract_if(.., |lease| lease.expires <= self.now)
            .count();
        assert_eq!(self.leases.expire(self.now), ended);
    }

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
            Step::Release(which) => {
                if let Some(lease) = take(&mut self.model_leases, &which) {
                    prop_assert!(
                        !self.leases.release(SessionId(lease.owner + 1), lease.id),
                        "another's lease"
                    );
                    prop_assert!(self.leases.release(SessionId(lease.owner), lease.id));
                    prop_assert!(
                        !self.leases.release(SessionId(lease.owner), lease.id),
                        "ended twice"
                    );
                }
            }
            Step::Renew(which) => {
                if !self.model_leases.is_empty() {
                    let at = which.index(self.model_leases.len());
                    let lease = &mut self.model_leases[at];
                    prop_assert!(self.leases.renew(SessionId(lease.owner), lease.id, self.now));
                    lease.expires = self.now + LEASE_TTL;
                }
            }
            Step::EndOwner(owner) => {
                let ended = self
                    .model_leases
                    .extract_if(.., |lease| lease.owner == owner)
                    .count();
                prop_assert_eq!(self.leases.end_owner(SessionId(owner)), ended);
            }
            Step::MakeRoom { space } => self.make_room(space)?,
            Step::Wait(time) => self.wait(time),
        }
        Ok(())
    }

    fn check_counts(&self) -> Result<(), TestCaseError> {
        let snapshot = self.fixture.snapshot();
        prop_assert!(snapshot.pool.used_bytes <= snapshot.pool.bytes);
        prop_assert_eq!(snapshot.in_flight_pages, self.writers.len() as u64);
        let leases = self.leases.snapshot(self.now);
        prop_assert_eq!(leases.leases, self.model_leases.len() as u64);
        let blocks: usize = self.model_leases.iter().map(|lease| lease.blocks.len()).sum();
        prop_assert_eq!(leases.blocks, blocks as u64);
        let held: Vec<_> = (0..SPACES.len())
            .flat_map(|space| (0..HASHES).map(move |hash| (space, hash)))
            .collect();
        let held = held.into_iter().filter(|block| self.is_held(*block)).count();
        prop_assert_eq!(snapshot.pinned_blocks, held as u64);
        let whole = self.filled.keys().filter(|block| self.is_whole(**block)).count();
        prop_assert_eq!(
            snapshot.spaces.iter().map(|space| space.blocks).sum::<u64>(),
            whole as u64
        );
        prop_assert_eq!(snapshot.partial_blocks, (self.filled.len() - whole) as u64);
        prop_assert_eq!(
            snapshot.spaces.iter().map(|space| space.evictions).sum::<u64>(),
            self.evicted
        );
        prop_assert_eq!(snapshot.partial_blocks_dropped, self.dropped);
        Ok(())
    }

    /// Lets everything go: then nothing is pinned, and the whole pool can be had.
    fn end(mut self) -> Result<(), TestCaseError> {
        self.writers.clear();
        self.held.clear();
        while let Some(pass) = self.passes.pop() {
            self.end_load(pass)?;
        }
        self.wait(LEASE_TTL);
        let later = Instant::now() + PARTIAL_BLOCK_TTL;
        let partial = self.fixture.snapshot().partial_blocks;
        prop_assert_eq!(
            self.fixture.store.drop_stale_partial_blocks(later) as u64,
            partial
        );
        let snapshot = self.fixture.snapshot();
        prop_assert_eq!(
            (
                snapshot.pinned_blocks,
                snapshot.in_flight_pages,
                snapshot.partial_blocks
            ),
            (0, 0, 0)
        );
        let leases = self.leases.snapshot(self.now);
        prop_assert_eq!((leases.leases, leases.blocks, leases.bytes), (0, 0, 0));
        prop_assert_eq!(
            leases.granted,
            leases.loaded + leases.released + leases.expired + leases.orphaned
        );

        let slabs = self.spaces[2];
        let writers: Vec<_> = (0..POOL_BYTES / MIB)
            .map(|_| self.fixture.reserve(slabs, 0, &random_hash()))
            .collect();
        prop_assert!(
            writers
                .iter()
                .all(|reserved| matches!(reserved, Reserved::Page(_))),
            "pages are lost"
        );
        drop(writers);
        let snapshot = self.fixture.snapshot();
        prop_assert_eq!(snapshot.pool.used_bytes, 0);
        prop_assert!(
            snapshot
                .spaces
                .iter()
                .all(|space| space.blocks == 0 && space.admissions == space.evictions)
        );
        Ok(())
    }
}

fn run(policy: PolicyKind, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut machine = Machine::new(policy);
    for step in steps {
        machine.step(step)?;
        machine.check_counts()?;
    }
    machine.end()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_store_agrees_with_a_model_under_lru(steps in steps()) {
        run(PolicyKind::Lru, steps)?;
    }

    #[test]
    fn the_store_agrees_with_a_model_under_s3fifo(steps in steps()) {
        run(PolicyKind::S3Fifo, steps)?;
    }
}
