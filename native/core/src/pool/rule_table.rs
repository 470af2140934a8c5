//! What operators set for namespaces, in the last entries of the space table. format.md has it byte by byte.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, fallocate};
use xxhash_rust::xxh3::xxh3_64;

use super::header::{u32_at, u64_at};
use super::region::Region;
use super::space_table::{ENTRY_BYTES, MAX_RULES, RULES_AT};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Arc, Mutex, Ordering, crash_point};

const RULE: u32 = 2;
const IS_PINNED: u32 = 1;
const HAS_QUOTA: u32 = 2;

/// What is set for a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) namespace: [u8; 32],
    /// Others' need evicts none of its blocks.
    pub(crate) is_pinned: bool,
    /// Bytes of memory that it takes at most.
    pub(crate) quota: Option<u64>,
}

impl Rule {
    /// Whether it says nothing.
    fn is_empty(&self) -> bool {
        !self.is_pinned && self.quota.is_none()
    }
}

#[derive(Debug, Default)]
struct Rules {
    /// Each rule with the number of its entry.
    by_namespace: HashMap<[u8; 32], (u32, Rule)>,
    /// Of the rule that was written last.
    generation: u64,
}

/// The mapped entries. A rule changes by a new entry, written first, and the end of the old one: of two the younger counts.
#[derive(Debug)]
pub(crate) struct RuleTable {
    region: Arc<Region>,
    file: Arc<File>,
    rules: Mutex<Rules>,
}

impl RuleTable {
    pub(super) fn new(region: Arc<Region>, file: Arc<File>) -> Self {
        Self {
            region,
            file,
            rules: Mutex::default(),
        }
    }

    /// All rules.
    pub(crate) fn all(&self) -> Vec<Rule> {
        let rules = self.rules.lock();
        rules.by_namespace.values().map(|(_, rule)| *rule).collect()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.lock().by_namespace.is_empty()
    }

    /// Keeps a rule in place of the namespace's earlier one; one that says nothing ends it.
    ///
    /// # Errors
    /// `Limit` when there are too many, `NoSpace` or `Io` when the file gets no memory for it.
    pub(crate) fn set(&self, rule: &Rule) -> Result<()> {
        let mut rules = self.rules.lock();
        let earlier = rules.by_namespace.get(&rule.namespace).map(|(number, _)| *number);
        if rule.is_empty() {
            rules.by_namespace.remove(&rule.namespace);
        } else {
            let taken: BTreeSet<_> = rules.by_namespace.values().map(|(number, _)| *number).collect();
            let number = (0..MAX_RULES)
                .find(|number| !taken.contains(number))
                .ok_or_else(too_many)?;
            rules.generation += 1;
            self.write(number, &encode(rule, rules.generation))?;
            rules.by_namespace.insert(rule.namespace, (number, *rule));
        }
        if let Some(number) = earlier {
            self.clear(number);
        }
        Ok(())
    }

    /// Reads the rules of a table that was taken over; what is not as it was written is passed over.
    pub(super) fn read(&self) -> Result<()> {
        let mut bytes = vec![0; MAX_RULES as usize * ENTRY_BYTES];
        self.file
            .read_exact_at(&mut bytes, RULES_AT)
            .map_err(|error| Error::io("read what is set for namespaces", error))?;
        let entries = (0..).zip(bytes.chunks_exact(ENTRY_BYTES));
        let mut found: Vec<_> = entries
            .filter_map(|(number, entry)| decode(entry).map(|(generation, rule)| (generation, number, rule)))
            .collect();
        found.sort_unstable_by_key(|(generation, ..)| *generation);
        let mut rules = self.rules.lock();
        for (generation, number, rule) in found {
            rules.generation = generation;
            if let Some((earlier, _)) = rules.by_namespace.insert(rule.namespace, (number, rule)) {
                self.clear(earlier);
            }
        }
        Ok(())
    }

    /// Writes an entry, its first word last.
    fn write(&self, number: u32, bytes: &[u8; ENTRY_BYTES]) -> Result<()> {
        let at = entry_at(number);
        fallocate(&*self.file, FallocateFlags::empty(), at, ENTRY_BYTES as u64)
            .map_err(|errno| Error::io("keep what is set for a namespace", errno.into()))?;
        let (Some(words), (numbers, _)) = (self.region.words(at, ENTRY_BYTES / 8), bytes.as_chunks()) else {
            return Err(too_many());
        };
        for (word, bytes) in words.iter().zip(numbers).rev() {
            crash_point();
            word.store(u64::from_le_bytes(*bytes).to_le(), Ordering::Release);
        }
        Ok(())
    }

    fn clear(&self, number: u32) {
        if let Some([word]) = self.region.words(entry_at(number), 1) {
            crash_point();
            word.store(0, Ordering::Release);
        }
    }
}

fn entry_at(number: u32) -> u64 {
    RULES_AT + u64::from(number) * ENTRY_BYTES as u64
}

fn encode(rule: &Rule, generation: u64) -> [u8; ENTRY_BYTES] {
    let flags = [(rule.is_pinned, IS_PINNED), (rule.quota.is_some(), HAS_QUOTA)];
    let flags: u32 = flags
        .iter()
        .filter(|(is_set, _)| *is_set)
        .map(|(_, flag)| flag)
        .sum();
    let mut bytes = Vec::with_capacity(ENTRY_BYTES);
    bytes.extend(RULE.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    bytes.extend(rule.quota.unwrap_or(0).to_le_bytes());
    bytes.extend(rule.namespace);
    bytes.extend(generation.to_le_bytes());
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    let mut entry = [0; ENTRY_BYTES];
    entry.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    entry
}

/// Generation and rule of an entry; None for what is none.
fn decode(entry: &[u8]) -> Option<(u64, Rule)> {
    let (body, checksum) = entry.split_last_chunk()?;
    if u32_at(body, 0)? != RULE || xxh3_64(body) != u64::from_le_bytes(*checksum) {
        return None;
    }
    let flags = u32_at(body, 4)?;
    let rule = Rule {
        namespace: *body.get(16..)?.first_chunk()?,
        is_pinned: flags & IS_PINNED != 0,
        quota: (flags & HAS_QUOTA != 0).then_some(u64_at(body, 8)?),
    };
    Some((u64_at(body, 48)?, rule))
}

fn too_many() -> Error {
    Error::new(
        ErrorKind::Limit,
        format!(
            "{MAX_RULES} namespaces are pinned or limited, which is the most: unpin one, or lift its limit"
        ),
    )
}
