//! Hits over capacities, computed by several threads.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use super::{Requests, belady, policy};
use crate::eviction::PolicyKind;

/// What decides which blocks go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    /// A policy of the daemon.
    Policy(PolicyKind),
    /// The clairvoyant bound.
    Belady,
}

impl Contender {
    /// All contenders, in the order in which they are listed to people.
    pub fn all() -> impl Iterator<Item = Self> {
        let policies = PolicyKind::ALL.into_iter().map(Self::Policy);
        policies.chain([Self::Belady])
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Policy(kind) => kind.name(),
            Self::Belady => "belady",
        }
    }

    /// Hits of a cache of so many blocks.
    pub fn hits(self, requests: &Requests, capacity: usize) -> u64 {
        match self {
            Self::Policy(kind) => policy(requests, kind, capacity),
            Self::Belady => belady(requests, capacity),
        }
    }
}

/// Hits of caches of these capacities, in their order; at most `threads` are simulated at a time.
pub fn curve(requests: &Requests, contender: Contender, capacities: &[usize], threads: usize) -> Vec<u64> {
    let hits: Vec<_> = capacities.iter().map(|_| AtomicU64::new(0)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (Some(capacity), Some(hits)) = (capacities.get(number), hits.get(number)) else {
                return;
            };
            hits.store(contender.hits(requests, *capacity), Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.clamp(1, capacities.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    hits.into_iter().map(AtomicU64::into_inner).collect()
}
