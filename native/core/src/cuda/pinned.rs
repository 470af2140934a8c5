//! The pool's memory, pinned for the GPUs chunk by chunk while the daemon serves.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::gpu::Gpu;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::PagePtr;
use crate::store::{MemoryUser, Store};
use crate::sync::Mutex;

/// Small enough that a copy that needs a chunk does not wait long, large enough that the driver has few to look through.
const CHUNK_BYTES: usize = 32 << 20;
/// How often a thread looks whether the pool has grown.
const GROWTH_PAUSE: Duration = Duration::from_millis(5);
/// `CU_MEMHOSTREGISTER_PORTABLE`: pinned for all contexts of this process.
const PORTABLE: u32 = 1;
/// More threads than this do not pin faster.
const THREADS_MAX: usize = 16;

/// Whether the driver has a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    Loose,
    /// This many of its bytes: fewer than it has only where the pool ended.
    Pinned(usize),
    /// The driver refused it, and is not asked again.
    Refused,
}

impl Chunk {
    /// How many of its first bytes are pinned.
    fn pinned(self) -> usize {
        match self {
            Self::Pinned(length) => length,
            Self::Loose | Self::Refused => 0,
        }
    }
}

/// The pool's memory as the driver has it. **Nothing of it is unmapped while it is pinned**: this keeps the store.
#[derive(Debug)]
pub(crate) struct PinnedPool {
    gpu: Arc<Gpu>,
    store: Arc<Store>,
    chunks: Vec<Mutex<Chunk>>,
    pinned_bytes: AtomicU64,
    next: AtomicUsize,
    /// The first chunk that no thread has mapped.
    unmapped: AtomicUsize,
    is_closing: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A part of some bytes, and whether it is pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) length: u64,
    pub(crate) is_pinned: bool,
}

impl PinnedPool {
    /// Begins to pin the store's pool; threads go on until all of it is.
    pub(super) fn start(gpu: &Arc<Gpu>, store: Arc<Store>) -> Result<Arc<Self>> {
        let chunks = store.memory().len().div_ceil(CHUNK_BYTES);
        let filled = (store.pool_snapshot().bytes as usize).div_ceil(CHUNK_BYTES);
        let pool = Arc::new(Self {
            gpu: Arc::clone(gpu),
            store,
            chunks: (0..chunks).map(|_| Mutex::new(Chunk::Loose)).collect(),
            pinned_bytes: AtomicU64::new(0),
            next: AtomicUsize::new(0),
            unmapped: AtomicUsize::new(0),
            is_closing: AtomicBool::new(false),
            threads: Mutex::default(),
        });
        let user: Weak<Self> = Arc::downgrade(&pool);
        pool.store.set_memory_user(user);
        let threads = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(THREADS_MAX);
        for index in 0..threads.min(filled) {
            let pinning = Arc::clone(&pool);
            let thread = thread::Builder::new()
                .name(format!("pega-pin-{index}"))
                .spawn(move || pinning.pin_all())
                .map_err(|error| Error::io("start a thread that pins the pool", error))?;
            pool.threads.lock().push(thread);
        }
        Ok(pool)
    }

    /// Bytes that are pinned by now.
    pub(super) fn pinned_bytes(&self) -> u64 {
        self.pinned_bytes.load(Relaxed)
    }

    /// The first of `length` bytes at `address` that have one answer: they are pinned when this returns, or cannot be.
    pub(crate) fn pin(&self, address: *const u8, length: u64) -> Part {
        self.part(address, length, |chunk| self.pin_chunk(chunk))
    }

    /// The same of what is pinned by now: it pins none, and waits for no thread that does.
    pub(crate) fn look(&self, address: *const u8, length: u64) -> Part {
        self.part(address, length, |index| {
            let chunk = self.chunks.get(index).and_then(Mutex::try_lock);
            chunk.map_or(0, |chunk| chunk.pinned())
        })
    }

    /// `pinned` says how many of a chunk's first bytes are.
    fn part(&self, address: *const u8, length: u64, pinned: impl Fn(usize) -> usize) -> Part {
        let memory = self.store.memory();
        let offset = address.addr().wrapping_sub(memory.as_ptr().addr());
        if offset >= memory.len() {
            return Part {
                length,
                is_pinned: false,
            };
        }
        let (chunk, within) = (offset / CHUNK_BYTES, offset % CHUNK_BYTES);
        let pinned = pinned(chunk);
        let is_pinned = within < pinned;
        let end = if is_pinned { pinned } else { CHUNK_BYTES };
        Part {
            length: length.min((end - within) as u64),
            is_pinned,
        }
    }

    /// Ends the threads, and gives the memory back to the driver, which must not be copying from or to it any more.
    pub(super) fn close(&self) {
        self.is_closing.store(true, Relaxed);
        for thread in self.threads.lock().drain(..) {
            // A thread that panicked pins nothing any more.
            drop(thread.join());
        }
        for (index, chunk) in self.chunks.iter().enumerate() {
            self.unpin_chunk(index, chunk, Chunk::Refused);
        }
    }

    fn unpin_chunk(&self, index: usize, chunk: &Mutex<Chunk>, then: Chunk) {
        let mut chunk = chunk.lock();
        if let Chunk::Pinned(length) = *chunk {
            self.unregister(self.bytes_of(index, length));
        }
        *chunk = then;
    }

    /// Pins what the pool should have; what it grows by later is pinned when it is first used.
    fn pin_all(&self) {
        self.map_all();
        loop {
            let index = self.next.fetch_add(1, Relaxed);
            while self.bytes_there(index) == 0 {
                let pool = self.store.pool_snapshot();
                let is_behind = index * CHUNK_BYTES >= pool.bytes as usize;
                if is_behind || self.is_closing.load(Relaxed) || pool.degraded.is_some() {
                    return;
                }
                thread::sleep(GROWTH_PAUSE);
            }
            if self.is_closing.load(Relaxed) {
                return;
            }
            self.pin_chunk(index);
        }
    }

    /// Maps what is there at the start, as of a pool that was taken over: the driver is slow on pages that are not mapped, and on
    /// those that are mapped meanwhile.
    fn map_all(&self) {
        loop {
            let index = self.unmapped.fetch_add(1, Relaxed);
            let length = self.bytes_there(index);
            if length == 0 || self.is_closing.load(Relaxed) {
                return;
            }
            self.store.populate((index * CHUNK_BYTES) as u64, length as u64);
        }
    }

    /// How many of the chunk's first bytes are pinned, after an attempt if it is loose.
    fn pin_chunk(&self, index: usize) -> usize {
        let Some(chunk) = self.chunks.get(index) else {
            return 0;
        };
        let mut chunk = chunk.lock();
        let length = match *chunk {
            Chunk::Loose => self.bytes_there(index),
            Chunk::Pinned(_) | Chunk::Refused => 0,
        };
        if length > 0 {
            let memory = self.bytes_of(index, length);
            match self.register(memory) {
                Ok(()) => {
                    *chunk = Chunk::Pinned(length);
                    self.pinned_bytes.fetch_add(memory.len() as u64, Relaxed);
                }
                Err(error) => {
                    tracing::warn!("{error}; copies from and to it go through a buffer and are slower");
                    *chunk = Chunk::Refused;
                }
            }
        }
        chunk.pinned()
    }

    /// How many of the chunk's bytes the pool has, once it has all that it should.
    fn bytes_there(&self, index: usize) -> usize {
        let pool = self.store.pool_snapshot();
        let begin = index * CHUNK_BYTES;
        let end = (begin + CHUNK_BYTES).min(pool.bytes as usize);
        if pool.ready_bytes as usize >= end {
            end.saturating_sub(begin)
        } else {
            0
        }
    }

    fn bytes_of(&self, index: usize, length: usize) -> PagePtr {
        self.store.memory().part(index * CHUNK_BYTES, length)
    }

    fn register(&self, memory: PagePtr) -> Result<()> {
        let _entered = self.gpu.enter()?;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: pinning changes no byte; the memory is there, and self keeps it mapped until close has taken it back.
        let code = unsafe {
            (self.gpu.calls.host_register)(memory.as_ptr().cast::<c_void>(), memory.len(), PORTABLE)
        };
        self.gpu
            .calls
            .check("pin a part of the pool", code)
            .map_err(|error| {
                Error::new(
                    ErrorKind::Config,
                    format!(
                        "{}: allow the daemon to lock memory (ulimit -l unlimited)",
                        error.message()
                    ),
                )
            })
    }

    fn unregister(&self, memory: PagePtr) {
        let released = self.gpu.enter().and_then(|_entered| {
            #[expect(unsafe_code, reason = "a call of the driver")]
            // SAFETY: what register pinned, once; nobody copies from or to it any more.
            let code = unsafe { (self.gpu.calls.host_unregister)(memory.as_ptr().cast::<c_void>()) };
            self.gpu.calls.check("let go of a part of the pool", code)
        });
        match released {
            Ok(()) => {
                self.pinned_bytes.fetch_sub(memory.len() as u64, Relaxed);
            }
            Err(error) => tracing::warn!("{error}"),
        }
    }
}

impl MemoryUser for PinnedPool {
    fn unit(&self) -> u64 {
        CHUNK_BYTES as u64
    }

    fn let_go(&self, bytes: u64) {
        let first = (bytes as usize).div_ceil(CHUNK_BYTES);
        for (index, chunk) in self.chunks.iter().enumerate().skip(first) {
            self.unpin_chunk(index, chunk, Chunk::Loose);
        }
    }
}
