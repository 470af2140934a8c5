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
/// Bytes of each copy of a round trip.
const PIECE_BYTES: usize = 64 << 10;
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

    /// How long a read of these runs of the GPU (address, bytes) takes, which must fit the buffer, and in which way it went.
    pub(crate) fn time_read(
        &mut self,
        streams: &Streams,
        way: CopyWay,
        runs: &[(u64, u64)],
    ) -> Result<(Duration, CopyWay)> {
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
        check_fits(used)?;
        let began = Instant::now();
        let way = streams.copy(way, &pieces)?;
        Ok((began.elapsed(), way))
    }

    /// Copies bytes that are at most half the buffer to the GPU and back, in pieces; what came back.
    pub(super) fn round_trip(
        &mut self,
        [there, back]: &[Streams; 2],
        way: CopyWay,
        device: u64,
        sent: &[u8],
    ) -> Result<Vec<u8>> {
        check_fits(2 * sent.len() as u64)?;
        let pieces = |begin: usize| -> Vec<Piece> {
            (0..sent.len())
                .step_by(PIECE_BYTES)
                .map(|offset| Piece {
                    host: self.buffer.as_ptr().wrapping_add(begin + offset),
                    device: device + offset as u64,
                    length: PIECE_BYTES.min(sent.len() - offset) as u64,
                })
                .collect()
        };
        let length = sent.len() as u64;
        let second_half = self.buffer.as_ptr().wrapping_add(sent.len());
        let mut returned = vec![0; sent.len()];
        Self::move_bytes(sent.as_ptr(), self.buffer.as_ptr(), length);
        Self::move_bytes(returned.as_ptr(), second_half, length);
        there.copy(way, &pieces(0))?;
        back.copy(way, &pieces(sent.len()))?;
        Self::move_bytes(second_half, returned.as_mut_ptr(), length);
        Ok(returned)
    }

    fn move_bytes(from: *const u8, to: *mut u8, length: u64) {
        #[expect(unsafe_code, reason = "bytes of pages that are lent by address")]
        // SAFETY: one side is the buffer, which is as long and of which no copy is under way; the other is the caller's piece.
        unsafe {
            ptr::copy_nonoverlapping(from, to, length as usize);
        }
    }
}

fn check_fits(bytes: u64) -> Result<()> {
    if bytes <= BUFFER_BYTES as u64 {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Limit,
        format!("{bytes} bytes do not fit a buffer of {BUFFER_BYTES}"),
    ))
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
