//! The shapes of KV tensors that vLLM has had, and what a block of each is, by its definition.

use crate::layout::{LayerLayout, Segment};

const LAYERS: u64 = 3;
const BLOCKS: u64 = 7;
const TOKENS: u64 = 4;
const ELEMENT_BYTES: u64 = 2;
/// Tensors begin at no page boundary.
const FIRST_BYTE: u64 = 64;

/// A KV cache in memory: its axes from the slowest to the fastest. L layers, B blocks, K keys and values, H heads, N tokens,
/// C the elements of one head (twice as many where keys and values are packed in it).
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    axes: &'static str,
    heads: u64,
    channels: u64,
    /// Elements left free after each step of this axis.
    padding: Option<(char, u64)>,
}

/// Every axis order of the releases from 0.20 to 0.33, host and GPU, with few, some and many heads, packed and padded.
pub(super) fn all() -> Vec<Shape> {
    let orders = [
        "LKBNHC", "LKBHNC", "LBKNHC", "LBHNC", "LBNHC", "BLNHC", "LHBNC", "BLHNC", "BHLNC", "LBNC", "BLNC",
    ];
    let paddings = [None, Some(('B', 32)), Some(('N', 1)), Some(('L', 40))];
    let mut shapes = Vec::new();
    for axes in orders {
        for heads in [1, 2, 16] {
            for padding in paddings {
                let channels = if axes.contains('K') { 8 } else { 16 };
                shapes.push(Shape {
                    axes,
                    heads,
                    channels,
                    padding,
                });
            }
        }
    }
    shapes
}

impl Shape {
    fn size(&self, axis: char) -> u64 {
        match axis {
            'L' => LAYERS,
            'B' => BLOCKS,
            'K' => 2,
            'H' => self.heads,
            'N' => TOKENS,
            _ => self.channels,
        }
    }

    /// Bytes from one step of an axis to the next.
    fn stride(&self, axis: char) -> u64 {
        let mut stride = ELEMENT_BYTES;
        for faster in self.axes.chars().rev().take_while(|&faster| faster != axis) {
            stride *= self.size(faster);
            if let Some((padded, elements)) = self.padding
                && padded == faster
            {
                stride += elements * ELEMENT_BYTES;
            }
        }
        stride
    }

    /// Blocks of the engine.
    pub(super) fn blocks(&self) -> u32 {
        BLOCKS as u32
    }

    /// Bytes of memory that the tensors need, with some before and after.
    pub(super) fn memory_bytes(&self) -> usize {
        let slowest = self.axes.chars().next().unwrap();
        let padding = self.padding.map_or(0, |(_, elements)| elements * ELEMENT_BYTES);
        (FIRST_BYTE + self.stride(slowest) * self.size(slowest) + padding + 4_096) as usize
    }

    /// Where every byte of a block lies, from the begin of the memory, in the order of its page.
    pub(super) fn bytes_of(&self, block: u32) -> Vec<usize> {
        let mut bytes = Vec::new();
        for layer in 0..LAYERS {
            bytes.extend(
                self.bytes_of_layer(layer, block.into())
                    .into_iter()
                    .map(|byte| byte as usize),
            );
        }
        bytes
    }

    /// Within a layer a page has the bytes in the order of their addresses.
    fn bytes_of_layer(&self, layer: u64, block: u64) -> Vec<u64> {
        let mut elements = vec![FIRST_BYTE];
        for axis in self.axes.chars() {
            let steps = match axis {
                'L' => layer..layer + 1,
                'B' => block..block + 1,
                _ => 0..self.size(axis),
            };
            let stride = self.stride(axis);
            elements = elements
                .iter()
                .flat_map(|&begin| steps.clone().map(move |step| begin + step * stride))
                .collect();
        }
        elements.sort_unstable();
        elements
            .into_iter()
            .flat_map(|element| element..element + ELEMENT_BYTES)
            .collect()
    }

    /// As an engine describes it: one base address and segment list for each layer.
    pub(super) fn layers(&self, base: u64) -> Vec<LayerLayout> {
        (0..LAYERS)
            .map(|layer| {
                let bytes = self.bytes_of_layer(layer, 0);
                let begin = bytes[0];
                let mut segments: Vec<Segment> = Vec::new();
                for byte in bytes {
                    match segments.last_mut() {
                        Some(last) if begin + last.offset + last.length == byte => last.length += 1,
                        _ => segments.push(Segment {
                            offset: byte - begin,
                            length: 1,
                        }),
                    }
                }
                LayerLayout {
                    name: format!("model.layers.{layer}"),
                    base_address: base + begin,
                    block_stride: self.stride('B'),
                    segments,
                }
            })
            .collect()
    }
}
