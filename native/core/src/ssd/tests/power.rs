//! Losses of power at random: what was said to be safe is there, and nothing wrong is served.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tempfile::TempDir;

use super::fixture::{Fixture, Hash, PADDED_BYTES, deadline};
use crate::ssd::io::fault::{Disk, Faults};
use crate::ssd::{BlockOrder, SsdPathSnapshot};

#[derive(Debug, Clone)]
enum Step {
    /// Write so many blocks.
    Write(usize),
    /// Read some.
    Read(usize),
    /// Remove one of those that were saved, by its turn.
    Remove(usize),
    Flush,
    Evict,
    /// Lose the power; the seed says what of the unsafe bytes the disk has.
    Lose(u64),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..60usize).prop_map(Step::Write),
        2 => (1..20usize).prop_map(Step::Read),
        2 => any::<usize>().prop_map(Step::Remove),
        2 => Just(Step::Flush),
        1 => Just(Step::Evict),
        2 => any::<u64>().prop_map(Step::Lose),
        1 => Just(Step::Close),
    ]
}

/// A tier on a disk, and what has to hold.
struct Model {
    disk: Disk,
    fixture: Option<Fixture>,
    /// Found when a flush returned, and not removed or evicted since.
    safe: HashSet<Hash>,
    /// Removed when a flush returned, and not written since.
    gone: HashSet<Hash>,
    removed: HashSet<Hash>,
    /// Blocks that this daemon had evicted when it was last looked which of the safe ones it has.
    evicted: u64,
}

impl Model {
    fn fixture(&mut self) -> &mut Fixture {
        self.fixture.as_mut().unwrap()
    }

    /// What of the saved blocks can be found.
    fn found(&mut self) -> HashSet<Hash> {
        let fixture = self.fixture();
        let blocks = fixture.ssd.blocks(None, None, BlockOrder::Recent);
        blocks
            .into_iter()
            .map(|block| Hash::try_from(block.hash).unwrap())
            .collect()
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Write(count) => {
                self.fixture().write_many(*count);
                self.forget_evicted();
            }
            Step::Read(count) => {
                let hashes: Vec<Hash> = self.found().into_iter().take(*count).collect();
                let fixture = self.fixture();
                // One that made room for others meanwhile is found no more.
                for hash in hashes {
                    let _ = fixture.has(&hash);
                }
            }
            Step::Remove(turn) => {
                let found: Vec<Hash> = self.found().into_iter().collect();
                if let Some(hash) = found.get(turn % found.len().max(1)) {
                    let fixture = self.fixture();
                    assert!(fixture.ssd.remove(fixture.space, hash));
                    self.safe.remove(hash);
                    self.removed.insert(*hash);
                }
            }
            Step::Flush => {
                self.fixture().flush();
                self.all_is_safe();
            }
            Step::Evict => {
                self.fixture().ssd.evict(None, 1 << 20, deadline()).unwrap();
                self.forget_evicted();
            }
            Step::Lose(seed) => {
                self.disk.lose_power(&mut SmallRng::seed_from_u64(*seed));
                let evicted = self.fixture().path().evicted_blocks - self.evicted;
                let fixture = self.fixture.take().unwrap();
                drop(fixture.ssd.close(deadline()));
                self.disk.restore_power();
                self.fixture = Some(fixture.reopen(Some(Box::new(self.disk.clone()))));
                self.check(evicted);
            }
            Step::Close => {
                let fixture = self.fixture.take().unwrap();
                // A closed tier has no paths to ask any more.
                let path = fixture.ssd.tier.paths.read()[0].clone();
                fixture.close();
                let evicted = path.snapshot().evicted_blocks - self.evicted;
                drop(path);
                self.fixture = Some(fixture.reopen(Some(Box::new(self.disk.clone()))));
                self.check(evicted);
                self.all_is_safe();
            }
        }
    }

    /// Some may have made room for others.
    fn forget_evicted(&mut self) {
        self.evicted = self.fixture().path().evicted_blocks;
        let found = self.found();
        self.safe.retain(|hash| found.contains(hash));
    }

    fn all_is_safe(&mut self) {
        self.evicted = self.fixture().path().evicted_blocks;
        self.safe = self.found();
        self.gone.extend(self.removed.drain());
    }

    /// `evicted` blocks may have gone before the end.
    fn check(&mut self, evicted: u64) {
        let (safe, gone) = (self.safe.clone(), self.gone.clone());
        let fixture = self.fixture();
        let lost = safe.iter().filter(|hash| !fixture.has(hash)).count() as u64;
        // A path that opens full may let its oldest segment go at once, to tell what was removed.
        let evicted = evicted + fixture.path().evicted_blocks;
        assert!(
            lost <= evicted,
            "{lost} blocks are lost that were said to be safe, with {evicted} evicted"
        );
        assert!(
            !gone.iter().any(|hash| fixture.ssd.contains(fixture.space, hash)),
            "a removed block is back"
        );
        fixture.check_all();
        let path = fixture.path();
        assert!(path.used <= path.capacity, "{path:?}");
        assert_eq!(path.recovery.bad_segments, 0);
        self.removed.clear();
        self.forget_evicted();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 10, ..ProptestConfig::default() })]

    #[test]
    fn what_was_safe_outlives_a_loss_of_power(steps in prop::collection::vec(step(), 1..25)) {
        let dir = TempDir::new().unwrap();
        let disk = Disk::default();
        let fixture = Fixture::open_disk(&dir, &disk);
        let mut model = Model {
            disk,
            fixture: Some(fixture),
            safe: HashSet::new(),
            gone: HashSet::new(),
            removed: HashSet::new(),
            evicted: 0,
        };
        for step in &steps {
            model.run(step);
        }
        model.run(&Step::Lose(1));
        model.fixture().close();
    }
}

/// Writes until the block is on its way to another segment and `is_time`, and has the power go then: of what is not safe nothing
/// survives but what `survives`.
fn check_kept(is_time: impl Fn(&SsdPathSnapshot) -> bool, survives: impl Fn(u64, u64) -> bool) {
    let dir = TempDir::new().unwrap();
    let disk = Disk::default();
    let mut fixture = Fixture::open_disk(&dir, &disk);
    for round in 0..3 {
        let hot = fixture.write();
        fixture.flush();
        assert!(fixture.has(&hot));
        // So that what is written next is not safe at once.
        disk.set(Faults {
            delay: Duration::from_millis(4),
            ..Faults::default()
        });
        let (kept, end) = (fixture.path().kept_blocks, deadline());
        loop {
            let path = fixture.path();
            if path.kept_blocks > kept && is_time(&path) {
                break;
            }
            assert!(Instant::now() < end, "{path:?}");
            if fixture.ssd.snapshot().queued_write_bytes < 4 * PADDED_BYTES {
                drop(fixture.begin(rand::random()));
            }
        }
        disk.lose_power_but(&survives);
        drop(fixture.ssd.close(deadline()));
        disk.restore_power();
        disk.set(Faults::default());
        fixture = fixture.reopen(Some(Box::new(disk.clone())));
        assert!(fixture.has(&hot), "lost in round {round}");
    }
    fixture.close();
}

#[test]
fn a_block_whose_new_record_outlives_its_new_bytes_is_not_lost() {
    // Journals lie in the last half of segments.
    check_kept(|_| true, |offset, len| offset >= len / 2);
}

#[test]
fn a_block_is_where_it_was_until_its_new_record_is_safe() {
    check_kept(|path| path.free_segments > 0, |_, _| false);
}
