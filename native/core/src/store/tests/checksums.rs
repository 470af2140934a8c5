//! Checksums are made after the seal, and what does not agree with its own is never served.

use std::time::{Duration, Instant};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use super::fixture::{Fixture, Hash, MIB, eventually, random_hash};
use crate::error::ErrorKind;
use crate::index::BlockKey;
use crate::lease::{LeaseTable, SessionId};
use crate::pool::{Slot, SlotState};
use crate::progress::Progress;
use crate::space::SpaceId;
use crate::store::{Hits, Reserved, Verified, Verify};

/// The record's slot of one shard of a visible block.
pub(super) fn slot_of(fixture: &Fixture, space: SpaceId, shard: u16, hash: &Hash) -> Slot {
    let index = &fixture.store.index;
    let key = BlockKey::new(space, hash);
    let pinned = index.pin(&key).expect("a visible block");
    let slot = index.slot(pinned.block, shard).expect("a filled shard");
    index.unpin(pinned.block);
    slot
}

/// Changes one bit of a page behind everybody's back.
pub(super) fn damage(hits: &Hits, index: usize, shard: u32) {
    let page = hits.page(index, shard).unwrap();
    let mut bytes = page.read();
    let at = rand::random_range(0..bytes.len());
    bytes[at] ^= 1 << rand::random_range(0..8);
    page.write(&bytes);
}

#[test]
fn a_sealed_page_has_its_checksum_within_a_second() {
    let fixture = Fixture::new(8 * MIB);
    let space = fixture.space(&[10_000, 70_000]);
    // The machine may be busy with other things, but not each time.
    let times = (1..=20).map(|blocks| {
        let hash = random_hash();
        fixture.save_shard(space, 0, &hash);
        fixture.save_shard(space, 1, &hash);
        let sealed = Instant::now();
        fixture.wait_for_checksums(2 * blocks);
        sealed.elapsed()
    });
    assert!(times.min().unwrap() < Duration::from_secs(1));
}

#[test]
fn a_checksum_is_of_the_key_and_the_bytes() {
    let fixture = Fixture::new(8 * MIB);
    let space = fixture.space(&[10_000, 70_000]);
    let hash = random_hash();
    fixture.save_shard(space, 0, &hash);
    fixture.save_shard(space, 1, &hash);
    fixture.wait_for_checksums(2);
    for shard in 0..2 {
        let bytes = fixture.read(space, shard.into(), &hash).unwrap();
        let slot = slot_of(&fixture, space, shard, &hash);
        let record = fixture.store.pool.slots.read(slot).unwrap();
        let key = fixture.store.spaces.get(space).unwrap().key;
        let key_bytes = [
            key.namespace.as_slice(),
            &key.group.to_le_bytes(),
            &shard.to_le_bytes(),
            &hash,
        ];
        let seed = xxh3_64(&key_bytes.concat());
        assert_eq!(record.checksum, Some(xxh3_128_with_seed(&bytes, seed)));
        assert!(!record.is_unverified);
    }
}

#[test]
fn checksums_keep_up_with_eviction() {
    let fixture = Fixture::new(2 * MIB);
    let space = fixture.space(&[64 << 10]);
    let saved: Vec<_> = (0..300).map(|_| fixture.save(space)).collect();
    fixture.wait_for_inspector();
    let snapshot = fixture.snapshot();
    assert!(snapshot.spaces[0].evictions > 0);
    for (hash, bytes) in &saved {
        let hits = fixture.lookup(space, &[*hash]);
        if !hits.is_empty() {
            assert_eq!(&hits.page(0, 0).unwrap().read(), bytes);
        }
    }
}

#[test]
fn always_means_that_a_damaged_page_fails_its_load_and_is_a_miss_from_then_on() {
    let fixture = Fixture::with(8 * MIB, |config| config.verify = Verify::Always);
    let space = fixture.space(&[10_000, 5000]);
    let hash = random_hash();
    let saved = [
        fixture.save_shard(space, 0, &hash),
        fixture.save_shard(space, 1, &hash),
    ];
    fixture.wait_for_checksums(2);
    let hits = fixture.lookup(space, &[hash]);
    for shard in 0..2 {
        hits.verify(0, shard).unwrap();
    }
    damage(&hits, 0, 1);
    hits.verify(0, 0).unwrap();
    assert_eq!(hits.verify(0, 1).unwrap_err().kind(), ErrorKind::Corrupt);
    // Nor is the other shard served: a block is good as a whole or not at all.
    assert_eq!(hits.verify(0, 0).unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(hits.page(0, 0).is_none() && hits.page(0, 1).is_none());
    assert!(fixture.lookup(space, &[hash]).is_empty());
    let snapshot = fixture.snapshot();
    assert_eq!(
        (snapshot.checksums.corrupt_blocks, snapshot.spaces[0].blocks),
        (1, 0)
    );

    // It can be saved anew while the old one is still held, and then the old one goes alone.
    for (shard, bytes) in (0..).zip(&saved) {
        let writer = fixture.writer(space, shard, &hash);
        writer.page().write(bytes);
        writer.seal();
    }
    drop(hits);
    for (shard, bytes) in (0..).zip(&saved) {
        assert_eq!(fixture.read(space, shard, &hash).as_ref(), Some(bytes));
    }
    let snapshot = fixture.snapshot();
    assert_eq!(
        snapshot.pool.used_bytes,
        (10_000_u64).next_multiple_of(4096) + 8192
    );
    assert_eq!((snapshot.pinned_blocks, snapshot.spaces[0].evictions), (0, 0));
    let fixture = fixture.reopen(|_| {});
    assert_eq!(fixture.snapshot().taken_over.unwrap().blocks, 1);
}

#[test]
fn a_load_says_which_page_is_damaged_and_counts_what_it_compared() {
    let fixture = Fixture::with(8 * MIB, |config| config.verify = Verify::Always);
    let space = fixture.space(&[10_000]);
    let hashes: Vec<_> = (0..3).map(|_| fixture.save(space).0).collect();
    fixture.wait_for_checksums(3);
    let hits = fixture.lookup(space, &hashes);
    damage(&hits, 2, 0);
    let leases = LeaseTable::new();
    let lease = leases.grant(SessionId(1), hits, 1, Instant::now()).unwrap();
    let pass = leases.begin_load(lease, 0, 1, 2, false).unwrap();
    pass.verify(0, 0).unwrap();
    assert_eq!(pass.verify(1, 0).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(pass.verify(2, 0).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(pass.verify(0, 1).unwrap_err().kind(), ErrorKind::Invalid);
    let checksums = fixture.snapshot().checksums;
    assert_eq!((checksums.verified_pages, checksums.verified_bytes), (2, 20_000));
    assert!(checksums.verify_time > Duration::ZERO);
    assert_eq!(fixture.lookup(space, &hashes).len(), 2);
    drop(pass);
    assert_eq!(fixture.snapshot().pool.used_bytes, 2 * 12_288);
}

#[test]
fn off_and_first_compare_nothing_that_this_daemon_has_saved() {
    for verify in [Verify::Off, Verify::First] {
        let fixture = Fixture::with(8 * MIB, |config| config.verify = verify);
        let space = fixture.space(&[10_000]);
        let (hash, _) = fixture.save(space);
        fixture.wait_for_checksums(1);
        fixture.lookup(space, &[hash]).verify(0, 0).unwrap();
        assert_eq!(fixture.snapshot().checksums.verified_pages, 0);
    }
}

#[test]
fn the_scrubber_finds_a_damaged_page_that_nobody_loads() {
    let fixture = Fixture::with(8 * MIB, |config| config.scrub_period = Duration::from_millis(1));
    let space = fixture.space(&[10_000, 5000]);
    let hashes: Vec<_> = (0..20)
        .map(|_| {
            let hash = random_hash();
            fixture.save_shard(space, 0, &hash);
            fixture.save_shard(space, 1, &hash);
            hash
        })
        .collect();
    fixture.wait_for_checksums(40);
    let hits = fixture.lookup(space, &hashes[7..8]);
    let slot = slot_of(&fixture, space, 1, &hashes[7]);
    damage(&hits, 0, 1);
    eventually("the block is dropped", || {
        fixture.lookup(space, &hashes[7..8]).is_empty()
    });
    let state = || fixture.store.pool.slots.read(slot).unwrap().state;
    assert_eq!(state(), SlotState::Evicting, "a kill from now on drops it");
    drop(hits);
    assert_eq!(state(), SlotState::Free);
    for hash in hashes[..7].iter().chain(&hashes[8..]) {
        assert_eq!(fixture.lookup(space, &[*hash]).len(), 1);
    }
    assert_eq!(fixture.snapshot().checksums.corrupt_blocks, 1);
    assert!(matches!(fixture.reserve(space, 0, &hashes[7]), Reserved::Page(_)));
}

#[test]
fn the_scrubber_comes_round_at_the_pace_it_is_given() {
    let fixture = Fixture::with(8 * MIB, |config| config.scrub_period = Duration::from_millis(1));
    let space = fixture.space(&[5000]);
    for _ in 0..50 {
        fixture.save(space);
    }
    fixture.wait_for_checksums(50);
    let before = fixture.snapshot().checksums;
    eventually("two rounds", || {
        fixture.snapshot().checksums.scrub_rounds >= before.scrub_rounds + 3
    });
    let after = fixture.snapshot().checksums;
    assert!(after.scrubbed_pages - before.scrubbed_pages >= 100);

    let slow = Fixture::new(8 * MIB);
    let space = slow.space(&[5000]);
    slow.save(space);
    slow.wait_for_checksums(1);
    assert_eq!(slow.snapshot().checksums.scrubbed_pages, 0);
}

#[test]
fn a_look_at_all_pages_finds_those_that_changed_and_drops_their_blocks() {
    let fixture = Fixture::new(8 * MIB);
    let space = fixture.space(&[10_000, 70_000]);
    let hashes: Vec<Hash> = (0..20).map(|_| random_hash()).collect();
    for hash in &hashes {
        fixture.save_shard(space, 0, hash);
        fixture.save_shard(space, 1, hash);
    }
    fixture.wait_for_checksums(40);
    let whole = fixture.store.verify_memory(&Progress::default());
    assert_eq!(
        (whole.pages, whole.corrupt_pages, whole.pending_pages),
        (40, 0, 0)
    );
    assert_eq!(whole.bytes, 20 * 80_000);

    damage(&fixture.lookup(space, &hashes[7..8]), 0, 1);
    let progress = Progress::default();
    let looked = fixture.store.verify_memory(&progress);
    assert_eq!(looked.corrupt_pages, 1);
    assert_eq!(progress.snapshot().blocks_expected, 40);
    for (index, hash) in hashes.iter().enumerate() {
        assert_eq!(fixture.lookup(space, &[*hash]).len(), usize::from(index != 7));
    }

    let cancelled = Progress::default();
    cancelled.cancel();
    assert_eq!(fixture.store.verify_memory(&cancelled), Verified::default());
}
