//! The records of a journal.
//!
//! Each record's check is seeded with the check before it, so a journal counts exactly as far as it is one unbroken chain.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{u16_at, u32_at, u64_at};
use crate::space::{ShardGeometry, SpaceGeometry, SpaceKey};

const SPACE: u8 = 1;
const BLOCK: u8 = 2;
const REMOVED: u8 = 3;
const SPACE_REMOVED: u8 = 4;
const WRITTEN: u8 = 5;

const HEAD_BYTES: usize = 8;
const HASH_BYTES: usize = 32;
const CHECKSUM_BYTES: usize = 16;
const SPACE_BYTES: usize = 40;
const SHARD_BYTES: usize = 40;
const CHECK_BYTES: usize = 8;

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ssd) enum Record {
    /// What a number stands for in the records behind it in this journal.
    Space(SpaceRecord),
    /// A block lies in this segment.
    Block {
        /// The number of its space.
        space: u16,
        /// How often it was read before it was written here, at most 255.
        uses: u8,
        /// Where its first page begins, in units.
        offset: u32,
        /// Its hash, zeros behind.
        hash: [u8; 32],
        /// The checksums of its pages.
        checksums: Vec<u128>,
    },
    /// A block, named by where it lay, is in the tier no more.
    Removed {
        /// The generation of its segment.
        generation: u64,
        /// Where its first page began, in units.
        offset: u32,
    },
    /// The blocks of a space that were written up to some place are in the tier no more.
    SpaceRemoved {
        /// The number of the space.
        space: u16,
        /// The generation of the segment of the last of them, or of a later one.
        generation: u64,
        /// Where that block's first page began, in units.
        offset: u32,
    },
    /// What was written to this path in a day so far.
    Written {
        /// Days since 1970 (UTC).
        day: u32,
        /// Bytes.
        bytes: u64,
    },
}

/// What a number stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ssd) struct SpaceRecord {
    pub(in crate::ssd) number: u16,
    pub(in crate::ssd) key: SpaceKey,
    pub(in crate::ssd) geometry: SpaceGeometry,
}

impl Record {
    /// Puts the record behind a journal whose last check is `check`; its own check.
    pub(in crate::ssd) fn append(&self, journal: &mut Vec<u8>, check: u64) -> u64 {
        let start = journal.len();
        journal.extend([0; 4]);
        match self {
            Self::Space(space) => space.append(journal),
            Self::Block {
                space,
                uses,
                offset,
                hash,
                checksums,
            } => {
                head(journal, BLOCK, *uses, *space);
                journal.extend(offset.to_le_bytes());
                journal.extend(hash);
                checksums
                    .iter()
                    .for_each(|checksum| journal.extend(checksum.to_le_bytes()));
            }
            Self::Removed { generation, offset } => {
                head(journal, REMOVED, 0, 0);
                journal.extend(generation.to_le_bytes());
                journal.extend(offset.to_le_bytes());
            }
            Self::SpaceRemoved {
                space,
                generation,
                offset,
            } => {
                head(journal, SPACE_REMOVED, 0, *space);
                journal.extend(generation.to_le_bytes());
                journal.extend(offset.to_le_bytes());
            }
            Self::Written { day, bytes } => {
                head(journal, WRITTEN, 0, 0);
                journal.extend(bytes.to_le_bytes());
                journal.extend(day.to_le_bytes());
            }
        }
        let len = (journal.len() - start + CHECK_BYTES) as u32;
        if let Some(place) = journal.get_mut(start..start + 4) {
            place.copy_from_slice(&len.to_le_bytes());
        }
        let check = xxh3_64_with_seed(journal.get(start..).unwrap_or_default(), check);
        journal.extend(check.to_le_bytes());
        check
    }

    /// Bytes that the record takes.
    pub(in crate::ssd) fn bytes(&self) -> u64 {
        match self {
            Self::Space(space) => space_record_bytes(space.geometry.shards.len()),
            Self::Block { checksums, .. } => block_record_bytes(checksums.len()),
            Self::Removed { .. } | Self::SpaceRemoved { .. } | Self::Written { .. } => {
                (HEAD_BYTES + 12 + CHECK_BYTES) as u64
            }
        }
    }
}

impl SpaceRecord {
    fn append(&self, journal: &mut Vec<u8>) {
        head(journal, SPACE, 0, self.number);
        journal.extend(self.key.group.to_le_bytes());
        journal.extend((self.geometry.hash_bytes as u16).to_le_bytes());
        journal.extend((self.geometry.shards.len() as u16).to_le_bytes());
        journal.extend(self.key.namespace);
        for shard in &self.geometry.shards {
            journal.extend(shard.page_bytes.to_le_bytes());
            journal.extend(shard.digest);
        }
    }

    fn decode(number: u16, body: &[u8]) -> Option<Self> {
        let (fixed, shards) = body.split_at_checked(SPACE_BYTES)?;
        let (shards, rest) = shards.as_chunks::<SHARD_BYTES>();
        let shards = shards.iter().map(|shard| {
            let (page_bytes, digest) = shard.split_first_chunk()?;
            Some(ShardGeometry {
                page_bytes: u64::from_le_bytes(*page_bytes),
                digest: *digest.first_chunk()?,
            })
        });
        let geometry = SpaceGeometry {
            hash_bytes: u32::from(u16_at(fixed, 4)?),
            shards: shards.collect::<Option<_>>()?,
        };
        let is_whole = rest.is_empty() && geometry.shards.len() == usize::from(u16_at(fixed, 6)?);
        is_whole.then_some(Self {
            number,
            key: SpaceKey {
                group: u32_at(fixed, 0)?,
                namespace: *fixed.get(8..)?.first_chunk()?,
            },
            geometry,
        })
    }
}

/// Bytes of the record of a block with so many shards.
pub(in crate::ssd) fn block_record_bytes(shards: usize) -> u64 {
    (HEAD_BYTES + 4 + HASH_BYTES + shards * CHECKSUM_BYTES + CHECK_BYTES) as u64
}

/// Bytes of the record of a space with so many shards.
pub(in crate::ssd) fn space_record_bytes(shards: usize) -> u64 {
    (HEAD_BYTES + SPACE_BYTES + shards * SHARD_BYTES + CHECK_BYTES) as u64
}

/// The first record of `journal`, which follows a record with this check: also its own check, and its bytes.
///
/// None where the chain ends.
pub(in crate::ssd) fn decode(journal: &[u8], check: u64) -> Option<(Record, u64, usize)> {
    let len = u32_at(journal, 0)? as usize;
    let record = journal.get(..len)?;
    let (checked, own) = record.split_last_chunk()?;
    let own = u64::from_le_bytes(*own);
    if own != xxh3_64_with_seed(checked, check) {
        return None;
    }
    let (kind, uses) = (*checked.get(4)?, *checked.get(5)?);
    let (number, body) = (u16_at(checked, 6)?, checked.get(HEAD_BYTES..)?);
    let record = match kind {
        SPACE => Record::Space(SpaceRecord::decode(number, body)?),
        BLOCK => {
            let (checksums, rest) = body.get(4 + HASH_BYTES..)?.as_chunks();
            let checksums = checksums.iter().map(|bytes| u128::from_le_bytes(*bytes));
            Record::Block {
                space: number,
                uses,
                offset: u32_at(body, 0)?,
                hash: *body.get(4..)?.first_chunk()?,
                checksums: rest.is_empty().then(|| checksums.collect())?,
            }
        }
        REMOVED => Record::Removed {
            generation: u64_at(body, 0)?,
            offset: u32_at(body, 8)?,
        },
        SPACE_REMOVED => Record::SpaceRemoved {
            space: number,
            generation: u64_at(body, 0)?,
            offset: u32_at(body, 8)?,
        },
        WRITTEN => Record::Written {
            bytes: u64_at(body, 0)?,
            day: u32_at(body, 8)?,
        },
        _ => return None,
    };
    Some((record, own, len))
}

/// What stands behind the length.
fn head(journal: &mut Vec<u8>, kind: u8, uses: u8, space: u16) {
    journal.extend([kind, uses]);
    journal.extend(space.to_le_bytes());
}
