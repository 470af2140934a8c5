//! Memory as processors have it: each thread's stores reach the others late, and in any order between two places.

use std::collections::{HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;

/// Shared memory of `PLACES` words and one store buffer for each of `THREADS` threads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Memory<W, const PLACES: usize, const THREADS: usize> {
    words: [W; PLACES],
    buffers: [[VecDeque<W>; PLACES]; THREADS],
}

impl<W: Copy, const PLACES: usize, const THREADS: usize> Memory<W, PLACES, THREADS> {
    pub(super) fn new(words: [W; PLACES]) -> Self {
        Self {
            words,
            buffers: std::array::from_fn(|_| std::array::from_fn(|_| VecDeque::new())),
        }
    }

    pub(super) fn store(&mut self, thread: usize, place: usize, word: W) {
        self.buffers[thread][place].push_back(word);
    }

    /// A thread sees its own stores at once.
    pub(super) fn load(&self, thread: usize, place: usize) -> W {
        *self.buffers[thread][place].back().unwrap_or(&self.words[place])
    }

    /// Whether all stores of a thread have reached the others, as a full fence and a message to another process need.
    pub(super) fn is_drained(&self, thread: usize) -> bool {
        self.buffers[thread].iter().all(VecDeque::is_empty)
    }

    /// Every way in which one more store can reach the others: where, what, and the memory after it.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = (usize, W, Self)> + '_ {
        (0..THREADS).flat_map(move |thread| {
            (0..PLACES).filter_map(move |place| {
                let mut after = self.clone();
                let word = after.buffers[thread][place].pop_front()?;
                after.words[place] = word;
                Some((place, word, after))
            })
        })
    }
}

/// Visits every state that can be reached; the first that breaks the rule, if there is one.
pub(super) fn explore<S: Clone + Eq + Hash + Debug>(
    start: S,
    next: impl Fn(&S) -> Vec<S>,
    is_broken: impl Fn(&S) -> bool,
) -> Option<S> {
    let mut seen = HashSet::from([start.clone()]);
    let mut waiting = vec![start];
    while let Some(state) = waiting.pop() {
        if is_broken(&state) {
            return Some(state);
        }
        for successor in next(&state) {
            if seen.insert(successor.clone()) {
                waiting.push(successor);
            }
        }
    }
    None
}
