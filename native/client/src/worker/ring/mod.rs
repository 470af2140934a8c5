//! The ring by which a worker's small runs go: its slots, and who has them.

mod launcher;
mod part;
mod transfer;

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use pegaflow_core::cuda::{Gather, PAGES_PER_MOVE};
use pegaflow_proto::v1;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::launcher::Launcher;
use crate::error::{ClientError, ClientErrorKind, Result};

pub(super) use transfer::RingTransfer;

/// Parts of transfers that fill the ring: while one is collected the daemon copies others.
const PARTS: usize = 4;

/// A worker's ring. It outlives sessions: a daemon that hangs may still copy into slots that an ended session named.
#[derive(Debug)]
pub(super) struct Ring {
    launcher: Launcher,
    message: v1::Ring,
    /// As many permits as there are free slots.
    room: Arc<Semaphore>,
    free: Mutex<Vec<u32>>,
    part_pages: usize,
}

/// Slots that nobody else has; free again when dropped, which must be when nobody touches them any more.
#[derive(Debug)]
struct Slots {
    ring: Arc<Ring>,
    slots: Vec<u32>,
    _room: OwnedSemaphorePermit,
}

impl Ring {
    /// Starts the thread that has blocks collected and spread.
    pub(super) fn open(gather: Gather) -> Result<Arc<Self>> {
        let ring = gather.ring();
        let slots = ring.slots as usize;
        Ok(Arc::new(Self {
            launcher: Launcher::start(gather)?,
            message: v1::Ring {
                allocation: Bytes::copy_from_slice(&ring.handle.0),
                slots: ring.slots,
                slot_stride: ring.slot_stride,
            },
            room: Arc::new(Semaphore::new(slots)),
            free: Mutex::new((0..ring.slots).rev().collect()),
            part_pages: (slots / PARTS).clamp(1, PAGES_PER_MOVE),
        }))
    }

    /// As `Register` offers it.
    pub(super) fn message(&self) -> v1::Ring {
        self.message.clone()
    }

    /// So many slots, once they are free; at most [`part_pages`](Self::part_pages).
    async fn take(self: &Arc<Self>, pages: usize) -> Result<Slots> {
        let room = Arc::clone(&self.room)
            .acquire_many_owned(pages as u32)
            .await
            .map_err(|error| ClientError::new(ClientErrorKind::Config, error.to_string()))?;
        let mut free = self.free.lock();
        let rest = free.len().saturating_sub(pages);
        let mut slots = free.split_off(rest);
        drop(free);
        // Neighbours in the ring and in the pool are copied as one.
        slots.sort_unstable();
        Ok(Slots {
            ring: Arc::clone(self),
            slots,
            _room: room,
        })
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        self.ring.free.lock().append(&mut self.slots);
    }
}
