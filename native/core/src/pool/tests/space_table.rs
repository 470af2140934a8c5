//! The space table: what was written is read, and nothing else.

use std::fs::File;
use std::os::unix::fs::FileExt;

use proptest::prelude::*;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::error::ErrorKind;
use crate::pool::region::Region;
use crate::pool::space_table::{KnownSpace, MAX_SPACES, SpaceTable, TABLES_END};
use crate::space::{ShardGeometry, SpaceGeometry, SpaceKey, SpaceNumber};
use crate::sync::Arc;

const SHARDS_AT: u64 = 4096 + 65_536 * 64;

fn file() -> Arc<File> {
    let file = File::from(memfd_create("spaces", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(TABLES_END).unwrap();
    Arc::new(file)
}

fn table(file: &Arc<File>) -> SpaceTable {
    let region = Region::map(&**file, TABLES_END, "a space table").unwrap();
    SpaceTable::new(Arc::new(region), Arc::clone(file))
}

fn geometries(most_shards: usize) -> impl Strategy<Value = SpaceGeometry> {
    let shard = (any::<u64>(), any::<[u8; 32]>())
        .prop_map(|(page_bytes, digest)| ShardGeometry { page_bytes, digest });
    (8..=32_u32, prop::collection::vec(shard, 1..most_shards))
        .prop_map(|(hash_bytes, shards)| SpaceGeometry { hash_bytes, shards })
}

fn spaces() -> impl Strategy<Value = Vec<KnownSpace>> {
    let space = (any::<[u8; 32]>(), any::<u32>(), geometries(6));
    let ids = prop::collection::btree_set(0..MAX_SPACES as u16, 1..8);
    (ids, prop::collection::vec(space, 8)).prop_map(|(ids, spaces)| {
        let space = |(id, (namespace, group, geometry))| KnownSpace {
            number: SpaceNumber(id),
            key: SpaceKey { namespace, group },
            geometry,
        };
        ids.into_iter().zip(spaces).map(space).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn spaces_come_back_as_they_were_written_until_they_are_cleared(spaces in spaces(), cleared in any::<prop::sample::Index>()) {
        let file = file();
        let first = table(&file);
        for space in &spaces {
            first.write(space.number, space.key, &space.geometry).unwrap();
        }
        let next = table(&file);
        prop_assert_eq!(&next.read().unwrap(), &spaces);
        // Shards of new spaces come behind those that are there.
        let cleared = cleared.index(spaces.len());
        next.clear(spaces[cleared].number);
        let mut expected = spaces.clone();
        let gone = expected.remove(cleared);
        prop_assert_eq!(&next.read().unwrap(), &expected);
        next.write(gone.number, gone.key, &gone.geometry).unwrap();
        prop_assert_eq!(&table(&file).read().unwrap(), &spaces);
    }

    #[test]
    fn a_space_with_any_bit_changed_is_passed_over(
        spaces in spaces(),
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        bit in 0..8,
    ) {
        let file = file();
        let first = table(&file);
        for space in &spaces {
            first.write(space.number, space.key, &space.geometry).unwrap();
        }
        let which = which.index(spaces.len());
        let before: usize = spaces[..which].iter().map(|space| space.geometry.shards.len()).sum();
        let shard_bytes = spaces[which].geometry.shards.len() * 40;
        let at = at.index(64 + shard_bytes) as u64;
        let at = match at {
            0..64 => 4096 + u64::from(spaces[which].number.0) * 64 + at,
            _ => SHARDS_AT + before as u64 * 40 + at - 64,
        };
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1_u8 << bit], at).unwrap();
        let mut expected = spaces;
        expected.remove(which);
        prop_assert_eq!(table(&file).read().unwrap(), expected);
    }
}

#[test]
fn more_shards_than_the_table_has_are_refused_with_a_remedy() {
    let table = table(&file());
    let shards = vec![
        ShardGeometry {
            page_bytes: 1,
            digest: [0; 32]
        };
        u16::MAX.into()
    ];
    let geometry = SpaceGeometry {
        hash_bytes: 32,
        shards,
    };
    let write = |number| {
        let key = SpaceKey {
            namespace: [1; 32],
            group: number,
        };
        table.write(SpaceNumber(number as u16), key, &geometry)
    };
    (0..16).for_each(|number| write(number).unwrap());
    let error = write(16).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.message().contains("namespace evict"), "{error}");
    assert_eq!(table.read().unwrap().len(), 16);
    // Room that a space left is another's.
    table.clear(SpaceNumber(5));
    write(16).unwrap();
    assert_eq!(write(5).unwrap_err().kind(), ErrorKind::Limit);
    let numbers: Vec<_> = table.read().unwrap().iter().map(|space| space.number.0).collect();
    assert_eq!(numbers, (0..17).filter(|number| *number != 5).collect::<Vec<_>>());
}

#[test]
fn a_table_that_gets_no_more_memory_says_so_while_spaces_can_still_be_written() {
    // As long as the first shards, and never longer, as in a file system that others fill.
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(memfd_create("spaces", flags).unwrap());
    file.set_len(SHARDS_AT + (64 << 10) + 4096).unwrap();
    fcntl_add_seals(&file, SealFlags::GROW).unwrap();
    let table = table(&Arc::new(file));
    table.allocate_ahead();
    assert_eq!(table.problem(), None);
    let geometry = SpaceGeometry {
        hash_bytes: 32,
        shards: vec![
            ShardGeometry {
                page_bytes: 1,
                digest: [0; 32]
            };
            16
        ],
    };
    let write = |number: u16| {
        let key = SpaceKey {
            namespace: [1; 32],
            group: number.into(),
        };
        table.write(SpaceNumber(number), key, &geometry)
    };
    let mut said_at = None;
    let written = (0..)
        .take_while(|number| {
            let is_written = write(*number).is_ok();
            if said_at.is_none() && table.problem().is_some() {
                said_at = Some(*number);
            }
            is_written
        })
        .count();
    let said_at = usize::from(said_at.unwrap());
    assert!(said_at + 90 < written, "said with space {said_at} of {written}");
    assert!(table.problem().unwrap().contains("engines"));
}
