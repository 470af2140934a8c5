//! Namespaces: what operators see and set of the spaces of one model and layout.

use std::collections::BTreeMap;

use super::Store;
use super::evict::VICTIMS_PER_TURN;
use super::reclaim::{Reclaimed, VICTIMS_OF_A_SAVE};
use super::space::Space;
use crate::error::Result;
use crate::pool::Rule;
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering};

/// Pinned namespaces keep at most this share of the pool; what they have beyond it can be evicted like all else.
pub const PINNED_PERCENT: u64 = 75;
/// No pool has so many bytes.
const NO_QUOTA: u64 = u64::MAX;

/// What the spaces of a namespace have in common.
#[derive(Debug)]
pub(super) struct Namespace {
    pub(super) key: [u8; 32],
    /// Bytes of pages that its blocks take, those that are being filled too.
    used_bytes: AtomicU64,
    is_pinned: AtomicBool,
    quota: AtomicU64,
}

impl Namespace {
    pub(super) fn new(key: [u8; 32]) -> Self {
        Self {
            key,
            used_bytes: AtomicU64::new(0),
            is_pinned: AtomicBool::new(false),
            quota: AtomicU64::new(NO_QUOTA),
        }
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn is_pinned(&self) -> bool {
        self.is_pinned.load(Ordering::Relaxed)
    }

    fn quota(&self) -> Option<u64> {
        Some(self.quota.load(Ordering::Relaxed)).filter(|quota| *quota != NO_QUOTA)
    }

    /// Whether it takes more than it may.
    pub(super) fn is_over_quota(&self) -> bool {
        self.used_bytes() > self.quota.load(Ordering::Relaxed)
    }

    /// Whether anything is set for it.
    pub(super) fn has_rule(&self) -> bool {
        self.is_pinned() || self.quota().is_some()
    }

    /// Accounts for a page that the pool has already given, whatever the limit.
    pub(super) fn add(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Accounts for a page to come, unless that is beyond the limit.
    pub(super) fn take(&self, bytes: u64) -> bool {
        let quota = self.quota.load(Ordering::Relaxed);
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= quota);
        self.used_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }

    /// A page is free again.
    pub(super) fn give_back(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn set(&self, rule: &Rule) {
        self.is_pinned.store(rule.is_pinned, Ordering::Relaxed);
        self.quota
            .store(rule.quota.unwrap_or(NO_QUOTA), Ordering::Relaxed);
    }

    fn rule(&self) -> Rule {
        Rule {
            namespace: self.key,
            is_pinned: self.is_pinned(),
            quota: self.quota(),
        }
    }
}

/// A namespace's part of the memory tier.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamespaceSnapshot {
    /// SHA-256 of model, layout and parallel sizes.
    pub namespace: [u8; 32],
    /// Visible blocks of all its cache groups.
    pub blocks: u64,
    /// Bytes of the pages of visible blocks.
    pub bytes: u64,
    /// Bytes of memory that it takes, which its limit is about: all its pages with what pads them.
    pub used_bytes: u64,
    /// Blocks that lookups found.
    pub hits: u64,
    /// Blocks that lookups asked for and did not find.
    pub misses: u64,
    /// Blocks that became visible.
    pub admissions: u64,
    /// Blocks evicted.
    pub evictions: u64,
    /// Its blocks are not evicted when others need room.
    pub is_pinned: bool,
    /// The most bytes of memory that it takes, if there is a limit.
    pub quota_bytes: Option<u64>,
}

impl Store {
    /// The namespaces that have spaces, or are pinned or limited; those that take most memory first.
    pub fn namespaces(&self) -> Vec<NamespaceSnapshot> {
        let known = self.spaces.namespaces().into_iter().map(|namespace| {
            let snapshot = NamespaceSnapshot {
                namespace: namespace.key,
                used_bytes: namespace.used_bytes(),
                is_pinned: namespace.is_pinned(),
                quota_bytes: namespace.quota(),
                ..NamespaceSnapshot::default()
            };
            (namespace.key, snapshot)
        });
        let mut namespaces: BTreeMap<_, _> = known.collect();
        for space in self.space_snapshots() {
            let namespace = namespaces.entry(space.key.namespace).or_default();
            namespace.namespace = space.key.namespace;
            namespace.blocks += space.blocks;
            namespace.bytes += space.bytes;
            namespace.hits += space.hits;
            namespace.misses += space.misses;
            namespace.admissions += space.admissions;
            namespace.evictions += space.evictions;
        }
        let mut namespaces: Vec<_> = namespaces.into_values().collect();
        namespaces.sort_by_key(|namespace| std::cmp::Reverse(namespace.used_bytes));
        namespaces
    }

    /// Keeps the blocks of a namespace from eviction by others' need, up to [`PINNED_PERCENT`] of the pool for all pinned ones.
    /// Outlives the daemon, as its pool does. A namespace that the store does not know yet can be pinned.
    ///
    /// A page size for which the pool has no memory at all takes some also from pinned namespaces.
    ///
    /// # Errors
    /// `Limit` when too many namespaces are pinned or limited, `NoSpace` or `Io` when that cannot be kept for the next daemon.
    pub fn pin_namespace(&self, namespace: &[u8; 32]) -> Result<()> {
        self.change_rule(namespace, |rule| rule.is_pinned = true, drop)
    }

    /// Takes a pin back; nothing to do for one that is not pinned.
    ///
    /// # Errors
    /// As [`Store::pin_namespace`].
    pub fn unpin_namespace(&self, namespace: &[u8; 32]) -> Result<()> {
        self.change_rule(namespace, |rule| rule.is_pinned = false, drop)
    }

    /// Limits the memory that a namespace takes, or lifts the limit. What it has beyond goes at once, its coldest blocks first,
    /// unless it is in use; saves to a full namespace evict its own blocks. Outlives the daemon, as its pool does.
    ///
    /// # Errors
    /// As [`Store::pin_namespace`].
    pub fn set_quota(&self, namespace: &[u8; 32], bytes: Option<u64>) -> Result<()> {
        let set = |rule: &mut Rule| rule.quota = bytes;
        self.change_rule(namespace, set, |namespace| {
            let is_enough = || !namespace.is_over_quota();
            while self.evict_own(&namespace, VICTIMS_PER_TURN, is_enough) == Reclaimed::Some {}
        })
    }

    /// Changes what is set for a namespace, first in the pool, for the next daemon; then does what follows.
    fn change_rule(
        &self,
        key: &[u8; 32],
        change: impl FnOnce(&mut Rule),
        then: impl FnOnce(Arc<Namespace>),
    ) -> Result<()> {
        let _changing = self.rule_turn.lock();
        let namespace = self.spaces.namespace(*key);
        let mut rule = namespace.rule();
        change(&mut rule);
        self.pool.rules.set(&rule)?;
        namespace.set(&rule);
        then(namespace);
        self.spaces.forget_namespaces();
        Ok(())
    }

    /// Applies what was set before this daemon.
    pub(super) fn apply_rules(&self) {
        for rule in self.pool.rules.all() {
            self.spaces.namespace(rule.namespace).set(&rule);
        }
    }

    /// Whether pinned namespaces keep what they have.
    pub(super) fn pins_hold(&self) -> bool {
        self.spaces.pinned_bytes() <= self.pool.bytes() / 100 * PINNED_PERCENT
    }

    /// Accounts for a page of a space, after one bounded attempt to stay within its limit if `may_evict`; false beyond it.
    pub(super) fn take_quota(&self, space: &Space, bytes: u64, may_evict: bool) -> bool {
        let namespace = &space.namespace;
        namespace.take(bytes)
            || may_evict && {
                let mut has_taken = false;
                self.evict_own(namespace, VICTIMS_OF_A_SAVE, || {
                    has_taken = has_taken || namespace.take(bytes);
                    has_taken
                });
                has_taken
            }
    }
}
