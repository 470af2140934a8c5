//! The fence: an engine's leave for one transfer to touch its blocks, as a pair of words in a small file.
//!
//! `native/docs/protocol.md` has the file's layout and the rules; [`GrantFile`] is the daemon's half, [`GrantPool`] the
//! engine's.
//!
//! # Why it is a mutual exclusion
//!
//! Each side stores its own word, issues a full fence, and then loads the other's word (Dekker). Were both to go on, both
//! loads would have to miss the other's store. The file is never mapped, but a `pread` and a `pwrite` of an open file on one
//! host are loads and stores of the same page of the page cache, done by the calling thread's processor inside the call; so
//! a fence that the same thread issues between the two calls orders them like any other pair. It has to be there: neither
//! the entry into the kernel nor the file's locks order an earlier store before a later load (x86 lets a store wait in the
//! store buffer; ARM lets both be reordered, and `dmb ish`, which a sequentially consistent fence is, covers every processor
//! of the host). A thread that moves to another processor in between passes the scheduler's full barriers.
//!
//! Should the kernel copy the eight bytes of a word piecewise, nothing changes: within a generation only the lowest byte
//! differs, between two neighbouring generations the lowest byte always does, so a mixture never reads as a state of the
//! generation that is asked for; and the exclusion holds byte by byte, since it needs only that *some* byte of the other's
//! store was missed.
//!
//! Saves need an order, not an exclusion: the daemon's fence lies between the last byte copied and the load of the engine's
//! word, the engine's between the revoke and the first byte of the block's next use.
//!
//! `tests/load_model.rs` and `tests/save_model.rs` explore every interleaving of both halves with store buffers, and show that
//! each fails without any one of these rules; `native/core/tests/grant_between_processes.rs` runs them as two processes.

mod daemon;
mod engine;
mod format;
mod words;

pub use daemon::{GrantFile, TakenGuard};
pub use engine::{GrantPool, IssuedGrant, Revoke};

#[cfg(test)]
mod tests;
