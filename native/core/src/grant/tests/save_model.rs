//! Every interleaving of a save with a revoke and the block's next use.

use super::super::format::Word;
use super::weak_memory::{Memory, explore};

const ENGINE_WORD: usize = 0;
const BLOCK: usize = 1;
const DAEMON: usize = 0;
const ENGINE: usize = 1;

#[derive(Clone, Copy)]
struct Rules {
    daemon_has_fence: bool,
    engine_has_fence: bool,
    engine_revokes_first: bool,
}

const PROTOCOL: Rules = Rules {
    daemon_has_fence: true,
    engine_has_fence: true,
    engine_revokes_first: true,
};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    memory: Memory<Word, 2, 2>,
    engine_step: u8,
    /// What the page holds, once it was copied.
    page: Option<Word>,
    /// What the engine's word was, once it was read.
    word: Option<Word>,
}

fn offered() -> Word {
    Word::valid(1)
}

fn next_use() -> Word {
    Word::valid(2)
}

fn next(state: &State, rules: Rules) -> Vec<State> {
    let with = |change: &dyn Fn(&mut State)| {
        let mut state = state.clone();
        change(&mut state);
        state
    };
    let mut successors: Vec<State> = state
        .memory
        .arrivals()
        .map(|(_, _, memory)| with(&|state| state.memory = memory.clone()))
        .collect();
    let store = |place: usize, word: Word| {
        with(&|state| {
            state.memory.store(ENGINE, place, word);
            state.engine_step += 1;
        })
    };
    let revoke = || store(ENGINE_WORD, Word::revoked(1));
    let reuse = || store(BLOCK, next_use());
    match state.engine_step {
        0 => successors.push(if rules.engine_revokes_first {
            revoke()
        } else {
            reuse()
        }),
        1 if !rules.engine_has_fence || state.memory.is_drained(ENGINE) => {
            successors.push(if rules.engine_revokes_first {
                reuse()
            } else {
                revoke()
            });
        }
        _ => {}
    }
    // Without a fence the processor may load the word before the block.
    if state.page.is_none() {
        successors.push(with(&|state| state.page = Some(state.memory.load(DAEMON, BLOCK))));
    }
    if state.word.is_none() && (state.page.is_some() || !rules.daemon_has_fence) {
        successors.push(with(&|state| {
            state.word = Some(state.memory.load(DAEMON, ENGINE_WORD))
        }));
    }
    successors
}

fn start() -> State {
    State {
        memory: Memory::new([Word::valid(1), offered()]),
        engine_step: 0,
        page: None,
        word: None,
    }
}

fn is_sealed(state: &State) -> bool {
    state.page.is_some() && state.word == Some(Word::valid(1))
}

fn violation(rules: Rules) -> Option<State> {
    explore(
        start(),
        |state| next(state, rules),
        |state| is_sealed(state) && state.page == Some(next_use()),
    )
}

#[test]
fn no_interleaving_seals_bytes_of_a_block_s_next_use() {
    assert_eq!(violation(PROTOCOL), None);
}

#[test]
fn a_save_that_is_not_revoked_is_sealed() {
    let sealed = explore(
        start(),
        |state| next(state, PROTOCOL),
        |state| is_sealed(state) && state.engine_step == 0,
    );
    assert!(sealed.is_some());
}

#[test]
fn without_any_one_of_its_rules_a_save_can_seal_the_next_use() {
    let mutations = [
        (
            "the daemon's fence",
            Rules {
                daemon_has_fence: false,
                ..PROTOCOL
            },
        ),
        (
            "the engine's fence",
            Rules {
                engine_has_fence: false,
                ..PROTOCOL
            },
        ),
        (
            "revoking first",
            Rules {
                engine_revokes_first: false,
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
