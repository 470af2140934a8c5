//! Round trips of random bytes on each copy path, by which a daemon that starts knows that it can copy at all.

use std::fs::File;
use std::io::Read;
use std::process;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::copy::{CopyEngine, CopyThreads, HostCopyEngine, LoadPage, SavePage};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{BlockLayout, LayerLayout, Segment};
use crate::process::PeerProcess;

#[cfg(test)]
mod tests;

/// Bytes that go there and back.
pub(crate) const BYTES: usize = 1 << 20;
/// Blocks that they are, in the test of host memory.
const BLOCKS: usize = 4;

/// What came of one round trip.
#[derive(Debug, Clone, PartialEq)]
pub struct SelfTest {
    /// Which way the bytes went, as `host`.
    pub copy_path: String,
    /// How many went there and back.
    pub bytes: u64,
    /// How long that took.
    pub duration: Duration,
    /// Why they did not come back as they were; None where they did.
    pub error: Option<String>,
}

impl SelfTest {
    /// Has fresh random bytes go there and back by `round_trip`, and compares them.
    pub(crate) fn of(
        copy_path: impl Into<String>,
        round_trip: impl FnOnce(&[u8]) -> Result<Vec<u8>>,
    ) -> Self {
        let began = Instant::now();
        let compared = random_bytes().and_then(|sent| {
            let returned = round_trip(&sent)?;
            let is_same = returned == sent;
            is_same.then_some(()).ok_or_else(|| {
                Error::new(
                    ErrorKind::Io,
                    "other bytes came back than were sent: the machine's memory or its link is faulty",
                )
            })
        });
        Self {
            copy_path: copy_path.into(),
            bytes: BYTES as u64,
            duration: began.elapsed(),
            error: compared.err().map(|error| error.message().to_owned()),
        }
    }

    /// Host memory, by the engine that copies from and to the memory of processes; the process is this one.
    pub fn host(threads: &Arc<CopyThreads>) -> Self {
        Self::of("host", |sent| host_round_trip(sent, threads))
    }

    /// The sentence for operators; None where all is well.
    pub fn problem(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        Some(format!(
            "the self-test of {} copies failed: {error}",
            self.copy_path
        ))
    }
}

/// Each block in one piece; what one engine wrote, it reads again.
fn host_round_trip(sent: &[u8], threads: &Arc<CopyThreads>) -> Result<Vec<u8>> {
    let block_bytes = sent.len() / BLOCKS;
    let mut memory = vec![0_u8; sent.len()];
    let layer = LayerLayout {
        name: "self-test".to_owned(),
        base_address: memory.as_mut_ptr().expose_provenance() as u64,
        block_stride: block_bytes as u64,
        segments: vec![Segment {
            offset: 0,
            length: block_bytes as u64,
        }],
    };
    let layout = BlockLayout::new(BLOCKS as u32, &[layer])?;
    let process = Arc::new(PeerProcess::open(process::id())?);
    let engine = HostCopyEngine::new(process, layout, Arc::clone(threads));
    let loads: Vec<_> = (0..)
        .zip(sent.chunks_exact(block_bytes))
        .map(|(block, page)| LoadPage::from_bytes(block, page))
        .collect();
    engine.write(&loads)?;
    let mut returned = vec![0_u8; sent.len()];
    let saves: Vec<_> = (0..)
        .zip(returned.chunks_exact_mut(block_bytes))
        .map(|(block, page)| SavePage::from_bytes(block, page))
        .collect();
    engine.read(&saves)?;
    drop(saves);
    Ok(returned)
}

fn random_bytes() -> Result<Vec<u8>> {
    let mut bytes = vec![0_u8; BYTES];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| Error::io("read /dev/urandom", error))?;
    Ok(bytes)
}
