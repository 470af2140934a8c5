//! Blocks as the policy has them, and the chains that they form.

use super::class::Class;
use crate::arena::Arena;
use crate::eviction::Token;
use crate::index::BlockId;

pub(super) const NONE: u32 = u32::MAX;

/// Where a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Among the last that came, which are not proposed yet.
    Fresh,
    /// In the list of its cohort: no kept block follows it in its chain.
    Leaf,
    /// In no list: a block that follows it goes first.
    Inner,
    /// Proposed, and still here.
    Aside,
    /// Removed before the blocks that follow it: only its number is still taken.
    Gone,
}

impl Place {
    const ALL: [Self; 5] = [Self::Fresh, Self::Leaf, Self::Inner, Self::Aside, Self::Gone];
}

/// One block.
#[derive(Debug)]
pub(super) struct Node {
    /// Neighbours in the list that the place says.
    pub(super) older: u32,
    pub(super) younger: u32,
    pub(super) block: BlockId,
    /// When it was used last, in moments.
    pub(super) used: u32,
    /// The block before it in its chain, if that is kept and known.
    pub(super) parent: u32,
    /// The number of children in 22 bits, class in 7, place in 3.
    packed: u32,
}

const PLACE_BITS: u32 = 3;
const CLASS_BITS: u32 = 7;
const CHILD: u32 = 1 << (PLACE_BITS + CLASS_BITS);

impl Node {
    pub(super) fn class(&self) -> Class {
        Class::from_bits((self.packed >> PLACE_BITS) as u8 & ((1 << CLASS_BITS) - 1))
    }

    pub(super) fn set_class(&mut self, class: Class) {
        let mask = ((1 << CLASS_BITS) - 1) << PLACE_BITS;
        self.packed = self.packed & !mask | u32::from(class.bits()) << PLACE_BITS;
    }

    pub(super) fn place(&self) -> Place {
        let bits = self.packed & ((1 << PLACE_BITS) - 1);
        Place::ALL.get(bits as usize).copied().unwrap_or(Place::Gone)
    }

    pub(super) fn set_place(&mut self, place: Place) {
        self.packed = self.packed & !((1 << PLACE_BITS) - 1) | place as u32;
    }

    /// Kept blocks that follow it in their chains, and are not aside.
    pub(super) fn children(&self) -> u32 {
        self.packed / CHILD
    }

    /// Whether one more child can be counted.
    pub(super) fn has_room(&self) -> bool {
        self.packed <= u32::MAX - CHILD
    }

    pub(super) fn add_child(&mut self) {
        self.packed += CHILD;
    }

    pub(super) fn remove_child(&mut self) {
        self.packed -= CHILD;
    }
}

/// All blocks of a policy.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: Arena<Node>,
}

impl Nodes {
    /// A fresh block that is in no list yet.
    pub(super) fn insert(&mut self, block: BlockId, class: Class, used: u32) -> Token {
        let mut node = Node {
            older: NONE,
            younger: NONE,
            block,
            used,
            parent: NONE,
            packed: 0,
        };
        node.set_class(class);
        node.set_place(Place::Fresh);
        Token(self.nodes.insert(node))
    }

    pub(super) fn free(&mut self, token: Token) {
        self.nodes.remove(token.0);
    }

    pub(super) fn get(&self, token: Token) -> Option<&Node> {
        self.nodes.get(token.0)
    }

    pub(super) fn get_mut(&mut self, token: Token) -> Option<&mut Node> {
        self.nodes.get_mut(token.0)
    }

    /// All tokens so far are below this.
    pub(super) fn places(&self) -> usize {
        self.nodes.places()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.nodes.memory_bytes()
    }
}

/// A list of nodes, linked through them.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    oldest: u32,
    youngest: u32,
    len: u32,
}

impl Default for List {
    fn default() -> Self {
        Self {
            oldest: NONE,
            youngest: NONE,
            len: 0,
        }
    }
}

impl List {
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn oldest(&self) -> Option<Token> {
        (self.oldest != NONE).then_some(Token(self.oldest))
    }

    pub(super) fn youngest(&self) -> Option<Token> {
        (self.youngest != NONE).then_some(Token(self.youngest))
    }

    /// Puts a node that is in no list at the young end.
    pub(super) fn push(&mut self, nodes: &mut Nodes, token: Token) {
        let before = std::mem::replace(&mut self.youngest, token.0);
        if let Some(node) = nodes.get_mut(token) {
            node.older = before;
            node.younger = NONE;
        }
        match nodes.get_mut(Token(before)) {
            Some(node) => node.younger = token.0,
            None => self.oldest = token.0,
        }
        self.len += 1;
    }

    /// Takes a node of this list out.
    pub(super) fn unlink(&mut self, nodes: &mut Nodes, token: Token) {
        let Some(&Node { older, younger, .. }) = nodes.get(token) else {
            return;
        };
        match nodes.get_mut(Token(older)) {
            Some(node) => node.younger = younger,
            None => self.oldest = younger,
        }
        match nodes.get_mut(Token(younger)) {
            Some(node) => node.older = older,
            None => self.youngest = older,
        }
        self.len -= 1;
    }

    /// Takes all nodes of a younger list behind those of this one.
    pub(super) fn append(&mut self, nodes: &mut Nodes, younger: Self) {
        if younger.len == 0 {
            return;
        }
        match nodes.get_mut(Token(self.youngest)) {
            Some(node) => node.younger = younger.oldest,
            None => self.oldest = younger.oldest,
        }
        if let Some(node) = nodes.get_mut(Token(younger.oldest)) {
            node.older = self.youngest;
        }
        self.youngest = younger.youngest;
        self.len += younger.len;
    }
}

#[cfg(test)]
mod tests;
