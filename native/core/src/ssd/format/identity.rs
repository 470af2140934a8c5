//! What names a path, and says whose it is.

use xxhash_rust::xxh3::xxh3_64;

use super::{FORMAT_VERSION, UNIT, u32_at, u64_at};

const MAGIC: &[u8; 8] = b"PEGAPATH";
const CHECKED_BYTES: usize = 64;

/// The contents of the identity file. These fields are in the same places in all format versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) struct Identity {
    /// Version of the path's files.
    pub(in crate::ssd) format_version: u32,
    /// Made at random with the path, and in each of its segments.
    pub(in crate::ssd) path_id: [u8; 16],
    /// SHA-256 of what names the machine; zeros where nothing does.
    pub(in crate::ssd) machine: [u8; 32],
}

impl Identity {
    /// That of a new path.
    pub(in crate::ssd) fn new(path_id: [u8; 16], machine: [u8; 32]) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            path_id,
            machine,
        }
    }

    /// The file's bytes.
    pub(in crate::ssd) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(UNIT as usize);
        bytes.extend(MAGIC);
        bytes.extend(self.format_version.to_le_bytes());
        bytes.extend(0u32.to_le_bytes());
        bytes.extend(self.path_id);
        bytes.extend(self.machine);
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes.resize(UNIT as usize, 0);
        bytes
    }

    /// What the file says; None for bytes that no daemon has written.
    pub(in crate::ssd) fn decode(bytes: &[u8]) -> Option<Self> {
        let checked = bytes.get(..CHECKED_BYTES)?;
        let is_whole = checked.starts_with(MAGIC) && u64_at(bytes, CHECKED_BYTES)? == xxh3_64(checked);
        is_whole.then_some(Self {
            format_version: u32_at(checked, 8)?,
            path_id: *checked.get(16..)?.first_chunk()?,
            machine: *checked.get(32..)?.first_chunk()?,
        })
    }
}
