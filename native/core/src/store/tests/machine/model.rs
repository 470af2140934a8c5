//! What was saved and what is held, beside the store that has to agree.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::crash::{Crashes, Oracle};
use crate::error::ErrorKind;
use crate::eviction::PolicyKind;
use crate::index::BlockKey;
use crate::lease::{LEASE_TTL, LeaseId, LeaseTable, LoadPass};
use crate::progress::Progress;
use crate::space::{SpaceId, SpaceKey};
use crate::store::evictor::make_room_ahead;
use crate::store::tests::crash_points;
use crate::store::tests::fixture::{Fixture, MIB, random_bytes, random_hash};
use crate::store::{Hits, PARTIAL_BLOCK_TTL, PageWriter, Reserved, SpaceSnapshot};
use crate::sync::Arc;

/// Page sizes of the spaces: one shard, two of unequal size, and pages as large as a slab.
pub(super) const SPACES: [&[u64]; 3] = [&[64 << 10], &[64 << 10, 100_000], &[1 << 20]];
pub(super) const HASHES: usize = 24;
pub(super) const LOADERS: u32 = 2;
pub(super) const POOL_BYTES: u64 = 4 * MIB;

/// A block, by its space and hash.
pub(super) type Block = (usize, usize);

pub(super) struct Writer {
    pub(super) writer: PageWriter,
    pub(super) block: Block,
    pub(super) shard: usize,
    pub(super) bytes: Vec<u8>,
}

/// Hits, and the blocks that they have to be.
pub(super) struct Held {
    pub(super) hits: Hits,
    pub(super) blocks: Vec<Block>,
}

pub(super) struct ModelLease {
    pub(super) id: LeaseId,
    pub(super) owner: u64,
    pub(super) blocks: Vec<Block>,
    pub(super) begun: Vec<u32>,
    pub(super) done: u32,
    pub(super) expires: Instant,
}

pub(super) struct Pass {
    pub(super) pass: LoadPass,
    pub(super) lease: LeaseId,
    pub(super) blocks: Vec<Block>,
}

pub(super) struct Machine {
    pub(super) fixture: Fixture,
    pub(super) leases: Arc<LeaseTable>,
    pub(super) oracle: Rc<Oracle>,
    pub(super) crashes: Crashes,
    pub(super) spaces: Vec<SpaceId>,
    pub(super) now: Instant,
    /// By block, the bytes of each shard that was filled.
    pub(super) filled: BTreeMap<Block, BTreeMap<usize, Vec<u8>>>,
    pub(super) writers: Vec<Writer>,
    pub(super) held: Vec<Held>,
    pub(super) model_leases: Vec<ModelLease>,
    pub(super) passes: Vec<Pass>,
    /// Whole blocks that were evicted, and partial ones.
    pub(super) evicted: u64,
    pub(super) dropped: u64,
}

impl Machine {
    /// Its process ends at every `every`th store, from `first` on.
    pub(super) fn new(policy: PolicyKind, every: usize, first: usize) -> Self {
        let fixture = Fixture::quiet(POOL_BYTES, policy);
        let keys = SPACES.iter().map(|_| SpaceKey {
            namespace: random_hash(),
            group: 0,
        });
        let hashes = (0..HASHES).map(|_| random_hash());
        let oracle = Oracle::new(policy, keys.collect(), hashes.collect());
        let crashes = Crashes::new(&fixture.dir, every, first);
        Self::of(fixture, oracle, crashes)
    }

    /// With an empty model.
    pub(super) fn of(fixture: Fixture, oracle: Rc<Oracle>, crashes: Crashes) -> Self {
        Self {
            spaces: oracle.spaces(&fixture.store),
            fixture,
            oracle,
            crashes,
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

    pub(super) fn is_whole(&self, block: Block) -> bool {
        self.filled
            .get(&block)
            .is_some_and(|shards| shards.len() == SPACES[block.0].len())
    }

    /// Blocks that a pin, lease or load has to keep.
    pub(super) fn is_held(&self, block: Block) -> bool {
        let held = self.held.iter().flat_map(|held| &held.blocks);
        let leased = self.model_leases.iter().flat_map(|lease| &lease.blocks);
        let loading = self.passes.iter().flat_map(|pass| &pass.blocks);
        held.chain(leased).chain(loading).any(|kept| *kept == block)
    }

    pub(super) fn has_writer(&self, block: Block, shard: usize) -> bool {
        self.writers
            .iter()
            .any(|writer| (writer.block, writer.shard) == (block, shard))
    }

    pub(super) fn key(&self, block: Block) -> BlockKey {
        BlockKey::new(self.spaces[block.0], &self.oracle.hashes[block.1])
    }

    /// Forgets what was evicted since the last call, which nobody may have held or been saving.
    pub(super) fn notice_evictions(&mut self) -> Result<(), TestCaseError> {
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
            self.oracle.checked.borrow_mut().remove(&block);
        }
        Ok(())
    }

    pub(super) fn make_room(&mut self, space: usize) -> Result<(), TestCaseError> {
        let store = &self.fixture.store;
        let class = store.spaces.get(self.spaces[space]).unwrap().shards[0].class;
        make_room_ahead(store, class);
        self.notice_evictions()
    }

    /// Gives the pool this many slabs, which blocks in use can prevent.
    pub(super) fn resize(&mut self, slabs: u64) -> Result<(), TestCaseError> {
        let lacks_checksum = |machine: &Self| {
            let checked = machine.oracle.checked.borrow();
            machine
                .filled
                .keys()
                .any(|block| machine.is_whole(*block) && !checked.contains(block))
        };
        // A move makes them, and the model does not know of which blocks.
        while lacks_checksum(self) {
            self.make_checksums(|_| 0);
        }
        let before = self.fixture.snapshot().pool.bytes;
        let resized = self
            .fixture
            .store
            .resize(slabs * MIB, &Progress::default(), Duration::ZERO);
        self.notice_evictions()?;
        let after = self.fixture.snapshot().pool.bytes;
        match resized {
            Ok(resized) => prop_assert_eq!(
                (resized.before_bytes, resized.bytes, after),
                (before, slabs * MIB, after)
            ),
            Err(error) => {
                prop_assert_eq!((error.kind(), after), (ErrorKind::Conflict, before));
                let is_held = self.filled.keys().any(|block| self.is_held(*block));
                prop_assert!(is_held || !self.writers.is_empty(), "nothing is in use");
            }
        }
        Ok(())
    }

    pub(super) fn reserve(&mut self, block: Block, shard: usize) -> Result<bool, TestCaseError> {
        let (space, hash) = block;
        let shard = shard % SPACES[space].len();
        let is_filled = self
            .filled
            .get(&block)
            .is_some_and(|shards| shards.contains_key(&shard));
        let is_free = !is_filled && !self.has_writer(block, shard);
        let reserved = self
            .fixture
            .reserve(self.spaces[space], shard as u32, &self.oracle.hashes[hash]);
        self.notice_evictions()?;
        match reserved {
            Reserved::Present => prop_assert!(is_filled),
            Reserved::InFlight => prop_assert!(self.has_writer(block, shard)),
            Reserved::NoSpace => prop_assert!(is_free),
            Reserved::Page(writer) => {
                prop_assert!(is_free);
                let bytes = random_bytes(writer.page().len());
                let mut written = self.oracle.written.borrow_mut();
                written.insert((block, shard), bytes.clone());
                drop(written);
                crash_points::reached();
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

    pub(super) fn seal(&mut self, writer: Writer) {
        writer.writer.seal();
        self.filled
            .entry(writer.block)
            .or_default()
            .insert(writer.shard, writer.bytes);
    }

    pub(super) fn save(&mut self, block: Block) -> Result<(), TestCaseError> {
        for shard in 0..SPACES[block.0].len() {
            if self.reserve(block, shard)? {
                let writer = self.writers.pop().expect("just reserved");
                self.seal(writer);
            }
        }
        Ok(())
    }

    pub(super) fn lookup(&mut self, space: usize, first: usize, count: usize) -> Result<(), TestCaseError> {
        let blocks: Vec<_> = (first..first + count)
            .map(|hash| (space, hash % HASHES))
            .collect();
        let hashes: Vec<_> = blocks.iter().map(|(_, hash)| self.oracle.hashes[*hash]).collect();
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

    pub(super) fn check_bytes(
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

    /// The time of partial blocks is over: those that nobody is saving go.
    pub(super) fn drop_partial(&mut self) -> Result<(), TestCaseError> {
        let later = Instant::now() + PARTIAL_BLOCK_TTL;
        let before = self.dropped;
        let dropped = self.fixture.store.drop_stale_partial_blocks(later);
        self.notice_evictions()?;
        prop_assert_eq!(self.dropped - before, dropped as u64);
        let is_left = |block: &Block| {
            !self.is_whole(*block) && self.writers.iter().all(|writer| writer.block != *block)
        };
        prop_assert!(
            !self.filled.keys().any(is_left),
            "a partial block outlives its time"
        );
        Ok(())
    }

    pub(super) fn check_counts(&self) -> Result<(), TestCaseError> {
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
    pub(super) fn end(mut self) -> Result<(), TestCaseError> {
        self.writers.clear();
        self.held.clear();
        while let Some(pass) = self.passes.pop() {
            self.end_load(pass)?;
        }
        self.wait(LEASE_TTL);
        self.drop_partial()?;
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
        let writers: Vec<_> = (0..self.fixture.snapshot().pool.bytes / MIB)
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
        let sum = |count: fn(&SpaceSnapshot) -> u64| snapshot.spaces.iter().map(count).sum::<u64>();
        let taken_over = snapshot.taken_over.map_or(0, |taken| taken.blocks);
        prop_assert_eq!(sum(|space| space.blocks), 0);
        prop_assert_eq!(
            sum(|space| space.admissions) + taken_over,
            sum(|space| space.evictions)
        );
        Ok(())
    }
}
