//! Which block follows which.

use super::Density;
use super::expected::Next;
use super::node::{NONE, Place};
use crate::eviction::{Kept, Predecessor, Token};

impl Density {
    /// A block follows another in its chain, and goes before it.
    pub(super) fn adopt(&mut self, child: Token, parent: Token) {
        let (Some(of_child), Some(of_parent)) = (self.nodes.get(child), self.nodes.get(parent)) else {
            return;
        };
        let place = of_parent.place();
        if of_child.parent == parent.0 || child == parent || place == Place::Gone {
            return;
        }
        // With as many as can be counted, the next is as one of which nothing is known.
        if !of_parent.has_room() {
            return;
        }
        self.release_parent(child);
        if place == Place::Leaf {
            self.unsettle(parent);
        }
        if let Some(node) = self.nodes.get_mut(parent) {
            node.add_child();
            if place == Place::Leaf {
                node.set_place(Place::Inner);
            }
        }
        if let Some(node) = self.nodes.get_mut(child) {
            node.parent = parent.0;
        }
    }

    /// Forgets what a block follows.
    pub(super) fn release_parent(&mut self, child: Token) {
        let parent = match self.nodes.get_mut(child) {
            Some(node) if node.parent != NONE => Token(std::mem::replace(&mut node.parent, NONE)),
            _ => return,
        };
        let Some(node) = self.nodes.get_mut(parent) else {
            return;
        };
        node.remove_child();
        match node.place() {
            Place::Inner if node.children() == 0 => self.settle(parent),
            Place::Gone if node.children() == 0 => self.nodes.free(parent),
            _ => {}
        }
    }

    /// What names a block also when its token may name another.
    pub(super) fn kept(&self, token: Token) -> Option<Kept> {
        let block = self.nodes.get(token)?.block;
        Some(Kept { token, block })
    }

    /// Whether the block is still there.
    fn is_kept(&self, kept: &Kept) -> bool {
        self.nodes
            .get(kept.token)
            .is_some_and(|node| node.block == kept.block && node.place() != Place::Gone)
    }

    /// Gives a block that came its place in its chain, as far as that is known from who saved it, or from who asked for it.
    pub(super) fn chain(&mut self, token: Token, fingerprint: u32, after: Option<Predecessor>) {
        let (place, Some(own)) = (self.expected.take(fingerprint), self.kept(token)) else {
            return;
        };
        let parents = [
            after.and_then(|after| after.kept),
            place.and_then(|place| place.parent),
        ];
        let parent = parents.into_iter().flatten().find(|parent| self.is_kept(parent));
        match (parent, after) {
            (Some(parent), _) => self.adopt(token, parent.token),
            (None, Some(after)) => {
                let most = self.most_expected();
                self.expected.set_next(after.fingerprint, own, most);
            }
            (None, None) => {}
        }
        match place.and_then(|place| place.next) {
            Some(Next::Kept(next)) if self.is_kept(&next) => self.adopt(next.token, token),
            Some(Next::Expected(next)) => self.expected.set_parent(next, own),
            Some(Next::Kept(_)) | None => {}
        }
    }
}
