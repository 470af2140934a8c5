//! The default policy is not worse than any textbook policy, whatever the requests are like.

use super::workloads;
use crate::eviction::PolicyKind;
use crate::simulate::{Contender, curve};

/// Parts of the distinct blocks that fit. Where hardly a prompt fits, W-TinyLFU keeps the one that is used most, and wins.
const PARTS: [usize; 2] = [8, 4];
const SCALE: usize = 3;
/// Points by which chance may make it worse: there are few requests, and less is known of them than is learned in an hour.
const POINTS: f64 = 2.0;
const PERCENT: f64 = 100.0;

#[test]
fn no_textbook_policy_is_much_better_on_requests_of_any_kind() {
    for (name, requests) in workloads::all(SCALE) {
        let sizes = PARTS.map(|part| requests.distinct_blocks() / part);
        let hits = |kind| curve(&requests, Contender::Policy(kind), &sizes, 2);
        let points = |hits: u64| hits as f64 * PERCENT / requests.blocks() as f64;
        let own = hits(PolicyKind::default());
        for kind in PolicyKind::ALL {
            for ((size, own), other) in sizes.iter().zip(&own).zip(hits(kind)) {
                let (own, other) = (points(*own), points(other));
                assert!(
                    own >= other - POINTS,
                    "{name}, {size} blocks: {own:.1} %, {other:.1} % of {}",
                    kind.name()
                );
            }
        }
    }
}
