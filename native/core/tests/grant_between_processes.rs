//! The fence between two real processes: an engine that revokes at random, and a daemon with two threads that are late at
//! random. A word in a file stands for the blocks; the daemon writes to it only while it has the grant.
//!
//! This program is both processes, so it has its own `main`.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::fs::{File, OpenOptions};
use std::hint::spin_loop;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};
use pegaflow_core::grant::{GrantFile, GrantPool, IssuedGrant, Revoke};
use pegaflow_core::process::PeerProcess;
use rand::Rng;

const BOOT: u64 = 77;
const ROUNDS: u64 = 2_000;
const LIMIT: Duration = Duration::from_secs(60);

fn main() {
    match std::env::args().collect::<Vec<_>>().as_slice() {
        [_, role, folder, hold] if role == "daemon" => daemon(Path::new(folder), hold == "hold"),
        _ => {
            let trials = vec![
                Trial::test("the_daemon_never_writes_to_blocks_that_are_free", || {
                    the_daemon_never_writes_to_blocks_that_are_free();
                    Ok(())
                }),
                Trial::test(
                    "a_grant_that_a_killed_daemon_took_is_free_once_its_process_has_ended",
                    || {
                        a_grant_that_a_killed_daemon_took_is_free_once_its_process_has_ended();
                        Ok(())
                    },
                ),
            ];
            libtest_mimic::run(&Arguments::from_args(), trials).exit();
        }
    }
}

struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<u64>,
    grants: Arc<GrantPool>,
    block: File,
    _folder: tempfile::TempDir,
}

impl Peer {
    /// A daemon with one grant slot; with `holds` it keeps what it has taken for ever.
    fn start(holds: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let block = open_block(folder.path());
        block.set_len(8).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "daemon",
                folder.path().to_str().unwrap(),
                if holds { "hold" } else { "copy" },
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = sender.send(line.parse().unwrap());
            }
        });
        let grants = GrantPool::open(&folder.path().join("grants"), 1, BOOT).unwrap();
        let requests = child.stdin.take().unwrap();
        Self {
            child,
            requests,
            answers,
            grants,
            block,
            _folder: folder,
        }
    }

    fn load(&mut self) -> IssuedGrant {
        let grant = self.grants.issue().unwrap().unwrap();
        writeln!(self.requests, "{}", grant.generation()).unwrap();
        grant
    }

    fn write_block(&self, word: u64) {
        self.block.write_all_at(&word.to_le_bytes(), 0).unwrap();
    }

    fn read_block(&self) -> u64 {
        let mut bytes = [0; 8];
        self.block.read_exact_at(&mut bytes, 0).unwrap();
        u64::from_le_bytes(bytes)
    }
}

fn open_block(folder: &Path) -> File {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder.join("block"))
        .unwrap()
}

fn pause(most: u32) {
    for _ in 0..rand::rng().random_range(0..=most) {
        spin_loop();
    }
}

fn the_daemon_never_writes_to_blocks_that_are_free() {
    let mut peer = Peer::start(false);
    let (mut free_at_once, mut taken, mut answered) = (0, 0, 0);
    let deadline = Instant::now() + LIMIT;
    let mut round = 0;
    while round < ROUNDS || taken == 0 || free_at_once == 0 || answered == 0 {
        round += 1;
        assert!(
            round <= ROUNDS || Instant::now() < deadline,
            "the rounds do not cover every case"
        );
        let grant = peer.load();
        let begun = Instant::now();
        if rand::rng().random_bool(0.1) {
            while peer.answers.recv_timeout(LIMIT).unwrap() != grant.generation() {}
            answered += 1;
        } else {
            // From before the daemon reads the request to after its last batch.
            pause(40_000);
            match grant.revoke().unwrap() {
                Revoke::Free => free_at_once += 1,
                Revoke::Taken => {
                    taken += 1;
                    while grant.revoke().unwrap() == Revoke::Taken {
                        assert!(begun.elapsed() < LIMIT, "the daemon does not give the grant back");
                    }
                }
            }
        }
        let mine = u64::MAX - round;
        peer.write_block(mine);
        for _ in 0..50 {
            let word = peer.read_block();
            assert_eq!(
                word, mine,
                "round {round}: load {word} wrote to a block that was free"
            );
        }
        grant.settle().unwrap();
    }
    println!("revoked while taken: {taken}, while not: {free_at_once}, answered: {answered}");
    drop(peer.requests);
    peer.child.wait().unwrap();
}

fn a_grant_that_a_killed_daemon_took_is_free_once_its_process_has_ended() {
    let mut peer = Peer::start(true);
    let process = PeerProcess::open(peer.child.id()).unwrap();
    let grant = peer.load();
    let begun = Instant::now();
    while peer.read_block() == 0 {
        assert!(begun.elapsed() < LIMIT, "the daemon does not take the grant");
    }
    assert_eq!(grant.revoke().unwrap(), Revoke::Taken);
    assert!(!process.has_ended().unwrap());
    peer.child.kill().unwrap();
    while !process.has_ended().unwrap() {
        assert!(begun.elapsed() < LIMIT, "the daemon does not end");
    }
    assert_eq!(
        grant.revoke().unwrap(),
        Revoke::Taken,
        "the word of a killed daemon stays as it was"
    );
    peer.child.wait().unwrap();
}

fn daemon(folder: &Path, holds: bool) {
    let grants = GrantFile::create(&folder.join("grants"), 1, BOOT).unwrap();
    let block = Arc::new(open_block(folder));
    println!("ready");
    let (sender, requests) = channel::<u64>();
    let requests = Arc::new(Mutex::new(requests));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (grants, block, requests) = (Arc::clone(&grants), Arc::clone(&block), Arc::clone(&requests));
            thread::spawn(move || {
                loop {
                    let request = requests.lock().unwrap().recv();
                    let Ok(generation) = request else { return };
                    if rand::rng().random_bool(0.2) {
                        pause(5_000);
                    }
                    copy_batches(&grants, &block, generation, holds);
                    println!("{generation}");
                }
            })
        })
        .collect();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        sender.send(line.parse().unwrap()).unwrap();
    }
    drop(sender);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn copy_batches(grants: &Arc<GrantFile>, block: &File, generation: u64, holds: bool) {
    for _ in 0..4 {
        let Some(_taken) = grants.take(0, generation).unwrap() else {
            return;
        };
        for _ in 0..rand::rng().random_range(1..20) {
            block.write_all_at(&generation.to_le_bytes(), 0).unwrap();
            pause(2_000);
        }
        if holds {
            loop {
                thread::park();
            }
        }
    }
}
