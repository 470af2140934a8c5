//! The pool's memory comes chunk by chunk, and may end early.

use rustix::io::Errno;
use tempfile::TempDir;

use super::files::config;
use crate::pool::growth::{allocate_file, grow};
use crate::pool::place::Place;
use crate::pool::{Pool, PoolKind};

const MIB: u64 = 1 << 20;

#[test]
fn out_of_memory_midway_leaves_a_smaller_pool_that_works_and_says_so() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let pool = Pool::create(
        config(200 * MIB, dir.path()),
        0,
        "stem",
        Place::choose(Some(dir.path()), MIB).unwrap(),
    );
    let pool = pool.unwrap();
    let once = |pool: &Pool, offset, bytes| {
        if offset > 0 {
            Err(Errno::NOSPC)
        } else {
            allocate_file(pool, offset, bytes)
        }
    };
    grow(&pool, pool.bytes(), once, |_| true);
    let state = pool.state();
    assert_eq!((state.ready_bytes, state.is_growing), (64 * MIB, false));
    let problem = state.problem.unwrap();
    for part in [
        (64 * MIB).to_string(),
        pool.bytes().to_string(),
        "No space".to_owned(),
        "tier resize memory".to_owned(),
    ] {
        assert!(problem.contains(&part), "{problem} lacks {part}");
    }
    let (class, stride) = pool.class(MIB).unwrap();
    let slots: Vec<_> = std::iter::from_fn(|| pool.allocate(class)).collect();
    assert_eq!(slots.len(), 64);
    for slot in slots {
        pool.page(slot, stride, MIB).unwrap().write(&[1; 1 << 20]);
    }
}

#[test]
fn anonymous_memory_works_like_a_file() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let place = Place::Anonymous {
        reason: "a test".to_owned(),
    };
    let pool = Pool::create(config(4 * MIB, dir.path()), 0, "stem", place).unwrap();
    grow(&pool, pool.bytes(), allocate_file, |_| true);
    assert_eq!(
        (pool.kind(), pool.path(), pool.fallback()),
        (PoolKind::Memfd, None, Some("a test"))
    );
    let (class, stride) = pool.class(5000).unwrap();
    let slot = pool.allocate(class).unwrap();
    let page = pool.page(slot, stride, 5000).unwrap();
    page.write(&[9; 5000]);
    assert_eq!(page.read(), [9; 5000]);
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}
