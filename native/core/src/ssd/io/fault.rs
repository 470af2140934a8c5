//! The engine that fails on purpose: like a disk that is full, broken, slow, or loses its power.
//!
//! It does one transfer after another. What is not synced lies in memory only, as in the cache of a disk.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rand::Rng;
use rand::seq::SliceRandom;

use super::{Action, EngineSource, IoEngine, Op};
use crate::error::Result;
use crate::ssd::config::IoEngineKind;
use crate::ssd::workers::Workers;
use crate::sync::Mutex;

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// A disk, whose engines are made and dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<State>>);

/// What goes wrong from now on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    pub(crate) reads: Option<i32>,
    pub(crate) writes: Option<i32>,
    pub(crate) syncs: Option<i32>,
    pub(crate) allocations: Option<i32>,
    pub(crate) deletions: Option<i32>,
    /// Bytes that all files may take.
    pub(crate) room: Option<u64>,
    /// Calls of this kind get no answer until that is changed.
    pub(crate) hangs: Option<Call>,
    /// Reads end where the file seems to end early.
    pub(crate) is_short: bool,
    /// How long each transfer takes.
    pub(crate) delay: Duration,
}

/// What a disk can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Read,
    /// Of blocks or records.
    Write,
    /// Of the first unit of a file.
    WriteHeader,
    Sync,
    Allocate,
    Delete,
}

impl Call {
    fn of(op: &Op) -> Self {
        match op.action {
            Action::Read => Self::Read,
            Action::Write if op.offset == 0 => Self::WriteHeader,
            Action::Write => Self::Write,
            Action::Sync => Self::Sync,
        }
    }
}

/// Writes to a file that are not synced: where, and what.
type Writes = (File, Vec<(u64, Vec<u8>)>);

#[derive(Debug, Default)]
struct State {
    faults: Faults,
    /// By file, what was written since its last sync.
    unsafe_writes: HashMap<u64, Writes>,
    /// By file, what room it was given.
    given: HashMap<u64, u64>,
    is_off: bool,
}

impl Disk {
    /// Has things go wrong, or right again.
    pub(crate) fn set(&self, faults: Faults) {
        self.0.lock().faults = faults;
    }

    /// From now on nothing reaches the disk; of what was not synced, some sectors do, whichever `random` says.
    pub(crate) fn lose_power(&self, random: &mut impl Rng) {
        for (file, mut sectors) in self.turn_off() {
            sectors.shuffle(random);
            let share = random.random_range(0.0..1.0);
            for (offset, bytes) in sectors {
                if random.random_bool(share) {
                    write(&file, &bytes, offset).unwrap();
                }
            }
        }
    }

    /// From now on nothing reaches the disk; of what was not synced, what lies so in a file of so many bytes does.
    pub(crate) fn lose_power_but(&self, survives: impl Fn(u64, u64) -> bool) {
        for (file, sectors) in self.turn_off() {
            let len = file.metadata().unwrap().len();
            for (offset, bytes) in sectors {
                if survives(offset, len) {
                    write(&file, &bytes, offset).unwrap();
                }
            }
        }
    }

    /// Turns the disk off; the sectors of each file that were not synced, in their order.
    fn turn_off(&self) -> Vec<Writes> {
        let mut state = self.0.lock();
        state.is_off = true;
        let files = std::mem::take(&mut state.unsafe_writes).into_values();
        let sectors = |(offset, bytes): (u64, Vec<u8>)| {
            let sectors: Vec<_> = bytes.chunks(SECTOR).map(<[u8]>::to_vec).collect();
            (offset..).step_by(SECTOR).zip(sectors)
        };
        files
            .map(|(file, writes)| (file, writes.into_iter().flat_map(sectors).collect()))
            .collect()
    }

    /// Returns when an answer is due, also when that changes meanwhile.
    fn wait(&self, call: Call) {
        let start = Instant::now();
        let is_due = |faults: &Faults| {
            let delay = if call == Call::Allocate || call == Call::Delete {
                Duration::ZERO
            } else {
                faults.delay
            };
            faults.hangs != Some(call) && start.elapsed() >= delay
        };
        while !is_due(&self.0.lock().faults) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The power is back: engines that are made from now on work.
    pub(crate) fn restore_power(&self) {
        self.0.lock().is_off = false;
    }
}

impl EngineSource for Disk {
    fn start(&self, _dir: &Path) -> Result<Arc<dyn IoEngine>> {
        Ok(FaultEngine::start(self.clone()))
    }
}

/// A disk for each directory.
impl EngineSource for Vec<(PathBuf, Disk)> {
    fn start(&self, dir: &Path) -> Result<Arc<dyn IoEngine>> {
        let (_, disk) = self.iter().find(|(of, _)| of == dir).unwrap();
        Ok(FaultEngine::start(disk.clone()))
    }
}

/// An engine of a disk.
#[derive(Debug)]
pub(in crate::ssd) struct FaultEngine {
    disk: Disk,
    thread: Workers<(Disk, Op)>,
}

impl FaultEngine {
    pub(in crate::ssd) fn start(disk: Disk) -> Arc<Self> {
        let thread = Workers::start("ssd-fault", 1, |(disk, op): (Disk, Op)| {
            disk.wait(Call::of(&op));
            let result = disk.transfer(&op);
            (op.done)(result);
        });
        Arc::new(Self {
            disk,
            thread: thread.unwrap(),
        })
    }
}

impl IoEngine for FaultEngine {
    fn kind(&self) -> IoEngineKind {
        IoEngineKind::Psync
    }

    fn submit(&self, op: Op) {
        self.thread.give((self.disk.clone(), op));
    }

    fn allocate(&self, file: &File, bytes: u64) -> io::Result<()> {
        self.disk.wait(Call::Allocate);
        let mut state = self.disk.0.lock();
        let errno = match state.faults.allocations {
            None if state.available() < bytes => Some(libc::ENOSPC),
            errno => errno,
        };
        if let Some(errno) = errno {
            return Err(io::Error::from_raw_os_error(errno));
        }
        state.given.insert(file.metadata()?.ino(), bytes);
        file.set_len(bytes)
    }

    fn available(&self, _dir: &Path) -> io::Result<u64> {
        Ok(self.disk.0.lock().available())
    }

    fn delete(&self, file: &Path) -> io::Result<()> {
        self.disk.wait(Call::Delete);
        let mut state = self.disk.0.lock();
        if let Some(errno) = state.faults.deletions {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let number = std::fs::metadata(file)?.ino();
        std::fs::remove_file(file)?;
        state.given.remove(&number);
        Ok(())
    }
}

impl Disk {
    fn transfer(&self, op: &Op) -> io::Result<()> {
        let mut state = self.0.lock();
        if state.is_off {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        let fault = match op.action {
            Action::Read => state.faults.reads,
            Action::Write => state.faults.writes,
            Action::Sync => state.faults.syncs,
        };
        if let Some(errno) = fault {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let number = op.file.metadata()?.ino();
        match op.action {
            Action::Read if state.faults.is_short => Err(io::ErrorKind::UnexpectedEof.into()),
            Action::Read => state.read(op, number),
            Action::Write => {
                // A file that is open for reading only says so.
                write(&op.file, &[], 0)?;
                let bytes: Vec<u8> = op.memory.iter().flat_map(|page| page.read()).collect();
                if let Entry::Vacant(place) = state.unsafe_writes.entry(number) {
                    place.insert((reopen(&op.file)?, Vec::new()));
                }
                if let Some((_, writes)) = state.unsafe_writes.get_mut(&number) {
                    writes.push((op.offset, bytes));
                }
                Ok(())
            }
            Action::Sync => {
                let writes = state.unsafe_writes.remove(&number);
                for (offset, bytes) in writes.into_iter().flat_map(|(_, writes)| writes) {
                    write(&op.file, &bytes, offset)?;
                }
                Ok(())
            }
        }
    }
}

impl State {
    /// Bytes that files may take yet.
    fn available(&self) -> u64 {
        let room = self.faults.room.unwrap_or(i64::MAX as u64);
        room.saturating_sub(self.given.values().sum())
    }

    fn read(&self, op: &Op, number: u64) -> io::Result<()> {
        let len = op.memory.iter().map(|page| page.len()).sum();
        let mut buffer = super::Buffer::new(len);
        let page = buffer.page();
        let mut bytes = vec![0; len];
        read_cached(&op.file, &mut bytes, op.offset)?;
        page.part(0, len).write(&bytes);
        let writes = self
            .unsafe_writes
            .get(&number)
            .map(|(_, writes)| writes.as_slice());
        for (offset, written) in writes.unwrap_or_default() {
            overlay(&mut bytes, op.offset, written, *offset);
        }
        let mut at = 0;
        for page in &op.memory {
            page.write(&bytes[at..at + page.len()]);
            at += page.len();
        }
        Ok(())
    }
}

/// Puts what lies at `from` over what lies at `to`.
fn overlay(bytes: &mut [u8], to: u64, written: &[u8], from: u64) {
    let start = to.max(from);
    let end = (to + bytes.len() as u64).min(from + written.len() as u64);
    if start < end {
        let source = &written[(start - from) as usize..(end - from) as usize];
        bytes[(start - to) as usize..(end - to) as usize].copy_from_slice(source);
    }
}

/// Reads through the kernel's cache, whatever the file was opened for.
fn read_cached(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    reopen(file)?.read_exact_at(bytes, offset)
}

fn write(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    if !flags.contains(rustix::fs::OFlags::RDWR) {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    reopen(file)?.write_all_at(bytes, offset)
}

/// The same file, without its lock, and without O_DIRECT: sectors are smaller than what that takes.
fn reopen(file: &File) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let writable = std::fs::OpenOptions::new().read(true).write(true).open(&path);
    writable.or_else(|_| File::open(path))
}
