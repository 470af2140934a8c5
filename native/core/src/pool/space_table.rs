//! The spaces that slot records name by number. format.md has the table byte by byte.

use std::fs::File;

use rustix::fs::{FallocateFlags, fallocate};
use xxhash_rust::xxh3::Xxh3;

use super::header::HEADER_BYTES;
use super::region::Region;
use crate::error::{Error, ErrorKind, Result};
use crate::space::{SpaceGeometry, SpaceId, SpaceKey};
use crate::sync::{Arc, Ordering};

/// Spaces of one pool: what a slot record's space number can tell apart.
pub(crate) const MAX_SPACES: usize = 1 << 16;
const ENTRY_BYTES: u64 = 64;
const ENTRY_WORDS: usize = 8;
const USED: u64 = 1;
pub(super) const TABLE_BYTES: u64 = MAX_SPACES as u64 * ENTRY_BYTES;

/// The mapped table; entries are written once and never change.
#[derive(Debug)]
pub(crate) struct SpaceTable {
    region: Arc<Region>,
    file: Arc<File>,
}

impl SpaceTable {
    pub(super) fn new(region: Arc<Region>, file: Arc<File>) -> Self {
        Self { region, file }
    }

    /// Writes the entry of a new space.
    pub(crate) fn write(&self, id: SpaceId, key: SpaceKey, geometry: &SpaceGeometry) -> Result<()> {
        let offset = HEADER_BYTES + u64::from(id.0) * ENTRY_BYTES;
        fallocate(&*self.file, FallocateFlags::empty(), offset, ENTRY_BYTES)
            .map_err(|errno| Error::io("allocate an entry of the space table", errno.into()))?;
        let Some([state, sizes, rest @ ..]) = self.region.words(offset, ENTRY_WORDS) else {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("space {} is outside of the space table", id.0),
            ));
        };
        let mut bytes = [0; 48];
        for (to, from) in bytes
            .iter_mut()
            .zip(key.namespace.into_iter().chain(digest(geometry).to_le_bytes()))
        {
            *to = from;
        }
        for (word, bytes) in rest.iter().zip(bytes.as_chunks().0) {
            word.store(u64::from_le_bytes(*bytes).to_le(), Ordering::Relaxed);
        }
        let shards = geometry.shards.len() as u64;
        sizes.store(
            (u64::from(geometry.hash_bytes) | shards << 32).to_le(),
            Ordering::Relaxed,
        );
        state.store((USED | u64::from(key.group) << 32).to_le(), Ordering::Release);
        Ok(())
    }
}

/// XXH3-128 over each shard's page bytes and digest.
fn digest(geometry: &SpaceGeometry) -> u128 {
    let mut hasher = Xxh3::new();
    for shard in &geometry.shards {
        hasher.update(&shard.page_bytes.to_le_bytes());
        hasher.update(&shard.digest);
    }
    hasher.digest128()
}
