//! The process ends at any step: what the next one serves, and what it has to have.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::model::{Block, Machine, POOL_BYTES, SPACES};
use crate::eviction::PolicyKind;
use crate::pool::Slot;
use crate::space::{SpaceId, SpaceKey};
use crate::store::tests::crash_copy::OpenFiles;
use crate::store::tests::crash_points;
use crate::store::tests::fixture::{Fixture, Hash, MIB, config, eventually, geometry, random_hash};
use crate::store::{Reserved, Store, StoreConfig};
use crate::sync::Arc;

/// What has to be true of a store that took the pool over, whenever the one before it ended.
#[derive(Debug)]
pub(super) struct Oracle {
    policy: PolicyKind,
    pub(super) keys: Vec<SpaceKey>,
    pub(super) hashes: Vec<Hash>,
    /// What was last written for each shard of a block.
    pub(super) written: RefCell<BTreeMap<(Block, usize), Vec<u8>>>,
    /// Whole blocks whose pages have their checksums.
    pub(super) checked: RefCell<BTreeSet<Block>>,
    /// The block that is given its checksums now: it may be found.
    pub(super) is_checked_now: Cell<Option<Block>>,
    /// What each process that ended in this step would have left to the next.
    found: RefCell<Vec<BTreeSet<Block>>>,
}

impl Oracle {
    pub(super) fn new(policy: PolicyKind, keys: Vec<SpaceKey>, hashes: Vec<Hash>) -> Rc<Self> {
        Rc::new(Self {
            policy,
            keys,
            hashes,
            written: RefCell::default(),
            checked: RefCell::default(),
            is_checked_now: Cell::default(),
            found: RefCell::default(),
        })
    }

    /// Opens the pool that is in `dir`, and holds what it has against what it may and must have.
    fn judge(&self, dir: &Path) {
        self.hold(Store::open(self.config(dir)).unwrap(), dir);
    }

    /// The same, and the process that takes the pool over ends too, at each store that it makes.
    pub(super) fn judge_each_end(self: &Rc<Self>, dir: &Path) -> usize {
        let (oracle, copies) = (Rc::clone(self), Rc::new(Cell::new(0)));
        let look = {
            let (files, copies, dir) = (OnceCell::new(), Rc::clone(&copies), dir.to_owned());
            move || {
                files.get_or_init(|| OpenFiles::unlink(&dir)).copy();
                oracle.judge(&dir);
                copies.set(copies.get() + 1);
            }
        };
        let store = crash_points::at_each(look, || Store::open(self.config(dir)).unwrap());
        self.hold(store, dir);
        copies.get()
    }

    fn hold(&self, store: Arc<Store>, dir: &Path) {
        let found = self.served(&store);
        let checked = self.checked.borrow();
        for block in &found {
            let may_be = checked.contains(block) || self.is_checked_now.get() == Some(*block);
            assert!(
                may_be,
                "{block:?} was not whole with its checksums, or was evicted"
            );
        }
        let snapshot = store.snapshot();
        let left = (
            snapshot.pinned_blocks,
            snapshot.in_flight_pages,
            snapshot.partial_blocks,
        );
        assert_eq!(left, (0, 0, 0));
        let pages = |block: &Block| SPACES[block.0].iter().map(|bytes| bytes.next_multiple_of(4096));
        assert_eq!(
            snapshot.pool.used_bytes,
            found.iter().flat_map(pages).sum::<u64>(),
            "pages are lost"
        );
        assert_eq!(snapshot.taken_over.unwrap().bad_records, 0);
        self.found.borrow_mut().push(found);
        check_whole_pool(&store);
        store.close(true).unwrap();
        Arc::into_inner(store).unwrap();
        assert_eq!(dir.read_dir().unwrap().count(), 0, "files are left");
    }

    /// The blocks that it serves, each with the bytes that were written last.
    fn served(&self, store: &Arc<Store>) -> BTreeSet<Block> {
        let written = self.written.borrow();
        let mut found = BTreeSet::new();
        for (at, space) in self.spaces(store).into_iter().enumerate() {
            for (number, hash) in self.hashes.iter().enumerate() {
                let hits = store.lookup(space, hash).unwrap();
                if hits.is_empty() {
                    continue;
                }
                for shard in 0..SPACES[at].len() {
                    hits.verify(0, shard as u32).unwrap();
                    let bytes = hits.page(0, shard as u32).unwrap().read();
                    assert!(bytes == written[&((at, number), shard)], "other bytes");
                }
                found.insert((at, number));
            }
        }
        found
    }

    fn config(&self, dir: &Path) -> StoreConfig {
        StoreConfig {
            policy: self.policy,
            ..config(dir, POOL_BYTES)
        }
    }

    pub(super) fn spaces(&self, store: &Store) -> Vec<SpaceId> {
        let spaces = self.keys.iter().zip(SPACES);
        spaces
            .map(|(key, pages)| store.space(*key, geometry(pages)).unwrap())
            .collect()
    }
}

/// Nothing is pinned, so all of the pool can be had.
fn check_whole_pool(store: &Arc<Store>) {
    eventually("the pool is whole", || !store.snapshot().pool.is_growing);
    let key = SpaceKey {
        namespace: random_hash(),
        group: 0,
    };
    let slabs = store.space(key, geometry(&[MIB])).unwrap();
    let writers: Vec<_> = (0..POOL_BYTES / MIB)
        .map(|_| store.reserve(slabs, 0, &random_hash(), None).unwrap())
        .collect();
    let is_page = |reserved: &Reserved| matches!(reserved, Reserved::Page(_));
    assert!(writers.iter().all(is_page), "pages are lost");
}

/// Where the machine's process ends: at every `every`th store, from `first` on.
#[derive(Debug)]
pub(super) struct Crashes {
    pub(super) files: Rc<OpenFiles>,
    every: usize,
    countdown: Rc<Cell<usize>>,
}

impl Crashes {
    pub(super) fn new(dir: &TempDir, every: usize, first: usize) -> Self {
        Self {
            files: Rc::new(OpenFiles::unlink(dir.path())),
            every,
            countdown: Rc::new(Cell::new(first)),
        }
    }
}

impl Machine {
    /// Runs a step; the process ends somewhere in it, again and again, and yet goes on.
    pub(super) fn with_crashes(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<(), TestCaseError>,
    ) -> Result<(), TestCaseError> {
        let (oracle, files) = (Rc::clone(&self.oracle), Rc::clone(&self.crashes.files));
        let (every, countdown) = (self.crashes.every, Rc::clone(&self.crashes.countdown));
        let dir = self.fixture.dir.path().to_owned();
        let look = move || {
            if countdown.get() > 0 {
                countdown.set(countdown.get() - 1);
                return;
            }
            countdown.set(every);
            files.copy();
            oracle.judge(&dir);
        };
        let before = self.oracle.checked.borrow().clone();
        crash_points::at_each(look, || {
            step(self)?;
            crash_points::reached();
            Ok::<_, TestCaseError>(())
        })?;
        self.check_found(&before)
    }

    /// What was there before and is still there was never lost.
    pub(super) fn check_found(&self, before: &BTreeSet<Block>) -> Result<(), TestCaseError> {
        let after = self.oracle.checked.borrow();
        let kept: BTreeSet<_> = before.intersection(&after).copied().collect();
        for found in self.oracle.found.take() {
            prop_assert!(found.is_superset(&kept), "lost: {:?}", kept.difference(&found));
        }
        Ok(())
    }

    /// Makes the checksums of a block that lacks them.
    pub(super) fn make_checksums(&mut self, choose: impl Fn(usize) -> usize) {
        let checked = self.oracle.checked.borrow().clone();
        let lacking: Vec<_> = self
            .filled
            .keys()
            .filter(|block| self.is_whole(**block) && !checked.contains(block))
            .copied()
            .collect();
        if lacking.is_empty() {
            return;
        }
        let block = lacking[choose(lacking.len())];
        self.oracle.is_checked_now.set(Some(block));
        for slot in self.slots(block) {
            self.fixture.store.make_checksum(slot);
        }
        self.oracle.checked.borrow_mut().insert(block);
        self.oracle.is_checked_now.set(None);
    }

    fn slots(&self, block: Block) -> Vec<Slot> {
        let index = &self.fixture.store.index;
        let pinned = index.pin(&self.key(block)).expect("a visible block");
        let slots = (0..SPACES[block.0].len()).map(|shard| index.slot(pinned.block, shard as u16).unwrap());
        let slots = slots.collect();
        index.unpin(pinned.block);
        slots
    }

    /// The process ends, and this test goes on with the next one.
    pub(super) fn crash(self) -> Self {
        let Self {
            fixture,
            oracle,
            crashes,
            ..
        } = self;
        crashes.files.copy();
        let Fixture { store, dir } = fixture;
        drop(store);
        let config = oracle.config(dir.path());
        let fixture = Fixture::open(dir, config);
        fixture.stop_threads();
        let checked = oracle.checked.borrow().clone();
        let mut filled = BTreeMap::new();
        for ((block, shard), bytes) in &*oracle.written.borrow() {
            if checked.contains(block) {
                let shards: &mut BTreeMap<_, _> = filled.entry(*block).or_default();
                shards.insert(*shard, bytes.clone());
            }
        }
        let crashes = Crashes::new(&fixture.dir, crashes.every, crashes.countdown.get());
        assert_eq!(oracle.served(&fixture.store), checked);
        Self {
            filled,
            ..Self::of(fixture, oracle, crashes)
        }
    }
}
