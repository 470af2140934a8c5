//! The spaces that the tier knows.

use crate::checksum::checksum_seed;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::PagePtr;
use crate::space::{MAX_HASH_BYTES, MIN_HASH_BYTES, ShardGeometry, SpaceGeometry, SpaceKey};
use crate::ssd::block::SsdSpaceId;
use crate::ssd::format::{UNIT, padded};
use crate::sync::Arc;

/// What never changes about a space.
#[derive(Debug)]
pub(in crate::ssd) struct SpaceInfo {
    pub(in crate::ssd) id: SsdSpaceId,
    pub(in crate::ssd) key: SpaceKey,
    pub(in crate::ssd) geometry: SpaceGeometry,
    /// Bytes of a block's pages.
    pub(in crate::ssd) bytes: u64,
    /// Bytes of a block's pages side by side in a segment.
    pub(in crate::ssd) padded_bytes: u64,
}

impl SpaceInfo {
    /// Whether there is one page for each shard, as long as its pages are.
    pub(in crate::ssd) fn fits(&self, pages: &[PagePtr]) -> bool {
        let shards = &self.geometry.shards;
        let is_page = |(page, shard): (&PagePtr, &ShardGeometry)| page.len() as u64 == shard.page_bytes;
        pages.len() == shards.len() && pages.iter().zip(shards).all(is_page)
    }

    /// The pages of a block that lies side by side in `memory`.
    pub(in crate::ssd) fn pages_in(&self, memory: PagePtr) -> Vec<PagePtr> {
        let mut offset = 0;
        let page = |shard: &ShardGeometry| {
            let page = memory.part(offset, shard.page_bytes as usize);
            offset += padded(shard.page_bytes) as usize;
            page
        };
        self.geometry.shards.iter().map(page).collect()
    }

    /// The checksums that the pages of a block have now.
    pub(in crate::ssd) fn checksums(&self, hash: &[u8; 32], pages: &[PagePtr]) -> Vec<u128> {
        let seed = |shard: u16| checksum_seed(&self.key, shard, hash);
        (0..)
            .zip(pages)
            .map(|(shard, page)| page.checksum(seed(shard)))
            .collect()
    }
}

#[derive(Debug)]
struct Space {
    info: Arc<SpaceInfo>,
    blocks: u64,
}

/// All spaces, by number.
#[derive(Debug, Default)]
pub(in crate::ssd) struct Spaces {
    list: Vec<Space>,
}

impl Spaces {
    /// The space of this key and geometry, made if it is new.
    ///
    /// # Errors
    /// `Conflict` for a key that has blocks of another geometry, `Invalid` for a geometry of no block, `Limit` for too many.
    pub(in crate::ssd) fn get_or_make(
        &mut self,
        key: SpaceKey,
        geometry: &SpaceGeometry,
    ) -> Result<SsdSpaceId> {
        if let Some(id) = self.known(key, geometry) {
            return Ok(id);
        }
        let of_key = |space: &&Space| space.info.key == key && space.blocks > 0;
        if let Some(space) = self.list.iter().find(of_key) {
            let there = &space.info.geometry;
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "space {key} has {} blocks of another geometry on ssd ({} shards of {} bytes, not {} of {}): evict its namespace from the ssd tier to save blocks of the new one",
                    space.blocks,
                    there.shards.len(),
                    space.info.bytes,
                    geometry.shards.len(),
                    geometry.shards.iter().map(|shard| shard.page_bytes).sum::<u64>(),
                ),
            ));
        }
        self.make(key, geometry)
    }

    /// The space of this key and geometry, made if it is new, whatever other geometries the key has.
    ///
    /// # Errors
    /// As for `get_or_make`.
    pub(in crate::ssd) fn recover(&mut self, key: SpaceKey, geometry: &SpaceGeometry) -> Result<SsdSpaceId> {
        match self.known(key, geometry) {
            Some(id) => Ok(id),
            None => self.make(key, geometry),
        }
    }

    fn known(&self, key: SpaceKey, geometry: &SpaceGeometry) -> Option<SsdSpaceId> {
        let is_it = |space: &&Space| space.info.key == key && space.info.geometry == *geometry;
        self.list.iter().find(is_it).map(|space| space.info.id)
    }

    fn make(&mut self, key: SpaceKey, geometry: &SpaceGeometry) -> Result<SsdSpaceId> {
        let sizes = || geometry.shards.iter().map(|shard| shard.page_bytes);
        let most = UNIT << 30;
        let is_possible = (MIN_HASH_BYTES..=MAX_HASH_BYTES).contains(&geometry.hash_bytes)
            && (1..=usize::from(u16::MAX)).contains(&geometry.shards.len())
            && sizes().all(|bytes| (1..most).contains(&bytes));
        if !is_possible {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "{geometry:?} is no geometry of a block: give hashes of {MIN_HASH_BYTES} to {MAX_HASH_BYTES} bytes and 1 to 65535 pages that are not empty"
                ),
            ));
        }
        let number = u16::try_from(self.list.len()).map_err(|_| {
            Error::new(
                ErrorKind::Limit,
                "the ssd tier has 65536 spaces, which is the limit: restart the daemon to forget those without blocks",
            )
        })?;
        let info = SpaceInfo {
            id: SsdSpaceId(number),
            key,
            geometry: geometry.clone(),
            bytes: sizes().sum(),
            padded_bytes: sizes().map(padded).sum(),
        };
        self.list.push(Space {
            info: Arc::new(info),
            blocks: 0,
        });
        Ok(SsdSpaceId(number))
    }

    pub(in crate::ssd) fn get(&self, number: u16) -> Option<Arc<SpaceInfo>> {
        self.list
            .get(usize::from(number))
            .map(|space| Arc::clone(&space.info))
    }

    /// Each space, and how many blocks it has.
    pub(in crate::ssd) fn iter(&self) -> impl Iterator<Item = (&Arc<SpaceInfo>, u64)> {
        self.list.iter().map(|space| (&space.info, space.blocks))
    }

    /// Counts a block more; its bytes.
    pub(super) fn add(&mut self, number: u16) -> u64 {
        self.change(number, |blocks| blocks + 1)
    }

    /// Counts a block less; its bytes.
    pub(super) fn subtract(&mut self, number: u16) -> u64 {
        self.change(number, |blocks| blocks.saturating_sub(1))
    }

    fn change(&mut self, number: u16, change: impl Fn(u64) -> u64) -> u64 {
        match self.list.get_mut(usize::from(number)) {
            Some(space) => {
                space.blocks = change(space.blocks);
                space.info.bytes
            }
            None => 0,
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let shards: usize = self
            .list
            .iter()
            .map(|space| space.info.geometry.shards.len())
            .sum();
        self.list.capacity() * (size_of::<Space>() + size_of::<SpaceInfo>()) + shards * 40
    }
}
