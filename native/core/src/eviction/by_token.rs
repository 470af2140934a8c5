//! A small value for each block, by its token: what a policy knows of a block beside its node.

use super::Token;
use crate::arena::push_exact;

/// The values of all blocks.
#[derive(Debug, Default)]
pub(super) struct ByToken<T>(Vec<T>);

impl<T: Copy + Default> ByToken<T> {
    pub(super) fn get(&self, token: Token) -> T {
        self.0.get(token.0 as usize).copied().unwrap_or_default()
    }

    /// Tokens have their first values in their order.
    pub(super) fn set(&mut self, token: Token, value: T) {
        match self.0.get_mut(token.0 as usize) {
            Some(kept) => *kept = value,
            None => push_exact(&mut self.0, value),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<T>()
    }
}
