//! Blocks that are saved without having been asked for, as an answer's are, are kept as well as LRU keeps them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::eviction::PolicyKind;
use crate::simulate::{Request, SimulatedCache};

const CONVERSATIONS: usize = 800;
const SEEDS: [u64; 2] = [11, 12];

/// A prompt, and the blocks of its answer.
struct Turn {
    time_us: u64,
    prompt: Vec<u32>,
    answer: Vec<u32>,
}

/// How conversations go: blocks of a question and of an answer at most, and seconds between turns.
struct Habits {
    question: u32,
    answer: u32,
    gap_s: f64,
}

/// The turns of all conversations by time, and how many blocks differ.
fn turns(habits: &Habits, seed: u64) -> (Vec<Turn>, u32) {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut fresh = 0..;
    let mut due: BinaryHeap<_> = (0..CONVERSATIONS)
        .map(|number| Reverse((number as u64 * 1_000_000, number)))
        .collect();
    let mut said = vec![Vec::new(); CONVERSATIONS];
    let mut turns = Vec::new();
    while let Some(Reverse((time_us, number))) = due.pop() {
        let mut blocks = |most: u32| -> Vec<u32> {
            let count = random.random_range(1..=most) as usize;
            fresh.by_ref().take(count).collect()
        };
        let (question, answer) = (blocks(habits.question), blocks(habits.answer));
        said[number].extend(question);
        turns.push(Turn {
            time_us,
            prompt: said[number].clone(),
            answer: answer.clone(),
        });
        said[number].extend(answer);
        if random.random_bool(0.7) {
            let gap_s = -habits.gap_s * (1.0 - random.random::<f64>()).ln();
            due.push(Reverse((time_us + (gap_s * 1e6) as u64, number)));
        }
    }
    (turns, fresh.start)
}

/// Blocks that were hit, and that were asked for.
fn hits(kind: PolicyKind, capacity: usize, turns: &[Turn], distinct: u32) -> (usize, usize) {
    let mut cache = SimulatedCache::new(kind, capacity, distinct as usize);
    let (mut hits, mut asked) = (0, 0);
    for turn in turns {
        asked += turn.prompt.len();
        hits += cache.serve(Request {
            time_us: turn.time_us,
            blocks: &turn.prompt,
        });
        // One at a time, as an engine fills them.
        let mut last = turn.prompt.last().copied();
        for block in &turn.answer {
            cache.save(turn.time_us, last.replace(*block), &[*block]);
        }
    }
    (hits, asked)
}

/// In percent, of what all services asked for whose distinct blocks fit by this part.
fn points(kind: PolicyKind, part: usize) -> f64 {
    let (mut all_hits, mut all_asked) = (0, 0);
    for (question, answer, gap_s) in [(6, 4, 60.0), (2, 20, 30.0), (6, 6, 600.0)] {
        for seed in SEEDS {
            let habits = Habits {
                question,
                answer,
                gap_s,
            };
            let (turns, distinct) = turns(&habits, seed);
            let (hits, asked) = hits(kind, distinct as usize / part, &turns, distinct);
            all_hits += hits;
            all_asked += asked;
        }
    }
    all_hits as f64 * 100.0 / all_asked as f64
}

#[test]
fn answers_stay_as_well_as_under_lru_and_better_in_small_caches() {
    for (part, least) in [(256, 0.5), (64, 0.0), (16, -0.3)] {
        let (own, lru) = (points(PolicyKind::default(), part), points(PolicyKind::Lru, part));
        assert!(
            own >= lru + least,
            "1/{part} of the blocks fits: {own:.2} %, {lru:.2} % of LRU"
        );
    }
}
