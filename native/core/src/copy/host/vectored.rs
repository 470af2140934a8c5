//! The system calls, with what the kernel leaves to the caller: limits, and transfers that stop in the middle.

use std::io;

use super::plan::{Direction, Piece};
use crate::error::Result;
use crate::process::{PeerProcess, memory_error};

/// Pieces in one call; the kernel allows 1,024 (`IOV_MAX`).
const PIECES_PER_CALL: usize = 64;

/// Moves all pieces, in order.
pub(super) fn transfer(direction: Direction, process: &PeerProcess, pieces: &[Piece]) -> Result<()> {
    let pid = process.identity().pid;
    // Bytes of the first piece that a call has moved already.
    let mut moved = 0;
    let mut rest = pieces;
    while let Some(first) = rest.first() {
        process.check_alive()?;
        let batch = rest.get(..PIECES_PER_CALL).unwrap_or(rest);
        match call(direction, pid, batch, moved) {
            Ok(bytes) if bytes > 0 => (rest, moved) = advance(rest, moved + bytes),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => {
                let error = result
                    .err()
                    .unwrap_or_else(|| io::Error::from_raw_os_error(libc::EFAULT));
                let verb = match direction {
                    Direction::Read => "read",
                    Direction::Write => "write",
                };
                return Err(memory_error(pid, verb, first.remote + moved, error));
            }
        }
    }
    Ok(())
}

/// The pieces that are not wholly moved after `moved` bytes, and the bytes moved of the first of them.
fn advance(mut rest: &[Piece], mut moved: u64) -> (&[Piece], u64) {
    while let Some((first, others)) = rest.split_first()
        && moved >= first.length
    {
        moved -= first.length;
        rest = others;
    }
    (rest, moved)
}

/// One system call for at most [`PIECES_PER_CALL`] pieces, from byte `skip` of the first on; the bytes that it moved.
fn call(direction: Direction, pid: u32, pieces: &[Piece], skip: u64) -> io::Result<u64> {
    let mut local = Vectors::new();
    let mut remote = Vectors::new();
    let mut skip = skip as usize;
    for piece in pieces {
        let length = piece.length as usize - skip;
        local.push(piece.local.wrapping_add(skip) as usize, length);
        remote.push(piece.remote as usize + skip, length);
        skip = 0;
    }
    let system_call = match direction {
        Direction::Read => libc::process_vm_readv,
        Direction::Write => libc::process_vm_writev,
    };
    #[expect(unsafe_code, reason = "rustix and std have no process_vm calls")]
    // SAFETY: the local vectors lie in pages lent to the call that made the plan, writable for a read, which waits for all
    // parts; the kernel checks the remote ones. Both arrays live through the call and hold as many entries as it is told.
    let bytes = unsafe {
        system_call(
            pid.cast_signed(),
            local.as_ptr(),
            local.count(),
            remote.as_ptr(),
            remote.count(),
            0,
        )
    };
    u64::try_from(bytes).map_err(|_| io::Error::last_os_error())
}

/// An array for the kernel; neighbours in memory share an entry.
struct Vectors {
    entries: [libc::iovec; PIECES_PER_CALL],
    used: usize,
    end: usize,
}

impl Vectors {
    fn new() -> Self {
        let empty = libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        };
        Self {
            entries: [empty; PIECES_PER_CALL],
            used: 0,
            end: 0,
        }
    }

    fn push(&mut self, address: usize, length: usize) {
        let follows = self.used > 0 && self.end == address;
        self.used += usize::from(!follows);
        self.end = address + length;
        if let Some(entry) = self.entries.get_mut(self.used - 1) {
            if follows {
                entry.iov_len += length;
            } else {
                *entry = libc::iovec {
                    iov_base: address as *mut libc::c_void,
                    iov_len: length,
                };
            }
        }
    }

    fn as_ptr(&self) -> *const libc::iovec {
        self.entries.as_ptr()
    }

    fn count(&self) -> libc::c_ulong {
        self.used as libc::c_ulong
    }
}
