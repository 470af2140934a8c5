//! Blocks that an engine collects in a ring, and spreads from it.

use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pegaflow_core::copy::{CopyEngine, CudaCopyEngine, LoadPage, SavePage};
use pegaflow_core::cuda::{CopyStrategy, GpuSettings, PAGES_PER_MOVE};
use pegaflow_core::error::Result;
use pegaflow_core::layout::{BlockLayout, LayerLayout};
use pegaflow_core::pool::PagePtr;
use rand::RngCore;

use crate::conformance;
use crate::engine::Engine;
use crate::memory::{DeviceMemory, one_run};
use crate::pool::Daemon;
use crate::stage::Stage;

/// Copies as the connector's client has them made: a ring full at a time.
struct ByRing {
    engine: Arc<Engine>,
    copies: CudaCopyEngine,
}

impl ByRing {
    fn ring(&self) -> &dyn CopyEngine {
        self.copies.ring().unwrap()
    }

    fn pages_at_once(&self) -> usize {
        (self.ring().layout().num_blocks() as usize).min(PAGES_PER_MOVE)
    }

    /// Nothing is collected for a request that is wrong.
    fn check(&self, pages: impl Iterator<Item = (u32, PagePtr)>) -> Result<()> {
        for (block, page) in pages {
            self.layout().check_page(block, page)?;
            drop(self.layout().copy_runs(block)?);
        }
        Ok(())
    }
}

impl CopyEngine for ByRing {
    fn layout(&self) -> &BlockLayout {
        self.copies.layout()
    }

    fn read(&self, pages: &[SavePage<'_>]) -> Result<()> {
        self.check(pages.iter().map(|page| (page.block(), page.page())))?;
        for pages in pages.chunks(self.pages_at_once()) {
            let pairs: Vec<(u32, u32)> = pages.iter().map(SavePage::block).zip(0..).collect();
            let point = self.engine.gather(&pairs);
            let deadline = Instant::now() + Duration::from_secs(60);
            while !self.copies.has_passed(point)? {
                assert!(Instant::now() < deadline, "the gather does not end");
                thread::yield_now();
            }
            self.engine.drop_points();
            let mut slots = vec![vec![0; self.page_bytes() as usize]; pages.len()];
            let requests = slots.iter_mut().zip(0..);
            let requests: Vec<SavePage<'_>> = requests
                .map(|(bytes, slot)| SavePage::from_bytes(slot, bytes))
                .collect();
            self.ring().read(&requests)?;
            for (page, bytes) in pages.iter().zip(&slots) {
                #[expect(unsafe_code, reason = "a page that the suite lends")]
                // SAFETY: the page is as long, and lent for writing.
                unsafe {
                    ptr::copy_nonoverlapping(bytes.as_ptr(), page.page().as_ptr(), bytes.len());
                }
            }
        }
        Ok(())
    }

    fn write(&self, pages: &[LoadPage<'_>]) -> Result<()> {
        self.check(pages.iter().map(|page| (page.block(), page.page())))?;
        for pages in pages.chunks(self.pages_at_once()) {
            let pairs: Vec<(u32, u32)> = pages.iter().map(LoadPage::block).zip(0..).collect();
            let mut slots = vec![vec![0; self.page_bytes() as usize]; pages.len()];
            for (page, bytes) in pages.iter().zip(&mut slots) {
                #[expect(unsafe_code, reason = "a page that the suite lends")]
                // SAFETY: the page is as long, and lent for reading.
                unsafe {
                    ptr::copy_nonoverlapping(page.page().as_ptr(), bytes.as_mut_ptr(), bytes.len());
                }
            }
            let requests = slots.iter().zip(0..);
            let requests: Vec<LoadPage<'_>> = requests
                .map(|(bytes, slot)| LoadPage::from_bytes(slot, bytes))
                .collect();
            self.ring().write(&requests)?;
            self.engine.scatter(&pairs);
        }
        Ok(())
    }

    fn batch_bytes(&self) -> u64 {
        self.copies.batch_bytes()
    }
}

/// Memory of an engine that has a ring.
struct MemoryWithRing<'a> {
    memory: DeviceMemory<'a>,
    engine: Arc<Engine>,
}

impl Stage for MemoryWithRing<'_> {
    fn base(&self) -> u64 {
        self.memory.base()
    }

    fn peek(&self) -> Vec<u8> {
        self.memory.peek()
    }

    fn poke(&self, bytes: &[u8]) {
        self.memory.poke(bytes);
    }

    fn engine(&self, num_blocks: u32, layers: Vec<LayerLayout>) -> Box<dyn CopyEngine> {
        Box::new(ByRing {
            copies: self.memory.open_with_ring(num_blocks, layers).unwrap(),
            engine: Arc::clone(&self.engine),
        })
    }
}

fn gather() -> GpuSettings {
    GpuSettings {
        strategy: CopyStrategy::Gather,
        max_rate: None,
    }
}

pub(crate) fn blocks_collected_by_the_engine_pass_the_suite() {
    let (daemon, engine) = (
        Daemon::with_settings(64 << 20, gather()),
        Arc::new(Engine::start()),
    );
    conformance::check(|bytes| MemoryWithRing {
        memory: DeviceMemory::new(&daemon, &engine, bytes),
        engine: Arc::clone(&engine),
    });
}

pub(crate) fn a_ring_is_used_where_it_is_set_and_shown() {
    let engine = Engine::start();
    for (strategy, is_used) in [
        (CopyStrategy::Gather, true),
        (CopyStrategy::Batch, false),
        (CopyStrategy::Plain, false),
    ] {
        let settings = GpuSettings {
            strategy,
            max_rate: None,
        };
        let daemon = Daemon::with_settings(64 << 20, settings);
        let memory = DeviceMemory::new(&daemon, &engine, 1 << 20);
        let layer = one_run(memory.base(), 1 << 16);
        let copies = memory.open_with_ring(16, vec![layer]).unwrap();
        assert_eq!(copies.ring().is_some(), is_used, "{strategy:?}");
        let shown = daemon.settled().devices[0].engines[0].ring;
        assert_eq!(shown.map(|ring| ring.bytes), is_used.then_some(1 << 20));
    }
}

pub(crate) fn a_gather_waits_for_the_engines_stream_and_its_point_for_the_gather() {
    const BUSY: Duration = Duration::from_millis(500);
    let (daemon, engine) = (Daemon::with_settings(64 << 20, gather()), Engine::start());
    let memory = DeviceMemory::new(&daemon, &engine, 1 << 20);
    let copies = memory
        .open_with_ring(16, vec![one_run(memory.base(), 1 << 16)])
        .unwrap();
    let began = Instant::now();
    engine.be_busy(BUSY.as_millis() as u64);
    let point = engine.gather(&[(3, 5)]);
    assert!(!copies.has_passed(point).unwrap() || began.elapsed() >= BUSY);
    // What the stream would have done until then.
    let mut bytes = vec![0; 1 << 20];
    rand::rng().fill_bytes(&mut bytes);
    memory.poke(&bytes);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !copies.has_passed(point).unwrap() {
        assert!(Instant::now() < deadline, "the gather does not end");
        thread::sleep(Duration::from_millis(1));
    }
    assert!(began.elapsed() >= BUSY, "{:?}", began.elapsed());
    let mut page = vec![0; 1 << 16];
    copies
        .ring()
        .unwrap()
        .read(&[SavePage::from_bytes(5, &mut page)])
        .unwrap();
    assert!(page == bytes[3 << 16..4 << 16]);
}
