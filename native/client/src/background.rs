//! The one thread behind a client, and the rule that a forked child may not use it.

use std::fmt;
use std::process;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;

use crate::error::{ClientError, ClientErrorKind, Result};

/// A thread that runs a client's tasks until it is closed.
pub(crate) struct Background {
    owner: u32,
    handle: Handle,
    closing: Arc<Notify>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Background {
    /// Starts a thread that runs what `main` makes; it is given the signal to end, and ends the thread by returning.
    pub(crate) fn start<F>(name: &str, main: impl FnOnce(Arc<Notify>) -> F + Send + 'static) -> Result<Self>
    where
        F: Future<Output = ()>,
    {
        let failed = |source| {
            ClientError::new(
                ClientErrorKind::Config,
                format!("start the client's thread: {source}"),
            )
        };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let handle = runtime.handle().clone();
        let closing = Arc::new(Notify::new());
        let signal = Arc::clone(&closing);
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || runtime.block_on(main(signal)))
            .map_err(failed)?;
        Ok(Self {
            owner: process::id(),
            handle,
            closing,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Refuses in a forked child: the thread, and with it every answer, stayed in the parent.
    pub(crate) fn check_process(&self) -> Result<()> {
        let pid = process::id();
        if pid == self.owner {
            return Ok(());
        }
        Err(ClientError::new(
            ClientErrorKind::Forked,
            format!(
                "this client belongs to process {} and cannot be used in its forked child {pid}: make a new client after the fork",
                self.owner
            ),
        ))
    }

    /// Runs a task on the thread.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(task);
    }

    /// Tells the thread to end, and waits for it.
    pub(crate) fn close(&self) {
        if let Some(thread) = self.thread.lock().take() {
            self.closing.notify_one();
            // A thread that panicked has nothing left to end.
            drop(thread.join());
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if self.check_process().is_ok() {
            self.close();
        }
    }
}

impl fmt::Debug for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Background")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}
