//! The spaces that slot records name by number, and the shards that spaces are made of. format.md has both tables byte by byte.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};
use xxhash_rust::xxh3::Xxh3;

use super::header::{HEADER_BYTES, u32_at};
use super::region::Region;
use crate::error::{Error, ErrorKind, Result};
use crate::space::{ShardGeometry, SpaceGeometry, SpaceId, SpaceKey};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, crash_point};

/// Spaces of one pool: what a slot record's space number can tell apart.
pub(crate) const MAX_SPACES: usize = 1 << 16;
/// Shards of all spaces of one pool.
const MAX_SHARDS: u32 = 1 << 20;
const ENTRY_BYTES: usize = 64;
const SHARD_BYTES: usize = 40;
const USED: u32 = 1;
const SHARDS_AT: u64 = HEADER_BYTES + (MAX_SPACES * ENTRY_BYTES) as u64;
/// Where both tables end.
pub(super) const TABLES_END: u64 = SHARDS_AT + MAX_SHARDS as u64 * SHARD_BYTES as u64;

/// The mapped tables; what a used entry says never changes.
#[derive(Debug)]
pub(crate) struct SpaceTable {
    region: Arc<Region>,
    file: Arc<File>,
    /// The first shard that no space has.
    next_shard: Mutex<u32>,
}

/// A space that the table names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownSpace {
    pub(crate) id: SpaceId,
    pub(crate) key: SpaceKey,
    pub(crate) geometry: SpaceGeometry,
}

impl SpaceTable {
    pub(super) fn new(region: Arc<Region>, file: Arc<File>) -> Self {
        Self {
            region,
            file,
            next_shard: Mutex::new(0),
        }
    }

    /// Writes the entry of a new space, after its shards.
    pub(crate) fn write(&self, id: SpaceId, key: SpaceKey, geometry: &SpaceGeometry) -> Result<()> {
        let mut next_shard = self.next_shard.lock();
        let end = next_shard.saturating_add(geometry.shards.len() as u32);
        if end > MAX_SHARDS {
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "the namespaces of this pool have {MAX_SHARDS} shards, which is the most: \
                     remove the pool (pegaflow stop --purge) and start anew"
                ),
            ));
        }
        let (entry, shards) = encode(key, geometry, *next_shard);
        let shards_at = SHARDS_AT + u64::from(*next_shard) * SHARD_BYTES as u64;
        store(self.words(shards_at, shards.len())?, &shards);
        let words = self.words(entry_at(id), ENTRY_BYTES)?;
        if let ([state, words @ ..], Some((first, rest))) = (words, entry.split_first_chunk()) {
            store(words, rest);
            crash_point();
            state.store(u64::from_le_bytes(*first).to_le(), Ordering::Release);
        }
        *next_shard = end;
        Ok(())
    }

    /// The spaces of a table that was taken over; an entry that is not as it was written is passed over.
    pub(super) fn read(&self) -> Result<Vec<KnownSpace>> {
        let mut entries = vec![0; MAX_SPACES * ENTRY_BYTES];
        self.read_bytes(&mut entries, HEADER_BYTES)?;
        let mut spaces = Vec::new();
        for (number, entry) in entries.chunks_exact(ENTRY_BYTES).enumerate() {
            if let Some((first, count)) = shards_of(entry) {
                let mut shards = vec![0; count as usize * SHARD_BYTES];
                self.read_bytes(&mut shards, SHARDS_AT + u64::from(first) * SHARD_BYTES as u64)?;
                if let Some((key, geometry)) = decode(entry, &shards) {
                    let id = SpaceId(number as u16);
                    spaces.push(KnownSpace { id, key, geometry });
                    let mut next_shard = self.next_shard.lock();
                    *next_shard = (first + count).max(*next_shard);
                }
            }
        }
        Ok(spaces)
    }

    /// Frees the entry of a space that no record names.
    pub(crate) fn clear(&self, id: SpaceId) {
        if let Some([state]) = self.region.words(entry_at(id), 1) {
            crash_point();
            state.store(0, Ordering::Release);
        }
    }

    /// Reads the file: to look at a hole through the mapping would fill it.
    fn read_bytes(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        self.file
            .read_exact_at(bytes, offset)
            .map_err(|error| Error::io("read the space table", error))
    }

    /// Words that the file has memory for from now on.
    fn words(&self, offset: u64, bytes: usize) -> Result<&[AtomicU64]> {
        fallocate(&*self.file, FallocateFlags::empty(), offset, bytes as u64)
            .map_err(|errno| Error::io("allocate a part of the space table", errno.into()))?;
        self.region.words(offset, bytes / 8).ok_or_else(|| {
            Error::new(
                ErrorKind::Limit,
                format!("byte {offset} is outside of the space table"),
            )
        })
    }
}

fn entry_at(id: SpaceId) -> u64 {
    HEADER_BYTES + u64::from(id.0) * ENTRY_BYTES as u64
}

fn store(words: &[AtomicU64], bytes: &[u8]) {
    for (word, bytes) in words.iter().zip(bytes.as_chunks().0) {
        crash_point();
        word.store(u64::from_le_bytes(*bytes).to_le(), Ordering::Relaxed);
    }
}

/// The bytes of an entry and of its shards, which begin with number `first`.
fn encode(key: SpaceKey, geometry: &SpaceGeometry, first: u32) -> (Vec<u8>, Vec<u8>) {
    let shards: Vec<u8> = geometry
        .shards
        .iter()
        .flat_map(|shard| shard.page_bytes.to_le_bytes().into_iter().chain(shard.digest))
        .collect();
    let sizes = geometry.hash_bytes | (geometry.shards.len() as u32) << 16;
    let mut entry: Vec<u8> = [USED, key.group, sizes, first]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .chain(key.namespace)
        .collect();
    entry.extend(checksum(&entry, &shards).to_le_bytes());
    (entry, shards)
}

/// The first shard of a used entry, and how many there are; None for what no entry can have.
fn shards_of(entry: &[u8]) -> Option<(u32, u32)> {
    let (first, count) = (u32_at(entry, 12)?, u32_at(entry, 8)? >> 16);
    let is_possible = u32_at(entry, 0)? == USED && count > 0 && first.checked_add(count)? <= MAX_SHARDS;
    is_possible.then_some((first, count))
}

/// What an entry and its shards say; None unless they are as they were written.
fn decode(entry: &[u8], shards: &[u8]) -> Option<(SpaceKey, SpaceGeometry)> {
    let (body, expected) = entry.split_last_chunk()?;
    if checksum(body, shards) != u128::from_le_bytes(*expected) {
        return None;
    }
    let key = SpaceKey {
        namespace: *body.get(16..)?.first_chunk()?,
        group: u32_at(body, 4)?,
    };
    let shards = shards.chunks_exact(SHARD_BYTES).map(|shard| {
        let (page_bytes, digest) = shard.split_first_chunk()?;
        Some(ShardGeometry {
            page_bytes: u64::from_le_bytes(*page_bytes),
            digest: *digest.first_chunk()?,
        })
    });
    let geometry = SpaceGeometry {
        hash_bytes: u32_at(body, 8)? & 0xffff,
        shards: shards.collect::<Option<_>>()?,
    };
    Some((key, geometry))
}

/// XXH3-128 over an entry without its checksum, then its shards.
fn checksum(body: &[u8], shards: &[u8]) -> u128 {
    let mut hasher = Xxh3::new();
    hasher.update(body);
    hasher.update(shards);
    hasher.digest128()
}
