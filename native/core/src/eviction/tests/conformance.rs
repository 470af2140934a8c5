//! The contract of `EvictionPolicy`, against a model that only knows what is kept.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::eviction::{EvictionPolicy, MAX_POLICY_BYTES, PolicyKind, Token};
use crate::index::BlockId;

#[derive(Debug, Clone)]
enum Step {
    Insert {
        fingerprint: u32,
    },
    Touch(prop::sample::Index),
    Remove(prop::sample::Index),
    /// Proposals of which the first is evicted that is not pinned by this.
    Evict {
        pinned: u32,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        // Few fingerprints, so that blocks come back.
        5 => (0..50_u32).prop_map(|fingerprint| Step::Insert { fingerprint }),
        6 => any::<prop::sample::Index>().prop_map(Step::Touch),
        1 => any::<prop::sample::Index>().prop_map(Step::Remove),
        4 => (0..4_u32).prop_map(|pinned| Step::Evict { pinned }),
    ];
    prop::collection::vec(step, 1..400)
}

/// What is kept: by block its token and fingerprint.
type Kept = BTreeMap<BlockId, (Token, u32)>;

fn nth(kept: &Kept, which: &prop::sample::Index) -> Option<BlockId> {
    (!kept.is_empty()).then(|| *kept.keys().nth(which.index(kept.len())).unwrap())
}

/// Proposes four times for each kept block: all of them have to come.
fn check_all_are_proposed(policy: &mut dyn EvictionPolicy, kept: &Kept) -> Result<(), TestCaseError> {
    let proposed: BTreeSet<_> = (0..4 * kept.len()).filter_map(|_| policy.victim()).collect();
    prop_assert_eq!(proposed, kept.keys().copied().collect::<BTreeSet<_>>());
    Ok(())
}

fn run(kind: PolicyKind, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut policy = kind.build();
    let mut kept = Kept::new();
    for (now, step) in (0_u32..).zip(steps) {
        match step {
            Step::Insert { fingerprint } => {
                let block = BlockId(now);
                let token = policy.insert(block, fingerprint, now);
                prop_assert!(kept.values().all(|(taken, _)| *taken != token), "a token twice");
                kept.insert(block, (token, fingerprint));
            }
            Step::Touch(which) => {
                if let Some(block) = nth(&kept, &which) {
                    policy.touch(kept[&block].0, now);
                }
            }
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

proptest! {
    #[test]
    fn lru_keeps_the_contract(steps in steps()) {
        run(PolicyKind::Lru, steps)?;
    }

    #[test]
    fn s3fifo_keeps_the_contract(steps in steps()) {
        run(PolicyKind::S3Fifo, steps)?;
    }
}

#[test]
fn no_policy_takes_more_than_its_bytes_a_block() {
    for kind in PolicyKind::ALL {
        for blocks in [5_000, 10_001, 100_000] {
            let mut policy = kind.build();
            let mut tokens = Vec::new();
            for block in 0..blocks {
                tokens.push(policy.insert(BlockId(block), block.wrapping_mul(0x9e37_79b9), block));
            }
            // A cache that has been full for long: each block was replaced.
            for block in blocks..2 * blocks {
                let victim = policy.victim().unwrap();
                policy.remove(tokens[victim.0 as usize], victim.0.wrapping_mul(0x9e37_79b9));
                tokens.push(policy.insert(BlockId(block), block.wrapping_mul(0x9e37_79b9), block));
            }
            let bytes = policy.memory_bytes().div_ceil(policy.len());
            assert!(
                bytes <= MAX_POLICY_BYTES,
                "{} takes {bytes} bytes a block",
                kind.name()
            );
        }
    }
}
