//! Checks that several messages need.

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_proto::limits::NAME_BYTES;

use super::refusal::{Answer, Refusal};
use crate::session::{Joined, Registration};

/// The bytes of a field that has a fixed length.
pub(super) fn fixed<const N: usize>(field: &str, bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| {
        Error::new(
            ErrorKind::Invalid,
            format!("{field} has {} bytes: exactly {N} are allowed", bytes.len()),
        )
    })
}

/// A number in a range.
pub(super) fn range(field: &str, value: u32, least: u32, most: u32) -> Result<u32> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(Error::new(
        ErrorKind::Invalid,
        format!("{field} = {value}: {least} to {most} are allowed"),
    ))
}

/// A list that is not longer than is allowed.
pub(super) fn count(field: &str, count: usize, most: usize) -> Result<()> {
    if count <= most {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Limit,
        format!("{field} has {count} entries: at most {most} are allowed"),
    ))
}

/// A name that is not longer than any needs to be.
pub(super) fn name(field: &str, text: String) -> Result<String> {
    if text.len() <= NAME_BYTES {
        return Ok(text);
    }
    Err(Error::new(
        ErrorKind::Limit,
        format!(
            "{field} has {} bytes: at most {NAME_BYTES} are allowed",
            text.len()
        ),
    ))
}

/// How many hashes are packed in a field, which must be those of the engine's space.
pub(super) fn hash_count(packed: &[u8], hash_bytes: u32, joined: &Joined, most: usize) -> Answer<usize> {
    if hash_bytes != joined.hash_bytes {
        return Err(Refusal::invalid(format!(
            "hash_bytes = {hash_bytes}: this engine's workers registered {}",
            joined.hash_bytes
        )));
    }
    let count = packed.len() / hash_bytes as usize;
    if count * hash_bytes as usize != packed.len() {
        return Err(Refusal::invalid(format!(
            "hashes has {} bytes: a multiple of hash_bytes = {hash_bytes} is allowed",
            packed.len()
        )));
    }
    if count > most {
        return Err(Refusal::limit(format!(
            "the call has {count} hashes: at most {most} are allowed"
        )));
    }
    Ok(count)
}

/// What saved blocks follow: one hash for each of theirs, or nothing.
pub(super) fn after(packed: &[u8], hashes: &[u8]) -> Answer<()> {
    if packed.is_empty() || packed.len() == hashes.len() {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "after has {} bytes: as many as hashes, {}, or none are allowed",
        packed.len(),
        hashes.len()
    )))
}

/// Refuses a cache group that the engine did not register.
pub(super) fn group(group: u32, joined: &Joined) -> Answer<()> {
    if group == joined.group {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "group = {group}: this engine's workers registered {}",
        joined.group
    )))
}

/// The point that a transfer names: one that the worker registered, and one in any case where it registered some.
pub(super) fn point(point: Option<u32>, registration: &Registration) -> Answer<Option<u32>> {
    let points = registration.copies.points();
    match point {
        Some(point) if point >= points => Err(Refusal::invalid(format!(
            "point = {point}: this worker registered {points}"
        ))),
        None if points > 0 => Err(Refusal::invalid(
            "point is missing: each transfer of memory on a GPU names one",
        )),
        point => Ok(point),
    }
}

/// Refuses ids of blocks, or of slots of the ring, that the worker does not have, or that are there twice.
pub(super) fn block_ids(ids: &[u32], registration: &Registration, in_ring: bool, most: usize) -> Answer<()> {
    let blocks = registration.way(in_ring)?.layout().num_blocks();
    if ids.len() > most {
        return Err(Refusal::limit(format!(
            "the call has {} block ids: at most {most} are allowed",
            ids.len()
        )));
    }
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    if let Some(&id) = sorted.last().filter(|&&id| id >= blocks) {
        return Err(Refusal::invalid(format!(
            "block id {id}: ids below the worker's {blocks} blocks are allowed"
        )));
    }
    let twice = sorted.windows(2).find_map(|pair| match pair {
        [id, next] if id == next => Some(id),
        _ => None,
    });
    match twice {
        Some(id) => Err(Refusal::invalid(format!(
            "block id {id} is there twice: each may be there once"
        ))),
        None => Ok(()),
    }
}
