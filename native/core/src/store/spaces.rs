//! All spaces of a store, and their namespaces.

use std::collections::{BTreeMap, HashMap};
use std::thread;

use super::namespace::Namespace;
use super::space::{Space, check, difference, shard_pages};
use crate::error::{Error, ErrorKind, Result};
use crate::eviction::PolicyKind;
use crate::pool::{KnownSpace, Pool};
use crate::space::{SpaceGeometry, SpaceId, SpaceKey, SpaceNumber};
use crate::sync::{Arc, Mutex, RwLock};

/// How often those who are looking at all spaces are waited for, when spaces have to go.
const PATIENCE: usize = 10_000;

/// Spaces by their numbers, of which some may be free.
type SpaceList = Vec<Option<Arc<Space>>>;

/// Keeps a space, and what its id names, while somebody uses it.
#[derive(Debug, Clone)]
pub struct SpaceHold {
    _space: Arc<Space>,
}

/// All spaces. One goes when there are too many, if it has no block and nobody holds it.
#[derive(Debug)]
pub(super) struct Spaces {
    /// Replaced whole, so that readers hold no lock.
    list: RwLock<Arc<SpaceList>>,
    ids: Mutex<Ids>,
    namespaces: Mutex<BTreeMap<[u8; 32], Arc<Namespace>>>,
    /// How many there can be.
    most: usize,
}

#[derive(Debug, Default)]
struct Ids {
    by_key: HashMap<SpaceKey, SpaceId>,
    next_generation: u32,
}

impl Ids {
    fn next(&mut self, number: SpaceNumber) -> SpaceId {
        let generation = self.next_generation;
        self.next_generation = generation.wrapping_add(1);
        SpaceId { number, generation }
    }
}

impl Spaces {
    /// Room for this many.
    pub(super) fn new(most: usize) -> Self {
        Self {
            list: RwLock::default(),
            ids: Mutex::default(),
            namespaces: Mutex::default(),
            most,
        }
    }

    /// Each space, by its number.
    pub(super) fn all(&self) -> Arc<SpaceList> {
        Arc::clone(&self.list.read())
    }

    /// The space of this key, if there is one.
    pub(super) fn find(&self, key: &SpaceKey) -> Option<SpaceId> {
        self.ids.lock().by_key.get(key).copied()
    }

    pub(super) fn get(&self, id: SpaceId) -> Result<Arc<Space>> {
        let space = self.at(id.number).ok().filter(|space| space.id == id);
        space.ok_or_else(|| no_space(id.number))
    }

    /// The space that slot records give this number.
    pub(super) fn at(&self, number: SpaceNumber) -> Result<Arc<Space>> {
        let space = self.list.read().get(usize::from(number.0)).cloned().flatten();
        space.ok_or_else(|| no_space(number))
    }

    /// Keeps a space from going.
    pub(super) fn hold(&self, id: SpaceId) -> Result<SpaceHold> {
        self.get(id).map(|space| SpaceHold { _space: space })
    }

    /// The namespace of this key: made if it is new.
    pub(super) fn namespace(&self, key: [u8; 32]) -> Arc<Namespace> {
        let mut namespaces = self.namespaces.lock();
        let namespace = namespaces
            .entry(key)
            .or_insert_with(|| Arc::new(Namespace::new(key)));
        Arc::clone(namespace)
    }

    /// Each namespace.
    pub(super) fn namespaces(&self) -> Vec<Arc<Namespace>> {
        self.namespaces.lock().values().cloned().collect()
    }

    /// Bytes that pinned namespaces take.
    pub(super) fn pinned_bytes(&self) -> u64 {
        let namespaces = self.namespaces.lock();
        let pinned = namespaces.values().filter(|namespace| namespace.is_pinned());
        pinned.map(|namespace| namespace.used_bytes()).sum()
    }

    /// Forgets namespaces without spaces for which nothing is set.
    pub(super) fn forget_namespaces(&self) {
        let mut namespaces = self.namespaces.lock();
        namespaces.retain(|_, namespace| namespace.has_rule() || Arc::get_mut(namespace).is_none());
    }

    /// Adds a space of a pool that was taken over; false when its key is there already.
    ///
    /// # Errors
    /// `Invalid` or `Config` for a geometry that no space of this pool can have.
    pub(super) fn add_known(&self, pool: &Pool, policy: PolicyKind, known: KnownSpace) -> Result<bool> {
        let KnownSpace {
            number,
            key,
            geometry,
        } = known;
        check(&geometry)?;
        let shards = shard_pages(pool, &geometry)?;
        let mut ids = self.ids.lock();
        let is_new = !ids.by_key.contains_key(&key);
        if is_new {
            let id = ids.next(number);
            let namespace = self.namespace(key.namespace);
            self.put(Space::new(id, key, namespace, geometry, shards, policy));
            ids.by_key.insert(key, id);
        }
        Ok(is_new)
    }

    /// Frees the spaces that have no block and that nobody holds; how many.
    pub(super) fn free_unused(&self, pool: &Pool) -> usize {
        self.free_unused_of(&mut self.ids.lock(), pool)
    }

    fn free_unused_of(&self, ids: &mut Ids, pool: &Pool) -> usize {
        for _ in 0..PATIENCE {
            let mut list = self.list.write();
            let Some(spaces) = Arc::get_mut(&mut list) else {
                // Somebody looks at all of them, and may get hold of any.
                drop(list);
                thread::yield_now();
                continue;
            };
            let mut freed = 0;
            for place in spaces.iter_mut() {
                let is_unused = |space: &mut Arc<Space>| {
                    Arc::get_mut(space).is_some_and(|space| *space.counts.kept.get_mut() == 0)
                };
                if let Some(space) = place.take_if(is_unused) {
                    ids.by_key.remove(&space.key);
                    pool.spaces.clear(space.id.number);
                    freed += 1;
                }
            }
            drop(list);
            self.forget_namespaces();
            return freed;
        }
        0
    }

    fn put(&self, space: Space) {
        let mut list = self.list.write();
        let number = usize::from(space.id.number.0);
        let spaces = Arc::make_mut(&mut list);
        if spaces.len() <= number {
            spaces.resize(number + 1, None);
        }
        if let Some(place) = spaces.get_mut(number) {
            *place = Some(Arc::new(space));
        }
    }

    /// The space of this key: made if it is new.
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
        if let Some(id) = ids.by_key.get(&key) {
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
        let number = match self.write(pool, key, &geometry) {
            Err(error) if error.kind() == ErrorKind::Limit && self.free_unused_of(&mut ids, pool) > 0 => {
                self.write(pool, key, &geometry)?
            }
            written => written?,
        };
        let id = ids.next(number);
        let namespace = self.namespace(key.namespace);
        self.put(Space::new(id, key, namespace, geometry, shards, policy));
        ids.by_key.insert(key, id);
        Ok(id)
    }

    /// Writes the entry of a new space, under the lowest number that is free.
    fn write(&self, pool: &Pool, key: SpaceKey, geometry: &SpaceGeometry) -> Result<SpaceNumber> {
        let list = self.all();
        let number = list.iter().position(Option::is_none).unwrap_or(list.len());
        drop(list);
        let number = u16::try_from(number).ok().filter(|_| number < self.most);
        let number = number.map(SpaceNumber).ok_or_else(|| too_many(self.most))?;
        pool.spaces.write(number, key, geometry)?;
        Ok(number)
    }
}

fn no_space(number: SpaceNumber) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("space {} does not exist, or not any more", number.0),
    )
}

fn too_many(most: usize) -> Error {
    Error::new(
        ErrorKind::Limit,
        format!(
            "the pool has {most} namespaces with blocks or engines, which is the most: evict some (pegaflow namespace evict)"
        ),
    )
}
