//! A slot table in which anything may be written: what is served is what was saved, whatever it says.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::checksums::slot_of;
use super::fixture::{Fixture, Hash, MIB, config, geometry, random_bytes, random_hash};
use super::takeover::save;
use crate::error::ErrorKind;
use crate::pool::Slot;
use crate::space::{SpaceId, SpaceKey};
use crate::store::{Reserved, Store, Verify};

const POOL_BYTES: u64 = 4 * MIB;
const SPACES_AT: u64 = 4096;
const SHARDS_AT: u64 = SPACES_AT + 65_536 * 64;
const RECORDS_AT: u64 = SHARDS_AT + 1_048_576 * 40;
/// Page sizes of two spaces of like geometry and one of another.
const SPACES: [&[u64]; 3] = [&[16_000, 5000], &[16_000, 5000], &[70_000]];

type Saved = HashMap<Hash, Vec<Vec<u8>>>;

/// The files of a store that was closed with blocks in it.
struct Closed {
    dir: TempDir,
    saved: Vec<Saved>,
    /// The slots of each block's shards.
    slots: HashMap<Hash, Vec<Slot>>,
}

fn spaces(store: &Store) -> Vec<SpaceId> {
    let space = |(group, pages): (u32, &[u64])| {
        let key = SpaceKey {
            namespace: [8; 32],
            group,
        };
        store.space(key, geometry(pages)).unwrap()
    };
    (0..).zip(SPACES).map(space).collect()
}

impl Closed {
    fn new() -> Self {
        let fixture = Fixture::new(POOL_BYTES);
        let spaces = spaces(&fixture.store);
        let shards = SPACES.map(|pages| pages.len() as u32);
        let saved: Vec<_> = spaces
            .iter()
            .zip(shards)
            .map(|(space, shards)| save(&fixture, *space, shards, 6))
            .collect();
        let mut slots = HashMap::new();
        for ((space, saved), shards) in spaces.iter().zip(&saved).zip(shards) {
            for hash in saved.keys() {
                let shards = (0..shards as u16).map(|shard| slot_of(&fixture, *space, shard, hash));
                slots.insert(*hash, shards.collect());
            }
        }
        fixture.store.close(false).unwrap();
        Self {
            dir: fixture.abandon(),
            saved,
            slots,
        }
    }

    fn file(&self, suffix: &str) -> (PathBuf, File) {
        let mut paths = self
            .dir
            .path()
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let path = paths.find(|path| path.extension().unwrap() == suffix).unwrap();
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        (path, file)
    }

    fn table(&self) -> File {
        self.file("slots").1
    }

    fn record_at(&self, slot: Slot) -> u64 {
        RECORDS_AT + u64::from(slot.0) * 64
    }

    /// Writes into the record of one shard of a block.
    fn patch(&self, hash: &Hash, shard: usize, offset: u64, bytes: &[u8]) {
        let at = self.record_at(self.slots[hash][shard]) + offset;
        self.table().write_all_at(bytes, at).unwrap();
    }

    fn hash(&self, space: usize, number: usize) -> Hash {
        *self.saved[space].keys().nth(number).unwrap()
    }

    fn open(self, verify: Verify) -> (Fixture, Vec<Saved>) {
        let mut config = config(self.dir.path(), POOL_BYTES);
        config.verify = verify;
        (Fixture::open(self.dir, config), self.saved)
    }
}

/// Each block that is served is as it was saved; how many are.
fn served(fixture: &Fixture, saved: &[Saved]) -> usize {
    let mut found = 0;
    for (space, saved) in spaces(&fixture.store).into_iter().zip(saved) {
        for (hash, shards) in saved {
            let hits = fixture.lookup(space, &[*hash]);
            let is_good =
                !hits.is_empty() && (0..shards.len()).all(|shard| hits.verify(0, shard as u32).is_ok());
            if is_good {
                found += 1;
                for (shard, bytes) in (0..).zip(shards) {
                    assert!(
                        &hits.page(0, shard).unwrap().read() == bytes,
                        "other bytes than were saved"
                    );
                }
            } else {
                drop(hits);
                assert!(
                    fixture.lookup(space, &[*hash]).is_empty(),
                    "a corrupt block is a miss from then on"
                );
            }
        }
    }
    found
}

/// Fills the pool anew, with pages that do not overlap each other or what is left.
fn check_pages(fixture: &Fixture, saved: &[Saved]) {
    let space = spaces(&fixture.store)[2];
    let new: Vec<_> = (0..60).map(|_| fixture.save(space)).collect();
    for (hash, bytes) in &new {
        if let Some(found) = fixture.read(space, 0, hash) {
            assert!(&found == bytes, "other bytes than were saved");
        }
    }
    served(fixture, saved);
    let snapshot = fixture.snapshot();
    assert_eq!(snapshot.pinned_blocks, 0);
    assert!(snapshot.pool.used_bytes <= snapshot.pool.bytes);
}

#[test]
fn a_kill_at_any_step_of_save_and_eviction_drops_the_block_and_no_other() {
    // Reserved, filled, evicting; sealed without its checksum.
    let states: [(&[u8], [u64; 3]); 4] = [
        (&[1, 0], [1, 0, 0]),
        (&[2, 1], [1, 0, 0]),
        (&[4, 1], [1, 0, 0]),
        (&[3, 0], [0, 1, 0]),
    ];
    for shard in 0..2 {
        for (state, dropped) in states {
            let closed = Closed::new();
            let victim = closed.hash(0, 2);
            closed.patch(&victim, shard, 0, state);
            let (fixture, mut saved) = closed.open(Verify::First);
            let taken = fixture.snapshot().taken_over.unwrap();
            assert_eq!(taken.blocks, 17);
            let causes = [
                taken.unsealed_pages,
                taken.pages_without_checksum,
                taken.bad_records,
            ];
            assert_eq!((causes, taken.incomplete_pages), (dropped, 1));
            let space = spaces(&fixture.store)[0];
            assert!(fixture.lookup(space, &[victim]).is_empty());
            assert!(matches!(fixture.reserve(space, 0, &victim), Reserved::Page(_)));
            saved[0].remove(&victim);
            assert_eq!(served(&fixture, &saved), 17);
            check_pages(&fixture, &saved);
        }
    }
}

#[test]
fn a_record_that_cannot_be_is_dropped_and_counted() {
    let patches: [(u64, &[u8]); 7] = [
        (0, &[9]),
        (1, &[0b101]),
        (8, &[1]),
        (12, &[200]),
        (12, &[2]),
        (14, &[2]),
        (14, &[255, 255]),
    ];
    for (offset, bytes) in patches {
        let closed = Closed::new();
        let victim = closed.hash(0, 0);
        closed.patch(&victim, 0, offset, bytes);
        let (fixture, mut saved) = closed.open(Verify::First);
        let taken = fixture.snapshot().taken_over.unwrap();
        assert_eq!(
            (taken.blocks, taken.bad_records, taken.incomplete_pages),
            (17, 1, 1),
            "{offset} {bytes:?}"
        );
        saved[0].remove(&victim);
        assert_eq!(served(&fixture, &saved), 17);
        check_pages(&fixture, &saved);
    }
}

#[test]
fn a_page_under_the_key_of_another_is_not_served() {
    let closed = Closed::new();
    let (victim, other) = (closed.hash(0, 0), random_hash());
    // The same model's other cache group, with pages of the same size; and the same group, with another hash.
    closed.patch(&victim, 0, 12, &[1]);
    closed.patch(&victim, 1, 12, &[1]);
    let renamed = closed.hash(0, 1);
    closed.patch(&renamed, 0, 32, &other);
    closed.patch(&renamed, 1, 32, &other);
    let (fixture, _) = closed.open(Verify::First);
    assert_eq!(fixture.snapshot().taken_over.unwrap().blocks, 18);
    let spaces = spaces(&fixture.store);
    for (space, hash) in [(spaces[1], victim), (spaces[0], other)] {
        let hits = fixture.lookup(space, &[hash]);
        assert_eq!(hits.verify(0, 0).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    assert_eq!(fixture.snapshot().checksums.corrupt_blocks, 2);
}

#[test]
fn of_two_records_of_one_page_the_younger_counts() {
    let closed = Closed::new();
    let (hash, doubled) = (closed.hash(2, 0), closed.hash(2, 1));
    closed.patch(&doubled, 0, 32, &hash);
    let (fixture, _) = closed.open(Verify::First);
    let taken = fixture.snapshot().taken_over.unwrap();
    assert_eq!((taken.blocks, taken.bad_records), (17, 1));
    let used = 12 * (16_384 + 8192) + 5 * 73_728;
    assert_eq!(fixture.snapshot().pool.used_bytes, used, "the older page is free");
    check_pages(&fixture, &[]);
}

#[test]
fn a_space_entry_that_is_not_as_it_was_written_loses_its_blocks_and_no_others() {
    for (offset, bytes) in [
        (SPACES_AT, [7]),
        (SPACES_AT + 8, [31]),
        (SPACES_AT + 12, [1]),
        (SPACES_AT + 20, [0]),
        (SHARDS_AT + 3, [1]),
    ] {
        let closed = Closed::new();
        closed.table().write_all_at(&bytes, offset).unwrap();
        let (fixture, mut saved) = closed.open(Verify::First);
        let taken = fixture.snapshot().taken_over.unwrap();
        assert_eq!((taken.blocks, taken.bad_records), (12, 12), "{offset}");
        saved[0].clear();
        assert_eq!(served(&fixture, &saved), 12);
    }
}

/// Where to write.
#[derive(Debug, Clone)]
enum Where {
    Header(u64),
    Space(u64),
    Shard(u64),
    Record(prop::sample::Index, u64),
    Anywhere(prop::sample::Index),
    Page(prop::sample::Index),
}

fn places() -> impl Strategy<Value = Where> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        1 => (0..4096_u64).prop_map(Where::Header),
        2 => (0..4 * 64_u64).prop_map(Where::Space),
        2 => (0..8 * 40_u64).prop_map(Where::Shard),
        20 => (index(), 0..64_u64).prop_map(|(slot, at)| Where::Record(slot, at)),
        2 => index().prop_map(Where::Anywhere),
        6 => index().prop_map(Where::Page),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_written_into_the_files_only_what_was_saved_is_served(
        writes in prop::collection::vec((places(), 1..9_usize), 1..30),
        verify in prop::sample::select(vec![Verify::First, Verify::Always]),
    ) {
        let closed = Closed::new();
        let (table, (_, pool)) = (closed.table(), closed.file("pool"));
        let slots: Vec<_> = closed.slots.values().flatten().copied().collect();
        let table_bytes = table.metadata().unwrap().len();
        let mut touches_header = false;
        for (place, len) in writes {
            let bytes = random_bytes(len);
            let (file, at, end) = match place {
                Where::Header(at) => (&table, at, 4096),
                Where::Space(at) => (&table, SPACES_AT + at, table_bytes),
                Where::Shard(at) => (&table, SHARDS_AT + at, table_bytes),
                Where::Record(slot, at) => (&table, closed.record_at(slots[slot.index(slots.len())]) + at, table_bytes),
                Where::Anywhere(at) => (&table, 4096 + at.index(table_bytes as usize - 4096) as u64, table_bytes),
                Where::Page(at) => (&pool, at.index(POOL_BYTES as usize) as u64, POOL_BYTES),
            };
            touches_header |= matches!(place, Where::Header(_));
            let len = bytes.len().min((end - at) as usize);
            file.write_all_at(&bytes[..len], at).unwrap();
        }
        if touches_header {
            let config = config(closed.dir.path(), POOL_BYTES);
            if let Err(error) = Store::open(config) {
                prop_assert_eq!(error.kind(), ErrorKind::Conflict);
                prop_assert!(error.message().contains(path_text(&closed.file("slots").0)), "{}", error);
            }
            return Ok(());
        }
        let (fixture, saved) = closed.open(verify);
        served(&fixture, &saved);
        check_pages(&fixture, &saved);
        let fixture = fixture.reopen(|_| {});
        prop_assert_eq!(fixture.snapshot().taken_over.map_or(0, |taken| taken.bad_records), 0);
        served(&fixture, &saved);
    }
}

fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}
