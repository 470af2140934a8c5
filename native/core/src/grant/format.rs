//! The bytes of a grant file.

use crate::error::{Error, ErrorKind, Result};

const MAGIC: [u8; 8] = *b"PEGAGRNT";
const VERSION: u32 = 1;
const SLOT_BYTES: u64 = 32;
const DAEMON_WORD_OFFSET: u64 = 16;

/// Bytes before the first slot.
pub(super) const HEADER_BYTES: usize = 64;

/// What the head of the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) slots: u32,
    pub(super) boot_id: u64,
}

impl Header {
    pub(super) fn encode(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let fields = MAGIC
            .into_iter()
            .chain(VERSION.to_le_bytes())
            .chain(self.slots.to_le_bytes())
            .chain(self.boot_id.to_le_bytes());
        for (byte, field) in bytes.iter_mut().zip(fields) {
            *byte = field;
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self> {
        let (magic, rest) = split(bytes)?;
        let (version, rest) = split(rest)?;
        let (slots, rest) = split(rest)?;
        let (boot_id, _) = split(rest)?;
        if magic != MAGIC {
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!("starts with {magic:02x?} instead of {MAGIC:02x?}"),
            ));
        }
        let version = u32::from_le_bytes(version);
        if version != VERSION {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "has format version {version}, this build reads {VERSION}: use one release for daemon and engines"
                ),
            ));
        }
        Ok(Self {
            slots: u32::from_le_bytes(slots),
            boot_id: u64::from_le_bytes(boot_id),
        })
    }

    /// The length of a file with that many slots. Its last eight bytes are never written again,
    /// so a file that was cut never grows back to this length by the two sides' writes.
    pub(super) fn file_bytes(self) -> u64 {
        HEADER_BYTES as u64 + SLOT_BYTES * u64::from(self.slots)
    }
}

fn split<const N: usize>(bytes: &[u8]) -> Result<([u8; N], &[u8])> {
    bytes
        .split_first_chunk::<N>()
        .map(|(head, rest)| (*head, rest))
        .ok_or_else(|| Error::new(ErrorKind::Corrupt, "ends within its header"))
}

/// Where a slot's engine word is.
pub(super) fn engine_word_at(slot: u32) -> u64 {
    HEADER_BYTES as u64 + SLOT_BYTES * u64::from(slot)
}

/// Where a slot's daemon word is.
pub(super) fn daemon_word_at(slot: u32) -> u64 {
    engine_word_at(slot) + DAEMON_WORD_OFFSET
}

/// A generation with one side's state in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Word(u64);

/// The largest generation that a word holds.
pub(super) const MAX_GENERATION: u64 = u64::MAX >> 2;

impl Word {
    pub(super) fn free(generation: u64) -> Self {
        Self(generation << 2)
    }

    pub(super) fn valid(generation: u64) -> Self {
        Self(generation << 2 | 1)
    }

    pub(super) fn revoked(generation: u64) -> Self {
        Self(generation << 2 | 2)
    }

    pub(super) fn idle(generation: u64) -> Self {
        Self(generation << 2)
    }

    pub(super) fn taken(generation: u64) -> Self {
        Self(generation << 2 | 1)
    }

    pub(super) fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    pub(super) fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_le_bytes(bytes))
    }
}
