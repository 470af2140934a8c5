//! The clairvoyant bound: what is needed last goes first.

use std::collections::BinaryHeap;

use super::requests::Requests;

const NEVER: u32 = u32::MAX;

/// Uses that have been leave their places in the queue only now and then: as soon as they are more than the others, and these.
const FEW_PAST: usize = 1 << 10;

/// Hits of a cache of so many blocks that knows all requests to come.
///
/// What is never used again is not kept at all: it would go first.
pub fn belady(requests: &Requests, capacity: usize) -> u64 {
    let next_uses = next_uses(requests);
    let mut next_uses = next_uses.iter();
    // By block: the request that uses it next, if it is cached, or else `NEVER`.
    let mut cached = vec![NEVER; requests.distinct_blocks()];
    let mut furthest: BinaryHeap<(u32, u32, u32)> = BinaryHeap::new();
    let (mut kept, mut hits) = (0, 0);
    for request in requests.iter() {
        let is_cached = |block: &u32| cached.get(*block as usize).is_some_and(|next| *next != NEVER);
        hits += request.blocks.iter().take_while(|block| is_cached(block)).count() as u64;
        for (depth, (block, next)) in request.blocks.iter().zip(&mut next_uses).enumerate() {
            if let Some(place) = cached.get_mut(*block as usize) {
                kept += usize::from(*next != NEVER);
                kept -= usize::from(*place != NEVER);
                *place = *next;
                if *next != NEVER {
                    furthest.push((*next, depth as u32, *block));
                }
            }
        }
        while kept > capacity {
            let Some((next, _, block)) = furthest.pop() else {
                break;
            };
            if let Some(place) = cached.get_mut(block as usize)
                && *place == next
            {
                *place = NEVER;
                kept -= 1;
            }
        }
        if furthest.len() > 2 * kept + FEW_PAST {
            furthest.retain(|(next, _, block)| cached.get(*block as usize) == Some(next));
        }
    }
    hits
}

/// For each block of each request, the number of the request that uses it next.
fn next_uses(requests: &Requests) -> Vec<u32> {
    let mut next = vec![NEVER; requests.distinct_blocks()];
    let mut uses = Vec::with_capacity(requests.blocks());
    let all: Vec<_> = requests.iter().collect();
    for (number, request) in all.iter().enumerate().rev() {
        for block in request.blocks.iter().rev() {
            if let Some(next) = next.get_mut(*block as usize) {
                uses.push(std::mem::replace(next, number as u32));
            }
        }
    }
    uses.reverse();
    uses
}
