//! The contract of `EvictionPolicy`, against a model that only knows what is kept.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::eviction::{
    EvictionPolicy, Kept, MAX_POLICY_BASE_BYTES, MAX_POLICY_BYTES, PolicyKind, Predecessor, Token,
};
use crate::index::BlockId;

#[derive(Debug, Clone)]
enum Step {
    Insert {
        fingerprint: u32,
        after: Option<After>,
    },
    /// In any order: also in one that no chain of blocks has.
    Request {
        hits: Vec<prop::sample::Index>,
        misses: Vec<u32>,
    },
    Present {
        which: prop::sample::Index,
        after: Option<After>,
    },
    /// Time goes by.
    Wait(u64),
    Remove(prop::sample::Index),
    /// Proposals of which the first is evicted that is not pinned by this.
    Evict {
        pinned: u32,
    },
}

/// A block that another is said to follow, of all that were ever kept: also itself, one that follows it, or one that is gone.
#[derive(Debug, Clone)]
struct After {
    fingerprint: u32,
    kept: Option<prop::sample::Index>,
}

fn after() -> impl Strategy<Value = Option<After>> {
    let after = (0..50_u32, any::<Option<prop::sample::Index>>());
    prop::option::of(after.prop_map(|(fingerprint, kept)| After { fingerprint, kept }))
}

fn predecessor(after: &After, ever_kept: &[Kept]) -> Predecessor {
    let kept = after.kept.filter(|_| !ever_kept.is_empty());
    Predecessor {
        fingerprint: after.fingerprint,
        kept: kept.map(|which| ever_kept[which.index(ever_kept.len())]),
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        // Few fingerprints, so that blocks come back.
        5 => (0..50_u32, after()).prop_map(|(fingerprint, after)| Step::Insert { fingerprint, after }),
        6 => (
            prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            prop::collection::vec(0..50_u32, 0..6),
        )
            .prop_map(|(hits, misses)| Step::Request { hits, misses }),
        1 => (any::<prop::sample::Index>(), after()).prop_map(|(which, after)| Step::Present { which, after }),
        1 => (0..40_u32).prop_map(|doublings| Step::Wait(1 << doublings)),
        1 => any::<prop::sample::Index>().prop_map(Step::Remove),
        4 => (0..4_u32).prop_map(|pinned| Step::Evict { pinned }),
    ];
    prop::collection::vec(step, 1..400)
}

/// Spread over all numbers, as hashes are.
fn fingerprint(block: u32) -> u32 {
    block.wrapping_mul(0x9e37_79b9)
}

/// What is kept: by block its token and fingerprint.
type Tokens = BTreeMap<BlockId, (Token, u32)>;

fn nth(kept: &Tokens, which: &prop::sample::Index) -> Option<BlockId> {
    (!kept.is_empty()).then(|| *kept.keys().nth(which.index(kept.len())).unwrap())
}

/// Proposes four times for each kept block: all of them have to come.
fn check_all_are_proposed(policy: &mut dyn EvictionPolicy, kept: &Tokens) -> Result<(), TestCaseError> {
    let proposed: BTreeSet<_> = (0..4 * kept.len()).filter_map(|_| policy.victim()).collect();
    prop_assert_eq!(proposed, kept.keys().copied().collect::<BTreeSet<_>>());
    Ok(())
}

fn run(kind: PolicyKind, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut policy = kind.build();
    let mut kept = Tokens::new();
    let mut ever_kept = Vec::new();
    let mut now = 0;
    for (number, step) in (0_u32..).zip(steps) {
        now += 1;
        match step {
            Step::Insert { fingerprint, after } => {
                let block = BlockId(number);
                let after = after.map(|after| predecessor(&after, &ever_kept));
                let token = policy.insert(block, fingerprint, after, now);
                ever_kept.push(Kept { token, block });
                prop_assert!(kept.values().all(|(taken, _)| *taken != token), "a token twice");
                kept.insert(block, (token, fingerprint));
            }
            Step::Request { hits, misses } => {
                let blocks: BTreeSet<_> = hits.iter().filter_map(|which| nth(&kept, which)).collect();
                let mut tokens: Vec<_> = blocks.iter().map(|block| kept[block].0).collect();
                if hits.len() % 2 == 0 {
                    tokens.reverse();
                }
                policy.request(&tokens, &misses, now);
            }
            Step::Present { which, after } => {
                if let Some(block) = nth(&kept, &which) {
                    let (token, fingerprint) = kept[&block];
                    let after = after.map(|after| predecessor(&after, &ever_kept));
                    policy.present(token, fingerprint, after, now);
                }
            }
            Step::Wait(time) => now += time,
            Step::Remove(which) => {
                if let Some((token, fingerprint)) = nth(&kept, &which).and_then(|block| kept.remove(&block)) {
                    policy.remove(token, fingerprint);
                }
            }
            Step::Evict { pinned } => {
                let victim =
                    (0..4 * kept.len()).find_map(|_| policy.victim().filter(|block| block.0 % 4 != pinned));
                let expected = kept.keys().any(|block| block.0 % 4 != pinned);
                prop_assert_eq!(victim.is_some(), expected, "what is not pinned is proposed");
                if let Some(block) = victim {
                    let (token, fingerprint) = kept.remove(&block).expect("only kept blocks are proposed");
                    policy.remove(token, fingerprint);
                }
            }
        }
        prop_assert_eq!(policy.len(), kept.len());
        prop_assert_eq!(policy.coldest().is_some(), !kept.is_empty());
        prop_assert!(policy.coldest().is_none_or(|used| used <= now));
    }
    check_all_are_proposed(&mut *policy, &kept)?;
    while let Some(block) = policy.victim() {
        let (token, fingerprint) = kept.remove(&block).expect("only kept blocks are proposed");
        policy.remove(token, fingerprint);
    }
    prop_assert!(kept.is_empty());
    prop_assert_eq!(policy.len(), 0);
    Ok(())
}

/// One test of the contract for each policy, by its name.
macro_rules! keep_the_contract {
    ($($name:ident: $kind:ident),* $(,)?) => {
        proptest! {
            $(#[test]
            fn $name(steps in steps()) {
                run(PolicyKind::$kind, steps)?;
            })*
        }
    };
}

keep_the_contract! {
    lru_keeps_the_contract: Lru,
    s3fifo_keeps_the_contract: S3Fifo,
    sieve_keeps_the_contract: Sieve,
    arc_keeps_the_contract: Arc,
    tinylfu_keeps_the_contract: TinyLfu,
    density_keeps_the_contract: Density,
}

/// The blocks that go, in their order, when requests of random chains share a small cache.
fn victims(kind: PolicyKind) -> Vec<BlockId> {
    let mut policy = kind.build();
    let mut tokens = BTreeMap::new();
    let mut gone = Vec::new();
    let mut random = 1_u32;
    for now in 0..3000_u64 {
        random = random.wrapping_mul(0x915f_77f5).wrapping_add(7);
        let chain = random >> 24;
        let blocks: Vec<_> = (0..4).map(|depth| chain * 4 + depth).collect();
        let hits: Vec<_> = blocks
            .iter()
            .map_while(|block| tokens.get(block).copied())
            .collect();
        let misses = &blocks[hits.len()..];
        policy.request(&hits, misses, now * 100_000);
        for block in misses {
            if !tokens.contains_key(block) {
                tokens.insert(
                    *block,
                    policy.insert(BlockId(*block), *block, None, now * 100_000),
                );
            }
        }
        while policy.len() > 200 {
            let victim = policy.victim().unwrap();
            policy.remove(tokens.remove(&victim.0).unwrap(), victim.0);
            gone.push(victim);
        }
    }
    gone
}

#[test]
fn the_same_uses_have_the_same_victims() {
    for kind in PolicyKind::ALL {
        assert_eq!(victims(kind), victims(kind), "{}", kind.name());
    }
}

#[test]
fn no_policy_takes_more_than_its_bytes_a_block() {
    for kind in PolicyKind::ALL {
        for blocks in [5_000, 10_001, 100_000] {
            let mut policy = kind.build();
            let mut tokens = Vec::new();
            for block in 0..blocks {
                tokens.push(policy.insert(BlockId(block), fingerprint(block), None, u64::from(block)));
            }
            // A cache that has been full for long: each block was replaced.
            for block in blocks..4 * blocks {
                policy.request(&[], &[fingerprint(block)], u64::from(block));
                let victim = policy.victim().unwrap();
                policy.remove(tokens[victim.0 as usize], fingerprint(victim.0));
                tokens.push(policy.insert(BlockId(block), fingerprint(block), None, u64::from(block)));
            }
            let bytes = policy.memory_bytes().saturating_sub(MAX_POLICY_BASE_BYTES);
            let bytes = bytes.div_ceil(policy.len());
            assert!(
                bytes <= MAX_POLICY_BYTES,
                "{} takes {bytes} bytes a block",
                kind.name()
            );
        }
    }
}

#[test]
fn what_was_just_saved_is_not_the_next_to_go() {
    for kind in PolicyKind::ALL {
        let mut policy = kind.build();
        let mut tokens = BTreeMap::new();
        for block in 0..2000 {
            let now = u64::from(block) * 10_000;
            tokens.insert(
                block,
                policy.insert(BlockId(block), fingerprint(block), None, now),
            );
            while policy.len() > 200 {
                let victim = policy.victim().unwrap();
                assert_ne!(victim, BlockId(block), "{}", kind.name());
                policy.remove(tokens.remove(&victim.0).unwrap(), fingerprint(victim.0));
            }
        }
    }
}

#[test]
fn what_came_late_is_not_taken_for_cold() {
    const HOUR: u64 = 3_600_000_000;
    const SECOND: u64 = 1_000_000;
    for kind in PolicyKind::ALL {
        let mut policy = kind.build();
        for block in 0..100 {
            policy.insert(BlockId(block), fingerprint(block), None, HOUR + u64::from(block));
            let coldest = policy.coldest().unwrap();
            assert!(coldest > HOUR - SECOND, "{}: {coldest}", kind.name());
        }
    }
}

#[test]
fn a_policy_that_nothing_has_to_leave_takes_no_more_over_time() {
    for kind in PolicyKind::ALL {
        let mut policy = kind.build();
        let tokens: Vec<_> = (0..100)
            .map(|block| policy.insert(BlockId(block), fingerprint(block), None, 0))
            .collect();
        for second in 0..200_000 {
            let first = (second * 7 % 95) as usize;
            policy.request(&tokens[first..first + 5], &[], second * 1_000_000);
        }
        let bytes = policy.memory_bytes();
        let most = MAX_POLICY_BASE_BYTES + tokens.len() * MAX_POLICY_BYTES;
        assert!(bytes <= most, "{} takes {bytes} bytes", kind.name());
    }
}
