//! The spaces that slot records name by number, and the shards that spaces are made of. format.md has both tables byte by byte.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};
use xxhash_rust::xxh3::Xxh3;

use super::header::{HEADER_BYTES, u32_at};
use super::region::Region;
use crate::error::{Error, ErrorKind, Result};
use crate::space::{ShardGeometry, SpaceGeometry, SpaceKey, SpaceNumber};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, crash_point};

/// Entries of the table: what a slot record's space number can tell apart.
const ENTRIES: usize = 1 << 16;
/// The last entries are those of the rule table.
pub(super) const MAX_RULES: u32 = 1 << 10;
/// Spaces of one pool.
pub(crate) const MAX_SPACES: usize = ENTRIES - MAX_RULES as usize;
/// Shards of all spaces of one pool.
const MAX_SHARDS: u32 = 1 << 20;
/// Bytes of an entry.
pub(super) const ENTRY_BYTES: usize = 64;
const SHARD_BYTES: usize = 40;
const USED: u32 = 1;
/// Where the entries of rules are.
pub(super) const RULES_AT: u64 = HEADER_BYTES + (MAX_SPACES * ENTRY_BYTES) as u64;
const SHARDS_AT: u64 = HEADER_BYTES + (ENTRIES * ENTRY_BYTES) as u64;
/// Where both tables end.
pub(super) const TABLES_END: u64 = SHARDS_AT + MAX_SHARDS as u64 * SHARD_BYTES as u64;
/// How much more of each table has memory than is in use: an engine that attaches needs none from a full file system.
const AHEAD_BYTES: u64 = 64 << 10;

/// The mapped tables; what a used entry says never changes.
#[derive(Debug)]
pub(crate) struct SpaceTable {
    region: Arc<Region>,
    file: Arc<File>,
    taken: Mutex<Taken>,
    /// Why there is no memory ahead of need.
    problem: Mutex<Option<String>>,
}

/// What is in use, and what has memory.
#[derive(Debug)]
struct Taken {
    /// Runs of shards that spaces have: how many there are from the first on.
    shards: BTreeMap<u32, u32>,
    /// By space, the first of its shards.
    first_shards: BTreeMap<SpaceNumber, u32>,
    /// Where the memory of the entries ends,
    entries_end: u64,
    /// and that of the shards.
    shards_end: u64,
}

impl Taken {
    /// Where so many shards fit: behind all others, or where spaces have gone.
    fn room(&self, count: u32) -> Option<u32> {
        let end = self
            .shards
            .last_key_value()
            .map_or(0, |(first, count)| first + count);
        if end.checked_add(count)? <= MAX_SHARDS {
            return Some(end);
        }
        let mut begin = 0;
        for (first, taken) in &self.shards {
            if first - begin >= count {
                return Some(begin);
            }
            begin = first + taken;
        }
        None
    }

    fn insert(&mut self, number: SpaceNumber, first: u32, count: u32) {
        self.shards.insert(first, count);
        self.first_shards.insert(number, first);
    }

    fn remove(&mut self, number: SpaceNumber) {
        if let Some(first) = self.first_shards.remove(&number) {
            self.shards.remove(&first);
        }
    }
}

/// A space that the table names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownSpace {
    pub(crate) number: SpaceNumber,
    pub(crate) key: SpaceKey,
    pub(crate) geometry: SpaceGeometry,
}

impl SpaceTable {
    pub(super) fn new(region: Arc<Region>, file: Arc<File>) -> Self {
        Self {
            region,
            file,
            taken: Mutex::new(Taken {
                shards: BTreeMap::new(),
                first_shards: BTreeMap::new(),
                entries_end: HEADER_BYTES,
                shards_end: SHARDS_AT,
            }),
            problem: Mutex::new(None),
        }
    }

    /// Writes the entry of a new space, after its shards.
    ///
    /// # Errors
    /// `Limit` when there is no room for its shards, `NoSpace` or `Io` when the file gets no memory for it.
    pub(crate) fn write(&self, number: SpaceNumber, key: SpaceKey, geometry: &SpaceGeometry) -> Result<()> {
        let mut taken = self.taken.lock();
        let count = geometry.shards.len() as u32;
        let first_shard = taken.room(count).ok_or_else(too_many_shards)?;
        let (entry, shards) = encode(key, geometry, first_shard);
        let (entry_at, shards_at) = (entry_at(number), shard_at(first_shard));
        self.allocate(&mut taken.entries_end, entry_at + ENTRY_BYTES as u64)?;
        self.allocate(&mut taken.shards_end, shards_at + shards.len() as u64)?;
        store(self.words(shards_at, shards.len())?, &shards);
        let words = self.words(entry_at, ENTRY_BYTES)?;
        if let ([state, words @ ..], Some((first, rest))) = (words, entry.split_first_chunk()) {
            store(words, rest);
            crash_point();
            state.store(u64::from_le_bytes(*first).to_le(), Ordering::Release);
        }
        taken.insert(number, first_shard, count);
        drop(taken);
        self.allocate_ahead();
        Ok(())
    }

    /// Gets memory for the next spaces; says so when there is none, until there is.
    pub(super) fn allocate_ahead(&self) {
        let mut taken = self.taken.lock();
        let number = taken
            .first_shards
            .last_key_value()
            .map_or(0, |(number, _)| u64::from(number.0) + 1);
        let shards = taken
            .shards
            .last_key_value()
            .map_or(0, |(first, count)| first + count);
        let entries_end = HEADER_BYTES + number * ENTRY_BYTES as u64 + AHEAD_BYTES;
        let shards_end = shard_at(shards) + AHEAD_BYTES;
        let allocated = self
            .allocate(&mut taken.entries_end, entries_end.min(RULES_AT))
            .and_then(|()| self.allocate(&mut taken.shards_end, shards_end.min(TABLES_END)));
        drop(taken);
        let problem = allocated.err().map(|error| {
            format!("there is no memory for more namespaces, so new engines may not attach ({error}): free memory beside the pool")
        });
        let mut known = self.problem.lock();
        if let (Some(problem), None) = (&problem, &*known) {
            tracing::warn!("{problem}");
        }
        *known = problem;
    }

    /// Why new engines may not attach, if that is still so.
    pub(super) fn problem(&self) -> Option<String> {
        if self.problem.lock().is_some() {
            self.allocate_ahead();
        }
        self.problem.lock().clone()
    }

    /// The spaces of a table that was taken over; an entry that is not as it was written is passed over.
    pub(super) fn read(&self) -> Result<Vec<KnownSpace>> {
        let mut entries = vec![0; MAX_SPACES * ENTRY_BYTES];
        self.read_bytes(&mut entries, HEADER_BYTES)?;
        let mut spaces = Vec::new();
        for (number, entry) in entries.chunks_exact(ENTRY_BYTES).enumerate() {
            if let Some((first, count)) = shards_of(entry) {
                let mut shards = vec![0; count as usize * SHARD_BYTES];
                self.read_bytes(&mut shards, shard_at(first))?;
                if let Some((key, geometry)) = decode(entry, &shards) {
                    let number = SpaceNumber(number as u16);
                    self.taken.lock().insert(number, first, count);
                    spaces.push(KnownSpace {
                        number,
                        key,
                        geometry,
                    });
                }
            }
        }
        Ok(spaces)
    }

    /// Frees the entry of a space that no record names.
    pub(crate) fn clear(&self, number: SpaceNumber) {
        if let Some([state]) = self.region.words(entry_at(number), 1) {
            crash_point();
            state.store(0, Ordering::Release);
        }
        self.taken.lock().remove(number);
    }

    /// Reads the file: to look at a hole through the mapping would fill it.
    fn read_bytes(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        self.file
            .read_exact_at(bytes, offset)
            .map_err(|error| Error::io("read the space table", error))
    }

    /// Makes sure that the file has memory up to `end`, as it has up to `known`.
    fn allocate(&self, known: &mut u64, end: u64) -> Result<()> {
        if end > *known {
            fallocate(&*self.file, FallocateFlags::empty(), *known, end - *known)
                .map_err(|errno| Error::io("allocate a part of the space table", errno.into()))?;
            *known = end;
        }
        Ok(())
    }

    /// Words that the file has memory for.
    fn words(&self, offset: u64, bytes: usize) -> Result<&[AtomicU64]> {
        self.region.words(offset, bytes / 8).ok_or_else(|| {
            Error::new(
                ErrorKind::Limit,
                format!("byte {offset} is outside of the space table"),
            )
        })
    }
}

fn shard_at(shard: u32) -> u64 {
    SHARDS_AT + u64::from(shard) * SHARD_BYTES as u64
}

fn too_many_shards() -> Error {
    Error::new(
        ErrorKind::Limit,
        format!(
            "the namespaces of this pool have nearly {MAX_SHARDS} shards, which is the most: evict some (pegaflow namespace evict)"
        ),
    )
}

fn entry_at(number: SpaceNumber) -> u64 {
    HEADER_BYTES + u64::from(number.0) * ENTRY_BYTES as u64
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
