//! The bytes of the memory tier: a mapped file, its slabs, and the slot table beside it.

mod bitmap;
mod files;
mod geometry;
mod growth;
mod header;
mod kind;
mod leftover;
mod machine;
mod names;
mod page;
mod place;
mod region;
mod slab;
mod slot;
mod space_table;
#[cfg(test)]
mod tests;

pub use kind::PoolKind;
pub use page::PagePtr;

pub(crate) use slab::{ClassId, Room};
#[cfg(test)]
pub(crate) use slot::RECORD_BYTES;
pub(crate) use slot::{Slot, SlotRecord, SlotState, SlotTable};
pub(crate) use space_table::{MAX_SPACES, SpaceTable};

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use rustix::process::geteuid;

use crate::error::{Error, ErrorKind, Result};
use crate::process::ProcessIdentity;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering};
use files::PoolFiles;
use geometry::Geometry;
use growth::Growth;
use header::{FORMAT_VERSION, Header, RECORDS_AT};
use place::{Place, SHARED_MEMORY};
use region::Region;
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
    region: Region,
    slabs: Mutex<Slabs>,
    growth: Mutex<Growth>,
    grower: Mutex<Option<JoinHandle<()>>>,
    is_closing: AtomicBool,
    geometry: Geometry,
    kind: PoolKind,
    path: Option<PathBuf>,
    huge_page_bytes: u64,
    fallback: Option<String>,
    files: PoolFiles,
}

/// The pool's numbers at one time.
#[derive(Debug, Clone)]
pub(crate) struct PoolState {
    pub(crate) ready_bytes: u64,
    pub(crate) used_bytes: u64,
    pub(crate) slabs_moved: u64,
    pub(crate) is_growing: bool,
    pub(crate) problem: Option<String>,
}

impl Pool {
    /// Makes the files, maps them and reserves the first memory; a thread goes on with the rest.
    ///
    /// # Errors
    /// `Config` for a size or directory that cannot be had, `Conflict` when a living daemon or a stranger has the files.
    pub(crate) fn open(config: PoolConfig<'_>) -> Result<Arc<Self>> {
        machine::check_pool_fits(config.pool_bytes)?;
        let uid = geteuid().as_raw();
        let stem = names::stem(uid, config.socket);
        for dir in [Some(Path::new(SHARED_MEMORY)), config.dir].into_iter().flatten() {
            leftover::remove_dead(dir, uid, &stem)?;
        }
        let place = Place::choose(config.dir, config.pool_bytes)?;
        if !place.is_huge_pages() {
            machine::check_pool_is_available(config.pool_bytes)?;
        }
        let pool = Arc::new(Self::create(config, uid, &stem, place)?);
        *pool.grower.lock() = Some(growth::start(&pool)?);
        Ok(pool)
    }

    fn create(config: PoolConfig<'_>, uid: u32, stem: &str, place: Place) -> Result<Self> {
        let (kind, path, slots, huge_page_bytes, fallback) = match place {
            Place::Directory {
                kind,
                pool,
                slots,
                huge_page_bytes,
            } => {
                let files = (
                    pool.join(names::pool_file(stem)),
                    slots.join(names::slots_file(stem)),
                );
                (kind, Some(files.0), Some(files.1), huge_page_bytes, None)
            }
            Place::Anonymous { reason } => (PoolKind::Memfd, None, None, 0, Some(reason)),
        };
        if let Some(reason) = &fallback {
            tracing::warn!("{reason}; the pool is anonymous memory, which ends with the daemon");
        }
        let header = Header {
            format_version: FORMAT_VERSION,
            kind,
            boot_id: config.boot_id,
            owner: ProcessIdentity::of(std::process::id())?,
            uid,
            geometry: Geometry::of(config.pool_bytes, huge_page_bytes)?,
            pool_path: path.clone().unwrap_or_default(),
        };
        let files = match &slots {
            Some(slots) => PoolFiles::create(&header, slots)?,
            None => PoolFiles::create_anonymous(&header)?,
        };
        let geometry = header.geometry;
        let region = Region::map(&*files.pool, geometry.pool_bytes, "the pool")?;
        let table = Arc::new(Region::map(
            &*files.slots,
            header.table_bytes(),
            "the slot table",
        )?);
        let file: &Arc<File> = &files.slots;
        Ok(Self {
            slots: SlotTable::new(Arc::clone(&table), Arc::clone(file), RECORDS_AT, geometry.slots()),
            spaces: SpaceTable::new(table, Arc::clone(file)),
            region,
            slabs: Mutex::new(Slabs::new(geometry)),
            growth: Mutex::new(Growth::default()),
            grower: Mutex::new(None),
            is_closing: AtomicBool::new(false),
            geometry,
            kind,
            path,
            huge_page_bytes,
            fallback,
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

    /// Frees a page that nobody uses any more.
    pub(crate) fn free(&self, slot: Slot) {
        self.slots.set_state(slot, SlotState::Free);
        self.slabs.lock().free(slot);
    }

    /// Where a page is; None outside of the pool.
    pub(crate) fn page(&self, slot: Slot, stride: u64, page_bytes: u64) -> Option<PagePtr> {
        self.region
            .page(self.geometry.offset(slot, stride), page_bytes as usize)
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
        let (used_bytes, slabs_moved) = {
            let slabs = self.slabs.lock();
            (slabs.used_bytes(), slabs.moved())
        };
        let growth = self.growth.lock();
        PoolState {
            ready_bytes: growth.ready_bytes,
            used_bytes,
            slabs_moved,
            is_growing: !growth.has_ended,
            problem: growth.problem.clone(),
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

    /// Bytes of the whole pool.
    pub(crate) fn bytes(&self) -> u64 {
        self.geometry.pool_bytes
    }

    /// Bytes of a slab.
    pub(crate) fn slab_bytes(&self) -> u64 {
        self.geometry.slab_bytes
    }

    /// Lets the thread that reserves the memory end early.
    pub(crate) fn stop_growing(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    /// Stops growing and removes the files; what is mapped stays mapped.
    pub(crate) fn close(&self) -> Result<()> {
        self.stop_growing();
        if let Some(grower) = self.grower.lock().take()
            && grower.join().is_err()
        {
            return Err(Error::new(
                ErrorKind::Io,
                "the thread that reserves the pool ended in a panic",
            ));
        }
        self.files.remove()
    }
}
