//! Where the bytes of a block lie in an engine's memory, and where in its page.

mod overlap;
mod run;

use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorKind, Result};
use crate::pool::PagePtr;

use run::Run;

pub use run::CopyRun;

#[cfg(test)]
mod tests;

/// The most layers in one layout.
pub const MAX_LAYERS: usize = 4_096;
/// The most segments in one block, all layers together.
pub const MAX_SEGMENTS: usize = 65_536;

/// One piece of a block: `length` bytes at `offset` from the block's place in its layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Bytes from `base_address + block * block_stride`.
    pub offset: u64,
    /// Bytes, at least one.
    pub length: u64,
}

/// One layer's part of every block: segment `s` of block `b` lies at `base_address + b * block_stride + s.offset`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerLayout {
    /// The layer's name in the engine, for messages.
    pub name: String,
    /// Where block 0 is in the engine's address space.
    pub base_address: u64,
    /// Bytes from one block to the next.
    pub block_stride: u64,
    /// The pieces of one block, in the order in which the page has them.
    pub segments: Vec<Segment>,
}

/// A checked layout of one cache group: **no two bytes of any two segments of any blocks are the same byte of memory**, and no
/// address overflows.
#[derive(Debug, Clone)]
pub struct BlockLayout {
    num_blocks: u32,
    page_bytes: u64,
    segments_digest: [u8; 32],
    runs: Vec<Run>,
}

impl BlockLayout {
    /// Checks a layout of `num_blocks` blocks; `layers` are in the order in which a page has them.
    pub fn new(num_blocks: u32, layers: &[LayerLayout]) -> Result<Self> {
        check_counts(num_blocks, layers)?;
        overlap::check(num_blocks, layers)?;

        let mut page_bytes: u64 = 0;
        let mut digest = Sha256::new();
        let mut runs: Vec<Run> = Vec::new();
        for layer in layers {
            for segment in &layer.segments {
                digest.update(segment.length.to_le_bytes());
                let run = Run {
                    address: layer.base_address + segment.offset,
                    block_stride: layer.block_stride,
                    page_offset: page_bytes,
                    length: segment.length,
                };
                page_bytes += segment.length;
                if !runs.last_mut().is_some_and(|last| last.absorb(&run)) {
                    runs.push(run);
                }
            }
        }
        Ok(Self {
            num_blocks,
            page_bytes,
            segments_digest: digest.finalize().into(),
            runs,
        })
    }

    /// How many blocks the engine has.
    pub fn num_blocks(&self) -> u32 {
        self.num_blocks
    }

    /// The bytes of one block, all layers.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// SHA-256 over the segments' lengths in page order, each as eight bytes, little-endian.
    pub fn segments_digest(&self) -> [u8; 32] {
        self.segments_digest
    }

    /// Refuses a page that does not have the bytes of a block.
    ///
    /// # Errors
    /// `Invalid`, naming both sizes.
    pub fn check_page(&self, block: u32, page: PagePtr) -> Result<()> {
        if page.len() as u64 == self.page_bytes {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Invalid,
            format!(
                "the page for block {block} has {} bytes, the layout's pages have {}",
                page.len(),
                self.page_bytes
            ),
        ))
    }

    /// For each run of a block, the bytes from it to the same run of the next block.
    pub fn block_strides(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().map(|run| run.block_stride)
    }

    /// What to copy for one block, in page order; segments that are neighbours in memory and in the page are one run.
    pub fn copy_runs(&self, block: u32) -> Result<impl Iterator<Item = CopyRun> + '_> {
        if block >= self.num_blocks {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "block id {block} is not below the engine's {} blocks",
                    self.num_blocks
                ),
            ));
        }
        Ok(self.runs.iter().map(move |run| run.of_block(block)))
    }
}

fn check_counts(num_blocks: u32, layers: &[LayerLayout]) -> Result<()> {
    if num_blocks == 0 {
        return Err(Error::new(
            ErrorKind::Invalid,
            "the layout has 0 blocks; it needs at least 1",
        ));
    }
    if layers.is_empty() {
        return Err(Error::new(
            ErrorKind::Invalid,
            "the layout has 0 layers; it needs at least 1",
        ));
    }
    if layers.len() > MAX_LAYERS {
        return Err(Error::new(
            ErrorKind::Limit,
            format!(
                "the layout has {} layers; at most {MAX_LAYERS} are allowed",
                layers.len()
            ),
        ));
    }
    let segments: usize = layers.iter().map(|layer| layer.segments.len()).sum();
    if segments > MAX_SEGMENTS {
        return Err(Error::new(
            ErrorKind::Limit,
            format!(
                "a block has {segments} segments; at most {MAX_SEGMENTS} are allowed: use a layout with larger runs"
            ),
        ));
    }
    layers.iter().try_for_each(|layer| check_layer(num_blocks, layer))
}

fn check_layer(num_blocks: u32, layer: &LayerLayout) -> Result<()> {
    let name = &layer.name;
    if layer.segments.is_empty() {
        return Err(Error::new(
            ErrorKind::Invalid,
            format!("layer {name:?} has no segments; it needs at least 1"),
        ));
    }
    for (index, segment) in layer.segments.iter().enumerate() {
        if segment.length == 0 {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("segment {index} of layer {name:?} has 0 bytes; it needs at least 1"),
            ));
        }
        if end_of_last_block(num_blocks, layer, segment).is_none() {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "segment {index} of layer {name:?} ends above the address space: base {:#x} + {} blocks of stride {} \
                     + offset {} + length {}",
                    layer.base_address,
                    u64::from(num_blocks) - 1,
                    layer.block_stride,
                    segment.offset,
                    segment.length
                ),
            ));
        }
    }
    Ok(())
}

fn end_of_last_block(num_blocks: u32, layer: &LayerLayout, segment: &Segment) -> Option<u64> {
    let last_block = layer.block_stride.checked_mul(u64::from(num_blocks) - 1)?;
    layer
        .base_address
        .checked_add(last_block)?
        .checked_add(segment.offset)?
        .checked_add(segment.length)
}
