//! The first 4 KiB of a slot table: whose it is and how the pool is split. format.md has it byte by byte.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use xxhash_rust::xxh3::xxh3_64;

use super::geometry::{Geometry, PAGE_UNIT};
use super::slot::RECORD_BYTES;
use super::{PoolKind, space_table};
use crate::error::{Error, ErrorKind, Result};
use crate::process::ProcessIdentity;

const MAGIC: [u8; 8] = *b"PEGASLOT";
/// The format that this code writes.
pub(super) const FORMAT_VERSION: u32 = 1;
pub(super) const HEADER_BYTES: u64 = 4096;
const PATHS_AT: usize = 96;
const SOCKET_BYTES_AT: usize = 4080;
const CHECKSUM_AT: usize = 4088;
const MAX_PATH_BYTES: usize = SOCKET_BYTES_AT - PATHS_AT;

/// The owner of a pool that its owner has let go.
pub(super) const NOBODY: ProcessIdentity = ProcessIdentity {
    pid: 0,
    start_time_ticks: 0,
};

/// Where the slot records begin.
pub(super) const RECORDS_AT: u64 = space_table::TABLES_END;

/// What a slot table says of itself and its pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// Governs all that follows the header; the header itself is the same in all versions.
    pub(super) format_version: u32,
    pub(super) kind: PoolKind,
    pub(super) boot_id: u64,
    pub(super) owner: ProcessIdentity,
    pub(super) uid: u32,
    pub(super) geometry: Geometry,
    /// Absolute; empty for anonymous memory.
    pub(super) pool_path: PathBuf,
    /// The daemon's socket, absolute; its daemon may come back for the pool.
    pub(super) socket: PathBuf,
}

impl Header {
    /// Bytes of the slot table that begins with this header.
    pub(super) fn table_bytes(&self) -> u64 {
        RECORDS_AT + u64::from(self.geometry.slots) * RECORD_BYTES
    }

    /// # Errors
    /// `Config` for a path that is too long.
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let path = self.pool_path.as_os_str().as_bytes();
        let socket = self.socket.as_os_str().as_bytes();
        let paths_bytes = path.len() + socket.len();
        if paths_bytes > MAX_PATH_BYTES {
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "the paths of pool and socket have {paths_bytes} bytes, allowed are {MAX_PATH_BYTES}: \
                     use a shorter --pool-dir or --socket"
                ),
            ));
        }
        let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
        bytes.extend(MAGIC);
        bytes.extend(self.format_version.to_le_bytes());
        bytes.extend(kind_code(self.kind).to_le_bytes());
        bytes.extend(self.boot_id.to_le_bytes());
        bytes.extend(self.owner.pid.to_le_bytes());
        bytes.extend(self.uid.to_le_bytes());
        bytes.extend(self.owner.start_time_ticks.to_le_bytes());
        bytes.extend(self.geometry.pool_bytes.to_le_bytes());
        bytes.extend(self.geometry.slab_bytes.to_le_bytes());
        bytes.extend((PAGE_UNIT as u32).to_le_bytes());
        bytes.extend((RECORD_BYTES as u32).to_le_bytes());
        bytes.extend(HEADER_BYTES.to_le_bytes());
        bytes.extend(RECORDS_AT.to_le_bytes());
        bytes.extend(u64::from(self.geometry.slots).to_le_bytes());
        bytes.extend((path.len() as u64).to_le_bytes());
        bytes.extend(path);
        bytes.extend(socket);
        bytes.resize(SOCKET_BYTES_AT, 0);
        bytes.extend((socket.len() as u64).to_le_bytes());
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        Ok(bytes)
    }

    /// What these bytes say; None for anything that is not a header.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, checksum) = bytes
            .get(..HEADER_BYTES as usize)?
            .split_at_checked(CHECKSUM_AT)?;
        if body.get(..8)? != MAGIC || u64_at(checksum, 0)? != xxh3_64(body) {
            return None;
        }
        let geometry = Geometry {
            pool_bytes: u64_at(body, 40)?,
            slab_bytes: u64_at(body, 48)?,
            slots: u32::try_from(u64_at(body, 80)?).ok()?,
        };
        let path_bytes = usize::try_from(u64_at(body, 88)?).ok()?;
        let socket_bytes = usize::try_from(u64_at(body, SOCKET_BYTES_AT)?).ok()?;
        let (path, rest) = body
            .get(PATHS_AT..SOCKET_BYTES_AT)?
            .split_at_checked(path_bytes)?;
        Some(Self {
            format_version: u32_at(body, 8)?,
            kind: kind_of(u32_at(body, 12)?)?,
            boot_id: u64_at(body, 16)?,
            owner: ProcessIdentity {
                pid: u32_at(body, 24)?,
                start_time_ticks: u64_at(body, 32)?,
            },
            uid: u32_at(body, 28)?,
            geometry,
            pool_path: PathBuf::from(OsStr::from_bytes(path)),
            socket: PathBuf::from(OsStr::from_bytes(rest.get(..socket_bytes)?)),
        })
    }
}

fn kind_code(kind: PoolKind) -> u32 {
    match kind {
        PoolKind::Hugetlbfs => 1,
        PoolKind::Tmpfs => 2,
        PoolKind::Memfd => 3,
    }
}

fn kind_of(code: u32) -> Option<PoolKind> {
    [PoolKind::Hugetlbfs, PoolKind::Tmpfs, PoolKind::Memfd]
        .into_iter()
        .find(|kind| kind_code(*kind) == code)
}

/// The little-endian number at this place.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
