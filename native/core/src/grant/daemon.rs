//! The daemon's half: takes a grant before copies into the engine's blocks, gives it back after.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind::NotFound;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use super::format::{Header, MAX_GENERATION, Word, daemon_word_at, engine_word_at};
use super::words::{WordFile, full_fence};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;

/// The grant file of one registration, removed when it is dropped.
#[derive(Debug)]
pub struct GrantFile {
    words: WordFile,
    slots: Box<[Mutex<Slot>]>,
}

/// What this daemon did with a slot; the words alone cannot keep two of its own threads apart.
#[derive(Debug, Default)]
struct Slot {
    newest_generation: u64,
    taken: bool,
}

impl GrantFile {
    /// Makes the file anew, with mode 0600, in a folder that exists.
    pub fn create(path: &Path, slots: u32, boot_id: u64) -> Result<Arc<Self>> {
        match fs::remove_file(path) {
            Err(source) if source.kind() != NotFound => {
                return Err(Error::io(
                    format_args!("remove old grant file {}", path.display()),
                    source,
                ));
            }
            _ => {}
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(|source| Error::io(format_args!("create grant file {}", path.display()), source))?;
        let words = WordFile::create(file, path, Header { slots, boot_id })?;
        Ok(Arc::new(Self {
            words,
            slots: (0..slots).map(|_| Mutex::default()).collect(),
        }))
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        self.words.path()
    }

    /// How many transfers the engine can have under way.
    pub fn slots(&self) -> u32 {
        self.words.header().slots
    }

    /// Takes the grant for copies; `None` when the engine has revoked it. Whoever has it asks [`is_valid`](Self::is_valid) before each
    /// bounded batch: after a revoke the engine waits for those that have begun.
    ///
    /// One transfer takes it once at a time. A generation older than one that was taken before is refused without
    /// a store: a request that arrives late must not overwrite the word of the transfer that has the slot now.
    pub fn take(self: &Arc<Self>, slot: u32, generation: u64) -> Result<Option<TakenGuard>> {
        let mut state = self.slot(slot, generation)?.lock();
        if generation < state.newest_generation {
            return Ok(None);
        }
        if state.taken {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "grant slot {slot} is taken by generation {}: one transfer at a time",
                    state.newest_generation
                ),
            ));
        }
        state.newest_generation = generation;
        self.words.store(daemon_word_at(slot), Word::taken(generation))?;
        full_fence();
        let engine_word = self.words.load(engine_word_at(slot));
        if engine_word
            .as_ref()
            .is_ok_and(|&word| word == Word::valid(generation))
        {
            state.taken = true;
            return Ok(Some(TakenGuard {
                grants: Arc::clone(self),
                slot,
                generation,
            }));
        }
        self.words.store(daemon_word_at(slot), Word::idle(generation))?;
        engine_word.map(|_| None)
    }

    /// Whether the engine still lets this transfer touch its blocks.
    ///
    /// For a save: asked after the last byte was copied, true means that the copy holds what the engine offered. For a load that
    /// has taken the grant: false means that the engine waits for it to be given back.
    pub fn is_valid(&self, slot: u32, generation: u64) -> Result<bool> {
        self.slot(slot, generation)?;
        full_fence();
        Ok(self.words.load(engine_word_at(slot))? == Word::valid(generation))
    }

    fn slot(&self, slot: u32, generation: u64) -> Result<&Mutex<Slot>> {
        if generation == 0 || generation > MAX_GENERATION {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("grant generation {generation} is not allowed: it counts from 1 to {MAX_GENERATION}"),
            ));
        }
        self.slots.get(slot as usize).ok_or_else(|| {
            Error::new(
                ErrorKind::Invalid,
                format!("grant slot {slot} is not below the file's {}", self.slots.len()),
            )
        })
    }

    fn give_back(&self, slot: u32, generation: u64) -> Result<()> {
        let mut state = self.slot(slot, generation)?.lock();
        state.taken = false;
        full_fence();
        self.words.store(daemon_word_at(slot), Word::idle(generation))
    }
}

impl Drop for GrantFile {
    fn drop(&mut self) {
        // A file that is gone already, or cannot be removed, is replaced by the next `create` of its path.
        drop(fs::remove_file(self.words.path()));
    }
}

/// The daemon may touch the engine's blocks while this lives; it must outlive the copies.
#[derive(Debug)]
pub struct TakenGuard {
    grants: Arc<GrantFile>,
    slot: u32,
    generation: u64,
}

impl Drop for TakenGuard {
    fn drop(&mut self) {
        // Without the store the word stays taken; the engine then learns the end from the answer.
        drop(self.grants.give_back(self.slot, self.generation));
    }
}
