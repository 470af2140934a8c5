//! A pinned buffer, for copies from and to memory that is not pinned.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::gpu::Gpu;
use super::settings::CopyWay;
use super::stream::{Direction, Piece, Streams};
use crate::error::{Error, ErrorKind, Result};

/// Bytes of the buffer: copies of this size are near the link's limit.
pub(crate) const BUFFER_BYTES: usize = 8 << 20;
/// `CU_MEMHOSTALLOC_PORTABLE`.
const PORTABLE: u32 = 1;

/// The buffer of one GPU and direction.
#[derive(Debug)]
pub(crate) struct Staging {
    gpu: Arc<Gpu>,
    buffer: NonNull<u8>,
}

#[expect(unsafe_code, reason = "the buffer is no thread's own")]
// SAFETY: the memory belongs to the process, and only `copy`, which borrows self mutably, touches it.
unsafe impl Send for Staging {}

impl Staging {
    /// Allocates the buffer.
    pub(super) fn new(gpu: &Arc<Gpu>) -> Result<Self> {
        let _entered = gpu.enter()?;
        let mut buffer = ptr::null_mut();
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a pointer of ours.
        let code = unsafe { (gpu.calls.host_allocate)(&raw mut buffer, BUFFER_BYTES, PORTABLE) };
        gpu.calls.check("allocate pinned memory", code)?;
        let buffer = NonNull::new(buffer.cast::<u8>())
            .ok_or_else(|| Error::new(ErrorKind::NoSpace, "the driver has no pinned memory"))?;
        Ok(Self {
            gpu: Arc::clone(gpu),
            buffer,
        })
    }

    /// Copies all pieces by way of the buffer; it returns when every copy has ended, also on an error.
    ///
    /// The pieces' host bytes must be the caller's to read or, for [`Direction::ToHost`], to write until then.
    pub(crate) fn copy(&mut self, streams: &Streams, direction: Direction, pieces: &[Piece]) -> Result<()> {
        for piece in pieces {
            let mut done = 0;
            while done < piece.length {
                let length = (piece.length - done).min(BUFFER_BYTES as u64);
                let host = piece.host.wrapping_add(done as usize);
                if direction == Direction::ToDevice {
                    Self::move_bytes(host, self.buffer.as_ptr(), length);
                }
                let part = Piece {
                    host: self.buffer.as_ptr(),
                    device: piece.device + done,
                    length,
                };
                streams.copy(CopyWay::Plain, &[part])?;
                if direction == Direction::ToHost {
                    Self::move_bytes(self.buffer.as_ptr(), host, length);
                }
                done += length;
            }
        }
        Ok(())
    }

    /// The seconds that a read of these runs of the GPU (address, bytes) takes, which must fit the buffer.
    pub(crate) fn time_read(
        &mut self,
        streams: &Streams,
        way: CopyWay,
        runs: &[(u64, u64)],
    ) -> Result<Duration> {
        let mut used = 0;
        let mut pieces = Vec::with_capacity(runs.len());
        for &(device, length) in runs {
            pieces.push(Piece {
                host: self.buffer.as_ptr().wrapping_add(used as usize),
                device,
                length,
            });
            used += length;
        }
        if used > BUFFER_BYTES as u64 {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("{used} bytes do not fit a buffer of {BUFFER_BYTES}"),
            ));
        }
        let began = Instant::now();
        streams.copy(way, &pieces)?;
        Ok(began.elapsed())
    }

    fn move_bytes(from: *const u8, to: *mut u8, length: u64) {
        #[expect(unsafe_code, reason = "bytes of pages that are lent by address")]
        // SAFETY: one side is the buffer, which is as long and of which no copy is under way; the other is the caller's piece.
        unsafe {
            ptr::copy_nonoverlapping(from, to, length as usize);
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let freed = self.gpu.enter().and_then(|_entered| {
            #[expect(unsafe_code, reason = "a call of the driver")]
            // SAFETY: what new allocated, once.
            let code = unsafe { (self.gpu.calls.host_free)(self.buffer.as_ptr().cast::<c_void>()) };
            self.gpu.calls.check("free pinned memory", code)
        });
        if let Err(error) = freed {
            tracing::warn!("{error}");
        }
    }
}
