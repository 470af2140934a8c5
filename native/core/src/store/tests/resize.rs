//! Another size, at run time and by a take-over: what is served is what was saved, and memory is what the size says.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::fixture::{Fixture, Hash, MIB, eventually, random_hash};
use super::takeover::save;
use crate::error::ErrorKind;
use crate::progress::Progress;
use crate::space::SpaceId;
use crate::store::{Reserved, Resized};

const PAGE: u64 = 64 << 10;

fn resize(fixture: &Fixture, bytes: u64) -> Resized {
    fixture.store.resize_memory(bytes, &Progress::default()).unwrap()
}

/// Bytes of memory that the pool's file takes.
fn allocated(fixture: &Fixture) -> u64 {
    let path = fixture.snapshot().pool.path.unwrap();
    fs::metadata(path).unwrap().blocks() * 512
}

fn check(fixture: &Fixture, space: SpaceId, blocks: &[(Hash, Vec<u8>)]) {
    for (hash, bytes) in blocks {
        assert_eq!(fixture.read(space, 0, hash).as_ref(), Some(bytes));
    }
}

#[test]
fn a_smaller_pool_keeps_its_hottest_blocks_and_gives_the_rest_of_its_memory_back() {
    let fixture = Fixture::new(16 * MIB);
    let space = fixture.space(&[PAGE]);
    let saved: Vec<_> = (0..200).map(|_| fixture.save(space)).collect();
    // Hot blocks lie everywhere.
    let (hot, cold): (Vec<_>, Vec<_>) = saved
        .into_iter()
        .enumerate()
        .partition(|(number, _)| number % 4 == 0);
    let hot: Vec<_> = hot.into_iter().map(|(_, saved)| saved).collect();
    check(&fixture, space, &hot);

    let progress = Progress::default();
    let resized = fixture.store.resize_memory(5 * MIB + 1, &progress).unwrap();
    assert_eq!((resized.before_bytes, resized.bytes), (16 * MIB, 5 * MIB));
    assert!(resized.moved_blocks > 0);
    assert_eq!(progress.snapshot().bytes, 11 * MIB);
    assert_eq!(progress.snapshot().bytes_expected, 11 * MIB);
    check(&fixture, space, &hot);
    let pool = fixture.snapshot().pool;
    assert_eq!(
        (pool.bytes, pool.ready_bytes, pool.degraded),
        (5 * MIB, 5 * MIB, None)
    );
    assert!(pool.used_bytes <= pool.bytes);
    assert_eq!(allocated(&fixture), 5 * MIB);
    let left = cold
        .iter()
        .filter(|(_, (hash, _))| fixture.read(space, 0, hash).is_some());
    assert!(left.count() < cold.len());
    // All of what is left can be used, and nothing of what went.
    let slabs = fixture.space(&[MIB]);
    let writers: Vec<_> = (0..6)
        .map(|_| fixture.reserve(slabs, 0, &random_hash()))
        .collect();
    let pages = writers
        .iter()
        .filter(|reserved| matches!(reserved, Reserved::Page(_)));
    assert_eq!(pages.count(), 5);
}

#[test]
fn a_larger_pool_holds_more_at_once() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[PAGE]);
    let mut saved: Vec<_> = (0..32).map(|_| fixture.save(space)).collect();
    let progress = Progress::default();
    let resized = fixture.store.resize_memory(12 * MIB, &progress).unwrap();
    assert_eq!((resized.before_bytes, resized.bytes), (4 * MIB, 12 * MIB));
    assert_eq!(progress.snapshot().bytes, 8 * MIB);
    let pool = fixture.snapshot().pool;
    assert_eq!(
        (pool.bytes, pool.ready_bytes, pool.is_growing),
        (12 * MIB, 12 * MIB, false)
    );
    assert_eq!(allocated(&fixture), 12 * MIB);
    saved.extend((0..140).map(|_| fixture.save(space)));
    check(&fixture, space, &saved);
}

#[test]
fn sizes_that_the_pool_cannot_have_change_nothing() {
    let fixture = Fixture::new(4 * MIB);
    for (bytes, word) in [(0, "allowed"), (MIB - 1, "allowed"), (1 << 50, "at most")] {
        let error = fixture
            .store
            .resize_memory(bytes, &Progress::default())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().contains(word), "{error}");
    }
    assert_eq!(fixture.snapshot().pool.bytes, 4 * MIB);
    assert!(fixture.store.max_memory_bytes() > 4 * MIB);
}

#[test]
fn blocks_in_use_stay_where_they_are_until_patience_ends_and_the_pool_with_them() {
    let fixture = Fixture::new(8 * MIB);
    let space = fixture.space(&[PAGE]);
    let saved: Vec<_> = (0..100).map(|_| fixture.save(space)).collect();
    let held: Vec<_> = saved
        .iter()
        .map(|(hash, _)| fixture.lookup(space, &[*hash]))
        .collect();
    let error = fixture
        .store
        .resize(2 * MIB, &Progress::default(), Duration::ZERO)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("in use"), "{error}");
    assert_eq!(fixture.snapshot().pool.bytes, 8 * MIB);
    for (hits, (_, bytes)) in held.iter().zip(&saved) {
        assert_eq!(&hits.page(0, 0).unwrap().read(), bytes);
    }
    drop(held);
    fixture.wait_for_inspector();
    let slabs = fixture.space(&[MIB]);
    let writers: Vec<_> = (0..8)
        .map(|_| fixture.reserve(slabs, 0, &random_hash()))
        .collect();
    assert!(
        writers
            .iter()
            .all(|reserved| matches!(reserved, Reserved::Page(_)))
    );
}

#[test]
fn blocks_in_use_are_waited_for() {
    let fixture = Fixture::new(8 * MIB);
    let space = fixture.space(&[PAGE]);
    let saved: Vec<_> = (0..100).map(|_| fixture.save(space)).collect();
    let held: Vec<_> = saved
        .iter()
        .map(|(hash, _)| fixture.lookup(space, &[*hash]))
        .collect();
    let writer = fixture.writer(space, 0, &random_hash());
    thread::scope(|scope| {
        let resized = scope.spawn(|| resize(&fixture, 2 * MIB));
        // Only what is free or unused is left to it by now.
        eventually("the last slabs are closed", || {
            matches!(fixture.reserve(space, 0, &random_hash()), Reserved::NoSpace)
        });
        assert!(!resized.is_finished());
        drop((held, writer));
        assert_eq!(resized.join().unwrap().bytes, 2 * MIB);
    });
}

#[test]
fn a_resize_that_is_cancelled_leaves_a_pool_that_works() {
    let fixture = Fixture::new(8 * MIB);
    let space = fixture.space(&[PAGE]);
    let saved: Vec<_> = (0..100).map(|_| fixture.save(space)).collect();
    let progress = Progress::default();
    progress.cancel();
    for bytes in [2 * MIB, 16 * MIB] {
        let resized = fixture.store.resize_memory(bytes, &progress).unwrap();
        assert_eq!((resized.before_bytes, resized.bytes), (8 * MIB, 8 * MIB));
    }
    check(&fixture, space, &saved);
    assert_eq!(resize(&fixture, 4 * MIB).bytes, 4 * MIB);
}

#[test]
fn a_daemon_with_another_pool_size_takes_the_pool_over_and_resizes_it() {
    let fixture = Fixture::new(8 * MIB);
    let key = crate::space::SpaceKey {
        namespace: random_hash(),
        group: 0,
    };
    let space = |fixture: &Fixture| {
        fixture
            .store
            .space(key, super::fixture::geometry(&[PAGE]))
            .unwrap()
    };
    let saved = save(&fixture, space(&fixture), 1, 100);
    let fixture = fixture.reopen(|config| config.pool_bytes = 16 * MIB);
    assert_eq!(fixture.snapshot().taken_over.unwrap().blocks, 100);
    assert_eq!(fixture.snapshot().pool.bytes, 16 * MIB);
    let hits = |fixture: &Fixture| {
        let space = space(fixture);
        let right = saved.iter().filter(|(hash, shards)| {
            let found = fixture.read(space, 0, hash);
            assert!(found.as_ref().is_none_or(|found| found == &shards[0]));
            found.is_some()
        });
        right.count()
    };
    assert_eq!(hits(&fixture), 100);
    let fixture = fixture.reopen(|config| config.pool_bytes = 3 * MIB);
    assert_eq!(fixture.snapshot().taken_over.unwrap().blocks, 100);
    eventually("it is as small as it should be", || {
        fixture.snapshot().pool.bytes == 3 * MIB
    });
    eventually("its memory is given back", || allocated(&fixture) == 3 * MIB);
    assert!((24..=48).contains(&hits(&fixture)));
    // And the next one finds the smaller one.
    let fixture = fixture.reopen(|_| {});
    assert!((24..=48).contains(&hits(&fixture)));
}

#[test]
fn bytes_are_right_while_threads_save_and_look_up_in_a_pool_that_breathes() {
    let fixture = Fixture::new(8 * MIB);
    let space = fixture.space(&[PAGE]);
    let (ends, found) = (AtomicBool::new(false), AtomicU64::new(0));
    let ends_after_panic = |result: thread::Result<()>| {
        ends.store(true, Ordering::Relaxed);
        result
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut saved = std::collections::VecDeque::new();
                    while !ends.load(Ordering::Relaxed) {
                        let hash = random_hash();
                        if let Reserved::Page(writer) = fixture.reserve(space, 0, &hash) {
                            let bytes = super::fixture::random_bytes(writer.page().len());
                            writer.page().write(&bytes);
                            writer.seal();
                            saved.push_back((hash, bytes));
                        }
                        if saved.len() > 40 {
                            saved.pop_front();
                        }
                        for (hash, bytes) in &saved {
                            if let Some(read) = fixture.read(space, 0, hash) {
                                assert!(&read == bytes, "other bytes than were saved");
                                found.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                })
            })
            .collect();
        let resizes = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for size in [3, 8, 2, 12, 4, 8, 2, 6].repeat(3) {
                let resized = resize(&fixture, size * MIB);
                assert_eq!(resized.bytes, size * MIB);
                assert_eq!(allocated(&fixture), size * MIB);
                let before = found.load(Ordering::Relaxed);
                eventually("blocks are found between two sizes", || {
                    found.load(Ordering::Relaxed) >= before + 40
                });
            }
        }));
        let resizes = ends_after_panic(resizes);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        resizes.unwrap();
    });
    fixture.stop_threads();
    let snapshot = fixture.snapshot();
    assert_eq!((snapshot.pinned_blocks, snapshot.in_flight_pages), (0, 0));
    assert_eq!(snapshot.pool.used_bytes, snapshot.spaces[0].blocks * PAGE);
}
