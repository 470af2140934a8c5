//! Blocks of one class that were used last at about the same time.

use std::collections::BTreeSet;

use super::age::bucket;
use super::class::{CLASSES, Class};
use super::hazard::Hazards;
use super::node::{List, NONE, Nodes};
use crate::eviction::Token;

/// A cohort takes new members for so long, in moments.
const OPEN_MOMENTS: u32 = 4;
/// Cohorts become one when this part of their age covers both.
const SPAN_DIVISOR: u32 = 4;
/// So few are left as they are.
const FEW_COHORTS: usize = 1 << 10;

/// What cohorts go by: those that stay last, the fewest hits a moment first, of equal ones the oldest.
type Rank = (bool, u32, u32);

/// One cohort.
#[derive(Debug, Default)]
struct Cohort {
    class: u8,
    /// The bucket of age that it was last counted in.
    bucket: u8,
    /// When the first and the last of its members were used, in moments.
    first: u32,
    last: u32,
    /// Members that were not used since, kept or remembered.
    members: u32,
    /// What it is in the order by, if it is.
    rank: Option<Rank>,
    /// Its leaves, in the order in which they go.
    leaves: List,
}

impl Cohort {
    fn age(&self, now: u32) -> u32 {
        let middle = self.first.wrapping_add(self.last.wrapping_sub(self.first) / 2);
        now.wrapping_sub(middle)
    }

    /// Whether a member may have been used last at this moment.
    fn covers(&self, used: u32) -> bool {
        used.wrapping_sub(self.first) <= self.last.wrapping_sub(self.first)
    }

    /// Counts the members that have come to older ages since the last look.
    fn grow_older(&mut self, now: u32, hazards: &mut Hazards) {
        let reached = bucket(self.age(now));
        for bucket in self.bucket as usize + 1..=reached {
            hazards.came_to_age(Class::from_bits(self.class), bucket, self.members);
        }
        self.bucket = self.bucket.max(reached as u8);
    }

    /// Gives it the rank of its age.
    fn rank_now(&mut self, now: u32, edge: u32, hazards: &Hazards) -> Rank {
        let rank = if now.wrapping_sub(self.first) < now.wrapping_sub(edge) {
            (true, 0, self.first)
        } else {
            let density = hazards.density(Class::from_bits(self.class), bucket(self.age(now)));
            // Numbers that are not negative are in the order of their bits.
            (false, density.to_bits(), self.first)
        };
        self.rank = Some(rank);
        rank
    }
}

/// All cohorts, and the order in which they go.
#[derive(Debug)]
pub(super) struct Cohorts {
    cohorts: Vec<Cohort>,
    free: Vec<u32>,
    /// Of each class, from the oldest to the youngest.
    by_class: [Vec<u32>; CLASSES],
    /// The one of each class that was found last, or none: blocks of one prompt are looked for one after the other.
    found: [u32; CLASSES],
    /// Those with leaves, and some others, the next to go first.
    order: BTreeSet<(Rank, u32)>,
    /// Those with leaves, by the moment from which their members are unused.
    with_leaves: BTreeSet<(u32, u32)>,
    /// What was used after this moment stays.
    edge: u32,
    /// How many there may be before those that have become alike are made one.
    most: usize,
}

impl Default for Cohorts {
    fn default() -> Self {
        Self {
            cohorts: Vec::new(),
            free: Vec::new(),
            by_class: std::array::from_fn(|_| Vec::new()),
            found: [NONE; CLASSES],
            order: BTreeSet::new(),
            with_leaves: BTreeSet::new(),
            edge: 0,
            most: FEW_COHORTS,
        }
    }
}

impl Cohorts {
    /// A block was used now, and is of this class from now on.
    pub(super) fn join(&mut self, class: Class, now: u32, hazards: &mut Hazards) {
        let Some(list) = self.by_class.get_mut(class.number()) else {
            return;
        };
        hazards.came_to_age(class, 0, 1);
        let youngest = list.last().and_then(|id| self.cohorts.get_mut(*id as usize));
        if let Some(cohort) = youngest
            && (cohort.last == now || now.wrapping_sub(cohort.first) < OPEN_MOMENTS)
        {
            cohort.last = now;
            cohort.members += 1;
            return;
        }
        let cohort = Cohort {
            class: class.bits(),
            first: now,
            last: now,
            members: 1,
            ..Cohort::default()
        };
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                self.cohorts.push(Cohort::default());
                self.cohorts.len() as u32 - 1
            }
        };
        if let Some(place) = self.cohorts.get_mut(id as usize) {
            *place = cohort;
        }
        list.push(id);
    }

    /// A member was used now.
    pub(super) fn leave_used(&mut self, class: Class, used: u32, now: u32, hazards: &mut Hazards) {
        if let Some(cohort) = self.find_mut(class, used) {
            cohort.grow_older(now, hazards);
            hazards.was_used(class, cohort.bucket as usize);
            cohort.members = cohort.members.saturating_sub(1);
        }
    }

    /// Nobody knows of a member any more.
    pub(super) fn leave_forgotten(&mut self, class: Class, used: u32) {
        if let Some(cohort) = self.find_mut(class, used) {
            cohort.members = cohort.members.saturating_sub(1);
        }
    }

    /// A member that is kept has become a leaf.
    pub(super) fn link(&mut self, nodes: &mut Nodes, token: Token, now: u32, hazards: &Hazards) {
        let Some((class, used)) = nodes.get(token).map(|node| (node.class(), node.used)) else {
            return;
        };
        let Some(id) = self.find(class, used) else { return };
        if let Some(cohort) = self.cohorts.get_mut(id as usize) {
            if cohort.leaves.len() == 0 {
                self.with_leaves.insert((cohort.first, id));
            }
            cohort.leaves.push(nodes, token);
            if cohort.rank.is_none() {
                self.order.insert((cohort.rank_now(now, self.edge, hazards), id));
            }
        }
    }

    /// A leaf is one no more.
    pub(super) fn unlink(&mut self, nodes: &mut Nodes, token: Token) {
        let Some((class, used)) = nodes.get(token).map(|node| (node.class(), node.used)) else {
            return;
        };
        let Some(id) = self.find(class, used) else { return };
        if let Some(cohort) = self.cohorts.get_mut(id as usize) {
            cohort.leaves.unlink(nodes, token);
            if cohort.leaves.len() == 0 {
                self.with_leaves.remove(&(cohort.first, id));
            }
        }
    }

    /// The leaf that goes next.
    pub(super) fn next(&mut self) -> Option<Token> {
        while let Some((_, id)) = self.order.first() {
            let cohort = self.cohorts.get_mut(*id as usize)?;
            if let Some(token) = cohort.leaves.oldest() {
                return Some(token);
            }
            cohort.rank = None;
            self.order.pop_first();
        }
        None
    }

    /// Orders all cohorts by their ages of now.
    ///
    /// What was used after `edge` goes last.
    pub(super) fn rank(&mut self, now: u32, edge: u32, hazards: &Hazards) {
        self.edge = edge;
        let mut order = Vec::with_capacity(self.with_leaves.len());
        for (_, id) in &self.with_leaves {
            if let Some(cohort) = self.cohorts.get_mut(*id as usize) {
                order.push((cohort.rank_now(now, edge, hazards), *id));
            }
        }
        self.order = BTreeSet::from_iter(order);
    }

    /// The same where what goes last is as before.
    pub(super) fn rank_again(&mut self, now: u32, hazards: &Hazards) {
        self.rank(now, self.edge, hazards);
    }

    /// About since when so many members were used, of those that are kept or remembered, for each number.
    pub(super) fn used_since<const N: usize>(&self, numbers: [usize; N], now: u32) -> [u32; N] {
        let all = self.by_class.iter().flatten();
        let cohorts = all.filter_map(|id| self.cohorts.get(*id as usize));
        let age = |moment| now.wrapping_sub(moment);
        let mut spans: Vec<_> = cohorts
            .map(|cohort| (age(cohort.last), age(cohort.first), u64::from(cohort.members)))
            .collect();
        spans.sort_unstable();
        numbers.map(|wanted| {
            let (mut left, mut reached) = (wanted as u64, 0);
            for (youngest, oldest, members) in &spans {
                if left < *members {
                    // Those of a cohort are taken to be used evenly all along.
                    let part = u64::from(oldest - youngest) * left / members;
                    reached = reached.max(youngest + part as u32);
                    break;
                }
                left -= members;
                reached = reached.max(*oldest);
            }
            now.wrapping_sub(reached)
        })
    }

    /// About since when the oldest leaf is unused, in moments; None when there is none.
    pub(super) fn oldest(&self) -> Option<u32> {
        self.with_leaves.first().map(|(first, _)| *first)
    }

    /// Whether it is time to make one of those that have become alike.
    pub(super) fn are_many(&self) -> bool {
        self.cohorts.len() - self.free.len() > self.most
    }

    /// Makes one cohort of those that have become alike in age.
    ///
    /// They have to be ranked anew then.
    pub(super) fn merge(&mut self, nodes: &mut Nodes, now: u32, hazards: &mut Hazards) {
        self.found = [NONE; CLASSES];
        for list in &mut self.by_class {
            let mut before: Option<u32> = None;
            let (cohorts, free) = (&mut self.cohorts, &mut self.free);
            list.retain(|id| {
                let Some(mut cohort) = cohorts.get_mut(*id as usize).map(std::mem::take) else {
                    return false;
                };
                cohort.grow_older(now, hazards);
                cohort.rank = None;
                if cohort.members == 0 && cohort.leaves.len() == 0 {
                    free.push(*id);
                    return false;
                }
                if let Some(older) = before.and_then(|id| cohorts.get_mut(id as usize)) {
                    let span = cohort.last.wrapping_sub(older.first);
                    if span <= now.wrapping_sub(cohort.last) / SPAN_DIVISOR {
                        older.last = cohort.last;
                        older.members += cohort.members;
                        older.leaves.append(nodes, cohort.leaves);
                        free.push(*id);
                        return false;
                    }
                }
                if let Some(place) = cohorts.get_mut(*id as usize) {
                    *place = cohort;
                }
                before = Some(*id);
                true
            });
        }
        self.most = FEW_COHORTS.max(2 * (self.cohorts.len() - self.free.len()));
        let first = |id: &u32| {
            let cohort = self.cohorts.get(*id as usize)?;
            (cohort.leaves.len() > 0).then_some((cohort.first, *id))
        };
        self.with_leaves = self.by_class.iter().flatten().filter_map(first).collect();
    }

    /// The cohort of a member that was used last at this moment.
    fn find(&mut self, class: Class, used: u32) -> Option<u32> {
        let found = self.found.get_mut(class.number())?;
        let cohorts = &self.cohorts;
        if cohorts
            .get(*found as usize)
            .is_some_and(|cohort| cohort.covers(used))
        {
            return Some(*found);
        }
        let list = self.by_class.get(class.number())?;
        let youngest = list.last().and_then(|id| cohorts.get(*id as usize))?.last;
        let age = youngest.wrapping_sub(used);
        let is_before = |id: &u32| {
            cohorts
                .get(*id as usize)
                .is_some_and(|cohort| youngest.wrapping_sub(cohort.last) > age)
        };
        let id = *list.get(list.partition_point(is_before))?;
        if !cohorts.get(id as usize)?.covers(used) {
            return None;
        }
        *found = id;
        Some(id)
    }

    fn find_mut(&mut self, class: Class, used: u32) -> Option<&mut Cohort> {
        let id = self.find(class, used)?;
        self.cohorts.get_mut(id as usize)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let ids = self.by_class.iter().map(Vec::capacity).sum::<usize>() + self.free.capacity();
        self.cohorts.capacity() * size_of::<Cohort>()
            + self.order.len() * 2 * size_of::<(Rank, u32)>()
            + self.with_leaves.len() * 2 * size_of::<(u32, u32)>()
            + ids * size_of::<u32>()
    }
}
