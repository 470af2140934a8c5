//! The engine of threads: each has one blocking call at a time.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use super::vector::Transfer;
use super::{Action, IoEngine, Op};
use crate::error::Result;
use crate::ssd::config::IoEngineKind;
use crate::ssd::workers::Workers;

/// Threads of an engine: enough to keep a disk busy with large transfers.
const THREADS: usize = 8;

/// Threads that read and write.
#[derive(Debug)]
pub(super) struct PsyncEngine(Workers<Op>);

impl PsyncEngine {
    pub(super) fn start() -> Result<Arc<Self>> {
        Ok(Arc::new(Self(Workers::start("ssd-psync", THREADS, transfer)?)))
    }
}

impl IoEngine for PsyncEngine {
    fn kind(&self) -> IoEngineKind {
        IoEngineKind::Psync
    }

    fn submit(&self, op: Op) {
        self.0.give(op);
    }
}

fn transfer(op: Op) {
    let mut transfer = Transfer::new(op);
    let result = loop {
        if let Some(result) = transfer.advance(call(&transfer)) {
            break result;
        }
    };
    transfer.end(result);
}

/// One system call of a transfer.
fn call(transfer: &Transfer) -> io::Result<usize> {
    let (pieces, offset) = (transfer.pieces(), transfer.offset());
    let file = transfer.op.file.as_raw_fd();
    let (first, count) = (pieces.as_ptr(), pieces.len() as i32);
    let moved = match transfer.op.action {
        Action::Sync => {
            return rustix::fs::fdatasync(&transfer.op.file)
                .map(|()| 0)
                .map_err(Into::into);
        }
        #[expect(unsafe_code, reason = "reading into pages")]
        // SAFETY: the pieces lie in memory that whoever submitted the read lets nobody else touch until its end.
        Action::Read => unsafe { libc::preadv(file, first, count, offset as i64) },
        #[expect(unsafe_code, reason = "writing pages")]
        // SAFETY: the pieces lie in memory that whoever submitted the write keeps as it is until its end.
        Action::Write => unsafe { libc::pwritev(file, first, count, offset as i64) },
    };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}
