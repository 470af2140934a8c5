//! A process of the same program that is killed, and what it had said until then.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub(crate) type Hash = [u8; 32];

/// How long anything here may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// By verb, what was said of blocks; the last of it may have been cut short by the kill.
#[derive(Default)]
pub(crate) struct Heard(HashMap<String, HashSet<String>>);

impl Heard {
    fn add(&mut self, line: &str) {
        if let Some((verb, block)) = line.split_once(' ') {
            self.0
                .entry(verb.to_owned())
                .or_default()
                .insert(block.to_owned());
        }
    }

    fn count(&self, verb: &str) -> usize {
        self.0.get(verb).map_or(0, HashSet::len)
    }

    /// The blocks of a verb that are whole.
    pub(crate) fn take<T: std::hash::Hash + Eq>(
        &mut self,
        verb: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> HashSet<T> {
        let blocks = self.0.remove(verb).unwrap_or_default();
        blocks.iter().filter_map(|block| parse(block)).collect()
    }
}

/// The process that is killed.
pub(crate) struct Daemon {
    process: Child,
    heard: Arc<Mutex<Heard>>,
    listener: JoinHandle<()>,
}

impl Daemon {
    /// Starts this program with `daemon`, a directory and a number of bytes.
    pub(crate) fn start(dir: &Path, bytes: u64) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .arg("daemon")
            .arg(dir)
            .arg(bytes.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let heard = Arc::new(Mutex::new(Heard::default()));
        let listener = thread::spawn({
            let heard = Arc::clone(&heard);
            move || {
                output
                    .lines()
                    .for_each(|line| heard.lock().unwrap().add(&line.unwrap()))
            }
        });
        Self {
            process,
            heard,
            listener,
        }
    }

    /// Waits until it has said a verb of so many blocks.
    pub(crate) fn wait_for(&mut self, blocks: usize, verb: &str) {
        let deadline = Instant::now() + LIMIT;
        while self.heard.lock().unwrap().count(verb) < blocks {
            assert!(Instant::now() < deadline, "the daemon says {verb:?} no more");
            assert!(self.process.try_wait().unwrap().is_none(), "the daemon has ended");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Kills it; what it had said.
    pub(crate) fn kill(mut self) -> Heard {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.listener.join().unwrap();
        Arc::into_inner(self.heard).unwrap().into_inner().unwrap()
    }
}

/// Says a verb of a block, in the process that is killed.
pub(crate) fn say(verb: &str, block: &str) {
    writeln!(std::io::stdout().lock(), "{verb} {block}").unwrap();
}

pub(crate) fn digits_of(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn hash_of(digits: &str) -> Option<Hash> {
    let bytes = digits.as_bytes().chunks_exact(2);
    let bytes = bytes.map(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
    bytes.collect::<Option<Vec<u8>>>()?.try_into().ok()
}
