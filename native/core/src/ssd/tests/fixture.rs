//! A tier with one space of small blocks, and ways to write, read and look.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rand::RngCore;
use tempfile::TempDir;

use crate::checksum::checksum_seed;
use crate::error::Result;
use crate::space::{ShardGeometry, SpaceGeometry, SpaceKey};
use crate::ssd::io::fault::Disk;
use crate::ssd::io::{Buffer, Engines};
use crate::ssd::tier::padded_hash;
use crate::ssd::*;

/// The pages of a block, neither as long as whole units.
pub(super) const PAGES: [u64; 2] = [20_000, 60_000];
/// What they take on a disk.
pub(super) const PADDED_BYTES: u64 = 20_480 + 61_440;
pub(super) const CAPACITY: u64 = MIN_CAPACITY;
pub(super) const KEY: SpaceKey = SpaceKey {
    namespace: [7; 32],
    group: 3,
};

pub(super) type Hash = [u8; 32];

/// The most that anything here is waited for.
pub(super) fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

pub(super) fn geometry(pages: &[u64]) -> SpaceGeometry {
    let shards = pages.iter().map(|bytes| ShardGeometry {
        page_bytes: *bytes,
        digest: [1; 32],
    });
    SpaceGeometry {
        hash_bytes: 32,
        shards: shards.collect(),
    }
}

pub(super) fn config(dir: &Path) -> SsdConfig {
    SsdConfig {
        paths: vec![SsdPathConfig {
            dir: dir.to_owned(),
            capacity: CAPACITY,
        }],
        engine: IoEngineKind::Auto,
        write_budget: None,
    }
}

/// An open tier, and what was written to it.
pub(super) struct Fixture {
    pub(super) ssd: Arc<Ssd>,
    pub(super) key: SpaceKey,
    pub(super) space: SsdSpaceId,
    pub(super) pages: Vec<u64>,
    pub(super) saved: HashMap<Hash, Vec<Vec<u8>>>,
    pub(super) dir: PathBuf,
}

impl Fixture {
    /// One path of real files.
    pub(super) fn open(dir: &TempDir) -> Self {
        Self::open_config(config(dir.path()))
    }

    pub(super) fn open_config(config: SsdConfig) -> Self {
        let engines: Engines = Box::new(config.engine);
        Self::open_with(config, engines).unwrap()
    }

    /// One path on a disk that may fail.
    pub(super) fn open_disk(dir: &TempDir, disk: &Disk) -> Self {
        Self::open_with(config(dir.path()), Box::new(disk.clone())).unwrap()
    }

    pub(super) fn open_with(config: SsdConfig, engines: Engines) -> Result<Self> {
        let dir = config.paths[0].dir.clone();
        let ssd = Ssd::open_with(config, engines)?;
        let space = ssd.space(KEY, &geometry(&PAGES))?;
        Ok(Self {
            ssd,
            key: KEY,
            space,
            pages: PAGES.to_vec(),
            saved: HashMap::new(),
            dir,
        })
    }

    /// Opens the same path anew, after a close.
    pub(super) fn reopen(self, engines: Option<Engines>) -> Self {
        let Self { ssd, saved, dir, .. } = self;
        drop(ssd);
        let config = config(&dir);
        let engines = engines.unwrap_or_else(|| Box::new(config.engine));
        let mut fixture = Self::open_with(config, engines).unwrap();
        fixture.saved = saved;
        fixture
    }

    pub(super) fn close(&self) {
        self.ssd.close(deadline()).unwrap();
    }

    /// Begins to write a block of fresh bytes; the end is told to the receiver.
    pub(super) fn begin(
        &mut self,
        hash: Hash,
    ) -> (std::result::Result<(), Refused>, mpsc::Receiver<Result<()>>) {
        let bytes: Vec<Vec<u8>> = self.pages.iter().map(|len| fresh(*len as usize)).collect();
        let (sender, ended) = mpsc::channel();
        let write = block_write((self.space, &self.key), hash, &bytes, move |result| {
            drop(sender.send(result))
        });
        self.saved.insert(hash, bytes);
        (self.ssd.write(write), ended)
    }

    /// Writes a block of fresh bytes, and waits until it can be found.
    pub(super) fn write(&mut self) -> Hash {
        let hash = rand::random();
        self.write_as(hash).unwrap();
        hash
    }

    pub(super) fn write_as(&mut self, hash: Hash) -> Result<()> {
        let (accepted, ended) = self.begin(hash);
        accepted.unwrap();
        ended.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    pub(super) fn write_many(&mut self, count: usize) -> Vec<Hash> {
        let hashes: Vec<Hash> = (0..count).map(|_| rand::random()).collect();
        let mut ends = Vec::new();
        for hash in &hashes {
            loop {
                let (accepted, ended) = self.begin(*hash);
                match accepted {
                    Ok(()) => break ends.push(ended),
                    Err(Refused::Busy) => assert!(self.ssd.wait_for_room(deadline())),
                    Err(other) => panic!("{other:?}"),
                }
            }
        }
        for ended in ends {
            ended.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
        }
        hashes
    }

    pub(super) fn flush(&self) {
        self.ssd.flush(deadline()).unwrap();
    }

    /// Reads a block: None when it is not found.
    pub(super) fn read(&self, hash: &Hash) -> Option<Result<Vec<Vec<u8>>>> {
        let extent = self.ssd.find(self.space, hash)?;
        Some(read_extent(&self.ssd, extent, &self.pages))
    }

    /// Whether the block is found, with the bytes that were written.
    pub(super) fn has(&self, hash: &Hash) -> bool {
        match self.read(hash) {
            None => false,
            Some(read) => {
                assert!(read.unwrap() == self.saved[hash], "other bytes than were saved");
                true
            }
        }
    }

    /// Whether all that is found is what was saved; how much that is. A damaged block is a miss.
    pub(super) fn check_all(&self) -> usize {
        let mut found = 0;
        for (hash, bytes) in &self.saved {
            if let Some(Ok(read)) = self.read(hash) {
                assert!(read == *bytes, "other bytes than were saved");
                found += 1;
            }
        }
        found
    }

    pub(super) fn path(&self) -> SsdPathSnapshot {
        self.ssd.snapshot().paths.remove(0)
    }

    /// Waits until the path is in a state.
    pub(super) fn wait_for_state(&self, name: &str) {
        let end = deadline();
        while self.path().state.name() != name {
            assert!(Instant::now() < end, "the path is {:?}", self.path().state);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

pub(super) fn read_extent(ssd: &Ssd, extent: Extent, pages: &[u64]) -> Result<Vec<Vec<u8>>> {
    let mut buffers: Vec<Buffer> = pages.iter().map(|len| Buffer::new(*len as usize)).collect();
    let places = buffers.iter_mut().zip(pages);
    let places = places
        .map(|(buffer, len)| buffer.page().part(0, *len as usize))
        .collect();
    let (sender, ended) = mpsc::channel();
    let done = Box::new(move |result: Result<_>| drop(sender.send(result)));
    ssd.read(extent, places, Priority::Load, done).detach();
    ended.recv_timeout(Duration::from_secs(60)).unwrap()?;
    let pages = buffers.iter().zip(pages);
    Ok(pages
        .map(|(buffer, len)| buffer.bytes()[..*len as usize].to_vec())
        .collect())
}

pub(super) fn block_write(
    (space, key): (SsdSpaceId, &SpaceKey),
    hash: Hash,
    bytes: &[Vec<u8>],
    done: impl FnOnce(Result<()>) + Send + 'static,
) -> BlockWrite {
    let mut buffers: Vec<Buffer> = bytes.iter().map(|bytes| Buffer::of(bytes)).collect();
    let pages: Vec<PagePtr> = buffers
        .iter_mut()
        .zip(bytes)
        .map(|(buffer, bytes)| buffer.page().part(0, bytes.len()))
        .collect();
    let padded = padded_hash(&hash).unwrap();
    let checksums = (0..)
        .zip(&pages)
        .map(|(shard, page)| page.checksum(checksum_seed(key, shard, &padded)));
    BlockWrite {
        space,
        hash: hash.to_vec(),
        checksums: checksums.collect(),
        pages,
        keep: Box::new(buffers),
        done: Box::new(done),
    }
}

pub(super) fn fresh(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}
