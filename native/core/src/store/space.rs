//! One space of a store: geometry, eviction order and accounts.

use super::namespace::Namespace;
use crate::error::{Error, ErrorKind, Result};
use crate::eviction::{EvictionPolicy, PolicyKind};
use crate::index::BlockKey;
use crate::pool::{ClassId, Pool};
use crate::space::{MAX_HASH_BYTES, MIN_HASH_BYTES, SpaceGeometry, SpaceId, SpaceKey};
use crate::ssd::SsdSpaceId;
use crate::sync::{Arc, AtomicU64, Mutex, OnceLock};

/// One shard's pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShardPages {
    pub(super) class: ClassId,
    pub(super) stride: u64,
    pub(super) page_bytes: u64,
}

/// Two gauges, then counts since the space was made.
#[derive(Debug, Default)]
pub(super) struct SpaceCounts {
    /// Blocks that the policy keeps: visible and partial ones.
    pub(super) kept: AtomicU64,
    /// Visible blocks.
    pub(super) blocks: AtomicU64,
    pub(super) hits: AtomicU64,
    pub(super) misses: AtomicU64,
    pub(super) admissions: AtomicU64,
    pub(super) evictions: AtomicU64,
}

/// A space.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) id: SpaceId,
    pub(super) key: SpaceKey,
    pub(super) namespace: Arc<Namespace>,
    pub(super) geometry: SpaceGeometry,
    pub(super) shards: Vec<ShardPages>,
    /// Bytes of all pages of a block.
    pub(super) block_bytes: u64,
    pub(super) policy: Mutex<Box<dyn EvictionPolicy>>,
    /// What the ssd tier calls it, once somebody asked; None when it cannot have it.
    pub(super) on_ssd: OnceLock<Option<SsdSpaceId>>,
    pub(super) counts: SpaceCounts,
}

impl Space {
    pub(super) fn new(
        id: SpaceId,
        key: SpaceKey,
        namespace: Arc<Namespace>,
        geometry: SpaceGeometry,
        shards: Vec<ShardPages>,
        policy: PolicyKind,
    ) -> Self {
        Self {
            id,
            key,
            namespace,
            block_bytes: shards.iter().map(|shard| shard.page_bytes).sum(),
            geometry,
            shards,
            policy: Mutex::new(policy.build()),
            on_ssd: OnceLock::new(),
            counts: SpaceCounts::default(),
        }
    }

    /// The key of a hash of this space.
    pub(super) fn block_key(&self, hash: &[u8]) -> Result<BlockKey> {
        let hash_bytes = self.geometry.hash_bytes;
        if hash.len() == hash_bytes as usize {
            return Ok(BlockKey::new(self.id, hash));
        }
        Err(Error::new(
            ErrorKind::Invalid,
            format!(
                "a block hash has {} bytes, this namespace's have {hash_bytes}",
                hash.len()
            ),
        ))
    }

    /// The hash of a key of this space.
    pub(super) fn hash_of<'a>(&self, key: &'a BlockKey) -> &'a [u8] {
        key.hash
            .get(..self.geometry.hash_bytes as usize)
            .unwrap_or(&key.hash)
    }

    /// Whether blocks of this space have pages of this class.
    pub(super) fn uses(&self, class: ClassId) -> bool {
        self.shards.iter().any(|shard| shard.class == class)
    }
}

pub(super) fn check(geometry: &SpaceGeometry) -> Result<()> {
    if !(MIN_HASH_BYTES..=MAX_HASH_BYTES).contains(&geometry.hash_bytes) {
        return Err(Error::new(
            ErrorKind::Invalid,
            format!(
                "a block hash has {} bytes, allowed are {MIN_HASH_BYTES} to {MAX_HASH_BYTES}: \
                 choose another hash algorithm (vLLM's --prefix-caching-hash-algo)",
                geometry.hash_bytes
            ),
        ));
    }
    let shards = geometry.shards.len();
    if shards == 0 || u16::try_from(shards).is_err() {
        return Err(Error::new(
            ErrorKind::Invalid,
            format!("a block has {shards} shards, allowed are 1 to {}", u16::MAX),
        ));
    }
    Ok(())
}

pub(super) fn shard_pages(pool: &Pool, geometry: &SpaceGeometry) -> Result<Vec<ShardPages>> {
    let pages = geometry.shards.iter().map(|shard| {
        let (class, stride) = pool.class(shard.page_bytes)?;
        Ok(ShardPages {
            class,
            stride,
            page_bytes: shard.page_bytes,
        })
    });
    pages.collect()
}

/// The first thing in which two geometries differ.
pub(super) fn difference(known: &SpaceGeometry, given: &SpaceGeometry) -> Option<String> {
    if known.hash_bytes != given.hash_bytes {
        return Some(format!(
            "block hashes of {} bytes, not of {}",
            known.hash_bytes, given.hash_bytes
        ));
    }
    if known.shards.len() != given.shards.len() {
        return Some(format!(
            "{} shards a block, not {}",
            known.shards.len(),
            given.shards.len()
        ));
    }
    let mut pairs = known.shards.iter().zip(&given.shards).enumerate();
    let (shard, (known, given)) = pairs.find(|(_, (known, given))| known != given)?;
    Some(if known.page_bytes == given.page_bytes {
        format!(
            "the segments of shard {shard} have digest {}, not {}",
            Hex(&known.digest),
            Hex(&given.digest)
        )
    } else {
        format!(
            "pages of shard {shard} have {} bytes, not {}",
            known.page_bytes, given.page_bytes
        )
    })
}

/// Bytes as hexadecimal digits.
struct Hex<'a>(&'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
