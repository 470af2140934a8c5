//! The least recently used block goes first.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::eviction::PolicyKind;
use crate::index::BlockId;

proptest! {
    #[test]
    fn blocks_go_in_the_order_of_their_last_use(uses in prop::collection::vec(0..20_u32, 0..200)) {
        let mut policy = PolicyKind::Lru.build();
        let mut tokens = BTreeMap::new();
        let mut last_use = BTreeMap::new();
        for (now, block) in (0_u64..).zip(uses) {
            match tokens.get(&block) {
                Some(token) => policy.request(&[*token], &[], now),
                None => {
                    tokens.insert(block, policy.insert(BlockId(block), 0, None, now));
                }
            }
            last_use.insert(block, now);
        }
        let mut expected: Vec<_> = last_use.into_iter().map(|(block, now)| (now, block)).collect();
        expected.sort_unstable();
        for (now, block) in expected {
            prop_assert_eq!(policy.coldest(), Some(now));
            prop_assert_eq!(policy.victim(), Some(BlockId(block)));
            policy.remove(tokens[&block], 0);
        }
    }
}
