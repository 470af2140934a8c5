use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::*;

fn layer(name: &str, base_address: u64, block_stride: u64, segments: &[(u64, u64)]) -> LayerLayout {
    let segments = segments
        .iter()
        .map(|&(offset, length)| Segment { offset, length })
        .collect();
    LayerLayout {
        name: name.to_owned(),
        base_address,
        block_stride,
        segments,
    }
}

fn refused(num_blocks: u32, layers: &[LayerLayout]) -> Error {
    BlockLayout::new(num_blocks, layers).unwrap_err()
}

#[test]
fn a_page_has_the_segments_of_all_layers_in_the_order_given() {
    let layers = [
        layer("b", 0x9000, 64, &[(32, 8), (0, 16)]),
        layer("a", 0x1000, 256, &[(0, 100)]),
    ];
    let layout = BlockLayout::new(4, &layers).unwrap();
    assert_eq!(layout.page_bytes(), 124);
    let runs: Vec<CopyRun> = layout.copy_runs(3).unwrap().collect();
    assert_eq!(
        runs,
        [
            CopyRun {
                address: 0x9000 + 3 * 64 + 32,
                page_offset: 0,
                length: 8
            },
            CopyRun {
                address: 0x9000 + 3 * 64,
                page_offset: 8,
                length: 16
            },
            CopyRun {
                address: 0x1000 + 3 * 256,
                page_offset: 24,
                length: 100
            },
        ]
    );
    let mut digest = Sha256::new();
    for length in [8_u64, 16, 100] {
        digest.update(length.to_le_bytes());
    }
    assert_eq!(layout.segments_digest(), <[u8; 32]>::from(digest.finalize()));
}

#[test]
fn block_ids_of_other_engines_are_refused() {
    let layout = BlockLayout::new(4, &[layer("a", 0x1000, 64, &[(0, 64)])]).unwrap();
    assert!(layout.copy_runs(3).is_ok());
    for block in [4, u32::MAX] {
        let error = layout.copy_runs(block).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.message().contains(&block.to_string()), "{error}");
    }
}

#[test]
fn layers_of_one_tensor_are_one_run_per_block() {
    let layers: Vec<LayerLayout> = (0..8)
        .map(|index| {
            layer(
                &format!("l{index}"),
                0x1000 + index * 32,
                256,
                &[(0, 16), (16, 16)],
            )
        })
        .collect();
    let layout = BlockLayout::new(10, &layers).unwrap();
    let runs: Vec<CopyRun> = layout.copy_runs(2).unwrap().collect();
    assert_eq!(
        runs,
        [CopyRun {
            address: 0x1000 + 2 * 256,
            page_offset: 0,
            length: 256
        }]
    );
}

#[test]
fn neighbours_in_memory_are_no_run_where_other_blocks_lie_elsewhere() {
    let layers = [
        layer("a", 0x1000, 16, &[(0, 16)]),
        layer("b", 0x1010, 32, &[(0, 16)]),
    ];
    assert_eq!(
        BlockLayout::new(1, &layers)
            .unwrap()
            .copy_runs(0)
            .unwrap()
            .count(),
        2
    );
}

#[test]
fn empty_layouts_are_refused() {
    assert!(
        refused(0, &[layer("a", 0, 8, &[(0, 8)])])
            .message()
            .contains("0 blocks")
    );
    assert!(refused(1, &[]).message().contains("0 layers"));
    assert!(
        refused(1, &[layer("odd one", 0, 8, &[])])
            .message()
            .contains("odd one")
    );
    assert!(
        refused(1, &[layer("odd one", 0, 8, &[(0, 8), (8, 0)])])
            .message()
            .contains("segment 1 of layer \"odd one\"")
    );
}

#[test]
fn the_limits_of_the_protocol_hold() {
    let many: Vec<LayerLayout> = (0..=MAX_LAYERS as u64)
        .map(|index| layer(&index.to_string(), index * 8, 8, &[(0, 8)]))
        .collect();
    assert_eq!(refused(1, &many).kind(), ErrorKind::Limit);
    assert!(BlockLayout::new(1, &many[1..]).is_ok());

    let segments: Vec<(u64, u64)> = (0..=MAX_SEGMENTS as u64).map(|index| (index * 2, 1)).collect();
    assert_eq!(
        refused(7, &[layer("a", 0, 1 << 20, &segments)]).kind(),
        ErrorKind::Limit
    );
    assert!(BlockLayout::new(7, &[layer("a", 0, 1 << 20, &segments[1..])]).is_ok());
}

#[test]
fn addresses_above_the_address_space_are_refused_with_the_layer_s_name() {
    let high = u64::MAX - 63;
    assert!(BlockLayout::new(1, &[layer("high", high, 8, &[(0, 63)])]).is_ok());
    for (num_blocks, candidate) in [
        (1, layer("high", high, 8, &[(0, 64)])),
        (1, layer("high", high, 8, &[(u64::MAX, 1)])),
        (2, layer("high", high, 64, &[(0, 8)])),
        (u32::MAX, layer("high", 0, u64::MAX, &[(0, 1)])),
    ] {
        let error = refused(num_blocks, &[candidate]);
        assert!(error.message().contains("\"high\""), "{error}");
    }
}

#[test]
fn overlaps_are_refused_with_both_layers_names() {
    for (num_blocks, layers) in [
        (1, vec![layer("one", 0x100, 64, &[(0, 8), (7, 8)])]),
        (2, vec![layer("one", 0x100, 64, &[(0, 65)])]),
        (2, vec![layer("one", 0x100, 0, &[(0, 1)])]),
        (3, vec![layer("one", 0x100, 64, &[(0, 8), (128, 8)])]),
        (
            4,
            vec![
                layer("one", 0x100, 64, &[(0, 8)]),
                layer("one", 0x1C0, 64, &[(7, 8)]),
            ],
        ),
        (
            4,
            vec![
                layer("one", 0x100, 64, &[(0, 8)]),
                layer("one", 0x120, 128, &[(0, 8)]),
            ],
        ),
    ] {
        let error = refused(num_blocks, &layers);
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.message().contains("\"one\""), "{error}");
    }
}

#[test]
fn keys_and_values_apart_do_not_overlap() {
    let (blocks, stride) = (1_000, 4_096);
    let split = layer(
        "kv",
        0x10_0000,
        stride,
        &[(0, stride), (u64::from(blocks) * stride, stride)],
    );
    let layout = BlockLayout::new(blocks, &[split]).unwrap();
    assert_eq!(layout.copy_runs(0).unwrap().count(), 2);
}

/// Whether two different segments of any blocks share a byte, by looking at every pair.
fn overlaps(num_blocks: u32, layers: &[LayerLayout]) -> bool {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for layer in layers {
        for block in 0..u64::from(num_blocks) {
            for segment in &layer.segments {
                let start = layer.base_address + block * layer.block_stride + segment.offset;
                spans.push((start, start + segment.length));
            }
        }
    }
    spans.sort_unstable();
    spans.windows(2).any(|pair| pair[0].1 > pair[1].0)
}

fn any_segments() -> impl Strategy<Value = Vec<Segment>> {
    let segment = (0_u64..80, 1_u64..6).prop_map(|(offset, length)| Segment { offset, length });
    proptest::collection::vec(segment, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn layouts_of_one_stride_are_accepted_exactly_when_nothing_overlaps(
        num_blocks in 1_u32..7,
        stride in 0_u64..24,
        parts in proptest::collection::vec((0_u64..60, any_segments()), 1..4),
    ) {
        let layers: Vec<LayerLayout> = parts
            .into_iter()
            .map(|(base_address, segments)| LayerLayout { name: "l".into(), base_address, block_stride: stride, segments })
            .collect();
        prop_assert_eq!(BlockLayout::new(num_blocks, &layers).is_err(), overlaps(num_blocks, &layers));
    }

    #[test]
    fn no_layout_that_overlaps_is_accepted(
        num_blocks in 1_u32..7,
        parts in proptest::collection::vec((0_u64..60, 0_u64..24, any_segments()), 1..4),
    ) {
        let layers: Vec<LayerLayout> = parts
            .into_iter()
            .map(|(base_address, block_stride, segments)| LayerLayout { name: "l".into(), base_address, block_stride, segments })
            .collect();
        prop_assert!(BlockLayout::new(num_blocks, &layers).is_err() || !overlaps(num_blocks, &layers));
    }

    #[test]
    fn runs_cover_the_same_bytes_as_segments(
        num_blocks in 1_u32..7,
        stride in 1_u64..24,
        segments in any_segments(),
    ) {
        let layers = [LayerLayout { name: "l".into(), base_address: 100, block_stride: stride, segments }];
        if let Ok(layout) = BlockLayout::new(num_blocks, &layers) {
            for block in 0..num_blocks {
                let mut bytes = vec![0; layout.page_bytes() as usize];
                for run in layout.copy_runs(block).unwrap() {
                    for byte in 0..run.length {
                        bytes[(run.page_offset + byte) as usize] = run.address + byte;
                    }
                }
                let begin = 100 + u64::from(block) * stride;
                let expected: Vec<u64> = layers[0]
                    .segments
                    .iter()
                    .flat_map(|segment| (0..segment.length).map(move |byte| begin + segment.offset + byte))
                    .collect();
                prop_assert_eq!(bytes, expected);
            }
        }
    }
}
