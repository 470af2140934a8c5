//! The engine's process: it has memory on the GPU, and does what it is told over a pipe.

use std::env;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use pegaflow_core::copy::CudaMemory;
use pegaflow_core::cuda::{EventHandle, Export, Gather, GpuUuid, MemoryHandle, Ring, StreamPoint};
use pegaflow_core::layout::{BlockLayout, LayerLayout, Segment};
use pegaflow_core::process::PeerProcess;

use crate::device::Device;
use crate::stand_in;

fn read<const N: usize>(from: &mut impl Read) -> [u8; N] {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).unwrap();
    bytes
}

fn number(from: &mut impl Read) -> u64 {
    u64::from_le_bytes(read(from))
}

fn bytes(from: &mut impl Read) -> Vec<u8> {
    let mut bytes = vec![0; number(from) as usize];
    from.read_exact(&mut bytes).unwrap();
    bytes
}

fn send(to: &mut impl Write, bytes: &[u8]) {
    to.write_all(&(bytes.len() as u64).to_le_bytes()).unwrap();
    to.write_all(bytes).unwrap();
    to.flush().unwrap();
}

/// What a test asks the engine's process for.
#[repr(u8)]
#[derive(Clone, Copy)]
enum Ask {
    Allocate,
    AllocateFromPool,
    AllocateVirtual,
    Free,
    Peek,
    Poke,
    BeBusy,
    Record,
    DropPoints,
    OpenRing,
    Gather,
    Scatter,
}

/// The engine's `main`: ends when its pipe does.
pub(crate) fn serve() {
    let device = Device::open();
    let (mut asked, mut answer) = (std::io::stdin().lock(), std::io::stdout().lock());
    // The last one: the driver has room for some thousand events of a process.
    let mut exported: Option<Arc<Export>> = None;
    let mut points: Vec<StreamPoint> = Vec::new();
    let mut gather: Option<Gather> = None;
    let mut ask = [0];
    while asked.read_exact(&mut ask).is_ok() {
        let (first, second) = (number(&mut asked), number(&mut asked));
        let payload = bytes(&mut asked);
        let said = match ask[0] {
            ask if ask <= Ask::AllocateVirtual as u8 => {
                let address = match ask {
                    ask if ask == Ask::Allocate as u8 => device.allocate(first as usize),
                    ask if ask == Ask::AllocateFromPool as u8 => device.allocate_from_pool(first as usize),
                    _ => stand_in::allocate_virtual(first as usize),
                };
                match Export::new([address + first / 2, address]) {
                    Ok(export) => {
                        let said = describe(&export, address);
                        exported = Some(Arc::new(export));
                        said
                    }
                    Err(error) => error.message().as_bytes().to_vec(),
                }
            }
            ask if ask == Ask::Free as u8 => {
                device.free(first);
                Vec::new()
            }
            ask if ask == Ask::Peek as u8 => device.peek(first, second as usize),
            ask if ask == Ask::Poke as u8 => {
                device.poke(first, &payload);
                Vec::new()
            }
            ask if ask == Ask::BeBusy as u8 => {
                device.be_busy(first);
                Vec::new()
            }
            ask if ask == Ask::Record as u8 => {
                let export = exported.as_ref().unwrap();
                let point = export.record(device.stream.addr() as u64).unwrap();
                let event = point.as_ref().map_or(u32::MAX, StreamPoint::event);
                points.extend(point);
                event.to_le_bytes().to_vec()
            }
            ask if ask == Ask::OpenRing as u8 => {
                let export = exported.as_ref().unwrap();
                let opened = Gather::new(export, &layout_of(&payload, first as u32)).unwrap();
                let Ring {
                    handle,
                    slots,
                    slot_stride,
                } = opened.ring();
                gather = Some(opened);
                let mut said = handle.0.to_vec();
                said.extend(slots.to_le_bytes());
                said.extend(slot_stride.to_le_bytes());
                said
            }
            ask if ask == Ask::Gather as u8 => {
                let export = exported.as_ref().unwrap();
                let after = export.record(device.stream.addr() as u64).unwrap().unwrap();
                let point = gather.as_ref().unwrap().gather(&pairs_of(&payload), &after);
                let point = point.unwrap().unwrap();
                let event = point.event();
                points.push(point);
                event.to_le_bytes().to_vec()
            }
            ask if ask == Ask::Scatter as u8 => {
                let export = exported.as_ref().unwrap();
                let after = export.record(device.stream.addr() as u64).unwrap().unwrap();
                let scatter = gather.as_ref().unwrap().scatter(&pairs_of(&payload), &after);
                let scatter = scatter.unwrap();
                while !scatter.has_ended().unwrap() {
                    std::thread::yield_now();
                }
                Vec::new()
            }
            _ => {
                points.clear();
                Vec::new()
            }
        };
        send(&mut answer, &said);
    }
}

/// Layers as `Engine::open_ring` writes them.
fn layout_of(payload: &[u8], num_blocks: u32) -> BlockLayout {
    let mut words = payload
        .chunks(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let mut layers = Vec::new();
    while let Some(base_address) = words.next() {
        let (block_stride, segments) = (words.next().unwrap(), words.next().unwrap());
        let segments = (0..segments).map(|_| Segment {
            offset: words.next().unwrap(),
            length: words.next().unwrap(),
        });
        layers.push(LayerLayout {
            name: format!("layers.{base_address}"),
            base_address,
            block_stride,
            segments: segments.collect(),
        });
    }
    BlockLayout::new(num_blocks, &layers).unwrap()
}

fn pairs_of(payload: &[u8]) -> Vec<(u32, u32)> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    payload
        .chunks(8)
        .map(|pair| (word(&pair[..4]), word(&pair[4..])))
        .collect()
}

fn describe(export: &Export, address: u64) -> Vec<u8> {
    let (index, offset) = export.place(address).unwrap();
    assert_eq!((index, export.allocations().len()), (0, 1));
    let mut said = export.uuid().0.to_vec();
    said.extend(address.to_le_bytes());
    said.extend(offset.to_le_bytes());
    said.extend(export.allocations()[0].handle.0);
    said.extend(export.events().flat_map(|event| event.0));
    said
}

/// What the engine exported.
#[derive(Debug, Clone)]
pub(crate) struct Exported {
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) memory: CudaMemory,
}

impl Exported {
    fn of(said: &[u8]) -> Self {
        let word = |at: usize| u64::from_le_bytes(said[at..at + 8].try_into().unwrap());
        let events = said[96..]
            .chunks(64)
            .map(|event| EventHandle(event.try_into().unwrap()));
        Self {
            address: word(16),
            offset: word(24),
            memory: CudaMemory {
                gpu: GpuUuid(said[..16].try_into().unwrap()),
                allocations: vec![MemoryHandle(said[32..96].try_into().unwrap())],
                events: events.collect(),
                ring: None,
            },
        }
    }
}

fn bytes_of(pages: &[(u32, u32)]) -> Vec<u8> {
    let words = pages.iter().flat_map(|&(block, slot)| [block, slot]);
    words.flat_map(u32::to_le_bytes).collect()
}

/// A living engine; killed when dropped.
pub(crate) struct Engine {
    pub(crate) process: Arc<PeerProcess>,
    child: Mutex<Child>,
    pipes: Mutex<(ChildStdin, ChildStdout)>,
}

impl Engine {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .arg("engine")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            process: Arc::new(PeerProcess::open(child.id()).unwrap()),
            pipes: Mutex::new((child.stdin.take().unwrap(), child.stdout.take().unwrap())),
            child: Mutex::new(child),
        }
    }

    fn ask(&self, ask: Ask, first: u64, second: u64, payload: &[u8]) -> Vec<u8> {
        let mut pipes = self.pipes.lock().unwrap();
        let (to, from) = &mut *pipes;
        to.write_all(&[ask as u8]).unwrap();
        to.write_all(&first.to_le_bytes()).unwrap();
        to.write_all(&second.to_le_bytes()).unwrap();
        send(to, payload);
        bytes(from)
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Exported {
        let said = self.ask(Ask::Allocate, bytes as u64, 0, &[]);
        assert!(said.len() > 96, "{}", String::from_utf8_lossy(&said));
        Exported::of(&said)
    }

    /// Why memory of an asynchronous pool cannot be exported.
    pub(crate) fn refusal_of_pool(&self) -> String {
        String::from_utf8(self.ask(Ask::AllocateFromPool, 1 << 20, 0, &[])).unwrap()
    }

    /// Why memory that is mapped piece by piece cannot be exported.
    pub(crate) fn refusal_of_virtual_memory(&self) -> String {
        String::from_utf8(self.ask(Ask::AllocateVirtual, 1 << 20, 0, &[])).unwrap()
    }

    pub(crate) fn free(&self, address: u64) {
        self.ask(Ask::Free, address, 0, &[]);
    }

    pub(crate) fn peek(&self, address: u64, bytes: usize) -> Vec<u8> {
        self.ask(Ask::Peek, address, bytes as u64, &[])
    }

    pub(crate) fn poke(&self, address: u64, bytes: &[u8]) {
        self.ask(Ask::Poke, address, 0, bytes);
    }

    pub(crate) fn be_busy(&self, milliseconds: u64) {
        self.ask(Ask::BeBusy, milliseconds, 0, &[]);
    }

    /// The event of a point behind all that the stream was told so far; None when there is none left.
    pub(crate) fn record(&self) -> Option<u32> {
        let said = self.ask(Ask::Record, 0, 0, &[]);
        Some(u32::from_le_bytes(said.try_into().unwrap())).filter(|&event| event != u32::MAX)
    }

    /// A ring for blocks of these layers, whose addresses are the engine's.
    pub(crate) fn open_ring(&self, num_blocks: u32, layers: &[LayerLayout]) -> Ring {
        let mut payload = Vec::new();
        for layer in layers {
            let segments = layer.segments.iter();
            let head = [
                layer.base_address,
                layer.block_stride,
                layer.segments.len() as u64,
            ];
            let words = head
                .into_iter()
                .chain(segments.flat_map(|segment| [segment.offset, segment.length]));
            payload.extend(words.flat_map(u64::to_le_bytes));
        }
        let said = self.ask(Ask::OpenRing, num_blocks.into(), 0, &payload);
        Ring {
            handle: MemoryHandle(said[..64].try_into().unwrap()),
            slots: u32::from_le_bytes(said[64..68].try_into().unwrap()),
            slot_stride: u64::from_le_bytes(said[68..].try_into().unwrap()),
        }
    }

    /// Collects blocks in slots; the event of the point behind it.
    pub(crate) fn gather(&self, pages: &[(u32, u32)]) -> u32 {
        u32::from_le_bytes(self.ask(Ask::Gather, 0, 0, &bytes_of(pages)).try_into().unwrap())
    }

    /// Spreads slots to blocks, and waits for the end.
    pub(crate) fn scatter(&self, pages: &[(u32, u32)]) {
        self.ask(Ask::Scatter, 0, 0, &bytes_of(pages));
    }

    pub(crate) fn drop_points(&self) {
        self.ask(Ask::DropPoints, 0, 0, &[]);
    }

    pub(crate) fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.kill();
    }
}
