//! A disk that is slow, fails or hangs costs hits, never a save, a lookup or a page.

use super::*;
use crate::ssd::{Call, Faults};

fn slow(delay: Duration) -> Faults {
    Faults {
        delay,
        ..Faults::default()
    }
}

#[test]
fn saves_go_on_while_the_disk_is_slow() {
    let disk = Disk::default();
    let tiers = Tiers::on_failing(&disk, 8 * MIB);
    let space = tiers.space(key(), &[PAGE]);
    disk.set(slow(Duration::from_secs(4)));
    // Four times what the pool holds; each save finds room.
    let blocks = tiers.save(space, 1, 500);
    let written = tiers.tier().writes.blocks;
    assert!(
        written < 400,
        "{written} of 500 were written meanwhile: the saves waited"
    );
    assert_eq!(tiers.fixture.snapshot().no_space, 0);
    let recent = &blocks[450..];
    assert_eq!(tiers.fixture.lookup(space, &hashes(recent)).len(), 50);
    disk.set(Faults::default());
    tiers.check_idle();
}

#[test]
fn a_disk_that_cannot_be_read_is_a_miss_and_a_block_can_be_saved_again() {
    let disk = Disk::default();
    let tiers = Tiers::on_failing(&disk, 8 * MIB);
    let space = tiers.space(key(), &[PAGE]);
    let blocks = tiers.save(space, 1, 60);
    tiers.flush();
    // They leave the pool.
    tiers.save(space, 1, 200);
    tiers.flush();
    disk.set(Faults {
        reads: Some(libc::EIO),
        ..Faults::default()
    });
    let hits = tiers.lookup(space, &hashes(&blocks));
    assert!(hits.hits.is_empty());
    assert!(tiers.fetches().failed > 0);
    tiers.check_idle();
    let hash = blocks[0].0;
    let bytes = tiers.fixture.save_shard(space, 0, &hash);
    assert!(tiers.fixture.read(space, 0, &hash) == Some(bytes));
}

#[test]
fn a_lookup_does_not_wait_for_a_disk_that_hangs() {
    let disk = Disk::default();
    let tiers = Tiers::on_failing(&disk, 8 * MIB);
    let space = tiers.space(key(), &[PAGE]);
    let blocks = tiers.save(space, 1, 10);
    tiers.flush();
    tiers.save(space, 1, 200);
    tiers.flush();
    disk.set(Faults {
        hangs: Some(Call::Read),
        ..Faults::default()
    });
    let Found::Pending(pending) = tiers.begin(space, &hashes(&blocks), None) else {
        panic!("the disk hangs");
    };
    assert!(!pending.is_overdue(pending.began()));
    eventually("it has waited for long enough", || {
        pending.is_overdue(Instant::now())
    });
    // Nobody begins to wait behind it.
    let Found::Ready(hits) = tiers.begin(space, &hashes(&blocks), None) else {
        panic!("the disk hangs");
    };
    assert!(hits.hits.is_empty() && tiers.fetches().declined >= 10);
    assert!(pending.finish().hits.is_empty());
    assert_eq!(tiers.fixture.snapshot().pinned_blocks, 0);
    disk.set(Faults::default());
    tiers.check_idle();
}
