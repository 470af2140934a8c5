//! Bytes on a disk that are not what was written are a miss, and are never found again.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::*;

/// All files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

/// Flips a bit of the first place that has these bytes.
fn damage(dir: &Path, bytes: &[u8]) {
    for path in files(dir) {
        let content = fs::read(&path).unwrap();
        let found = content
            .chunks(4096)
            .position(|chunk| chunk == &bytes[..4096])
            .map(|chunk| chunk * 4096 + 77);
        if let Some(at) = found {
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            file.write_all_at(&[content[at] ^ 4], at as u64).unwrap();
            file.sync_all().unwrap();
            return;
        }
    }
    panic!("no file has these bytes");
}

#[test]
fn it_ends_the_prefix_and_can_be_saved_anew() {
    let (tiers, key) = (Tiers::new(32 * MIB), key());
    let space = tiers.space(key, &[PAGE]);
    let blocks = tiers.save(space, 1, 10);
    tiers.flush();
    damage(tiers.disk.path(), &blocks[6].1[0]);
    let tiers = tiers.restart(32 * MIB);
    let space = tiers.space(key, &[PAGE]);

    let hits = tiers.lookup(space, &hashes(&blocks));
    check_bytes(&hits, &blocks[..6]);
    assert_eq!(tiers.fetches().corrupt, 1);
    assert_eq!(tiers.tier().ssd.paths[0].corrupt_blocks, 1);
    drop(hits);
    let again = tiers.lookup(space, &hashes(&blocks));
    assert_eq!((again.hits.len(), tiers.fetches().corrupt), (6, 1));
    drop(again);

    let writer = tiers.fixture.writer(space, 0, &blocks[6].0);
    writer.page().write(&blocks[6].1[0]);
    writer.seal();
    tiers.flush();
    let tiers = tiers.restart(32 * MIB);
    let space = tiers.space(key, &[PAGE]);
    check_bytes(&tiers.lookup(space, &hashes(&blocks)), &blocks);
    tiers.check_idle();
}
