//! The policy's order of chains holds in the store: what follows goes before what it follows.

use super::fixture::{Fixture, Hash, MIB, random_hash};
use crate::eviction::PolicyKind;
use crate::progress::Progress;

const PAGE: u64 = 4096;

#[test]
fn the_end_of_a_prompt_goes_before_its_beginning() {
    let fixture = Fixture::quiet(4 * MIB, PolicyKind::default());
    let space = fixture.space(&[PAGE]);
    let prompt: Vec<Hash> = (0..20).map(|_| random_hash()).collect();
    assert_eq!(fixture.lookup(space, &prompt).len(), 0);
    for hash in &prompt {
        fixture.save_shard(space, 0, hash);
    }
    for (gone, left) in [(1, 19), (7, 12), (7, 5)] {
        fixture
            .store
            .evict_memory(Some(gone * PAGE), &Progress::default())
            .unwrap();
        assert_eq!(fixture.lookup(space, &prompt).len(), left);
    }
}
