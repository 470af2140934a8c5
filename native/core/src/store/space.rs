//! The spaces of a store: geometry, eviction order and accounts of each.

use std::collections::HashMap;

use crate::error::{Error, ErrorKind, Result};
use crate::eviction::{EvictionPolicy, PolicyKind};
use crate::index::BlockKey;
use crate::pool::{ClassId, KnownSpace, MAX_SPACES, Pool};
use crate::space::{MAX_HASH_BYTES, MIN_HASH_BYTES, SpaceGeometry, SpaceId, SpaceKey};
use crate::ssd::SsdSpaceId;
use crate::sync::{Arc, AtomicU64, Mutex, OnceLock, Ordering, RwLock};

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
    fn new(
        id: SpaceId,
        key: SpaceKey,
        geometry: SpaceGeometry,
        shards: Vec<ShardPages>,
        policy: PolicyKind,
    ) -> Self {
        Self {
            id,
            key,
            block_bytes: shards.iter().map(|shard| shard.page_bytes).sum(),
            geometry,
            shards,
            policy: Mutex::new(policy.build()),
            on_ssd: OnceLock::new(),
            counts: SpaceCounts::default(),
        }
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

/// Spaces by their numbers, of which some may be free after a take-over.
type SpaceList = Vec<Option<Arc<Space>>>;

/// All spaces; none ever goes.
#[derive(Debug, Default)]
pub(super) struct Spaces {
    /// Replaced whole, so that readers hold no lock.
    list: RwLock<Arc<SpaceList>>,
    ids: Mutex<HashMap<SpaceKey, SpaceId>>,
}

impl Spaces {
    /// Each space, by its number.
    pub(super) fn all(&self) -> Arc<SpaceList> {
        Arc::clone(&self.list.read())
    }

    /// The space of this key, if there is one.
    pub(super) fn find(&self, key: &SpaceKey) -> Option<SpaceId> {
        self.ids.lock().get(key).copied()
    }

    pub(super) fn get(&self, id: SpaceId) -> Result<Arc<Space>> {
        let space = self.list.read().get(id.0 as usize).cloned().flatten();
        space.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("space {} does not exist", id.0)))
    }

    /// Adds a space of a pool that was taken over; false when its key is there already.
    ///
    /// # Errors
    /// `Invalid` or `Config` for a geometry that no space of this pool can have.
    pub(super) fn add_known(&self, pool: &Pool, policy: PolicyKind, known: KnownSpace) -> Result<bool> {
        let KnownSpace { id, key, geometry } = known;
        check(&geometry)?;
        let shards = shard_pages(pool, &geometry)?;
        let mut ids = self.ids.lock();
        let is_new = !ids.contains_key(&key);
        if is_new {
            self.put(Space::new(id, key, geometry, shards, policy));
            ids.insert(key, id);
        }
        Ok(is_new)
    }

    /// Takes the spaces out that have no block, when nobody can use them yet; their numbers.
    pub(super) fn remove_empty(&self) -> Vec<SpaceId> {
        let mut ids = self.ids.lock();
        let mut list = self.list.write();
        let is_empty = |space: &Arc<Space>| space.counts.kept.load(Ordering::Relaxed) == 0;
        let empty: Vec<_> = list
            .iter()
            .flatten()
            .filter(|space| is_empty(space))
            .cloned()
            .collect();
        let left = list
            .iter()
            .map(|space| space.clone().filter(|space| !is_empty(space)));
        *list = Arc::new(left.collect());
        empty.iter().for_each(|space| {
            ids.remove(&space.key);
        });
        empty.iter().map(|space| space.id).collect()
    }

    fn put(&self, space: Space) {
        let mut list = self.list.write();
        let mut changed = list.to_vec();
        let number = space.id.0 as usize;
        if changed.len() <= number {
            changed.resize(number + 1, None);
        }
        if let Some(place) = changed.get_mut(number) {
            *place = Some(Arc::new(space));
        }
        *list = Arc::new(changed);
    }

    /// The space of this key: made if it is new. Takes `ids`, then `list`.
    pub(super) fn get_or_make(
        &self,
        pool: &Pool,
        policy: PolicyKind,
        key: SpaceKey,
        geometry: SpaceGeometry,
    ) -> Result<SpaceId> {
        check(&geometry)?;
        let shards = shard_pages(pool, &geometry)?;
        let mut ids = self.ids.lock();
        if let Some(id) = ids.get(&key) {
            let known = self.get(*id)?;
            return match difference(&known.geometry, &geometry) {
                None => Ok(*id),
                Some(difference) => Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "namespace {key} exists with another geometry: {difference}: set another pegaflow.namespace_salt"
                    ),
                )),
            };
        }
        let list = self.all();
        let number = list.iter().position(Option::is_none).unwrap_or(list.len());
        let id = u16::try_from(number).map(SpaceId).map_err(|_| too_many())?;
        pool.spaces.write(id, key, &geometry)?;
        self.put(Space::new(id, key, geometry, shards, policy));
        ids.insert(key, id);
        Ok(id)
    }
}

fn check(geometry: &SpaceGeometry) -> Result<()> {
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

fn shard_pages(pool: &Pool, geometry: &SpaceGeometry) -> Result<Vec<ShardPages>> {
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
fn difference(known: &SpaceGeometry, given: &SpaceGeometry) -> Option<String> {
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

fn too_many() -> Error {
    Error::new(
        ErrorKind::Limit,
        format!(
            "the pool has {MAX_SPACES} namespaces, which is the most: restart the daemon, which frees empty ones"
        ),
    )
}

/// Bytes as hexadecimal digits.
struct Hex<'a>(&'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
