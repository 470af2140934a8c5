//! The clairvoyant bound: what is needed last goes first.

use std::collections::BinaryHeap;

use super::requests::Requests;

const NEVER: u32 = u32::MAX;

/// Hits of a cache of so many blocks that knows all requests to come.
pub fn belady(requests: &Requests, capacity: usize) -> u64 {
    let next_uses = next_uses(requests);
    let mut next_uses = next_uses.iter();
    // By block: the request that uses it next, if it is cached.
    let mut cached: Vec<Option<u32>> = vec![None; requests.distinct_blocks()];
    let mut furthest = BinaryHeap::new();
    let (mut kept, mut hits) = (0, 0);
    for request in requests.iter() {
        let is_cached = |block: &u32| cached.get(*block as usize).is_some_and(Option::is_some);
        hits += request.blocks.iter().take_while(|block| is_cached(block)).count() as u64;
        for (depth, (block, next)) in request.blocks.iter().zip(&mut next_uses).enumerate() {
            if let Some(place) = cached.get_mut(*block as usize) {
                kept += usize::from(place.is_none());
                *place = Some(*next);
                furthest.push((*next, depth, *block));
            }
        }
        while kept > capacity {
            let Some((next, _, block)) = furthest.pop() else {
                break;
            };
            // Older entries of the block name uses that have been.
            if let Some(place) = cached.get_mut(block as usize)
                && *place == Some(next)
            {
                *place = None;
                kept -= 1;
            }
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
