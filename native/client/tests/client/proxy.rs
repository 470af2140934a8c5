//! Stands between client and daemon, and breaks what the daemon says at a byte that the test picks.
//!
//! It runs in the process of the fake daemon, so that the socket's peer is the daemon's process all the same.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

/// What happens at the byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection ends before it.
    Cut,
    /// It is another one.
    Flip,
}

#[derive(Default)]
struct Plan {
    /// Bytes from the daemon since the plan was made.
    passed: usize,
    fault: Option<(usize, Fault)>,
}

/// A socket that leads to another one.
pub(crate) struct Proxy {
    plan: Arc<Mutex<Plan>>,
}

impl Proxy {
    /// Listens on `socket` and passes everything on to `behind`; its threads live as long as the process.
    pub(crate) fn start(socket: &Path, behind: PathBuf) -> Self {
        let plan = Arc::new(Mutex::new(Plan::default()));
        let listener = UnixListener::bind(socket).unwrap();
        let shared = Arc::clone(&plan);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, daemon) = (client.unwrap(), UnixStream::connect(&behind).unwrap());
                let (client_end, daemon_end) = (client.try_clone().unwrap(), daemon.try_clone().unwrap());
                thread::spawn(move || pass(client, daemon, |_| true));
                let plan = Arc::clone(&shared);
                thread::spawn(move || pass(daemon_end, client_end, |bytes| plan.lock().apply(bytes)));
            }
        });
        Self { plan }
    }

    /// Breaks the byte that is `at` bytes from now, once.
    pub(crate) fn break_at(&self, at: usize, fault: Fault) {
        *self.plan.lock() = Plan {
            passed: 0,
            fault: Some((at, fault)),
        };
    }

    /// Counts from now on, and breaks nothing.
    pub(crate) fn count(&self) {
        *self.plan.lock() = Plan::default();
    }

    /// Bytes from the daemon since the last of these calls.
    pub(crate) fn passed(&self) -> usize {
        self.plan.lock().passed
    }
}

impl Plan {
    /// Breaks these bytes if it is their turn; false when the connection ends, behind what is left of them.
    fn apply(&mut self, bytes: &mut Vec<u8>) -> bool {
        let begin = self.passed;
        self.passed += bytes.len();
        let Some((at, fault)) = self.fault.filter(|(at, _)| (begin..self.passed).contains(at)) else {
            return true;
        };
        self.fault = None;
        match fault {
            Fault::Cut => bytes.truncate(at - begin),
            Fault::Flip => bytes[at - begin] ^= 0xFF,
        }
        fault == Fault::Flip
    }
}

fn pass(mut from: UnixStream, mut to: UnixStream, mut apply: impl FnMut(&mut Vec<u8>) -> bool) {
    let mut buffer = [0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let mut bytes = buffer[..length].to_vec();
        let goes_on = apply(&mut bytes);
        if to.write_all(&bytes).is_err() || !goes_on {
            break;
        }
    }
    for end in [from, to] {
        drop(end.shutdown(Shutdown::Both));
    }
}
