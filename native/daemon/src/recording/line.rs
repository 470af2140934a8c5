//! Lookups as lines of JSON.

use std::fmt::Write;

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Ids are below 2^53, so that every reader of JSON keeps them as they are.
const ID_BITS: u32 = 53;

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
#[derive(Debug)]
pub(super) struct Lines {
    text: String,
    lookups: u64,
    /// Hides the hashes: ids of two recordings have nothing in common.
    seed: u64,
}

impl Lines {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            text: String::new(),
            lookups: 0,
            seed,
        }
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
        let seed = self.seed ^ xxh3_64_with_seed(asked.namespace.as_bytes(), u64::from(asked.group));
        // Writing to a string cannot fail.
        let _ = write!(
            self.text,
            r#"{{"timestamp":{},"namespace":"{}","group":{},"block_bytes":{},"memory_blocks":{},"ssd_blocks":{},"hash_ids":["#,
            asked.time_ms, asked.namespace, asked.group, asked.block_bytes, asked.memory, asked.ssd
        );
        for (number, hash) in asked.hashes.chunks_exact(asked.hash_bytes.max(1)).enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let id = xxh3_64_with_seed(hash, seed) >> (u64::BITS - ID_BITS);
            let _ = write!(self.text, "{comma}{id}");
        }
        self.text.push_str("]}\n");
        self.lookups += 1;
    }
}
