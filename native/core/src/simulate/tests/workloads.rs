//! Requests of other kinds than the recorded ones: what a policy must not be tuned against.
//!
//! Each kind is random, and the same every time. Nothing in them is measured: they are what services could look like.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::simulate::Requests;

/// All kinds by name, each with about `scale` times ten thousand blocks asked for.
pub(crate) fn all(scale: usize) -> Vec<(&'static str, Requests)> {
    let kinds: [(&'static str, Make); 10] = [
        ("agents", agents),
        ("batches", batches),
        ("hot prompt", hot_prompt),
        ("slow conversations", slow_conversations),
        ("documents", documents),
        ("shifting documents", shifting_documents),
        ("epochs", epochs),
        ("recent", recent),
        ("repeats", repeats),
        ("days", days),
    ];
    let made = kinds.into_iter().map(|(name, make)| {
        let mut workload = Workload::new(scale * 10_000);
        make(&mut workload);
        (name, workload.requests)
    });
    made.collect()
}

type Make = fn(&mut Workload);

/// Requests so far, and what more are made of.
struct Workload {
    random: SmallRng,
    requests: Requests,
    wanted: usize,
    now_s: f64,
    fresh: u64,
}

impl Workload {
    fn new(wanted: usize) -> Self {
        Self {
            random: SmallRng::seed_from_u64(7),
            requests: Requests::default(),
            wanted,
            now_s: 0.0,
            fresh: 0,
        }
    }

    fn is_done(&self) -> bool {
        self.requests.blocks() >= self.wanted
    }

    /// Blocks that nobody asked for before.
    fn new_blocks(&mut self, count: usize) -> Vec<u64> {
        let first = self.fresh;
        self.fresh += count as u64;
        (first..self.fresh).collect()
    }

    fn between(&mut self, least: usize, most: usize) -> usize {
        self.random.random_range(least..=most)
    }

    /// An exponential waiting time.
    fn wait_s(&mut self, mean_s: f64) -> f64 {
        -mean_s * (1.0 - self.random.random::<f64>()).ln()
    }

    fn is_lucky(&mut self, probability: f64) -> bool {
        self.random.random::<f64>() < probability
    }

    fn ask(&mut self, blocks: &[u64]) {
        self.requests.push((self.now_s * 1e6) as u64, blocks);
    }

    fn chains(&mut self, count: usize, least: usize, most: usize) -> Vec<Vec<u64>> {
        let mut chain = |_| {
            let blocks = self.between(least, most);
            self.new_blocks(blocks)
        };
        (0..count).map(&mut chain).collect()
    }
}

/// Numbers from 0 on, of which the small ones are frequent.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(count: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let sums = (1..=count).map(|rank| {
            sum += (rank as f64).powf(-exponent);
            sum
        });
        Self(sums.collect())
    }

    fn pick(&self, random: &mut SmallRng) -> usize {
        let all = self.0.last().copied().unwrap_or_default();
        let at = random.random::<f64>() * all;
        self.0.partition_point(|sum| *sum < at)
    }
}

/// What conversations are like, beside what they begin with.
struct Habits {
    arrival_s: f64,
    gap_s: f64,
    goes_on: f64,
    added: (usize, usize),
}

/// Conversations that begin with one of the roots and grow; each has its next turn, if any, some time after the last.
fn converse(workload: &mut Workload, roots: &[Vec<u64>], choice: &Zipf, habits: &Habits) {
    let mut turns = BinaryHeap::new();
    let mut open: Vec<Vec<u64>> = Vec::new();
    let mut next_s = 0.0;
    while !workload.is_done() {
        let due = turns.peek().map(|Reverse((at_us, _))| *at_us as f64 * 1e-6);
        let number = match due {
            Some(at_s) if at_s < next_s => {
                workload.now_s = at_s;
                let Some(Reverse((_, number))) = turns.pop() else {
                    return;
                };
                number
            }
            _ => {
                workload.now_s = next_s;
                next_s += workload.wait_s(habits.arrival_s);
                let root = roots.get(choice.pick(&mut workload.random));
                open.push(root.cloned().unwrap_or_default());
                open.len() - 1
            }
        };
        let added = workload.between(habits.added.0, habits.added.1);
        let added = workload.new_blocks(added);
        if let Some(blocks) = open.get_mut(number) {
            blocks.extend(added);
            let blocks = blocks.clone();
            workload.ask(&blocks);
        }
        if workload.is_lucky(habits.goes_on) {
            let at_s = workload.now_s + workload.wait_s(habits.gap_s);
            turns.push(Reverse(((at_s * 1e6) as u64, number)));
        } else if let Some(blocks) = open.get_mut(number) {
            *blocks = Vec::new();
        }
    }
}

/// A few agents with long prompts and tools, whose sessions take many fast steps.
fn agents(workload: &mut Workload) {
    let roots = workload.chains(20, 15, 40);
    let habits = Habits {
        arrival_s: 6.0,
        gap_s: 8.0,
        goes_on: 0.9,
        added: (1, 4),
    };
    converse(workload, &roots, &Zipf::new(20, 1.0), &habits);
}

/// Conversations, beside which jobs ask for long prompts once.
fn batches(workload: &mut Workload) {
    let roots = workload.chains(5, 1, 4);
    let choice = Zipf::new(5, 1.0);
    let mut open = Vec::new();
    while !workload.is_done() {
        workload.now_s += 0.5;
        let is_batch = (workload.now_s / 300.0) as usize % 2 == 1 && workload.is_lucky(0.7);
        if is_batch {
            let blocks = workload.new_blocks(24);
            workload.ask(&blocks);
            continue;
        }
        if open.len() < 60 {
            open.push(
                roots
                    .get(choice.pick(&mut workload.random))
                    .cloned()
                    .unwrap_or_default(),
            );
        }
        let at = workload.between(0, open.len() - 1);
        let added = workload.new_blocks(2);
        if let Some(blocks) = open.get_mut(at) {
            blocks.extend(added);
            let blocks = blocks.clone();
            workload.ask(&blocks);
        }
        if workload.is_lucky(0.25) {
            open.swap_remove(at);
        }
    }
}

/// One system prompt, behind which nothing comes twice.
fn hot_prompt(workload: &mut Workload) {
    let root = workload.new_blocks(8);
    while !workload.is_done() {
        workload.now_s += workload.wait_s(0.5);
        let added = workload.between(2, 12);
        let added = workload.new_blocks(added);
        workload.ask(&[root.clone(), added].concat());
    }
}

/// People who think for minutes.
fn slow_conversations(workload: &mut Workload) {
    let roots = workload.chains(3, 1, 3);
    let habits = Habits {
        arrival_s: 3.0,
        gap_s: 600.0,
        goes_on: 0.75,
        added: (1, 6),
    };
    converse(workload, &roots, &Zipf::new(3, 0.5), &habits);
}

/// Questions on documents of which some are asked about often.
fn documents(workload: &mut Workload) {
    let documents = workload.chains(1500, 3, 20);
    let choice = Zipf::new(1500, 0.9);
    ask_about(workload, &documents, |random, _| choice.pick(random));
}

/// As before, but every ten minutes other documents are asked about.
fn shifting_documents(workload: &mut Workload) {
    let documents = workload.chains(1500, 3, 20);
    let choice = Zipf::new(1500, 0.9);
    ask_about(workload, &documents, |random, now_s| {
        (choice.pick(random) + (now_s / 600.0) as usize * 211) % 1500
    });
}

fn ask_about(workload: &mut Workload, documents: &[Vec<u64>], which: impl Fn(&mut SmallRng, f64) -> usize) {
    while !workload.is_done() {
        workload.now_s += workload.wait_s(1.0);
        let number = which(&mut workload.random, workload.now_s);
        let question = workload.new_blocks(1);
        let document = documents.get(number).cloned().unwrap_or_default();
        workload.ask(&[document, question].concat());
    }
}

/// A set of prompts that is run again and again in the same order.
fn epochs(workload: &mut Workload) {
    let wanted = workload.wanted;
    let prompts = workload.chains(wanted / 50, 5, 15);
    while !workload.is_done() {
        for prompt in &prompts {
            workload.now_s += 0.2;
            workload.ask(prompt);
        }
    }
}

/// What was asked for last is what is asked for next, most of the time.
fn recent(workload: &mut Workload) {
    let mut prompts: Vec<Vec<u64>> = Vec::new();
    while !workload.is_done() {
        workload.now_s += workload.wait_s(0.5);
        let distance = workload.wait_s(40.0) as usize;
        let prompt = match prompts.len().checked_sub(distance + 1) {
            Some(at) if workload.is_lucky(0.7) => prompts.remove(at),
            _ => {
                let blocks = workload.between(2, 10);
                workload.new_blocks(blocks)
            }
        };
        workload.ask(&prompt);
        prompts.push(prompt);
    }
}

/// Prompts that are sent once, or twice within a few seconds, and never again.
fn repeats(workload: &mut Workload) {
    let mut later: Vec<Vec<u64>> = Vec::new();
    while !workload.is_done() {
        workload.now_s += 0.5;
        if later.len() > 10 {
            let prompt = later.remove(0);
            workload.ask(&prompt);
            continue;
        }
        let blocks = workload.between(2, 12);
        let prompt = workload.new_blocks(blocks);
        workload.ask(&prompt);
        if workload.is_lucky(0.4) {
            later.push(prompt);
        }
    }
}

/// Conversations by day, and a set of prompts that is run every night.
fn days(workload: &mut Workload) {
    let nightly = workload.chains(150, 5, 15);
    let roots = workload.chains(4, 2, 6);
    let choice = Zipf::new(4, 1.0);
    let mut open: Vec<Vec<u64>> = Vec::new();
    while !workload.is_done() {
        for _ in 0..400 {
            workload.now_s += 100.0;
            if open.len() < 25 {
                open.push(
                    roots
                        .get(choice.pick(&mut workload.random))
                        .cloned()
                        .unwrap_or_default(),
                );
            }
            let at = workload.between(0, open.len() - 1);
            let added = workload.between(1, 4);
            let added = workload.new_blocks(added);
            if let Some(blocks) = open.get_mut(at) {
                blocks.extend(added);
                let blocks = blocks.clone();
                workload.ask(&blocks);
            }
            if workload.is_lucky(0.2) {
                open.swap_remove(at);
            }
        }
        for prompt in &nightly {
            workload.now_s += 10.0;
            workload.ask(prompt);
        }
    }
}
