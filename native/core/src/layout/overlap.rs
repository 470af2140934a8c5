//! Refuses layouts in which two segments share a byte of memory, in one block or in two.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::LayerLayout;
use crate::error::{Error, ErrorKind, Result};

/// A segment of all blocks: `length` bytes at `start + b * stride` for every block `b`.
#[derive(Clone, Copy)]
struct Lane<'a> {
    layer: &'a LayerLayout,
    start: u64,
    stride: u64,
    length: u64,
    /// End of the last block's bytes.
    end: u64,
}

/// Addresses must have been checked not to overflow.
pub(super) fn check(num_blocks: u32, layers: &[LayerLayout]) -> Result<()> {
    let mut lanes: Vec<Lane<'_>> = layers
        .iter()
        .flat_map(|layer| lanes_of(num_blocks, layer))
        .collect();
    lanes.sort_unstable_by_key(|lane| lane.start);
    if num_blocks > 1
        && let Some(lane) = lanes.iter().find(|lane| lane.length > lane.stride)
    {
        return Err(Error::new(
            ErrorKind::Invalid,
            format!(
                "a segment of layer {:?} has {} bytes, but the next block begins after {}: blocks would overlap",
                lane.layer.name, lane.length, lane.stride
            ),
        ));
    }
    Sweep::default().run(num_blocks, &lanes)
}

fn lanes_of(num_blocks: u32, layer: &LayerLayout) -> impl Iterator<Item = Lane<'_>> {
    // With one block no stride is ever added; one value for all lets the sweep compare every lane.
    let stride = if num_blocks == 1 {
        u64::MAX
    } else {
        layer.block_stride
    };
    let last_block = layer.block_stride * (u64::from(num_blocks) - 1);
    layer.segments.iter().map(move |segment| {
        let start = layer.base_address + segment.offset;
        Lane {
            layer,
            start,
            stride,
            length: segment.length,
            end: start + last_block + segment.length,
        }
    })
}

/// The lanes that reach beyond the start of the one looked at. They share one stride and are disjoint modulo it, so a new
/// lane can collide only with its two neighbours on the circle of remainders.
#[derive(Default)]
struct Sweep<'a> {
    by_remainder: BTreeMap<u64, Lane<'a>>,
    by_end: BinaryHeap<Reverse<(u64, u64)>>,
}

impl<'a> Sweep<'a> {
    fn run(mut self, num_blocks: u32, lanes: &[Lane<'a>]) -> Result<()> {
        for lane in lanes {
            self.leave_behind(lane.start);
            let remainder = lane.start % lane.stride;
            if let Some(other) = self.by_remainder.values().next()
                && other.stride != lane.stride
            {
                return Err(interleaved(other, lane));
            }
            for (at, other) in self.neighbours(remainder) {
                if collide(num_blocks, remainder, lane, at, other) {
                    return Err(overlapping(other, lane));
                }
            }
            self.by_remainder.insert(remainder, *lane);
            self.by_end.push(Reverse((lane.end, remainder)));
        }
        Ok(())
    }

    fn leave_behind(&mut self, start: u64) {
        while let Some(&Reverse((end, remainder))) = self.by_end.peek()
            && end <= start
        {
            self.by_end.pop();
            self.by_remainder.remove(&remainder);
        }
    }

    /// The lanes before and after `remainder` on the circle.
    fn neighbours(&self, remainder: u64) -> impl Iterator<Item = (u64, &Lane<'a>)> {
        let before = self
            .by_remainder
            .range(..=remainder)
            .next_back()
            .or_else(|| self.by_remainder.iter().next_back());
        let after = self
            .by_remainder
            .range(remainder..)
            .next()
            .or_else(|| self.by_remainder.iter().next());
        before.into_iter().chain(after).map(|(&at, lane)| (at, lane))
    }
}

/// Whether two lanes whose spans meet share a byte: whether they do modulo the stride.
fn collide(num_blocks: u32, remainder: u64, lane: &Lane<'_>, at: u64, other: &Lane<'_>) -> bool {
    if num_blocks == 1 {
        return true;
    }
    let stride = lane.stride;
    let gap_to = |from: u64, to: u64| {
        if to >= from {
            to - from
        } else {
            stride - (from - to)
        }
    };
    gap_to(at, remainder) < other.length || gap_to(remainder, at) < lane.length
}

fn overlapping(first: &Lane<'_>, second: &Lane<'_>) -> Error {
    Error::new(
        ErrorKind::Invalid,
        format!(
            "layer {:?} ({} bytes at {:#x}, block stride {}) overlaps layer {:?} ({} bytes at {:#x}, block stride {}): \
             each byte may be in one segment of one block; list a tensor that layers share once",
            second.layer.name,
            second.length,
            second.start,
            second.layer.block_stride,
            first.layer.name,
            first.length,
            first.start,
            first.layer.block_stride
        ),
    )
}

fn interleaved(first: &Lane<'_>, second: &Lane<'_>) -> Error {
    Error::new(
        ErrorKind::Invalid,
        format!(
            "layer {:?} (block stride {}) lies within the memory of layer {:?} (block stride {}): layers that share a range \
             of memory need one block stride",
            second.layer.name, second.layer.block_stride, first.layer.name, first.layer.block_stride
        ),
    )
}
