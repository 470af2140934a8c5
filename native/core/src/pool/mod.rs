//! The bytes of the memory tier: a mapped file, its slabs, and the slot table beside it.

mod bitmap;
mod check;
mod files;
mod fsck;
mod geometry;
mod growth;
mod header;
mod kind;
mod leftover;
mod machine;
mod names;
mod nodes;
mod page;
mod place;
mod placement;
mod region;
mod resize;
mod rule_table;
mod site;
mod slab;
mod slot;
mod space_table;
#[cfg(test)]
mod tests;

pub use check::check;
pub use kind::PoolKind;
pub use page::PagePtr;
pub use placement::NodeBytes;

pub(crate) use fsck::Survey;
pub(crate) use rule_table::{Rule, RuleTable};
pub(crate) use slab::{ClassId, Room};
#[cfg(test)]
pub(crate) use slot::RECORD_BYTES;
pub(crate) use slot::{Slot, SlotRecord, SlotState, SlotTable};
pub(crate) use space_table::{KnownSpace, MAX_SPACES, SpaceTable};

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use rustix::process::geteuid;

use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering};
use files::PoolFiles;
use geometry::Geometry;
use growth::Growth;
use header::RECORDS_AT;
use place::{Place, SHARED_MEMORY};
use region::Region;
use site::Site;
use slab::Slabs;

/// What a pool is made with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolConfig<'a> {
    pub(crate) pool_bytes: u64,
    pub(crate) dir: Option<&'a Path>,
    pub(crate) socket: &'a Path,
    pub(crate) boot_id: u64,
}

/// The memory tier's bytes, and which of them are whose.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) slots: SlotTable,
    pub(crate) spaces: SpaceTable,
    pub(crate) rules: RuleTable,
    region: Region,
    slabs: Mutex<Slabs>,
    growth: Mutex<Growth>,
    grower: Mutex<Option<JoinHandle<()>>>,
    stops_growing: AtomicBool,
    /// What a pool that was taken over should have instead.
    wanted_bytes: u64,
    geometry: Geometry,
    kind: PoolKind,
    path: Option<PathBuf>,
    huge_page_bytes: u64,
    fallback: Option<String>,
    /// How much of a pool that was taken over had memory; None for a new pool.
    taken_over_bytes: Option<u64>,
    files: PoolFiles,
}

/// The pool's numbers at one time.
#[derive(Debug, Clone)]
pub(crate) struct PoolState {
    pub(crate) bytes: u64,
    pub(crate) ready_bytes: u64,
    pub(crate) used_bytes: u64,
    pub(crate) largest_free_bytes: u64,
    pub(crate) slabs_moved: u64,
    pub(crate) is_growing: bool,
    pub(crate) problem: Option<String>,
}

/// Frees the pool that an ended daemon of this user and socket left, also one with a damaged slot table, or with none; the bytes of memory that it took, 0 when there is none.
///
/// # Errors
/// `Conflict` when a living daemon or a stranger has the files.
pub fn remove_left(socket: &Path, dir: Option<&Path>) -> Result<u64> {
    let uid = geteuid().as_raw();
    let stem = names::stem(uid, socket);
    let mut bytes = 0;
    for dir in leftover::directories(dir) {
        match leftover::find(&dir, uid, &stem) {
            Ok(Some(leftover)) => {
                bytes += leftover.bytes();
                leftover.remove()?;
            }
            Ok(None) => {}
            Err(refused) => match leftover::remove_damaged(&dir, uid, &stem)? {
                Some(removed) => bytes += removed,
                None => return Err(refused),
            },
        }
    }
    // Only now: a pool and its slot table can be in two directories.
    for dir in leftover::directories(dir) {
        bytes += leftover::remove_lone_pool(&dir, uid, &stem)?;
    }
    Ok(bytes)
}

impl Pool {
    /// Takes the pool of an ended daemon of the same socket over, or makes one, and maps it; a thread goes on to reserve
    /// the memory that it lacks.
    ///
    /// # Errors
    /// `Config` for a size or directory that cannot be had, `Conflict` when a living daemon or a stranger has the files.
    pub(crate) fn open(config: PoolConfig<'_>) -> Result<Arc<Self>> {
        machine::check_pool_fits(config.pool_bytes)?;
        let uid = geteuid().as_raw();
        let stem = names::stem(uid, config.socket);
        // What is wrong with the settings has to come out before anything is removed.
        let wanted = match Place::directory(config.dir) {
            Ok(place) => Some(Site::of(config, uid, &stem, place)?),
            Err(error) if config.dir.is_some() => return Err(error),
            Err(_) => None,
        };
        let mut adopted = None;
        for dir in leftover::directories(config.dir) {
            leftover::remove_orphans(&dir, uid, &stem);
            if let Some(leftover) = leftover::find(&dir, uid, &stem)? {
                let files = wanted.as_ref().map_or_else(
                    || Err(format!("{SHARED_MEMORY} cannot be used any more")),
                    |site| PoolFiles::adopt(&leftover, site),
                );
                match files {
                    Ok(files) => adopted = Some(files),
                    Err(why) => leftover.replace(&why)?,
                }
            }
        }
        let pool = match (wanted, adopted) {
            (Some(site), Some(adopted)) => {
                let mut pool = Self::map(site, adopted.files, Some(adopted.ready_bytes))?;
                pool.wanted_bytes = adopted.wanted_bytes;
                pool
            }
            _ => {
                let place = Place::choose(config.dir, config.pool_bytes)?;
                if !place.is_huge_pages() {
                    machine::check_pool_is_available(config.pool_bytes)?;
                }
                Self::create(config, uid, &stem, place)?
            }
        };
        if pool.taken_over_bytes.is_none() {
            pool.spaces.allocate_ahead();
        }
        let pool = Arc::new(pool);
        *pool.grower.lock() = Some(growth::start(&pool)?);
        Ok(pool)
    }

    fn create(config: PoolConfig<'_>, uid: u32, stem: &str, place: Place) -> Result<Self> {
        let site = Site::of(config, uid, stem, place)?;
        if let Some(reason) = &site.fallback {
            tracing::warn!("{reason}; the pool is anonymous memory, which ends with the daemon");
        }
        let files = match &site.slots {
            Some(slots) => PoolFiles::create(&site.header, slots)?,
            None => PoolFiles::create_anonymous(&site.header)?,
        };
        Self::map(site, files, None)
    }

    /// The pool of these files; `taken_over` says how much of one that was there before has memory.
    fn map(site: Site, files: PoolFiles, taken_over: Option<u64>) -> Result<Self> {
        let Site {
            huge_page_bytes,
            fallback,
            ..
        } = site;
        let header = files.header();
        let geometry = header.geometry;
        // As far as it can grow: a pool that grows stays where it is.
        let region = Region::map(&*files.pool, geometry.most_bytes(), "the pool")?;
        let table = Arc::new(Region::map(
            &*files.slots,
            header.table_bytes(),
            "the slot table",
        )?);
        let file: &Arc<File> = &files.slots;
        Ok(Self {
            slots: SlotTable::new(Arc::clone(&table), Arc::clone(file), RECORDS_AT, geometry.slots),
            spaces: SpaceTable::new(Arc::clone(&table), Arc::clone(file)),
            rules: RuleTable::new(table, Arc::clone(file)),
            region,
            slabs: Mutex::new(Slabs::new(geometry)),
            growth: Mutex::new(Growth {
                bytes: geometry.pool_bytes,
                ready_bytes: taken_over.unwrap_or(0),
                ..Growth::default()
            }),
            grower: Mutex::new(None),
            stops_growing: AtomicBool::new(false),
            wanted_bytes: geometry.pool_bytes,
            geometry,
            kind: header.kind,
            path: Some(header.pool_path).filter(|path| !path.as_os_str().is_empty()),
            huge_page_bytes,
            fallback,
            taken_over_bytes: taken_over,
            files,
        })
    }

    /// The class of pages of this many bytes, and the bytes that such a page takes.
    ///
    /// # Errors
    /// `Config` for a page that is larger than a slab.
    pub(crate) fn class(&self, page_bytes: u64) -> Result<(ClassId, u64)> {
        let stride = self.geometry.stride(page_bytes)?;
        Ok((self.slabs.lock().class(stride), stride))
    }

    /// A page of the class, from its own slabs or a free one; None when there is none.
    pub(crate) fn allocate(&self, class: ClassId) -> Option<Slot> {
        let mut slabs = self.slabs.lock();
        if let Some(slot) = slabs.allocate(class) {
            return Some(slot);
        }
        let (slab, pages) = slabs.next_free(class)?;
        if let Err(error) = self.slots.allocate(self.geometry.first_slot(slab), pages) {
            drop(slabs);
            self.growth
                .lock()
                .report(format!("a free slab cannot be used ({error}): free memory"));
            return None;
        }
        slabs.give(slab, class);
        slabs.allocate(class)
    }

    /// Frees a page that nobody uses any more; the bytes that it took.
    pub(crate) fn free(&self, slot: Slot) -> u64 {
        self.slots.set_state(slot, SlotState::Free);
        self.slabs.lock().free(slot)
    }

    /// Takes a page that was taken over; false when another has it.
    pub(crate) fn retake(&self, slot: Slot, class: ClassId) -> bool {
        self.slabs.lock().retake(slot, class)
    }

    /// The first page from `slot` on that is taken.
    pub(crate) fn next_taken(&self, slot: Slot) -> Option<Slot> {
        self.slabs.lock().next_taken(slot)
    }

    /// Pages that are taken.
    pub(crate) fn used_pages(&self) -> u64 {
        self.slabs.lock().used_pages()
    }

    /// Where a page is; None outside of the pool.
    pub(crate) fn page(&self, slot: Slot, stride: u64, page_bytes: u64) -> Option<PagePtr> {
        self.region
            .page(self.geometry.offset(slot, stride), page_bytes as usize)
    }

    /// All that it can grow to, as it is mapped.
    pub(crate) fn memory(&self) -> PagePtr {
        self.region.whole()
    }

    /// Fills the page tables for memory that the file has, where the kernel can.
    pub(crate) fn populate(&self, offset: u64, bytes: u64) {
        growth::populate(self, offset, bytes);
    }

    /// Room in a class.
    pub(crate) fn room(&self, class: ClassId) -> Room {
        self.slabs.lock().room(class)
    }

    /// Stops allocation from the slab of `slot`; the slots of its pages.
    pub(crate) fn begin_drain(&self, slot: Slot) -> Vec<Slot> {
        self.slabs.lock().begin_drain(slot)
    }

    /// Allows allocation again; the slab is free if all its pages are.
    pub(crate) fn end_drain(&self, slot: Slot) {
        self.slabs.lock().end_drain(slot);
    }

    /// The pool's numbers.
    pub(crate) fn state(&self) -> PoolState {
        let (used_bytes, largest_free_bytes, slabs_moved) = {
            let slabs = self.slabs.lock();
            (slabs.used_bytes(), slabs.largest_free_bytes(), slabs.moved())
        };
        let growth = self.growth.lock();
        PoolState {
            bytes: growth.bytes,
            ready_bytes: growth.ready_bytes,
            used_bytes,
            largest_free_bytes,
            slabs_moved,
            is_growing: !growth.has_ended,
            problem: growth.problem.clone().or_else(|| self.spaces.problem()),
        }
    }

    /// What the file lies on.
    pub(crate) fn kind(&self) -> PoolKind {
        self.kind
    }

    /// The pool's file; None for anonymous memory.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Why the pool is anonymous memory, if it is.
    pub(crate) fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// Bytes that the pool should have.
    pub(crate) fn bytes(&self) -> u64 {
        self.growth.lock().bytes
    }

    /// Bytes of a slab.
    pub(crate) fn slab_bytes(&self) -> u64 {
        self.geometry.slab_bytes
    }

    /// Lets the thread that reserves the memory end early.
    pub(crate) fn stop_growing(&self) {
        self.stops_growing.store(true, Ordering::Relaxed);
    }

    /// Stops growing. What holds pages is kept for the next daemon unless `purge` says otherwise or it is anonymous memory;
    /// everything else is removed, and what is mapped stays mapped. The bytes that stay taken.
    pub(crate) fn close(&self, purge: bool) -> Result<u64> {
        self.stop_growing();
        self.join_grower()?;
        let is_empty = self.used_pages() == 0;
        if purge || is_empty && self.rules.is_empty() {
            return self.files.remove().map(|()| 0);
        }
        if is_empty {
            self.files.give_back(0)?;
        }
        Ok(self.files.keep())
    }
}

impl Pool {
    /// Waits until no thread gives the pool memory any more.
    fn join_grower(&self) -> Result<()> {
        match self.grower.lock().take().map(JoinHandle::join) {
            Some(Err(_)) => Err(Error::new(
                ErrorKind::Io,
                "the thread that reserves the pool ended in a panic",
            )),
            _ => Ok(()),
        }
    }
}

impl Drop for Pool {
    /// A pool that nobody closed is as after a kill, unless there is nothing in it.
    fn drop(&mut self) {
        if self.slabs.get_mut().used_pages() > 0 || !self.rules.is_empty() {
            self.files.keep();
        }
    }
}
