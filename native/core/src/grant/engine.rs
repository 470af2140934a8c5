//! The engine's half: issues grants, revokes them, and learns when nobody can touch the blocks any more.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use super::format::{Word, daemon_word_at, engine_word_at};
use super::words::{WordFile, full_fence};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;

/// The grant file of this engine's registration, with the slots that are free.
#[derive(Debug)]
pub struct GrantPool {
    words: WordFile,
    /// Free slots with the generation that each had last; the one used longest ago is first.
    free: Mutex<VecDeque<(u32, u64)>>,
}

/// What a revoke found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revoke {
    /// The daemon does not touch the blocks and never will again.
    Free,
    /// A batch is being copied: the blocks are not free before [`IssuedGrant::is_taken`] says so, the transfer is answered, or
    /// the daemon's process has ended.
    Taken,
}

impl GrantPool {
    /// Opens the file that the daemon named at registration.
    pub fn open(path: &Path, slots: u32, boot_id: u64) -> Result<Arc<Self>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
            .map_err(|source| Error::io(format_args!("open grant file {}", path.display()), source))?;
        let words = WordFile::open(file, path)?;
        let header = words.header();
        if (header.slots, header.boot_id) != (slots, boot_id) {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "grant file {} has {} slots and boot id {:#x}, the daemon says {slots} and {boot_id:#x}: register again",
                    path.display(),
                    header.slots,
                    header.boot_id
                ),
            ));
        }
        Ok(Arc::new(Self {
            words,
            free: Mutex::new((0..slots).map(|slot| (slot, 0)).collect()),
        }))
    }

    /// A grant for a new transfer; `None` while every slot is in use.
    pub fn issue(self: &Arc<Self>) -> Result<Option<IssuedGrant>> {
        let Some((slot, last)) = self.free.lock().pop_front() else {
            return Ok(None);
        };
        let generation = last + 1;
        self.words.store(engine_word_at(slot), Word::valid(generation))?;
        Ok(Some(IssuedGrant {
            pool: Arc::clone(self),
            slot,
            generation,
        }))
    }

    /// How many transfers can be issued now.
    pub fn free_slots(&self) -> usize {
        self.free.lock().len()
    }
}

/// One transfer's grant. Dropped without [`settle`](Self::settle) its slot is never used again.
#[derive(Debug)]
pub struct IssuedGrant {
    pool: Arc<GrantPool>,
    slot: u32,
    generation: u64,
}

impl IssuedGrant {
    /// The slot's number in the file.
    pub fn slot(&self) -> u32 {
        self.slot
    }

    /// How often the slot has been used, this time included.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Takes the engine's leave back. After an error nothing is known: the blocks count as taken.
    pub fn revoke(&self) -> Result<Revoke> {
        self.pool
            .words
            .store(engine_word_at(self.slot), Word::revoked(self.generation))?;
        full_fence();
        Ok(if self.is_taken()? {
            Revoke::Taken
        } else {
            Revoke::Free
        })
    }

    /// Whether a batch is being copied. Final once it is false after a revoke.
    pub fn is_taken(&self) -> Result<bool> {
        let word = self.pool.words.load(daemon_word_at(self.slot))?;
        full_fence();
        Ok(word == Word::taken(self.generation))
    }

    /// Frees the slot. Call it only when the transfer has been answered, or was revoked and is not taken, or the daemon's
    /// process has ended.
    pub fn settle(self) -> Result<()> {
        self.pool
            .words
            .store(engine_word_at(self.slot), Word::free(self.generation))?;
        self.pool.free.lock().push_back((self.slot, self.generation));
        Ok(())
    }
}
