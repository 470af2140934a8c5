//! A memory of blocks that left the pool: why, and how much left after them. The oldest are forgotten first.

use super::Departure;

/// Blocks that are remembered: those of four pools of 512 GiB in blocks of 2 MiB.
const BUCKETS: usize = 1 << 17;
const WAYS: usize = 8;
/// Bytes that left are counted in units, which wrap around long after a block of that time was forgotten.
const UNIT_BYTES: u64 = 64 << 10;
const EMPTY: u32 = 0;

/// What is remembered of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) why: Departure,
    /// About how many bytes left memory to make room since, itself included.
    pub(crate) bytes_since: u64,
}

/// A bucket holds its fingerprints from the youngest to the oldest; what is pushed out of it is forgotten.
///
/// Memory that was never written to costs nothing: a daemon that evicts nothing has none of it.
#[derive(Debug)]
pub(super) struct Departed {
    fingerprints: Vec<[u32; WAYS]>,
    stamps: Vec<[u32; WAYS]>,
    reasons: Vec<[u8; WAYS]>,
    /// Bytes that left to make room.
    left_bytes: u64,
}

impl Default for Departed {
    fn default() -> Self {
        Self {
            fingerprints: vec![[EMPTY; WAYS]; BUCKETS],
            stamps: vec![[0; WAYS]; BUCKETS],
            reasons: vec![[0; WAYS]; BUCKETS],
            left_bytes: 0,
        }
    }
}

impl Departed {
    /// Remembers a block of so many bytes.
    pub(super) fn insert(&mut self, fingerprint: u32, bytes: u64, why: Departure) {
        let stamp = self.now();
        if why.is_for_room() {
            self.left_bytes += bytes;
        }
        let (at, wanted) = place(fingerprint);
        let (Some(fingerprints), Some(stamps), Some(reasons)) = (
            self.fingerprints.get_mut(at),
            self.stamps.get_mut(at),
            self.reasons.get_mut(at),
        ) else {
            return;
        };
        let place_of = |name: u32| fingerprints.iter().position(|known| *known == name);
        let place = place_of(wanted).or_else(|| place_of(EMPTY));
        let younger = ..=place.unwrap_or(WAYS - 1);
        push(fingerprints.get_mut(younger), wanted);
        push(stamps.get_mut(younger), stamp);
        push(reasons.get_mut(younger), why as u8);
    }

    /// A block is back.
    pub(super) fn forget(&mut self, fingerprint: u32) {
        let (at, known) = place(fingerprint);
        if let Some(fingerprints) = self.fingerprints.get_mut(at)
            && let Some(name) = fingerprints.iter_mut().find(|name| **name == known)
        {
            *name = EMPTY;
        }
    }

    /// What is remembered of a block.
    pub(super) fn find(&self, fingerprint: u32) -> Option<Trace> {
        let (at, wanted) = place(fingerprint);
        let way = self
            .fingerprints
            .get(at)?
            .iter()
            .position(|known| *known == wanted)?;
        let stamp = *self.stamps.get(at)?.get(way)?;
        let reason = *self.reasons.get(at)?.get(way)?;
        Some(Trace {
            why: *Departure::ALL.get(usize::from(reason))?,
            bytes_since: u64::from(self.now().wrapping_sub(stamp)) * UNIT_BYTES,
        })
    }

    fn now(&self) -> u32 {
        (self.left_bytes / UNIT_BYTES) as u32
    }
}

/// The bucket of a fingerprint, and what it is called there.
fn place(fingerprint: u32) -> (usize, u32) {
    let name = fingerprint.max(EMPTY + 1);
    let bucket = (u64::from(name) * BUCKETS as u64) >> u32::BITS;
    (bucket as usize, name)
}

/// Puts a value before the others, the last of which goes.
fn push<T>(values: Option<&mut [T]>, value: T) {
    if let Some(values) = values {
        values.rotate_right(1);
        if let Some(first) = values.first_mut() {
            *first = value;
        }
    }
}
