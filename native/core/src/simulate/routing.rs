//! Private caches behind a router, against which one shared cache is compared.

use super::cache::SimulatedCache;
use super::requests::{Request, Requests};
use crate::eviction::PolicyKind;

/// Instead of an instance, for blocks that none has served.
const NOBODY: u32 = u32::MAX;

/// How requests come to instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routing {
    /// Each request to the next instance.
    RoundRobin,
    /// Each request to the instance that served the longest prefix of it last; new prefixes to the next instance. Load does not count.
    Sticky,
}

/// Hits of `instances` caches that share a capacity equally.
pub fn private_pools(
    requests: &Requests,
    kind: PolicyKind,
    capacity: usize,
    instances: usize,
    routing: Routing,
) -> u64 {
    let instances = instances.max(1);
    let distinct = requests.distinct_blocks();
    let cache = |number| {
        let share = capacity / instances + usize::from(number < capacity % instances);
        SimulatedCache::new(kind, share, distinct)
    };
    let mut caches: Vec<_> = (0..instances).map(cache).collect();
    let mut served_by = vec![NOBODY; distinct];
    let mut turn = 0;
    let mut hits = 0;
    for request in requests.iter() {
        let instance = match routing {
            Routing::RoundRobin => None,
            Routing::Sticky => last_server(&served_by, request),
        };
        let instance = instance.unwrap_or_else(|| {
            turn = (turn + 1) % instances;
            turn
        });
        if let Some(cache) = caches.get_mut(instance) {
            hits += cache.serve(request) as u64;
        }
        for block in request.blocks {
            if let Some(server) = served_by.get_mut(*block as usize) {
                *server = instance as u32;
            }
        }
    }
    hits
}

/// The instance of the last block of the request's known prefix, unless that is only what all prompts begin with.
fn last_server(served_by: &[u32], request: Request<'_>) -> Option<usize> {
    let servers = request
        .blocks
        .iter()
        .map_while(|block| served_by.get(*block as usize));
    let known = servers.take_while(|server| **server != NOBODY);
    known.skip(1).last().map(|server| *server as usize)
}
