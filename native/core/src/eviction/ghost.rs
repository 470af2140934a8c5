//! A memory of blocks that went: fingerprints only, the oldest forgotten first.

const WAYS: usize = 8;
const GROWTH_DIVISOR: usize = 8;
/// So many places for two fingerprints: buckets fill unevenly, and a queue in their place would forget none of these.
const PLACES_PER_TWO: usize = 3;
const EMPTY: u32 = 0;

/// A bucket holds its fingerprints from the youngest to the oldest; a fingerprint pushed out of its bucket is forgotten.
#[derive(Debug, Default)]
pub(super) struct Ghost {
    buckets: Vec<[u32; WAYS]>,
    len: usize,
}

impl Ghost {
    /// Remembers about this many fingerprints, and not many more.
    pub(super) fn reserve(&mut self, fingerprints: usize) {
        let needed = (fingerprints * PLACES_PER_TWO / 2).div_ceil(WAYS);
        if needed <= self.buckets.len() {
            return;
        }
        let count = needed + self.buckets.len() / GROWTH_DIVISOR;
        let old = std::mem::replace(&mut self.buckets, vec![[EMPTY; WAYS]; count]);
        self.len = 0;
        for bucket in old {
            for fingerprint in bucket
                .into_iter()
                .rev()
                .filter(|fingerprint| *fingerprint != EMPTY)
            {
                self.insert(fingerprint);
            }
        }
    }

    /// Remembers a fingerprint.
    pub(super) fn insert(&mut self, fingerprint: u32) {
        if let Some(bucket) = self.bucket(fingerprint) {
            bucket.rotate_right(1);
            let forgotten = std::mem::replace(&mut bucket[0], fingerprint.max(1));
            self.len += usize::from(forgotten == EMPTY);
        }
    }

    /// Whether the fingerprint was remembered; it is forgotten.
    pub(super) fn take(&mut self, fingerprint: u32) -> bool {
        let wanted = fingerprint.max(1);
        let Some(bucket) = self.bucket(fingerprint) else {
            return false;
        };
        let Some(at) = bucket.iter().position(|remembered| *remembered == wanted) else {
            return false;
        };
        if let Some(rest) = bucket.get_mut(at..) {
            rest.rotate_left(1);
        }
        bucket[WAYS - 1] = EMPTY;
        self.len -= 1;
        true
    }

    /// Fingerprints that are remembered.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<[u32; WAYS]>()
    }

    fn bucket(&mut self, fingerprint: u32) -> Option<&mut [u32; WAYS]> {
        let index = (u64::from(fingerprint.max(1)) * self.buckets.len() as u64) >> 32;
        self.buckets.get_mut(index as usize)
    }
}
