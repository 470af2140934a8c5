//! What was written is found: now, and after a close.

use tempfile::TempDir;

use super::fixture::{Fixture, PAGES};
use crate::ssd::*;

#[test]
fn what_was_written_is_read_with_its_checksums() {
    let dir = TempDir::new().unwrap();
    for engine in [IoEngineKind::Uring, IoEngineKind::Psync] {
        let dir = dir.path().join(engine.name());
        let mut fixture = Fixture::open_config(SsdConfig {
            engine,
            ..super::fixture::config(&dir)
        });
        let hashes = fixture.write_many(40);
        assert!(hashes.iter().all(|hash| fixture.has(hash)));
        assert!(!fixture.ssd.contains(fixture.space, &[0; 32]));
        let path = fixture.path();
        assert_eq!(path.engine, engine);
        assert_eq!((path.blocks, path.written_blocks, path.read_blocks), (40, 40, 40));
        assert_eq!(path.bytes, 40 * PAGES.iter().sum::<u64>());
        fixture.close();
    }
}

#[test]
fn what_was_written_is_found_after_a_close() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    for _ in 0..3 {
        let hashes = fixture.write_many(30);
        fixture.close();
        fixture = fixture.reopen(None);
        assert!(hashes.iter().all(|hash| fixture.has(hash)));
    }
    assert_eq!(fixture.check_all(), 90);
    assert_eq!(fixture.path().recovery.blocks, 90);
    assert_eq!(fixture.path().recovery.bad_segments, 0);
    fixture.close();
}
