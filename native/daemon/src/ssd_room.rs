//! Whether the file systems of the ssd tier can give what its paths may take.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use parking_lot::Mutex;
use pegaflow_core::ssd::{PathState, SsdPathSnapshot};
use rustix::fs::statvfs;

/// What was seen when a path last came, went or got another capacity: a look at each status could hang with its disk.
#[derive(Debug, Default)]
pub(crate) struct SsdRoom(Mutex<Vec<String>>);

/// One file system that has paths.
#[derive(Debug, Default)]
struct FileSystem {
    dirs: Vec<String>,
    /// Bytes that its paths may take.
    capacity: u128,
    /// Bytes that they take, and those that nobody does.
    available: u128,
}

impl SsdRoom {
    /// Looks at the file systems of these paths, and warns of those that are too small.
    pub(crate) fn look(&self, paths: &[SsdPathSnapshot]) {
        let shortages = shortages(paths);
        let before = std::mem::replace(&mut *self.0.lock(), shortages.clone());
        for sentence in shortages.iter().filter(|sentence| !before.contains(sentence)) {
            tracing::warn!("{sentence}");
        }
    }

    /// A sentence on each file system that is too small.
    pub(crate) fn shortages(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

/// A sentence on each file system of which the paths may take more than it has beside what others use.
fn shortages(paths: &[SsdPathSnapshot]) -> Vec<String> {
    let mut file_systems: BTreeMap<u64, FileSystem> = BTreeMap::new();
    // One that is offline has a reason of its own, and its disk may not answer.
    let is_offline = |path: &&SsdPathSnapshot| matches!(path.state, PathState::Offline { .. });
    for path in paths.iter().filter(|path| !is_offline(path)) {
        let (Ok(metadata), Ok(file_system)) = (fs::metadata(&path.dir), statvfs(&path.dir)) else {
            continue;
        };
        let free = u128::from(file_system.f_bavail) * u128::from(file_system.f_frsize);
        let entry = file_systems.entry(metadata.dev()).or_insert_with(|| FileSystem {
            available: free,
            ..FileSystem::default()
        });
        entry.dirs.push(format!("{:?}", path.dir));
        entry.capacity += u128::from(path.capacity);
        entry.available += u128::from(path.used);
    }
    let too_small = file_systems.values().filter(|one| one.capacity > one.available);
    too_small.map(FileSystem::shortage).collect()
}

impl FileSystem {
    fn shortage(&self) -> String {
        let (capacity, available) = (size(self.capacity), size(self.available));
        let dirs = self.dirs.join(" and ");
        format!(
            "{dirs} may take {capacity} for the ssd tier, and the file system has {available} beside what others use: resize, or make room"
        )
    }
}

/// Bytes in the largest unit that they reach, for people.
fn size(bytes: u128) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (bytes.max(1).ilog2() / 10).min(UNITS.len() as u32 - 1);
    let unit = UNITS.get(power as usize).unwrap_or(&"B");
    format!("{:.1} {unit}", bytes as f64 / 1024_f64.powi(power.cast_signed()))
}

#[cfg(test)]
mod tests;
