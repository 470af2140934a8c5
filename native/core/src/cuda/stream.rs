//! Copies, in order, by the GPU's copy engines.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{CUmemLocation, CUmemLocationType, CUmemcpyAttributes, CUmemcpySrcAccessOrder};

use super::driver::BatchCall;
use super::event::Event;
use super::gpu::Gpu;
use super::queue::Queue;
use super::settings::CopyWay;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;

/// No link is faster than this: what copies of so many bytes take at least.
const BYTES_PER_MICROSECOND: u64 = 64_000;

/// Pieces in one call: the GPU begins with them while the next ones are submitted.
const PIECES_PER_CALL: usize = 256;

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the GPU into host memory.
    ToHost,
    /// From host memory into the GPU.
    ToDevice,
}

/// Bytes that are contiguous on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) host: *mut u8,
    pub(crate) device: u64,
    pub(crate) length: u64,
}

/// Streams for copies in one direction: **each call has one to itself**, so calls at the same time are submitted, and end,
/// each by itself.
#[derive(Debug)]
pub(crate) struct Streams {
    gpu: Arc<Gpu>,
    direction: Direction,
    /// Those that no call uses now.
    idle: Mutex<Vec<Stream>>,
}

impl Streams {
    /// None yet: calls make what they need.
    pub(crate) fn new(gpu: &Arc<Gpu>, direction: Direction) -> Self {
        Self {
            gpu: Arc::clone(gpu),
            direction,
            idle: Mutex::default(),
        }
    }

    /// Copies all pieces, and says in which way. **It returns when every copy that it began has ended, also on an error**; where
    /// it cannot know that, the error is [`ErrorKind::GpuLost`]. Where the driver has no batch calls, or refuses one, each piece is
    /// copied by itself.
    ///
    /// The pieces' host bytes must be pinned, and the caller's to read or, for [`Direction::ToHost`], to write until then.
    pub(crate) fn copy(&self, way: CopyWay, pieces: &[Piece]) -> Result<CopyWay> {
        if pieces.is_empty() {
            return Ok(way);
        }
        let begun = self.begin(way, pieces)?;
        let used = begun.way;
        self.end(begun).map(|()| used)
    }

    /// Begins to copy all pieces, and returns meanwhile: what it says has to be [ended](Self::end).
    ///
    /// The pieces' host bytes must be pinned, and stay the caller's to read or, for [`Direction::ToHost`], to write until then.
    pub(crate) fn begin(&self, way: CopyWay, pieces: &[Piece]) -> Result<Begun> {
        let idle = self.idle.lock().pop();
        let stream = idle.map_or_else(|| Stream::new(&self.gpu, self.direction), Ok)?;
        let begun = stream.begin(way, pieces);
        let Err(error) = &begun.submitted else {
            return Ok(begun);
        };
        if way != CopyWay::Batch || error.kind() == ErrorKind::GpuLost {
            return Ok(begun);
        }
        tracing::warn!("the driver refused a batch of copies, which are made one by one: {error}");
        let (stream, ended) = begun.end();
        match ended {
            Err(error) if error.kind() == ErrorKind::GpuLost => Err(error),
            _ => Ok(stream.begin(CopyWay::Plain, pieces)),
        }
    }

    /// Returns when every copy that was begun has ended, with what the driver said of them; where it cannot know that, the error is
    /// [`ErrorKind::GpuLost`].
    pub(crate) fn end(&self, begun: Begun) -> Result<()> {
        let (stream, copied) = begun.end();
        self.idle.lock().push(stream);
        copied
    }
}

/// Copies under way, with a stream to themselves.
#[derive(Debug)]
pub(crate) struct Begun {
    stream: Stream,
    /// How they were submitted in the end.
    pub(crate) way: CopyWay,
    at: Instant,
    /// They take so long at least.
    least: Duration,
    submitted: Result<()>,
    recorded: Result<()>,
}

impl Begun {
    /// Whether every copy has ended, or nobody will ever know.
    pub(crate) fn has_ended(&self) -> bool {
        self.recorded.is_err() || self.stream.end.has_passed().unwrap_or(true)
    }

    fn end(self) -> (Stream, Result<()>) {
        let Self {
            stream, at, least, ..
        } = self;
        let ended = self
            .recorded
            .and_then(|()| stream.end.wait(at, least))
            .map_err(|error| stream.gpu.error(ErrorKind::GpuLost, error.message()));
        (stream, ended.and(self.submitted))
    }
}

/// A queue of copies, which waits for no other one.
#[derive(Debug)]
struct Stream {
    gpu: Arc<Gpu>,
    queue: Queue,
    direction: Direction,
    /// Behind the copies of the call.
    end: Event,
}

impl Stream {
    fn new(gpu: &Arc<Gpu>, direction: Direction) -> Result<Self> {
        Ok(Self {
            gpu: Arc::clone(gpu),
            queue: Queue::new(gpu)?,
            direction,
            end: Event::new(gpu)?,
        })
    }

    /// As [`Streams::begin`], for the one call that has the stream.
    fn begin(self, way: CopyWay, pieces: &[Piece]) -> Begun {
        let bytes: u64 = pieces.iter().map(|piece| piece.length).sum();
        let at = Instant::now();
        let submitted = self.submit(way, pieces);
        Begun {
            way,
            at,
            least: Duration::from_micros(bytes / BYTES_PER_MICROSECOND),
            submitted,
            recorded: self.end.record(self.queue.stream()),
            stream: self,
        }
    }

    fn submit(&self, way: CopyWay, pieces: &[Piece]) -> Result<()> {
        let _entered = self.gpu.enter()?;
        match (way, self.gpu.calls.memcpy_batch_async) {
            (CopyWay::Batch, Some(call)) => pieces
                .chunks(PIECES_PER_CALL)
                .try_for_each(|part| self.submit_batch(call, part)),
            _ => pieces.iter().try_for_each(|piece| self.submit_one(piece)),
        }
    }

    fn submit_batch(&self, call: BatchCall, pieces: &[Piece]) -> Result<()> {
        let mut host: Vec<u64> = pieces
            .iter()
            .map(|piece| piece.host.expose_provenance() as u64)
            .collect();
        let mut device: Vec<u64> = pieces.iter().map(|piece| piece.device).collect();
        let mut lengths: Vec<usize> = pieces.iter().map(|piece| piece.length as usize).collect();
        let (to, from) = match self.direction {
            Direction::ToHost => (&mut host, &mut device),
            Direction::ToDevice => (&mut device, &mut host),
        };
        let no_hint = CUmemLocation {
            type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID,
            id: 0,
        };
        let mut attributes = CUmemcpyAttributes {
            srcAccessOrder: CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
            srcLocHint: no_hint,
            dstLocHint: no_hint,
            flags: 0,
        };
        let (mut first, mut failed) = (0, 0);
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: the three arrays have as many entries as it is told, and it reads them before it returns; the bytes are the
        // caller's until the copies have ended, which copy waits for.
        let code = unsafe {
            call(
                to.as_mut_ptr(),
                from.as_mut_ptr(),
                lengths.as_mut_ptr(),
                lengths.len(),
                &raw mut attributes,
                &raw mut first,
                1,
                &raw mut failed,
                self.queue.stream(),
            )
        };
        self.check(code, pieces.get(failed))
    }

    fn submit_one(&self, piece: &Piece) -> Result<()> {
        let (calls, stream) = (self.gpu.calls, self.queue.stream());
        let (host, length) = (piece.host.cast::<c_void>(), piece.length as usize);
        #[expect(unsafe_code, reason = "calls of the driver")]
        // SAFETY: as in submit_batch.
        let code = unsafe {
            match self.direction {
                Direction::ToHost => (calls.copy_to_host)(host, piece.device, length, stream),
                Direction::ToDevice => (calls.copy_to_device)(piece.device, host, length, stream),
            }
        };
        self.check(code, Some(piece))
    }

    fn check(&self, code: u32, piece: Option<&Piece>) -> Result<()> {
        self.gpu.calls.check("begin copies", code).map_err(|error| {
            let Some(piece) = piece else { return error };
            Error::new(
                error.kind(),
                format!(
                    "{} for {} bytes at {:#x} of the GPU",
                    error.message(),
                    piece.length,
                    piece.device
                ),
            )
        })
    }
}
