//! Recorded requests.

use std::collections::HashMap;

/// Requests in the order of their times, with their blocks numbered from 0 on.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    times_us: Vec<u64>,
    /// Where the blocks of each request end.
    ends: Vec<usize>,
    blocks: Vec<u32>,
    numbers: HashMap<u64, u32>,
    known: u64,
}

/// One request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Microseconds since the first request.
    pub time_us: u64,
    /// The blocks of its prompt; equal numbers are equal blocks.
    pub blocks: &'a [u32],
}

impl Requests {
    /// Adds a request that came at this time, and not before the last; equal names are equal blocks.
    pub fn push(&mut self, time_us: u64, names: &[u64]) {
        self.times_us.push(time_us);
        let mut is_known = true;
        for name in names {
            let next = self.numbers.len() as u32;
            let number = *self.numbers.entry(*name).or_insert(next);
            is_known &= number != next;
            self.known += u64::from(is_known);
            self.blocks.push(number);
        }
        self.ends.push(self.blocks.len());
    }

    /// All requests.
    pub fn iter(&self) -> impl Iterator<Item = Request<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let spans = starts.zip(self.ends.iter().copied()).zip(&self.times_us);
        spans.map(|((start, end), time_us)| Request {
            time_us: *time_us,
            blocks: self.blocks.get(start..end).unwrap_or_default(),
        })
    }

    /// Blocks of all requests, each as often as it was asked for.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Blocks of prefixes that were asked for before: what a cache would hit that keeps everything.
    pub fn known_blocks(&self) -> u64 {
        self.known
    }

    /// Blocks that differ.
    pub fn distinct_blocks(&self) -> usize {
        self.numbers.len()
    }
}
