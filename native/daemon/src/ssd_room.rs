//! Whether the file systems of the ssd tier can give what its paths may take.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use pegaflow_core::ssd::{PathState, SsdPathSnapshot};
use rustix::fs::statvfs;

/// What was seen when a path last came, came back, went or got another capacity: a look at each status could hang with its disk.
#[derive(Debug, Default)]
pub(crate) struct SsdRoom(Mutex<Seen>);

/// A file system's number, and the bytes that nobody has taken of it.
type Place = (u64, u64);

#[derive(Debug, Default)]
struct Seen {
    /// Paths that could be looked at.
    dirs: Vec<PathBuf>,
    shortages: Vec<Shortage>,
}

/// Paths that may take more than their file system has.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shortage {
    dirs: Vec<PathBuf>,
    sentence: String,
}

/// One file system that has paths.
#[derive(Debug, Default)]
struct FileSystem {
    dirs: Vec<PathBuf>,
    /// Bytes that its paths may take.
    capacity: u128,
    /// Bytes that they take, and those that nobody does.
    available: u128,
}

impl SsdRoom {
    /// Looks at the file systems of these paths, and warns of those that are too small.
    pub(crate) fn look(&self, paths: &[SsdPathSnapshot]) {
        self.look_with(paths, place_of);
    }

    fn look_with(&self, paths: &[SsdPathSnapshot], place_of: impl Fn(&Path) -> Option<Place>) {
        let shortages = shortages(paths, place_of);
        let dirs = online(paths).map(|path| path.dir.clone()).collect();
        let seen = Seen {
            dirs,
            shortages: shortages.clone(),
        };
        let before = std::mem::replace(&mut *self.0.lock(), seen).shortages;
        for Shortage { sentence, .. } in shortages.iter().filter(|shortage| !before.contains(shortage)) {
            tracing::warn!("{sentence}");
        }
    }

    /// Whether a path is online that was not when it was last looked: it has come back.
    pub(crate) fn is_outdated(&self, paths: &[SsdPathSnapshot]) -> bool {
        let mut seen = self.0.lock();
        // One that is offline is looked at anew when it comes back.
        seen.dirs.retain(|dir| online(paths).any(|path| path.dir == *dir));
        online(paths).any(|path| !seen.dirs.contains(&path.dir))
    }

    /// A sentence on each file system that is too small.
    pub(crate) fn shortages(&self) -> Vec<String> {
        let seen = self.0.lock();
        let sentences = seen.shortages.iter().map(|shortage| shortage.sentence.clone());
        sentences.collect()
    }

    /// Those sentences that are about this path.
    pub(crate) fn shortages_of(&self, dir: &Path) -> Vec<String> {
        let seen = self.0.lock();
        let its = seen
            .shortages
            .iter()
            .filter(|shortage| shortage.dirs.iter().any(|of| of == dir));
        its.map(|shortage| shortage.sentence.clone()).collect()
    }
}

/// Paths that can be looked at: one that is offline has a reason of its own, and its disk may not answer.
fn online(paths: &[SsdPathSnapshot]) -> impl Iterator<Item = &SsdPathSnapshot> {
    let is_offline = |path: &SsdPathSnapshot| matches!(path.state, PathState::Offline { .. });
    paths.iter().filter(move |path| !is_offline(path))
}

/// Where a directory is; None of one that cannot be looked at.
fn place_of(dir: &Path) -> Option<Place> {
    let file_system = statvfs(dir).ok()?;
    let free = file_system.f_bavail.saturating_mul(file_system.f_frsize);
    Some((fs::metadata(dir).ok()?.dev(), free))
}

/// Each file system of which the paths may take more than it has beside what others use.
fn shortages(paths: &[SsdPathSnapshot], place_of: impl Fn(&Path) -> Option<Place>) -> Vec<Shortage> {
    let mut file_systems: BTreeMap<u64, FileSystem> = BTreeMap::new();
    for path in online(paths) {
        let Some((number, free)) = place_of(&path.dir) else {
            continue;
        };
        let entry = file_systems.entry(number).or_insert_with(|| FileSystem {
            available: free.into(),
            ..FileSystem::default()
        });
        entry.dirs.push(path.dir.clone());
        entry.capacity += u128::from(path.capacity);
        entry.available += u128::from(path.used);
    }
    let too_small = file_systems
        .into_values()
        .filter(|one| one.capacity > one.available);
    too_small.map(FileSystem::shortage).collect()
}

impl FileSystem {
    fn shortage(self) -> Shortage {
        let (capacity, available) = (size(self.capacity), size(self.available));
        let quoted: Vec<_> = self.dirs.iter().map(|dir| format!("{dir:?}")).collect();
        let names = quoted.join(" and ");
        let sentence = format!(
            "{names} may take {capacity} for the ssd tier, and the file system has {available} beside what others use: resize, or make room"
        );
        Shortage {
            dirs: self.dirs,
            sentence,
        }
    }
}

/// Bytes in the largest unit that they reach, for people.
pub(crate) fn size(bytes: u128) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (bytes.max(1).ilog2() / 10).min(UNITS.len() as u32 - 1);
    let unit = UNITS.get(power as usize).unwrap_or(&"B");
    format!("{:.1} {unit}", bytes as f64 / 1024_f64.powi(power.cast_signed()))
}

#[cfg(test)]
mod tests;
