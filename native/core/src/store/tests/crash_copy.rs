//! What a process that ended at this moment would have left, as the next one finds it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{SeekFrom, seek};
use xxhash_rust::xxh3::xxh3_64;

const HEADER_BYTES: usize = 4096;
const OWNER_PID_AT: usize = 24;
const OWNER_START_AT: usize = 32;
const CHECKSUM_AT: usize = 4088;

/// The files of a pool that is open. Their names are given to copies, and are free otherwise.
#[derive(Debug)]
pub(super) struct OpenFiles {
    dir: PathBuf,
    files: Vec<(OsString, File)>,
}

impl OpenFiles {
    /// Those of the pool in this directory, which has no other files.
    pub(super) fn unlink(dir: &Path) -> Self {
        let files = dir.read_dir().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .open(entry.path())
                .unwrap();
            fs::remove_file(entry.path()).unwrap();
            (entry.file_name(), file)
        });
        Self {
            dir: dir.to_owned(),
            files: files.collect(),
        }
    }

    /// Puts copies of the files, as they are now, where the next process looks for them.
    pub(super) fn copy(&self) {
        for (name, file) in &self.files {
            let copy = File::create_new(self.dir.join(name)).unwrap();
            copy_memory(file, &copy).unwrap();
            if Path::new(name)
                .extension()
                .is_some_and(|suffix| suffix == "slots")
            {
                let mut header = [0; HEADER_BYTES];
                file.read_exact_at(&mut header, 0).unwrap();
                copy.write_all_at(&ownerless(header), 0).unwrap();
            }
        }
    }
}

/// Copies what the file has memory for, and leaves the holes.
fn copy_memory(file: &File, copy: &File) -> io::Result<()> {
    let end = file.metadata()?.len();
    copy.set_len(end)?;
    let mut at = 0;
    while let Ok(data) = seek(file, SeekFrom::Data(at)) {
        at = seek(file, SeekFrom::Hole(data))?;
        let mut bytes = vec![0; (at - data) as usize];
        file.read_exact_at(&mut bytes, data)?;
        copy.write_all_at(&bytes, data)?;
    }
    Ok(())
}

/// The header of a process that has ended: this one lives on.
fn ownerless(mut header: [u8; HEADER_BYTES]) -> [u8; HEADER_BYTES] {
    header[OWNER_PID_AT..OWNER_PID_AT + 4].fill(0);
    header[OWNER_START_AT..OWNER_START_AT + 8].fill(0);
    let checksum = xxh3_64(&header[..CHECKSUM_AT]);
    header[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
    header
}
