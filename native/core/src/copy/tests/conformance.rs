//! What every copy engine does, on every shape.

use rand::RngCore;
use rand::seq::SliceRandom;

use super::shapes::{self, Shape};
use super::stage::Stage;
use crate::copy::{CopyEngine, LoadPage, SavePage};
use crate::error::ErrorKind;
use crate::layout::{LayerLayout, Segment};

/// Runs the suite; `stage` makes memory of so many bytes.
pub(super) fn check<S: Stage>(stage: impl Fn(usize) -> S) {
    for shape in shapes::all() {
        let memory = stage(shape.memory_bytes());
        pages_are_filled_with_their_blocks(&memory, shape);
        blocks_are_filled_with_their_pages_and_nothing_else_is_touched(&memory, shape);
    }
    let memory = stage(LARGE_MEMORY);
    large_blocks_arrive_whole(&memory);
    nothing_is_copied_for_a_request_that_is_wrong(&memory);
    batches_hold_some_megabytes(&memory);
}

const LARGE_MEMORY: usize = 12 << 20;
const LARGE_BLOCK: u64 = (5 << 20) + 12_345;

fn random(bytes: usize) -> Vec<u8> {
    let mut random = vec![0; bytes];
    rand::rng().fill_bytes(&mut random);
    random
}

fn in_any_order(shape: Shape) -> Vec<u32> {
    let mut blocks: Vec<u32> = (0..shape.blocks()).collect();
    blocks.shuffle(&mut rand::rng());
    blocks
}

fn read(engine: &dyn CopyEngine, blocks: &[u32]) -> Vec<Vec<u8>> {
    let mut pages: Vec<Vec<u8>> = blocks
        .iter()
        .map(|_| random(engine.page_bytes() as usize))
        .collect();
    let requests: Vec<SavePage<'_>> = blocks
        .iter()
        .zip(&mut pages)
        .map(|(&block, page)| SavePage::from_bytes(block, page))
        .collect();
    engine.read(&requests).unwrap();
    pages
}

fn pages_are_filled_with_their_blocks(stage: &impl Stage, shape: Shape) {
    let memory = random(shape.memory_bytes());
    stage.poke(&memory);
    let engine = stage.engine(shape.blocks(), shape.layers(stage.base()));
    let mut blocks = in_any_order(shape);
    // One block twice: two requests may share it.
    blocks.push(blocks[0]);
    for (&block, page) in blocks.iter().zip(read(&*engine, &blocks)) {
        let expected: Vec<u8> = shape
            .bytes_of(block)
            .into_iter()
            .map(|byte| memory[byte])
            .collect();
        assert!(page == expected, "block {block} of {shape:?}");
    }
    assert!(stage.peek() == memory, "a read wrote to the engine: {shape:?}");
}

fn blocks_are_filled_with_their_pages_and_nothing_else_is_touched(stage: &impl Stage, shape: Shape) {
    let mut expected = random(shape.memory_bytes());
    stage.poke(&expected);
    let engine = stage.engine(shape.blocks(), shape.layers(stage.base()));
    let blocks = &in_any_order(shape)[..4];
    let pages: Vec<Vec<u8>> = blocks
        .iter()
        .map(|_| random(engine.page_bytes() as usize))
        .collect();
    let requests: Vec<LoadPage<'_>> = blocks
        .iter()
        .zip(&pages)
        .map(|(&block, page)| LoadPage::from_bytes(block, page))
        .collect();
    engine.write(&requests).unwrap();
    for (&block, page) in blocks.iter().zip(&pages) {
        for (byte, &value) in shape.bytes_of(block).into_iter().zip(page) {
            expected[byte] = value;
        }
    }
    assert!(stage.peek() == expected, "{shape:?}");
}

fn layer(base_address: u64, block_stride: u64, length: u64) -> Vec<LayerLayout> {
    vec![LayerLayout {
        name: "l".into(),
        base_address,
        block_stride,
        segments: vec![Segment { offset: 0, length }],
    }]
}

fn large_engine(stage: &impl Stage) -> Box<dyn CopyEngine> {
    stage.engine(2, layer(stage.base() + 1, LARGE_BLOCK + 7, LARGE_BLOCK))
}

fn large_blocks_arrive_whole(stage: &impl Stage) {
    let memory = random(LARGE_MEMORY);
    stage.poke(&memory);
    let engine = large_engine(stage);
    let begin = |block: usize| 1 + block * (LARGE_BLOCK as usize + 7);
    for (block, page) in read(&*engine, &[0, 1]).into_iter().enumerate() {
        assert!(page == memory[begin(block)..][..LARGE_BLOCK as usize]);
    }

    let page = random(LARGE_BLOCK as usize);
    engine.write(&[LoadPage::from_bytes(1, &page)]).unwrap();
    let mut expected = memory;
    expected[begin(1)..][..LARGE_BLOCK as usize].copy_from_slice(&page);
    assert!(stage.peek() == expected);
}

fn nothing_is_copied_for_a_request_that_is_wrong(stage: &impl Stage) {
    let memory = random(LARGE_MEMORY);
    stage.poke(&memory);
    let engine = large_engine(stage);
    let good = random(LARGE_BLOCK as usize);
    let short = random(LARGE_BLOCK as usize - 1);
    let block_is_not_there = engine.write(&[LoadPage::from_bytes(0, &good), LoadPage::from_bytes(2, &good)]);
    assert_eq!(block_is_not_there.unwrap_err().kind(), ErrorKind::Invalid);
    let page_is_short = engine.write(&[LoadPage::from_bytes(0, &good), LoadPage::from_bytes(1, &short)]);
    assert_eq!(page_is_short.unwrap_err().kind(), ErrorKind::Invalid);
    assert!(stage.peek() == memory);

    let mut page = good.clone();
    assert_eq!(
        engine
            .read(&[SavePage::from_bytes(2, &mut page)])
            .unwrap_err()
            .kind(),
        ErrorKind::Invalid
    );
    assert!(page == good);
    engine.read(&[]).unwrap();
    engine.write(&[]).unwrap();
}

fn batches_hold_some_megabytes(stage: &impl Stage) {
    let engine_of = |bytes: u64| stage.engine(1, layer(stage.base(), bytes, bytes));
    for bytes in [1, 512, 4 << 10, 1 << 20, 3 << 20, 8 << 20] {
        let engine = engine_of(bytes);
        let whole = engine.batch_bytes();
        assert!((4 << 20..=64 << 20).contains(&whole), "{whole}");
        let batch = engine.batch_blocks() as u64 * bytes;
        assert!((whole / 2..=whole).contains(&batch), "{bytes}");
    }
    let large = engine_of(9 << 20);
    assert!(large.batch_blocks() as u64 <= 1.max(large.batch_bytes() / (9 << 20)));
}
