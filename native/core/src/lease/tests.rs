//! Leases: who may load, how they end, and that nothing stays pinned.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{LEASE_TTL, LEASES_PER_OWNER, LeaseId, LeaseTable, SessionId};
use crate::error::ErrorKind;
use crate::store::Hits;
use crate::store::tests::{Fixture, Hash, MIB};
use crate::sync::Arc;

const OWNER: SessionId = SessionId(1);
const OTHER: SessionId = SessionId(2);
const PAGE: u64 = 64 << 10;

/// A store with a few blocks, and a table.
struct Leased {
    fixture: Fixture,
    table: Arc<LeaseTable>,
    hashes: Vec<Hash>,
    start: Instant,
}

impl Leased {
    fn new(blocks: usize) -> Self {
        let fixture = Fixture::new(4 * MIB);
        let space = fixture.space(&[PAGE]);
        let hashes = (0..blocks).map(|_| fixture.save(space).0).collect();
        Self {
            fixture,
            table: LeaseTable::new(),
            hashes,
            start: Instant::now(),
        }
    }

    fn hits(&self) -> Hits {
        self.fixture.lookup(self.fixture.first_space(), &self.hashes)
    }

    fn grant(&self, loaders: u32) -> LeaseId {
        self.table.grant(OWNER, self.hits(), loaders, self.start).unwrap()
    }

    fn pinned(&self) -> u64 {
        self.fixture.snapshot().pinned_blocks
    }

    fn press(&self) {
        for _ in 0..200 {
            self.fixture.save(self.fixture.first_space());
        }
    }
}

#[test]
fn a_lease_ends_when_every_rank_has_loaded() {
    let leased = Leased::new(3);
    let lease = leased.grant(3);
    for rank in [2, 0, 1] {
        assert_eq!(leased.table.owner(lease), Some(OWNER));
        assert_eq!(leased.pinned(), 3);
        let pass = leased.table.begin_load(lease, rank, 0, 3, false).unwrap();
        assert_eq!(pass.len(), 3);
    }
    assert_eq!(leased.table.owner(lease), None);
    assert_eq!(leased.pinned(), 0);
    assert_eq!(
        leased.table.begin_load(lease, 0, 0, 3, false).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let counts = leased.table.snapshot(leased.start);
    assert_eq!((counts.granted, counts.loaded, counts.leases), (1, 1, 0));
}

#[test]
fn a_lease_whose_ranks_load_at_once_ends_with_the_last() {
    let leased = Leased::new(1);
    let lease = leased.grant(2);
    let passes = [0, 1].map(|rank| leased.table.begin_load(lease, rank, 0, 1, false).unwrap());
    let [first, second] = passes;
    drop(second);
    assert_eq!(leased.table.owner(lease), Some(OWNER));
    drop(first);
    assert_eq!(leased.table.owner(lease), None);
}

#[test]
fn a_rank_loads_once_whatever_came_of_it() {
    let leased = Leased::new(2);
    let lease = leased.grant(2);
    let pass = leased.table.begin_load(lease, 1, 0, 2, false).unwrap();
    assert_eq!(
        leased.table.begin_load(lease, 1, 0, 2, false).unwrap_err().kind(),
        ErrorKind::Conflict
    );
    drop(pass);
    let error = leased.table.begin_load(lease, 1, 0, 2, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("rank 1"), "{error}");
}

#[test]
fn a_load_in_parts_ends_with_the_one_that_has_no_more() {
    let leased = Leased::new(4);
    let lease = leased.grant(1);
    let part = |first, count, has_more| leased.table.begin_load(lease, 0, first, count, has_more);
    let (first, second) = (part(0, 2, true).unwrap(), part(2, 2, true).unwrap());
    drop((first, second));
    assert_eq!(leased.table.owner(lease), Some(OWNER));
    let third = part(1, 1, true).unwrap();
    drop(part(0, 0, false).unwrap());
    assert_eq!(leased.table.owner(lease), None);
    assert_eq!(part(0, 1, true).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(third.page(0, 0).is_some(), "a part under way keeps its pages");
}

#[test]
fn no_part_begins_after_the_last_one() {
    let leased = Leased::new(2);
    let lease = leased.grant(2);
    drop(leased.table.begin_load(lease, 1, 0, 1, false).unwrap());
    let error = leased.table.begin_load(lease, 1, 1, 1, true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

#[test]
fn a_refused_load_burns_nothing() {
    let leased = Leased::new(2);
    let lease = leased.grant(1);
    for (rank, first, count) in [(1, 0, 2), (0, 0, 3), (0, 2, 1), (0, u32::MAX, u32::MAX)] {
        let error = leased
            .table
            .begin_load(lease, rank, first, count, false)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    assert_eq!(leased.table.begin_load(lease, 0, 0, 2, false).unwrap().len(), 2);
}

#[test]
fn a_load_of_a_run_has_the_pages_of_that_run() {
    let leased = Leased::new(5);
    let lease = leased.grant(2);
    let hits = leased.hits();
    let pass = leased.table.begin_load(lease, 0, 2, 2, false).unwrap();
    assert_eq!(
        [pass.page(0, 0), pass.page(1, 0)],
        [hits.page(2, 0), hits.page(3, 0)]
    );
    assert_eq!((pass.page(2, 0), pass.page(0, 1)), (None, None));
    assert!(leased.table.begin_load(lease, 1, 5, 0, false).unwrap().is_empty());
}

#[test]
fn leased_blocks_survive_pressure_and_stay_visible() {
    let leased = Leased::new(20);
    let lease = leased.grant(1);
    leased.press();
    assert_eq!(leased.hits().len(), 20);
    assert!(leased.table.release(OWNER, lease));
    leased.press();
    assert!(leased.hits().is_empty());
}

#[test]
fn a_load_keeps_its_pages_when_its_lease_ends_under_it() {
    let leased = Leased::new(4);
    let space = leased.fixture.first_space();
    let bytes: Vec<_> = leased
        .hashes
        .iter()
        .map(|hash| leased.fixture.read(space, 0, hash).unwrap())
        .collect();
    type EndOfLease = fn(&Leased, LeaseId);
    let ends: [EndOfLease; 3] = [
        |leased, lease| assert!(leased.table.release(OWNER, lease)),
        |leased, _| assert_eq!(leased.table.expire(leased.start + LEASE_TTL), 1),
        |leased, _| assert_eq!(leased.table.end_owner(OWNER), 1),
    ];
    for end in ends {
        let lease = leased.grant(2);
        let pass = leased.table.begin_load(lease, 0, 0, 4, false).unwrap();
        end(&leased, lease);
        assert_eq!(leased.table.owner(lease), None);
        leased.press();
        for (index, bytes) in bytes.iter().enumerate() {
            assert_eq!(&pass.page(index, 0).unwrap().read(), bytes);
        }
        assert_eq!(leased.pinned(), 4);
        drop(pass);
        assert_eq!(leased.pinned(), 0);
    }
    let counts = leased.table.snapshot(leased.start);
    assert_eq!(
        (counts.released, counts.expired, counts.orphaned, counts.loaded),
        (1, 1, 1, 0)
    );
}

#[test]
fn a_lease_expires_after_its_time_unless_renewed() {
    let leased = Leased::new(1);
    let (renewed, not_renewed) = (leased.grant(1), leased.grant(1));
    let later = leased.start + Duration::from_secs(400);
    assert!(leased.table.renew(OWNER, renewed, later));
    assert_eq!(
        leased
            .table
            .expire(leased.start + LEASE_TTL - Duration::from_nanos(1)),
        0
    );
    assert_eq!(leased.table.expire(leased.start + LEASE_TTL), 1);
    assert_eq!(
        (leased.table.owner(renewed), leased.table.owner(not_renewed)),
        (Some(OWNER), None)
    );
    assert!(!leased.table.renew(OWNER, not_renewed, later));
    assert_eq!(leased.table.expire(later + LEASE_TTL), 1);
    assert_eq!(leased.pinned(), 0);
}

#[test]
fn an_owner_cannot_touch_anothers_leases() {
    let leased = Leased::new(1);
    let lease = leased.grant(1);
    assert!(!leased.table.release(OTHER, lease));
    assert!(!leased.table.renew(OTHER, lease, leased.start));
    assert_eq!(leased.table.end_owner(OTHER), 0);
    assert_eq!(leased.table.owner(lease), Some(OWNER));
}

#[test]
fn a_lease_without_blocks_or_ranks_is_refused() {
    let leased = Leased::new(1);
    let none = leased.fixture.lookup(leased.fixture.first_space(), &[]);
    assert_eq!(
        leased
            .table
            .grant(OWNER, none, 1, leased.start)
            .unwrap_err()
            .kind(),
        ErrorKind::Invalid
    );
    assert_eq!(
        leased
            .table
            .grant(OWNER, leased.hits(), 0, leased.start)
            .unwrap_err()
            .kind(),
        ErrorKind::Invalid
    );
    assert_eq!(leased.pinned(), 0);
}

#[test]
fn an_owner_holds_no_more_leases_than_the_limit_which_is_its_own() {
    let leased = Leased::new(1);
    let hits = leased.hits();
    let grant = |owner| leased.table.grant(owner, hits.clone(), 1, leased.start);
    let leases: Vec<_> = (0..LEASES_PER_OWNER).map(|_| grant(OWNER).unwrap()).collect();
    assert_eq!(grant(OWNER).unwrap_err().kind(), ErrorKind::Limit);
    grant(OTHER).unwrap();
    assert!(leased.table.release(OWNER, leases[0]));
    grant(OWNER).unwrap();
    assert_eq!(leased.table.end_owner(OWNER), LEASES_PER_OWNER);
}

#[test]
fn counts_bytes_and_age_are_those_of_the_leases_held() {
    let leased = Leased::new(3);
    let first = leased.grant(1);
    let later = leased.start + Duration::from_secs(5);
    leased.table.grant(OTHER, leased.hits(), 1, later).unwrap();
    let counts = leased.table.snapshot(later + Duration::from_secs(1));
    assert_eq!((counts.leases, counts.blocks, counts.bytes), (2, 6, 6 * PAGE));
    assert_eq!(counts.oldest, Some(Duration::from_secs(6)));
    leased.table.release(OWNER, first);
    let counts = leased.table.snapshot(later + Duration::from_secs(1));
    assert_eq!((counts.leases, counts.blocks, counts.bytes), (1, 3, 3 * PAGE));
    assert_eq!(counts.oldest, Some(Duration::from_secs(1)));
    leased.table.end_owner(OTHER);
    assert_eq!(leased.table.snapshot(later).oldest, None);
}

#[test]
fn ends_that_race_add_up_and_leave_nothing_pinned() {
    const ROUNDS: u32 = 2_000;
    let leased = Leased::new(3);
    let latest = AtomicU64::new(leased.grant(2).0);
    let race = || {
        for _ in 0..ROUNDS {
            let lease = LeaseId(latest.load(Relaxed));
            match rand::random_range(0..6) {
                0 => latest.store(leased.grant(2).0, Relaxed),
                1 => drop(leased.table.release(OWNER, lease)),
                2 => drop(leased.table.expire(leased.start + LEASE_TTL)),
                3 => drop(leased.table.end_owner(OWNER)),
                _ => drop(
                    leased
                        .table
                        .begin_load(lease, rand::random_range(0..2), 0, 3, false),
                ),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(race);
        }
    });
    leased.table.end_owner(OWNER);
    let counts = leased.table.snapshot(leased.start);
    let ends = counts.loaded + counts.released + counts.expired + counts.orphaned;
    assert_eq!(
        (ends, counts.leases, counts.blocks, counts.bytes),
        (counts.granted, 0, 0, 0)
    );
    assert_eq!(leased.pinned(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_lease_ends_exactly_once_in_whichever_order_its_ends_come(
        loaders in 1..4_u32,
        ends in prop::collection::vec(0..5_u32, 1..12),
    ) {
        let leased = Leased::new(2);
        let lease = leased.grant(loaders);
        let mut ended = 0;
        for (rank, end) in (0..).zip(&ends) {
            ended += match end {
                0 => u32::from(leased.table.release(OWNER, lease)),
                1 => leased.table.expire(leased.start + LEASE_TTL) as u32,
                2 => leased.table.end_owner(OWNER) as u32,
                _ => {
                    let was_held = leased.table.owner(lease).is_some();
                    drop(leased.table.begin_load(lease, rank, 0, 2, false));
                    u32::from(was_held && leased.table.owner(lease).is_none())
                }
            };
        }
        ended += leased.table.end_owner(OWNER) as u32;
        prop_assert_eq!(ended, 1);
        prop_assert_eq!(leased.pinned(), 0);
        let counts = leased.table.snapshot(leased.start);
        prop_assert_eq!(counts.loaded + counts.released + counts.expired + counts.orphaned, 1);
        prop_assert_eq!((counts.leases, counts.blocks, counts.bytes), (0, 0, 0));
    }
}
