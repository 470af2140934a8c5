//! File systems that have less than a path may take.

use proptest::prelude::*;
use tempfile::TempDir;

use super::fixture::{CAPACITY, Fixture, config, deadline, geometry};
use super::mounts::{mount_tmpfs, with_mounts};
use crate::ssd::io::fault::{Disk, Faults};
use crate::ssd::*;

const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;
const BLOCK_BYTES: u64 = MIB / 4;

fn open(dir: &TempDir, disk: &Disk, capacity: u64) -> Fixture {
    let mut config = config(dir.path());
    config.paths[0].capacity = capacity;
    let mut fixture = Fixture::open_with(config, Box::new(disk.clone())).unwrap();
    use_small_blocks(&mut fixture);
    fixture
}

fn use_small_blocks(fixture: &mut Fixture) {
    fixture.key.group = BLOCK_BYTES as u32;
    fixture.space = fixture.ssd.space(fixture.key, &geometry(&[BLOCK_BYTES])).unwrap();
    fixture.pages = vec![BLOCK_BYTES];
}

fn of_room(room: u64) -> Disk {
    let disk = Disk::default();
    disk.set(Faults {
        room: Some(room),
        ..Faults::default()
    });
    disk
}

/// Writes twice what there is room for, and has the last of it.
fn fill(fixture: &mut Fixture, room: u64) {
    let room = room.min(fixture.path().capacity);
    let waves = 2 * room / BLOCK_BYTES / 8;
    let mut last = Vec::new();
    for _ in 0..waves {
        last = fixture.write_many(8);
        let path = fixture.path();
        assert_ne!(path.state.name(), "offline", "{path:?}");
        // What a file system needs for its maps of the files is counted, and not there.
        assert!(path.used <= room + room / 64, "{path:?}");
    }
    assert!(last.iter().all(|hash| fixture.has(hash)));
    let path = fixture.path();
    assert!(path.evicted_blocks > 0, "{path:?}");
    assert!(path.bytes >= room / 2, "{room} bytes: {path:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_path_takes_what_is_there_however_large_it_may_be(
        room in 24 * MIB..=96 * MIB,
        scale in 0_u32..=24,
        more in 0..CAPACITY,
    ) {
        let dir = TempDir::new().unwrap();
        let disk = of_room(room);
        // Up to 512 TiB.
        let capacity = (CAPACITY + more) << scale;
        let mut fixture = open(&dir, &disk, capacity);
        let at_once = fixture.path().used;
        prop_assert!(at_once <= room.min(capacity) / 2, "{} bytes of {} at once", at_once, room);
        fill(&mut fixture, room);
        fixture.close();
        drop(fixture.ssd);
        let mut fixture = open(&dir, &disk, capacity);
        prop_assert!(fixture.path().blocks * BLOCK_BYTES >= room.min(capacity) / 3);
        fill(&mut fixture, room);
        fixture.close();
    }
}

#[test]
fn a_path_that_is_made_far_larger_than_the_disk_goes_on_with_what_is_there() {
    let (dir, disk) = (TempDir::new().unwrap(), of_room(64 * MIB));
    let mut fixture = open(&dir, &disk, CAPACITY);
    fill(&mut fixture, CAPACITY);
    for capacity in [500 * TIB, CAPACITY, 100 * TIB] {
        fixture.ssd.resize(dir.path(), capacity, deadline()).unwrap();
        fill(&mut fixture, 64 * MIB);
    }
    fixture.close();
}

#[test]
fn a_disk_that_has_become_larger_is_used_after_a_resize() {
    let (dir, disk) = (TempDir::new().unwrap(), of_room(64 * MIB));
    let mut fixture = open(&dir, &disk, TIB);
    fill(&mut fixture, 64 * MIB);
    disk.set(Faults::default());
    fixture.ssd.resize(dir.path(), 16 * CAPACITY, deadline()).unwrap();
    fixture.pages = vec![6 * MIB];
    fixture.key.group = 6;
    fixture.space = fixture.ssd.space(fixture.key, &geometry(&[6 * MIB])).unwrap();
    let hashes = fixture.write_many(4);
    assert!(hashes.iter().all(|hash| fixture.has(hash)));
    fixture.close();
}

#[test]
fn paths_of_one_nominal_size_on_disks_of_others_share_by_what_is_there() {
    let dir = TempDir::new().unwrap();
    let rooms = [32 * MIB, 128 * MIB];
    let dirs = ["small", "large"].map(|name| dir.path().join(name));
    let paths = dirs.clone().map(|dir| SsdPathConfig { dir, capacity: TIB });
    let config = SsdConfig {
        paths: paths.into(),
        ..config(dir.path())
    };
    let engines: Vec<_> = dirs.into_iter().zip(rooms.map(of_room)).collect();
    let mut fixture = Fixture::open_with(config, Box::new(engines)).unwrap();
    use_small_blocks(&mut fixture);
    for _ in 0..2 * (rooms[0] + rooms[1]) / BLOCK_BYTES / 8 {
        fixture.write_many(8);
        fixture.saved.clear();
    }
    let full = fixture.ssd.snapshot().paths;
    let written = |paths: &[SsdPathSnapshot], at: usize| paths[at].written_bytes as f64;
    assert!(full.iter().all(|path| path.evicted_blocks > 0), "{full:?}");
    for _ in 0..(rooms[0] + rooms[1]) / BLOCK_BYTES / 8 {
        fixture.write_many(8);
        fixture.saved.clear();
    }
    let paths = fixture.ssd.snapshot().paths;
    let turns = [0, 1].map(|at| (written(&paths, at) - written(&full, at)) / rooms[at] as f64);
    assert!(
        (0.6..1.7).contains(&(turns[0] / turns[1])),
        "{turns:?} of their rooms"
    );
    fixture.close();
}

#[test]
fn a_file_system_of_64_mib_is_used_as_far_as_it_goes_by_a_path_of_500_tib() {
    let name = "ssd::tests::room::a_file_system_of_64_mib_is_used_as_far_as_it_goes_by_a_path_of_500_tib";
    with_mounts(name, || {
        let dir = TempDir::new().unwrap();
        mount_tmpfs(dir.path(), 64 * MIB);
        let mut config = config(dir.path());
        config.paths[0].capacity = 500 * TIB;
        let mut fixture = Fixture::open_config(config);
        use_small_blocks(&mut fixture);
        fill(&mut fixture, 64 * MIB);
        let found = fixture.check_all();
        fixture.close();
        // With a smaller capacity.
        let mut fixture = fixture.reopen(None);
        use_small_blocks(&mut fixture);
        assert!((1..=found).contains(&fixture.check_all()));
        fixture.close();
    });
}
