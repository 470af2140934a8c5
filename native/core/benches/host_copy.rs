//! How fast blocks are saved from and loaded into another process, against a single thread's memcpy of the same bytes.
//!
//! Blocks of 32 segments of 32 KiB, one for each layer, scattered over 1 GiB that begins at a page boundary, or 64 bytes after
//! one, as vLLM's does; pages lie on page boundaries, as in the pool. Prints one JSON line for each result; `--rounds N` repeats
//! it more often. Each round measures all ways, so that they share the machine's state.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark"
)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use pegaflow_core::copy::{CopyEngine, CopyThreads, HostCopyEngine, LoadPage, SavePage};
use pegaflow_core::layout::{BlockLayout, LayerLayout, Segment};
use pegaflow_core::process::PeerProcess;
use rand::seq::SliceRandom;

const OS_PAGE: usize = 4 << 10;
const SEGMENT: usize = 32 << 10;
const LAYERS: usize = 32;
const PAGE: usize = SEGMENT * LAYERS;
const BLOCKS: usize = 1_024;
const MEMORY: usize = PAGE * BLOCKS;
const MOVED_BLOCKS: usize = 256;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, engine_offset] = arguments.as_slice()
        && role == "hold"
    {
        return hold(engine_offset.parse().expect("a number"));
    }
    let rounds = arguments
        .iter()
        .position(|argument| argument == "--rounds")
        .and_then(|at| arguments.get(at + 1)?.parse().ok())
        .unwrap_or(9);

    for engine_offset in [0, 64] {
        measure(engine_offset, rounds);
    }
}

fn measure(engine_offset: usize, rounds: usize) {
    let (mut child, base) = start_holder(engine_offset);
    let process = Arc::new(PeerProcess::open(child.id()).expect("the holder"));
    let engine = |threads| {
        let threads = CopyThreads::start(threads).expect("threads");
        HostCopyEngine::new(Arc::clone(&process), layout(base), threads)
    };
    let engines = [(1, engine(1), 0.55), (2, engine(2), 0.85)];
    let mut memory = vec![1_u8; MEMORY + 2 * OS_PAGE];
    let memory = from_offset(&mut memory, engine_offset, MEMORY);
    let mut pages = vec![2_u8; PAGE * MOVED_BLOCKS + 2 * OS_PAGE];
    let pages = from_offset(&mut pages, 0, PAGE * MOVED_BLOCKS);
    let mut blocks: Vec<u32> = (0..BLOCKS as u32).collect();
    blocks.shuffle(&mut rand::rng());
    blocks.truncate(MOVED_BLOCKS);

    let mut seconds: [Vec<f64>; 6] = Default::default();
    for _ in 0..=rounds {
        let times = [
            timed(|| gather(memory, &blocks, pages)),
            timed(|| save(&engines[0].1, &blocks, pages)),
            timed(|| save(&engines[1].1, &blocks, pages)),
            timed(|| scatter(memory, &blocks, pages)),
            timed(|| load(&engines[0].1, &blocks, pages)),
            timed(|| load(&engines[1].1, &blocks, pages)),
        ];
        seconds
            .iter_mut()
            .zip(times)
            .for_each(|(all, time)| all.push(time));
    }
    drop(child.stdin.take());
    child.wait().expect("its end");

    for (name, ways) in [
        ("save", &mut seconds[..3].to_vec()),
        ("load", &mut seconds[3..].to_vec()),
    ] {
        // The first round touches memory for the first time.
        let medians: Vec<f64> = ways.iter_mut().map(|all| median(&mut all[1..])).collect();
        let rate = |seconds: f64| (PAGE * MOVED_BLOCKS) as f64 / seconds / 1e9;
        let head = |way: &str| format!(r#"{{"name": "host_{name}_{way}", "engine_offset": {engine_offset}"#);
        println!(
            r#"{}, "value": {:.2}, "unit": "GB/s"}}"#,
            head("memcpy"),
            rate(medians[0])
        );
        for ((threads, _, target), seconds) in engines.iter().zip(&medians[1..]) {
            let share = medians[0] / seconds;
            println!(
                r#"{}, "value": {:.2}, "unit": "GB/s", "share_of_memcpy": {share:.3}, "target": {target}, "met": {}}}"#,
                head(&format!("{threads}_threads")),
                rate(*seconds),
                share >= *target
            );
        }
    }
}

/// The part of `bytes` that begins `offset` bytes after a page boundary.
fn from_offset(bytes: &mut [u8], offset: usize, length: usize) -> &mut [u8] {
    let begin = bytes.as_ptr().addr().next_multiple_of(OS_PAGE) - bytes.as_ptr().addr() + offset;
    &mut bytes[begin..begin + length]
}

/// The engine: memory that is all touched, until the other side closes the pipe.
fn hold(engine_offset: usize) {
    let mut memory = vec![3_u8; MEMORY + 2 * OS_PAGE];
    println!(
        "{}",
        from_offset(&mut memory, engine_offset, MEMORY).as_ptr().addr()
    );
    std::io::stdout().flush().expect("a reader");
    std::io::stdin().read_line(&mut String::new()).expect("a pipe");
}

fn start_holder(engine_offset: usize) -> (Child, u64) {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["hold", &engine_offset.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a holder");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output"))
        .read_line(&mut line)
        .expect("its address");
    (child, line.trim().parse().expect("a number"))
}

/// Layer by layer, as vLLM has it: block `b` of layer `l` at `(l * BLOCKS + b) * SEGMENT`.
fn layout(base: u64) -> BlockLayout {
    let layers: Vec<LayerLayout> = (0..LAYERS)
        .map(|layer| LayerLayout {
            name: layer.to_string(),
            base_address: base + (layer * BLOCKS * SEGMENT) as u64,
            block_stride: SEGMENT as u64,
            segments: vec![Segment {
                offset: 0,
                length: SEGMENT as u64,
            }],
        })
        .collect();
    BlockLayout::new(BLOCKS as u32, &layers).expect("a layout")
}

fn places(blocks: &[u32]) -> impl Iterator<Item = (usize, usize)> + '_ {
    blocks.iter().enumerate().flat_map(|(index, &block)| {
        (0..LAYERS).map(move |layer| {
            (
                (layer * BLOCKS + block as usize) * SEGMENT,
                index * PAGE + layer * SEGMENT,
            )
        })
    })
}

fn gather(memory: &[u8], blocks: &[u32], pages: &mut [u8]) {
    for (place, at) in places(blocks) {
        pages[at..at + SEGMENT].copy_from_slice(&memory[place..place + SEGMENT]);
    }
}

fn scatter(memory: &mut [u8], blocks: &[u32], pages: &[u8]) {
    for (place, at) in places(blocks) {
        memory[place..place + SEGMENT].copy_from_slice(&pages[at..at + SEGMENT]);
    }
}

fn save(engine: &HostCopyEngine, blocks: &[u32], pages: &mut [u8]) {
    let requests: Vec<SavePage<'_>> = blocks
        .iter()
        .zip(pages.chunks_mut(PAGE))
        .map(|(&block, page)| SavePage::from_bytes(block, page))
        .collect();
    for batch in requests.chunks(engine.batch_blocks()) {
        engine.read(batch).expect("a copy");
    }
}

fn load(engine: &HostCopyEngine, blocks: &[u32], pages: &[u8]) {
    let requests: Vec<LoadPage<'_>> = blocks
        .iter()
        .zip(pages.chunks(PAGE))
        .map(|(&block, page)| LoadPage::from_bytes(block, page))
        .collect();
    for batch in requests.chunks(engine.batch_blocks()) {
        engine.write(batch).expect("a copy");
    }
}

fn timed(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
