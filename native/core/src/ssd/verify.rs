//! Reading everything that a path has, to find what is damaged before somebody wants it.

use std::ops::ControlFlow;
use std::path::Path as FilePath;
use std::sync::mpsc;

use super::Ssd;
use super::block::{Priority, VerifyProgress};
use super::io::Buffer;
use super::patience::LOOK_INTERVAL;
use crate::error::{ErrorKind, Result};
use crate::sync::Arc;

/// Blocks that are read at one time.
const AT_ONCE: usize = 4;

impl Ssd {
    /// Reads all blocks of a path that are there now, as `Warm`, and drops those that are not what was saved.
    ///
    /// `progress` is called after each block and while the disk answers nothing, and ends the verification by `Break`; the last progress is returned.
    ///
    /// # Errors
    /// `NotFound` for a directory that the tier has not, `Io` when the path goes offline or its disk answers nothing.
    pub fn verify(
        &self,
        dir: &FilePath,
        progress: &mut dyn FnMut(VerifyProgress) -> ControlFlow<()>,
    ) -> Result<VerifyProgress> {
        let path = self.path(dir)?;
        let handles: Vec<_> = {
            let index = self.tier.index.lock();
            let is_its = |handle: &_| {
                let segment = index.found(*handle).map(|found| found.segment);
                segment.is_some_and(|segment| Arc::ptr_eq(&segment.path, &path))
            };
            index.handles().filter(is_its).collect()
        };
        let mut verified = VerifyProgress {
            blocks: handles.len() as u64,
            ..VerifyProgress::default()
        };
        let mut handles = handles.into_iter();
        let (ended, ends) = mpsc::channel();
        let mut under_way = 0;
        loop {
            while under_way < AT_ONCE
                && let Some(handle) = handles.next()
            {
                let Some(extent) = self.tier.find_handle(handle) else {
                    verified.checked += 1;
                    verified.gone += 1;
                    continue;
                };
                let mut buffer = Buffer::new(extent.space.padded_bytes as usize);
                let pages = extent.space.pages_in(buffer.page());
                let (ended, bytes) = (ended.clone(), extent.bytes());
                let done = Box::new(move |result: Result<_>| {
                    drop(buffer);
                    drop(ended.send(result.map(|_| bytes)));
                });
                self.begin_read(extent, pages, Priority::Warm, done).detach();
                under_way += 1;
            }
            if under_way == 0 {
                break;
            }
            if let Ok(end) = ends.recv_timeout(LOOK_INTERVAL) {
                under_way -= 1;
                verified.checked += 1;
                match end {
                    Ok(bytes) => verified.bytes += bytes,
                    Err(error) if error.kind() == ErrorKind::Corrupt || path.is_usable() => {
                        verified.corrupt += 1;
                    }
                    Err(error) => return Err(error),
                }
            } else if path.is_stalled() {
                return Err(path.offline_error());
            }
            if progress(verified).is_break() {
                break;
            }
        }
        if !path.is_usable() {
            return Err(path.offline_error());
        }
        Ok(verified)
    }
}
