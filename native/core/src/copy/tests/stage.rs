//! What the suite needs of the memory that an engine copies from and to.

use crate::copy::CopyEngine;
use crate::layout::LayerLayout;

/// Memory that an engine of the trait copies from and to, reached by the suite in another way.
pub(super) trait Stage {
    /// Where the memory begins, in the address space that layouts speak of.
    fn base(&self) -> u64;
    /// All of it.
    fn peek(&self) -> Vec<u8>;
    /// Fills it with these bytes, from its begin on.
    fn poke(&self, bytes: &[u8]);
    /// An engine for these layers of `num_blocks` blocks.
    fn engine(&self, num_blocks: u32, layers: Vec<LayerLayout>) -> Box<dyn CopyEngine>;
}
