//! A forked process that holds memory, as an engine on the CPU does.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::stage::Stage;
use crate::copy::{CopyEngine, CopyThreads, HostCopyEngine};
use crate::layout::{BlockLayout, LayerLayout};
use crate::process::PeerProcess;

/// A forked child; it does nothing but hold what was mapped when it was forked.
pub(super) struct Holder {
    pub(super) process: Arc<PeerProcess>,
    pid: Pid,
    memory: Vec<u8>,
    view: File,
}

impl Holder {
    /// A child with `bytes` bytes of zeros.
    pub(super) fn new(bytes: usize) -> Self {
        Self::with(vec![0; bytes], || {})
    }

    /// A child that holds `memory`; it does `first` first, which may only make system calls.
    pub(super) fn with(memory: Vec<u8>, first: fn()) -> Self {
        #[expect(unsafe_code, reason = "std has no fork")]
        // SAFETY: the child makes system calls only, which are safe after the fork of a process with threads.
        let forked = unsafe { libc::fork() };
        if forked == 0 {
            first();
            loop {
                #[expect(unsafe_code, reason = "std has no pause")]
                // SAFETY: takes nothing and touches no memory.
                unsafe {
                    // The child ends with the thread that made it.
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    libc::pause();
                }
            }
        }
        let pid = Pid::from_raw(forked).expect("a child");
        let process = Arc::new(PeerProcess::open(forked.cast_unsigned()).unwrap());
        let view = OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{forked}/mem"))
            .unwrap();
        Self {
            process,
            pid,
            memory,
            view,
        }
    }

    /// Kills the child; its end is waited for.
    pub(super) fn kill(&self) {
        kill_process(self.pid, Signal::KILL).unwrap();
        let mut ended = [rustix::event::PollFd::new(
            &self.process,
            rustix::event::PollFlags::IN,
        )];
        rustix::event::poll(&mut ended, None).unwrap();
    }

    /// The host engine, with `threads` copy threads.
    pub(super) fn host_engine(&self, layout: BlockLayout, threads: usize) -> HostCopyEngine {
        HostCopyEngine::new(
            Arc::clone(&self.process),
            layout,
            CopyThreads::start(threads).unwrap(),
        )
    }
}

impl Stage for Holder {
    fn base(&self) -> u64 {
        self.memory.as_ptr().addr() as u64
    }

    fn peek(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.memory.len()];
        self.view.read_exact_at(&mut bytes, self.base()).unwrap();
        bytes
    }

    fn poke(&self, bytes: &[u8]) {
        assert!(bytes.len() <= self.memory.len());
        self.view.write_all_at(bytes, self.base()).unwrap();
    }

    fn engine(&self, num_blocks: u32, layers: Vec<LayerLayout>) -> Box<dyn CopyEngine> {
        Box::new(self.host_engine(BlockLayout::new(num_blocks, &layers).unwrap(), 2))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = kill_process(self.pid, Signal::KILL);
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }
}
