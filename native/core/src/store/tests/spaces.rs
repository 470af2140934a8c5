//! Geometry: one for each space, and only such as the pool can hold.

use super::fixture::{Fixture, MIB, geometry, random_hash};
use crate::error::ErrorKind;
use crate::space::{ShardGeometry, SpaceGeometry, SpaceKey};

#[test]
fn the_same_key_and_geometry_is_the_same_space() {
    let fixture = Fixture::new(4 * MIB);
    let key = SpaceKey {
        namespace: random_hash(),
        group: 3,
    };
    let first = fixture.store.space(key, geometry(&[4096, 8192])).unwrap();
    fixture.space(&[4096]);
    assert_eq!(fixture.store.space(key, geometry(&[4096, 8192])).unwrap(), first);
    assert_eq!(fixture.snapshot().spaces.len(), 2);
}

#[test]
fn another_geometry_under_the_same_key_is_a_conflict_that_names_both() {
    let fixture = Fixture::new(4 * MIB);
    let key = SpaceKey {
        namespace: random_hash(),
        group: 0,
    };
    let known = geometry(&[4096, 8192]);
    fixture.store.space(key, known.clone()).unwrap();
    let other_digest = ShardGeometry {
        page_bytes: 8192,
        digest: [0xab; 32],
    };
    let others = [
        (
            SpaceGeometry {
                hash_bytes: 16,
                ..known.clone()
            },
            ["32", "16"],
        ),
        (geometry(&[4096]), ["2 shards", "not 1"]),
        (geometry(&[4096, 12_288]), ["8192", "12288"]),
        (
            SpaceGeometry {
                shards: vec![known.shards[0], other_digest],
                ..known.clone()
            },
            ["0707", "abab"],
        ),
    ];
    for (other, parts) in others {
        let error = fixture.store.space(key, other).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");
    }
}

#[test]
fn hashes_that_a_slot_record_cannot_hold_are_refused() {
    let fixture = Fixture::new(4 * MIB);
    for hash_bytes in [0, 7, 33, 64] {
        let key = SpaceKey {
            namespace: random_hash(),
            group: 0,
        };
        let error = fixture
            .store
            .space(
                key,
                SpaceGeometry {
                    hash_bytes,
                    ..geometry(&[4096])
                },
            )
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(
            error.message().contains(&hash_bytes.to_string()) && error.message().contains("8 to 32"),
            "{error}"
        );
    }
}

#[test]
fn blocks_without_shards_or_bytes_are_refused() {
    let fixture = Fixture::new(4 * MIB);
    for pages in [&[][..], &[0], &[4096, 0]] {
        let key = SpaceKey {
            namespace: random_hash(),
            group: 0,
        };
        assert_eq!(
            fixture.store.space(key, geometry(pages)).unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
}

#[test]
fn a_page_larger_than_a_slab_is_refused_and_makes_no_space() {
    let fixture = Fixture::new(4 * MIB);
    let key = SpaceKey {
        namespace: random_hash(),
        group: 0,
    };
    assert_eq!(
        fixture.store.space(key, geometry(&[MIB + 1])).unwrap_err().kind(),
        ErrorKind::Config
    );
    assert!(fixture.snapshot().spaces.is_empty());
    fixture.store.space(key, geometry(&[MIB])).unwrap();
}

#[test]
fn shards_hashes_and_spaces_that_do_not_exist_are_refused() {
    let fixture = Fixture::new(4 * MIB);
    let other = Fixture::new(4 * MIB);
    let space = fixture.space(&[4096, 4096]);
    let shard = fixture.store.reserve(space, 2, &random_hash(), None).unwrap_err();
    assert_eq!(shard.kind(), ErrorKind::Invalid);
    assert!(shard.message().contains("shard 2"), "{shard}");
    assert_eq!(
        fixture
            .store
            .reserve(space, 0, &[1; 31], None)
            .unwrap_err()
            .kind(),
        ErrorKind::Invalid
    );
    assert_eq!(
        other
            .store
            .reserve(space, 0, &random_hash(), None)
            .unwrap_err()
            .kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        other.store.lookup(space, &[]).unwrap_err().kind(),
        ErrorKind::NotFound
    );
}
