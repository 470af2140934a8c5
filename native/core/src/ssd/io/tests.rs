//! One suite for all engines.

use std::fs::{File, OpenOptions};
use std::sync::mpsc;

use rand::RngCore;
use tempfile::TempDir;

use super::fault::{Disk, FaultEngine};
use super::*;

const UNIT: usize = 4096;

fn engines() -> Vec<Arc<dyn IoEngine>> {
    vec![
        PsyncEngine::start().unwrap(),
        UringEngine::start().unwrap(),
        FaultEngine::start(Disk::default()),
    ]
}

fn file(dir: &TempDir, bytes: u64) -> Arc<File> {
    let path = dir.path().join(format!("{:016x}", rand::random::<u64>()));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .unwrap();
    file.set_len(bytes).unwrap();
    Arc::new(file)
}

fn random(len: usize) -> Buffer {
    let mut bytes = vec![0; len];
    rand::rng().fill_bytes(&mut bytes);
    Buffer::of(&bytes)
}

/// Memory in pieces of whole units, in another order than that of the addresses.
fn pieces(buffer: &mut Buffer, piece: usize) -> Vec<PagePtr> {
    let page = buffer.page();
    let mut pieces: Vec<PagePtr> = (0..page.len() / piece)
        .map(|index| page.part(index * piece, piece))
        .collect();
    pieces.reverse();
    pieces
}

#[test]
fn what_was_written_is_read() {
    let dir = TempDir::new().unwrap();
    for engine in engines() {
        let file = file(&dir, 1 << 20);
        let mut written = random(256 << 10);
        let memory = vec![written.page()];
        wait(&*engine, Action::Write, &file, 8192, memory).unwrap();
        wait(&*engine, Action::Sync, &file, 0, Vec::new()).unwrap();
        let mut read = Buffer::new(256 << 10);
        wait(&*engine, Action::Read, &file, 8192, vec![read.page()]).unwrap();
        assert!(read.bytes() == written.bytes(), "{engine:?}");
    }
}

#[test]
fn more_pieces_than_one_call_takes_are_moved_in_their_order() {
    let dir = TempDir::new().unwrap();
    for engine in engines() {
        let len = 2500 * UNIT;
        let file = file(&dir, len as u64);
        let mut written = random(len);
        let memory = pieces(&mut written, UNIT);
        wait(&*engine, Action::Write, &file, 0, memory).unwrap();
        let mut read = Buffer::new(len);
        let memory = pieces(&mut read, UNIT);
        wait(&*engine, Action::Read, &file, 0, memory).unwrap();
        assert!(read.bytes() == written.bytes(), "{engine:?}");
        let mut plain = Buffer::new(len);
        wait(&*engine, Action::Read, &file, 0, vec![plain.page()]).unwrap();
        let turned: Vec<u8> = written.bytes().rchunks(UNIT).flatten().copied().collect();
        assert!(plain.bytes() == turned, "{engine:?}");
    }
}

#[test]
fn transfers_at_one_time_do_not_mix() {
    let dir = TempDir::new().unwrap();
    for engine in engines() {
        let file = file(&dir, 300 * UNIT as u64);
        let mut written: Vec<Buffer> = (0..300).map(|_| random(UNIT)).collect();
        for (action, round) in [(Action::Write, 0), (Action::Read, 1)] {
            let mut read: Vec<Buffer> = (0..300).map(|_| Buffer::new(UNIT)).collect();
            let (sender, receiver) = mpsc::channel();
            let buffers = if round == 0 { &mut written } else { &mut read };
            for (index, buffer) in buffers.iter_mut().enumerate() {
                let sender = sender.clone();
                engine.submit(Op {
                    action,
                    file: Arc::clone(&file),
                    offset: (index * UNIT) as u64,
                    memory: vec![buffer.page()],
                    done: Box::new(move |result| sender.send(result).unwrap()),
                });
            }
            for _ in 0..300 {
                receiver.recv().unwrap().unwrap();
            }
            if round == 1 {
                let is_same = |(read, written): (&Buffer, &Buffer)| read.bytes() == written.bytes();
                assert!(read.iter().zip(&written).all(is_same), "{engine:?}");
            }
        }
    }
}

#[test]
fn a_read_behind_the_end_of_the_file_fails() {
    let dir = TempDir::new().unwrap();
    for engine in engines() {
        let file = file(&dir, 3 * UNIT as u64);
        for (offset, len) in [(2, 2), (3, 1), (100, 1)] {
            let mut buffer = Buffer::new(len * UNIT);
            let memory = vec![buffer.page()];
            let read = wait(&*engine, Action::Read, &file, offset * UNIT as u64, memory);
            assert_eq!(
                read.unwrap_err().kind(),
                io::ErrorKind::UnexpectedEof,
                "{engine:?}"
            );
        }
    }
}

#[test]
fn what_the_system_refuses_is_told() {
    let dir = TempDir::new().unwrap();
    for engine in engines() {
        let path = dir.path().join("read-only");
        std::fs::write(&path, [0; UNIT]).unwrap();
        let file = Arc::new(File::open(&path).unwrap());
        let mut buffer = random(UNIT);
        let memory = vec![buffer.page()];
        let error = wait(&*engine, Action::Write, &file, 0, memory).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF), "{engine:?}");
    }
}

#[test]
fn what_was_submitted_ends_before_the_engine_does() {
    let dir = TempDir::new().unwrap();
    for engine in engines() {
        let file = file(&dir, 64 * UNIT as u64);
        let mut buffers: Vec<Buffer> = (0..64).map(|_| random(UNIT)).collect();
        let (sender, receiver) = mpsc::channel();
        for (index, buffer) in buffers.iter_mut().enumerate() {
            let sender = sender.clone();
            engine.submit(Op {
                action: Action::Write,
                file: Arc::clone(&file),
                offset: (index * UNIT) as u64,
                memory: vec![buffer.page()],
                done: Box::new(move |result| sender.send(result).unwrap()),
            });
        }
        drop(sender);
        drop(engine);
        assert_eq!(receiver.try_iter().filter(std::result::Result::is_ok).count(), 64);
    }
}
