//! Lookups as lines of JSON.

use std::fmt::Write;
use std::hash::Hasher;

use bytes::Bytes;
use siphasher::sip::SipHasher24;

use super::key::Key;

/// With 10 million blocks one in 7,000 has the id of another one; more bits are more text to compress.
const ID_BITS: u32 = 36;

/// A lookup.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Milliseconds of Unix time.
    pub(crate) time_ms: u64,
    /// The engine's namespace, shortened as in metrics, and the group.
    pub(crate) namespace: String,
    pub(crate) group: u32,
    /// Bytes of one block.
    pub(crate) block_bytes: u64,
    /// Blocks of the prefix that each tier had.
    pub(crate) memory: u64,
    pub(crate) ssd: u64,
    /// Hashes of all blocks, packed.
    pub(crate) hashes: Bytes,
    pub(crate) hash_bytes: usize,
}

/// Lines that are not written yet.
pub(super) struct Lines {
    text: String,
    lookups: u64,
    /// Hides the hashes, which anybody can compute for a prompt that he guesses.
    key: Key,
    /// Times never go back, whatever clocks and threads do.
    last_ms: u64,
}

impl Lines {
    pub(super) fn new(key: Key) -> Self {
        Self {
            text: String::new(),
            lookups: 0,
            key,
            last_ms: 0,
        }
    }

    /// What hides the hashes.
    pub(super) fn key(&mut self) -> &mut Key {
        &mut self.key
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lookups == 0
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The text, and the lookups in it.
    pub(super) fn take(&mut self) -> (String, u64) {
        (std::mem::take(&mut self.text), std::mem::take(&mut self.lookups))
    }

    pub(super) fn push(&mut self, asked: &Asked) {
        self.last_ms = self.last_ms.max(asked.time_ms);
        // Writing to a string cannot fail.
        let _ = write!(
            self.text,
            r#"{{"timestamp":{},"namespace":"{}","group":{},"block_bytes":{},"memory_blocks":{},"ssd_blocks":{},"hash_ids":["#,
            self.last_ms, asked.namespace, asked.group, asked.block_bytes, asked.memory, asked.ssd
        );
        let mut space = SipHasher24::new_with_key(&self.key.bytes());
        space.write(asked.namespace.as_bytes());
        space.write(&asked.group.to_le_bytes());
        let mut digits = itoa::Buffer::new();
        for (number, hash) in asked.hashes.chunks_exact(asked.hash_bytes.max(1)).enumerate() {
            let mut hasher = space;
            hasher.write(hash);
            if number > 0 {
                self.text.push(',');
            }
            self.text
                .push_str(digits.format(hasher.finish() >> (u64::BITS - ID_BITS)));
        }
        self.text.push_str("]}\n");
        self.lookups += 1;
    }
}
