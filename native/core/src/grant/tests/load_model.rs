//! Every interleaving of two loads that use one slot after the other: the engine, which revokes each whenever it likes,
//! and one daemon thread for each load, of which the first may be late by any time.

use super::super::format::Word;
use super::weak_memory::{Memory, explore};

const ENGINE_WORD: usize = 0;
const DAEMON_WORD: usize = 1;
/// The engine's block; a daemon's store to it names the load it is for.
const BLOCK: usize = 2;
const ENGINE: usize = 2;
const LOADS: [u64; 2] = [1, 2];
const BATCHES: u8 = 2;

/// What the protocol asks of both sides; a test takes one away.
#[derive(Clone, Copy)]
struct Rules {
    revoke_has_fence: bool,
    take_has_fence: bool,
    take_stores_before_it_loads: bool,
    give_back_has_fence: bool,
    takes_exclude_each_other: bool,
    generations_are_compared: bool,
    engine_waits_while_taken: bool,
}

const PROTOCOL: Rules = Rules {
    revoke_has_fence: true,
    take_has_fence: true,
    take_stores_before_it_loads: true,
    give_back_has_fence: true,
    takes_exclude_each_other: true,
    generations_are_compared: true,
    engine_waits_while_taken: true,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Engine {
    Issue,
    Send,
    Waits,
    RevokeFence,
    ReadDaemonWord,
    Freed,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Daemon {
    AwaitsRequest,
    Take,
    StoreTaken,
    TakeFence,
    ReadEngineWord,
    LateStoreTaken,
    Copy,
    GiveBackFence,
    GiveBack,
    Refuse,
    Unlock { then_ends: bool },
    Answer,
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    memory: Memory<Word, 3, 3>,
    engine: Engine,
    /// Index into [`LOADS`] of what the engine is at.
    load: usize,
    daemons: [Daemon; 2],
    batches: [u8; 2],
    sent: [bool; 2],
    answered: [bool; 2],
    /// The engine uses the load's blocks for something else.
    freed: [bool; 2],
    /// What the daemon's threads share under their lock.
    locked_by: Option<usize>,
    newest: u64,
    taken: bool,
    /// A byte of a load arrived in a block that had been freed.
    broken: bool,
}

impl State {
    fn start() -> Self {
        Self {
            memory: Memory::new([Word::free(0); 3]),
            engine: Engine::Issue,
            load: 0,
            daemons: [Daemon::AwaitsRequest; 2],
            batches: [0; 2],
            sent: [false; 2],
            answered: [false; 2],
            freed: [false; 2],
            locked_by: None,
            newest: 0,
            taken: false,
            broken: false,
        }
    }

    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut state = self.clone();
        change(&mut state);
        state
    }
}

fn same(word: Word, expected: Word, rules: Rules) -> bool {
    let state_of = |word: Word| u64::from_le_bytes(word.to_bytes()) & 3;
    if rules.generations_are_compared {
        word == expected
    } else {
        state_of(word) == state_of(expected)
    }
}

fn next(state: &State, rules: Rules) -> Vec<State> {
    let mut successors: Vec<State> = state
        .memory
        .arrivals()
        .map(|(place, word, memory)| {
            state.with(|state| {
                state.memory = memory;
                let load = LOADS.iter().position(|&load| Word::valid(load) == word);
                state.broken |= place == BLOCK && load.is_some_and(|load| state.freed[load]);
            })
        })
        .collect();
    successors.extend(engine_steps(state, rules));
    successors.extend((0..2).filter_map(|thread| daemon_step(state, thread, rules)));
    successors
}

fn engine_steps(state: &State, rules: Rules) -> Vec<State> {
    let generation = LOADS[state.load];
    let drained = state.memory.is_drained(ENGINE);
    let answered = state.answered[state.load];
    let free = |state: &mut State| {
        state.freed[state.load] = true;
        state.engine = Engine::Freed;
    };
    match state.engine {
        Engine::Issue => vec![state.with(|state| {
            state.memory.store(ENGINE, ENGINE_WORD, Word::valid(generation));
            state.engine = Engine::Send;
        })],
        Engine::Send if drained => vec![state.with(|state| {
            state.sent[state.load] = true;
            state.engine = Engine::Waits;
        })],
        Engine::Waits => {
            let revoked = state.with(|state| {
                state.memory.store(ENGINE, ENGINE_WORD, Word::revoked(generation));
                state.engine = Engine::RevokeFence;
            });
            if answered {
                vec![revoked, state.with(free)]
            } else {
                vec![revoked]
            }
        }
        Engine::RevokeFence if drained || !rules.revoke_has_fence => {
            vec![state.with(|state| state.engine = Engine::ReadDaemonWord)]
        }
        Engine::ReadDaemonWord => {
            let word = state.memory.load(ENGINE, DAEMON_WORD);
            let taken = same(word, Word::taken(generation), rules) && rules.engine_waits_while_taken;
            if taken && !answered {
                vec![]
            } else {
                vec![state.with(free)]
            }
        }
        Engine::Freed => vec![state.with(|state| {
            state.memory.store(ENGINE, ENGINE_WORD, Word::free(generation));
            if state.load + 1 < LOADS.len() {
                state.load += 1;
                state.engine = Engine::Issue;
            } else {
                state.engine = Engine::Done;
            }
        })],
        Engine::Send | Engine::RevokeFence | Engine::Done => vec![],
    }
}

fn daemon_step(state: &State, thread: usize, rules: Rules) -> Option<State> {
    let generation = LOADS[thread];
    let drained = state.memory.is_drained(thread);
    let goes_to = |daemon: Daemon| state.with(|state| state.daemons[thread] = daemon);
    let lock_is_free = state.locked_by.is_none() || !rules.takes_exclude_each_other;
    let stores = |place: usize, word: Word, then: Daemon| {
        state.with(|state| {
            state.memory.store(thread, place, word);
            state.daemons[thread] = then;
        })
    };
    match state.daemons[thread] {
        Daemon::AwaitsRequest => state.sent[thread].then(|| goes_to(Daemon::Take)),
        Daemon::Take if lock_is_free && drained => {
            if rules.takes_exclude_each_other && (generation < state.newest || state.taken) {
                return Some(goes_to(Daemon::Answer));
            }
            Some(state.with(|state| {
                state.locked_by = Some(thread);
                state.newest = generation;
                let stores_first = rules.take_stores_before_it_loads;
                state.daemons[thread] = if stores_first {
                    Daemon::StoreTaken
                } else {
                    Daemon::ReadEngineWord
                };
            }))
        }
        Daemon::StoreTaken => Some(stores(DAEMON_WORD, Word::taken(generation), Daemon::TakeFence)),
        Daemon::TakeFence => (drained || !rules.take_has_fence).then(|| goes_to(Daemon::ReadEngineWord)),
        Daemon::ReadEngineWord => {
            let valid = same(
                state.memory.load(thread, ENGINE_WORD),
                Word::valid(generation),
                rules,
            );
            Some(state.with(|state| {
                state.taken |= valid;
                state.daemons[thread] = match (valid, rules.take_stores_before_it_loads) {
                    (true, true) => Daemon::Unlock { then_ends: false },
                    (true, false) => Daemon::LateStoreTaken,
                    (false, _) => Daemon::Refuse,
                };
            }))
        }
        Daemon::LateStoreTaken => Some(stores(
            DAEMON_WORD,
            Word::taken(generation),
            Daemon::Unlock { then_ends: false },
        )),
        Daemon::Refuse => Some(stores(
            DAEMON_WORD,
            Word::idle(generation),
            Daemon::Unlock { then_ends: true },
        )),
        Daemon::Unlock { then_ends } if drained || !rules.take_has_fence => Some(state.with(|state| {
            state.locked_by = None;
            state.daemons[thread] = if then_ends { Daemon::Answer } else { Daemon::Copy };
        })),
        Daemon::Copy => Some(stores(BLOCK, Word::valid(generation), Daemon::GiveBackFence)),
        Daemon::GiveBackFence => (drained || !rules.give_back_has_fence).then(|| goes_to(Daemon::GiveBack)),
        Daemon::GiveBack if lock_is_free => Some(state.with(|state| {
            state.memory.store(thread, DAEMON_WORD, Word::idle(generation));
            state.taken = false;
            state.batches[thread] += 1;
            let ends = state.batches[thread] == BATCHES;
            state.daemons[thread] = if ends { Daemon::Answer } else { Daemon::Take };
        })),
        Daemon::Answer if drained => Some(state.with(|state| {
            state.answered[thread] = true;
            state.daemons[thread] = Daemon::Done;
        })),
        Daemon::Take | Daemon::Unlock { .. } | Daemon::GiveBack | Daemon::Answer | Daemon::Done => None,
    }
}

fn violation(rules: Rules) -> Option<State> {
    explore(State::start(), |state| next(state, rules), |state| state.broken)
}

#[test]
fn no_interleaving_lets_a_copy_into_blocks_that_are_free_again() {
    assert_eq!(violation(PROTOCOL), None);
}

#[test]
fn both_loads_can_end_by_an_answer_and_by_a_revoke() {
    for (answered, at_revoke) in [(true, false), (false, true)] {
        let reached = explore(
            State::start(),
            |state| next(state, PROTOCOL),
            |state| {
                state.engine == Engine::Done
                    && state.answered == [answered; 2]
                    && (!at_revoke || state.batches == [0; 2])
            },
        );
        assert!(
            reached.is_some(),
            "answered {answered}, before any batch {at_revoke}"
        );
    }
}

#[test]
fn without_any_one_of_its_rules_the_protocol_fails() {
    let mutations = [
        (
            "the engine's fence",
            Rules {
                revoke_has_fence: false,
                ..PROTOCOL
            },
        ),
        (
            "the daemon's fence",
            Rules {
                take_has_fence: false,
                ..PROTOCOL
            },
        ),
        (
            "the order of a take",
            Rules {
                take_stores_before_it_loads: false,
                ..PROTOCOL
            },
        ),
        (
            "the fence after a batch",
            Rules {
                give_back_has_fence: false,
                ..PROTOCOL
            },
        ),
        (
            "exclusion of takes in the daemon",
            Rules {
                takes_exclude_each_other: false,
                ..PROTOCOL
            },
        ),
        (
            "generations",
            Rules {
                generations_are_compared: false,
                ..PROTOCOL
            },
        ),
        (
            "waiting while taken",
            Rules {
                engine_waits_while_taken: false,
                ..PROTOCOL
            },
        ),
    ];
    for (rule, rules) in mutations {
        assert!(
            violation(rules).is_some(),
            "the model does not notice that {rule} is gone"
        );
    }
}
