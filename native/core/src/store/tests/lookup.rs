//! The longest contiguous prefix, of this space only.

use super::fixture::{Fixture, MIB, geometry, random_bytes, random_hash};
use crate::error::ErrorKind;
use crate::space::{SpaceGeometry, SpaceKey};

#[test]
fn a_gap_ends_the_prefix() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[4096]);
    let mut hashes: Vec<_> = (0..10).map(|_| fixture.save(space).0).collect();
    assert_eq!(fixture.lookup(space, &hashes).len(), 10);
    hashes[6] = random_hash();
    let hits = fixture.lookup(space, &hashes);
    assert_eq!((hits.len(), hits.bytes()), (6, 6 * 4096));
    hashes[0] = random_hash();
    assert!(fixture.lookup(space, &hashes).is_empty());
}

#[test]
fn no_hashes_are_no_hits_and_count_nothing() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[4096]);
    assert!(fixture.lookup(space, &[]).is_empty());
    let counts = &fixture.snapshot().spaces[0];
    assert_eq!((counts.hits, counts.misses), (0, 0));
}

#[test]
fn hits_and_misses_add_up_to_the_blocks_asked_for() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[4096]);
    let mut hashes: Vec<_> = (0..7).map(|_| fixture.save(space).0).collect();
    hashes.insert(5, random_hash());
    fixture.lookup(space, &hashes);
    fixture.lookup(space, &hashes[..3]);
    let counts = &fixture.snapshot().spaces[0];
    assert_eq!((counts.hits, counts.misses), (5 + 3, 3));
}

#[test]
fn a_miss_does_not_prevent_a_later_hit() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[4096]);
    let hash = random_hash();
    assert!(fixture.lookup(space, &[hash]).is_empty());
    fixture.save_shard(space, 0, &hash);
    assert_eq!(fixture.lookup(space, &[hash]).len(), 1);
}

#[test]
fn the_same_hash_twice_in_a_list_is_two_hits() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[4096]);
    let (hash, bytes) = fixture.save(space);
    let hits = fixture.lookup(space, &[hash, hash]);
    assert_eq!(hits.page(0, 0).unwrap().read(), bytes);
    assert_eq!(hits.page(1, 0), hits.page(0, 0));
    assert_eq!(fixture.snapshot().pinned_blocks, 1);
    drop(hits);
    assert_eq!(fixture.snapshot().pinned_blocks, 0);
}

#[test]
fn spaces_never_share_a_hash() {
    let fixture = Fixture::new(4 * MIB);
    let namespace = random_hash();
    let group = |group| {
        fixture
            .store
            .space(SpaceKey { namespace, group }, geometry(&[4096]))
            .unwrap()
    };
    let spaces = [group(0), group(1), fixture.space(&[4096])];
    let hash = random_hash();
    for (saved, space) in spaces.iter().enumerate() {
        for (other, space) in spaces.iter().enumerate() {
            assert_eq!(fixture.lookup(*space, &[hash]).len(), usize::from(other < saved));
        }
        fixture.save_shard(*space, 0, &hash);
    }
    assert_ne!(
        fixture.read(spaces[0], 0, &hash),
        fixture.read(spaces[1], 0, &hash)
    );
}

#[test]
fn short_hashes_are_told_apart_by_their_own_bytes() {
    let fixture = Fixture::new(4 * MIB);
    let key = SpaceKey {
        namespace: random_hash(),
        group: 0,
    };
    let space = fixture
        .store
        .space(
            key,
            SpaceGeometry {
                hash_bytes: 8,
                ..geometry(&[4096])
            },
        )
        .unwrap();
    let hashes = random_bytes(8 * 20);
    for hash in hashes.chunks(8) {
        let crate::store::Reserved::Page(writer) = fixture.store.reserve(space, 0, hash, None).unwrap()
        else {
            panic!("no page")
        };
        writer.page().write(&[hash[0]; 4096]);
        writer.seal();
    }
    let hits = fixture.store.lookup(space, &hashes).unwrap();
    assert_eq!(hits.len(), 20);
    for (index, hash) in hashes.chunks(8).enumerate() {
        assert_eq!(hits.page(index, 0).unwrap().read(), [hash[0]; 4096]);
    }
}

#[test]
fn bytes_that_are_no_whole_number_of_hashes_are_refused() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[4096]);
    let error = fixture.store.lookup(space, &[0; 33]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error.message().contains("33") && error.message().contains("32"),
        "{error}"
    );
}
