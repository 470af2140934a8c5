//! The threads of a store that nobody uses sleep.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use pegaflow_core::eviction::PolicyKind;
use pegaflow_core::space::{ShardGeometry, SpaceGeometry, SpaceKey};
use pegaflow_core::store::{Reserved, SCRUB_PERIOD, Store, StoreConfig, Verify};

/// The most that anything here is waited for.
const LIMIT: Duration = Duration::from_secs(60);

/// How often the thread of this name went to sleep so far; None when there is no such thread.
fn sleeps(thread: &str) -> Option<u64> {
    let tasks = fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| task.unwrap().path());
    let named = |path: &std::path::PathBuf| {
        fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == thread)
    };
    let status = fs::read_to_string(tasks.into_iter().find(named)?.join("status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))
        .unwrap();
    line.trim().parse().ok()
}

#[test]
fn the_threads_sleep_while_nothing_is_wanted() {
    let dir = tempfile::TempDir::new_in("/dev/shm").unwrap();
    let config = StoreConfig {
        pool_bytes: 16 << 20,
        pool_dir: Some(dir.path().to_owned()),
        socket: dir.path().join("daemon.sock"),
        boot_id: 1,
        policy: PolicyKind::Lru,
        verify: Verify::First,
        scrub_period: SCRUB_PERIOD,
        tier: None,
    };
    let store = Store::open(config).unwrap();
    let shards = vec![ShardGeometry {
        page_bytes: 4096,
        digest: [0; 32],
    }];
    let key = SpaceKey {
        namespace: [1; 32],
        group: 0,
    };
    let space = store
        .space(
            key,
            SpaceGeometry {
                hash_bytes: 32,
                shards,
            },
        )
        .unwrap();
    let deadline = Instant::now() + LIMIT;
    while store.snapshot().pool.is_growing {
        assert!(Instant::now() < deadline, "the pool is not ready");
        thread::yield_now();
    }
    while store.snapshot().spaces.iter().all(|space| space.evictions == 0) {
        assert!(Instant::now() < deadline, "the evictor never ran");
        let hash: [u8; 32] = rand::random();
        match store.reserve(space, 0, &hash, None).unwrap() {
            Reserved::Page(writer) => writer.seal(),
            other => panic!("{other:?}"),
        }
    }

    for thread in ["evictor", "inspector"] {
        assert_sleeps(thread);
    }
    store.close(true).unwrap();
    for thread in ["evictor", "inspector"] {
        // The kernel lists a thread a little longer than others wait for it.
        let deadline = Instant::now() + LIMIT;
        while sleeps(thread).is_some() {
            assert!(
                Instant::now() < deadline,
                "the {thread} does not end with the store"
            );
            thread::yield_now();
        }
    }
}

/// It went to sleep when a whole window passes in which it neither woke nor slept anew.
fn assert_sleeps(thread: &str) {
    let window = Duration::from_millis(300);
    let deadline = Instant::now() + LIMIT;
    loop {
        let before = sleeps(thread);
        thread::sleep(window);
        if before.is_some() && sleeps(thread) == before {
            break;
        }
        assert!(Instant::now() < deadline, "the {thread} wakes up for nothing");
    }
}
