//! What a pool is to be: its header, and where its files lie.

use std::path::PathBuf;

use super::geometry::Geometry;
use super::header::{FORMAT_VERSION, Header};
use super::place::Place;
use super::{PoolConfig, PoolKind, machine, names};
use crate::error::Result;
use crate::process::ProcessIdentity;

#[derive(Debug)]
pub(super) struct Site {
    pub(super) header: Header,
    /// The slot table; None for anonymous memory.
    pub(super) slots: Option<PathBuf>,
    pub(super) huge_page_bytes: u64,
    /// Why the pool is anonymous memory, if it is.
    pub(super) fallback: Option<String>,
}

impl Site {
    /// What this process makes of its settings in this place.
    ///
    /// # Errors
    /// `Config` for a pool of a size that no pool has.
    pub(super) fn of(config: PoolConfig<'_>, uid: u32, stem: &str, place: Place) -> Result<Self> {
        let (kind, pool_path, slots, huge_page_bytes, fallback) = match place {
            Place::Directory {
                kind,
                pool,
                slots,
                huge_page_bytes,
            } => {
                let (pool, slots) = (
                    pool.join(names::pool_file(stem)),
                    slots.join(names::slots_file(stem)),
                );
                (kind, pool, Some(slots), huge_page_bytes, None)
            }
            Place::Anonymous { reason } => (PoolKind::Memfd, PathBuf::new(), None, 0, Some(reason)),
        };
        let header = Header {
            format_version: FORMAT_VERSION,
            kind,
            boot_id: config.boot_id,
            owner: ProcessIdentity::of(std::process::id())?,
            uid,
            geometry: Geometry::of(config.pool_bytes, huge_page_bytes)?
                .with_room_for(machine::memory_bytes().unwrap_or(0)),
            pool_path,
            socket: names::canonical(config.socket),
        };
        Ok(Self {
            header,
            slots,
            huge_page_bytes,
            fallback,
        })
    }
}
