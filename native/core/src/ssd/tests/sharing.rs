//! Which path a block goes to, of paths of any sizes.

use std::time::Instant;

use proptest::prelude::*;
use tempfile::TempDir;

use super::fixture::{CAPACITY, Fixture, config, deadline, geometry};
use crate::ssd::io::fault::{Call, Disk, Faults};
use crate::ssd::*;

const MIB: u64 = 1 << 20;
/// That of all paths here.
const SEGMENT_BYTES: u64 = 4 * MIB;
/// Blocks that are written before the next are begun.
const WAVE: usize = 4;
/// How much a path may have more or less than its share: a segment, since others take blocks while it makes one, and a wave.
const fn tolerance(block_bytes: u64) -> u64 {
    SEGMENT_BYTES + WAVE as u64 * block_bytes
}

/// A tier of paths of these capacities, each with its disk.
fn open(dir: &TempDir, capacities: &[u64]) -> (Fixture, Vec<Disk>) {
    let dirs: Vec<_> = (0..capacities.len())
        .map(|path| dir.path().join(path.to_string()))
        .collect();
    let disks: Vec<Disk> = dirs.iter().map(|_| Disk::default()).collect();
    let paths = dirs.iter().zip(capacities).map(|(dir, capacity)| SsdPathConfig {
        dir: dir.clone(),
        capacity: *capacity,
    });
    let config = SsdConfig {
        paths: paths.collect(),
        ..config(dir.path())
    };
    let engines: Vec<_> = dirs.into_iter().zip(disks.iter().cloned()).collect();
    (Fixture::open_with(config, Box::new(engines)).unwrap(), disks)
}

fn use_blocks_of(fixture: &mut Fixture, bytes: u64) {
    fixture.key.group = bytes as u32;
    fixture.space = fixture.ssd.space(fixture.key, &geometry(&[bytes])).unwrap();
    fixture.pages = vec![bytes];
}

/// Writes so many bytes of blocks in waves, and looks at the paths after each.
fn write(fixture: &mut Fixture, bytes: u64, mut look: impl FnMut(&[SsdPathSnapshot])) {
    let waves = bytes.div_ceil(fixture.pages[0] * WAVE as u64);
    for _ in 0..waves {
        fixture.write_many(WAVE);
        fixture.saved.clear();
        fixture.flush();
        look(&fixture.ssd.snapshot().paths);
    }
}

/// Whether a path could make another segment.
fn has_room(path: &SsdPathSnapshot) -> bool {
    path.capacity - path.used > SEGMENT_BYTES + 4 * 4096
}

/// What matters of the paths here.
fn said(paths: &[SsdPathSnapshot]) -> String {
    let path = |path: &SsdPathSnapshot| {
        let blocks = (path.blocks, path.written_blocks, path.evicted_blocks);
        format!("{blocks:?} in {} of {} bytes", path.used, path.capacity)
    };
    paths.iter().map(path).collect::<Vec<_>>().join("; ")
}

#[track_caller]
fn check_evictions(paths: &[SsdPathSnapshot]) {
    if paths.iter().any(|path| path.evicted_blocks > 0) {
        assert!(!paths.iter().any(has_room), "{}", said(paths));
    }
}

/// Asserts that each path has its share of what was written.
#[track_caller]
fn check_shares(paths: &[SsdPathSnapshot], before: &[SsdPathSnapshot], tolerance: u64) {
    let written = |at: usize| paths[at].written_bytes - before.get(at).map_or(0, |path| path.written_bytes);
    let all: u64 = (0..paths.len()).map(written).sum();
    let capacity: u64 = paths.iter().map(|path| path.capacity).sum();
    for (at, path) in paths.iter().enumerate() {
        let share = (u128::from(all) * u128::from(path.capacity) / u128::from(capacity)) as u64;
        assert!(
            written(at).abs_diff(share) <= tolerance,
            "{} bytes, not {share}: {}",
            written(at),
            said(paths)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, failure_persistence: None, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn paths_fill_in_proportion_and_none_evicts_while_another_has_room(
        capacities in prop::collection::vec(CAPACITY..=3 * CAPACITY, 2..=3),
        block_bytes in 16_u64..=240,
    ) {
        let dir = TempDir::new().unwrap();
        let (mut fixture, _disks) = open(&dir, &capacities);
        let block_bytes = block_bytes * 4096;
        use_blocks_of(&mut fixture, block_bytes);
        let all: u64 = capacities.iter().sum();
        write(&mut fixture, all / 2, |paths| {
            check_shares(paths, &[], tolerance(block_bytes));
            assert!(paths.iter().all(|path| path.evicted_blocks == 0), "{}", said(paths));
        });
        write(&mut fixture, all * 6 / 10, check_evictions);
        let full = fixture.ssd.snapshot().paths;
        prop_assert!(full.iter().all(|path| path.evicted_blocks > 0), "{}", said(&full));
        // Each takes what it lets go of, so that blocks live equally long.
        write(&mut fixture, all / 2, |paths| check_shares(paths, &full, tolerance(block_bytes)));
        fixture.close();
    }
}

#[test]
fn writes_as_fast_as_they_go_evict_nothing_while_a_path_has_room() {
    let dir = TempDir::new().unwrap();
    let (mut fixture, disks) = open(&dir, &[CAPACITY, 7 * CAPACITY]);
    // The disk of the large path is the slower one.
    disks[1].set(Faults {
        delay: std::time::Duration::from_millis(2),
        ..Faults::default()
    });
    use_blocks_of(&mut fixture, MIB);
    // Three blocks have room in a segment.
    for _ in 0..5 {
        fixture.write_many((CAPACITY / MIB) as usize);
        fixture.saved.clear();
        fixture.flush();
        check_evictions(&fixture.ssd.snapshot().paths);
    }
    let paths = fixture.ssd.snapshot().paths;
    assert_eq!(paths[0].evicted_blocks, 0, "{}", said(&paths));
    fixture.close();
}

#[test]
fn a_full_path_goes_on_when_the_disk_of_the_other_answers_nothing_or_is_offline() {
    let faults = [
        Faults {
            hangs: Some(Call::Write),
            ..Faults::default()
        },
        Faults {
            writes: Some(libc::EIO),
            ..Faults::default()
        },
    ];
    for faults in faults {
        let dir = TempDir::new().unwrap();
        let (mut fixture, disks) = open(&dir, &[CAPACITY, 16 * CAPACITY]);
        use_blocks_of(&mut fixture, MIB);
        let before = fixture.ssd.snapshot().paths;
        assert!(before.iter().all(|path| path.state == PathState::Online));
        disks[1].set(faults.clone());
        let end = deadline();
        let mut ends = Vec::new();
        let does_hang = faults.hangs.is_some();
        while fixture.ssd.snapshot().paths[0].evicted_blocks == 0 {
            let paths = fixture.ssd.snapshot().paths;
            assert!(Instant::now() < end, "{}", said(&paths));
            // Nobody waits until such a disk counts as offline.
            assert!(
                !does_hang || paths[1].state == PathState::Online,
                "{:?}",
                paths[1].state
            );
            match fixture.begin(rand::random()) {
                (Ok(()), ended) => ends.push(ended),
                (Err(Refused::Busy), _) => drop(fixture.ssd.wait_for_room(Instant::now())),
                (Err(other), _) => panic!("{other:?}"),
            }
        }
        disks[1].set(Faults::default());
        for ended in ends {
            drop(ended.recv_timeout(std::time::Duration::from_secs(60)).unwrap());
        }
        fixture.close();
    }
}

#[test]
fn a_path_that_comes_later_takes_all_until_it_is_full_and_its_share_then() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open_config(config(&dir.path().join("first")));
    use_blocks_of(&mut fixture, MIB);
    write(&mut fixture, 3 * CAPACITY, |_| {});
    let evicted = fixture.path().evicted_blocks;
    let capacity = 2 * CAPACITY;
    let dir = dir.path().join("later");
    fixture.ssd.add_path(SsdPathConfig { dir, capacity }).unwrap();
    write(&mut fixture, CAPACITY, |_| {});
    let paths = fixture.ssd.snapshot().paths;
    assert_eq!(
        (paths[0].evicted_blocks, paths[1].blocks),
        (evicted, CAPACITY / MIB)
    );
    write(&mut fixture, CAPACITY, |_| {});
    let full = fixture.ssd.snapshot().paths;
    assert!(full[1].evicted_blocks > 0, "{full:?}");
    write(&mut fixture, CAPACITY, |paths| {
        check_shares(paths, &full, tolerance(MIB))
    });
    fixture.close();
}
