//! An engine as the protocol sees it: a scheduler side and workers, over plain calls.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use pegaflow_core::grant::{GrantPool, IssuedGrant};
use pegaflow_proto::PROTOCOL_VERSION;
use pegaflow_proto::v1::attach_request::Role;
use pegaflow_proto::v1::engine_client::EngineClient;
use pegaflow_proto::v1::register_request::Memory as MemoryKind;
use pegaflow_proto::v1::session_event::Event;
use pegaflow_proto::v1::{
    AttachRequest, Grant, GroupLayout, HostMemory, LayerLayout, LoadRequest, LoadResponse, LookupRequest,
    LookupResponse, RegisterRequest, RegisterResponse, SaveRequest, SaveResponse, SchedulerRole, Segment,
    SessionEvent, SessionOpened, WorkerRole,
};
use rand::RngCore;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};

/// Bytes of a block hash.
pub(crate) const HASH_BYTES: u32 = 32;
/// Blocks of each worker.
pub(crate) const BLOCKS: u32 = 64;
const LAYERS: usize = 3;
const SEGMENT_BYTES: usize = 3_000;

/// A connection to the daemon's socket.
pub(crate) async fn connect(socket: &Path) -> Channel {
    let address = format!("unix://{}", socket.display());
    Endpoint::try_from(address).unwrap().connect().await.unwrap()
}

/// Hashes that nobody has used before.
pub(crate) fn fresh_hashes(count: usize) -> Vec<[u8; HASH_BYTES as usize]> {
    (0..count).map(|_| rand::random()).collect()
}

pub(crate) fn packed(hashes: &[[u8; HASH_BYTES as usize]]) -> Bytes {
    Bytes::from(hashes.concat())
}

/// The KV cache of one worker: each layer has all keys, then all values.
pub(crate) struct Memory {
    layers: Vec<Vec<u8>>,
    segment_bytes: usize,
}

impl Memory {
    pub(crate) fn random() -> Self {
        Self::with_segments(SEGMENT_BYTES)
    }

    pub(crate) fn with_segments(segment_bytes: usize) -> Self {
        let mut layers = vec![vec![0; 2 * segment_bytes * BLOCKS as usize]; LAYERS];
        layers.iter_mut().for_each(|layer| rand::rng().fill_bytes(layer));
        Self {
            layers,
            segment_bytes,
        }
    }

    /// The bytes of one block, as its page has them.
    pub(crate) fn block(&self, block: u32) -> Vec<u8> {
        let at = block as usize * self.segment_bytes;
        let values = self.segment_bytes * BLOCKS as usize;
        let of_layer = |layer: &Vec<u8>| {
            [
                &layer[at..at + self.segment_bytes],
                &layer[values + at..values + at + self.segment_bytes],
            ]
            .concat()
        };
        self.layers.iter().flat_map(of_layer).collect()
    }

    pub(crate) fn layout(&self) -> GroupLayout {
        let length = self.segment_bytes as u64;
        let layer = |(index, bytes): (usize, &Vec<u8>)| LayerLayout {
            name: format!("layer.{index}"),
            base_address: bytes.as_ptr() as u64,
            block_stride: length,
            allocation: 0,
            segments: vec![
                Segment { offset: 0, length },
                Segment {
                    offset: length * u64::from(BLOCKS),
                    length,
                },
            ],
        };
        GroupLayout {
            group: 0,
            num_blocks: BLOCKS,
            layers: self.layers.iter().enumerate().map(layer).collect(),
        }
    }

    pub(crate) fn page_bytes(&self) -> u64 {
        (2 * LAYERS * self.segment_bytes) as u64
    }
}

/// One session, which lasts as long as this.
pub(crate) struct Session {
    pub(crate) rpc: EngineClient<Channel>,
    pub(crate) opened: SessionOpened,
    pub(crate) events: Streaming<SessionEvent>,
}

impl Session {
    /// Attaches; the first event is always `opened`.
    pub(crate) async fn attach(channel: Channel, request: AttachRequest) -> Result<Self, Status> {
        let mut rpc = EngineClient::new(channel);
        let mut events = rpc.attach(request).await?.into_inner();
        match events.message().await?.and_then(|event| event.event) {
            Some(Event::Opened(opened)) => Ok(Self { rpc, opened, events }),
            other => panic!("the first event is {other:?}"),
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.opened.session_id
    }
}

/// What makes an engine.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) key: [u8; 16],
    pub(crate) namespace: [u8; 32],
    pub(crate) workers: u32,
    pub(crate) shards: u32,
    pub(crate) name: String,
}

impl Shape {
    /// An engine of one worker, that shares with nobody.
    pub(crate) fn new() -> Self {
        Self {
            key: rand::random(),
            namespace: rand::random(),
            workers: 1,
            shards: 1,
            name: "test-engine".to_owned(),
        }
    }

    pub(crate) fn with_workers(workers: u32) -> Self {
        Self {
            workers,
            shards: workers,
            ..Self::new()
        }
    }

    /// Each worker has a copy of the one shard.
    pub(crate) fn with_copies(workers: u32) -> Self {
        Self {
            workers,
            ..Self::new()
        }
    }

    /// Another engine that shares with this one.
    pub(crate) fn twin(&self) -> Self {
        Self {
            key: rand::random(),
            ..self.clone()
        }
    }

    fn attach(&self, role: Role) -> AttachRequest {
        AttachRequest {
            version: Some(PROTOCOL_VERSION),
            engine_key: Bytes::copy_from_slice(&self.key),
            engine_id: self.name.clone(),
            client_version: "test".to_owned(),
            role: Some(role),
        }
    }

    pub(crate) fn attach_scheduler(&self) -> AttachRequest {
        self.attach(Role::Scheduler(SchedulerRole {
            namespace: Bytes::copy_from_slice(&self.namespace),
            model: "random-bytes".to_owned(),
            workers: self.workers,
            shards: self.shards,
        }))
    }

    pub(crate) fn attach_worker(&self, rank: u32, shard: u32) -> AttachRequest {
        self.attach(Role::Worker(WorkerRole { rank, shard }))
    }
}

/// A worker that is registered.
pub(crate) struct Worker {
    pub(crate) session: Session,
    pub(crate) memory: Memory,
    pub(crate) registered: RegisterResponse,
    pub(crate) grants: Arc<GrantPool>,
}

impl Worker {
    pub(crate) async fn start(socket: &Path, shape: &Shape, rank: u32, shard: u32) -> Self {
        Self::with_memory(socket, shape, rank, shard, Memory::random())
            .await
            .unwrap()
    }

    pub(crate) async fn with_memory(
        socket: &Path,
        shape: &Shape,
        rank: u32,
        shard: u32,
        memory: Memory,
    ) -> Result<Self, Status> {
        let mut session = Session::attach(connect(socket).await, shape.attach_worker(rank, shard)).await?;
        let request = register_request(session.id(), &shape.namespace, &memory);
        let registered = session.rpc.register(request).await?.into_inner();
        let file = Path::new(&registered.grant_file);
        let grants = GrantPool::open(file, registered.grant_slots, registered.boot_id).unwrap();
        Ok(Self {
            session,
            memory,
            registered,
            grants,
        })
    }

    pub(crate) fn save_request(
        &self,
        hashes: &[[u8; HASH_BYTES as usize]],
        blocks: &[u32],
        grant: &IssuedGrant,
    ) -> SaveRequest {
        SaveRequest {
            session_id: self.session.id(),
            registration_id: self.registered.registration_id,
            request_id: "a-save".to_owned(),
            group: 0,
            hash_bytes: HASH_BYTES,
            hashes: packed(hashes),
            block_ids: blocks.to_vec(),
            grant: Some(message(grant)),
            point: None,
            in_ring: false,
            after: Bytes::new(),
        }
    }

    /// Saves with a grant of its own.
    pub(crate) async fn save(
        &mut self,
        hashes: &[[u8; HASH_BYTES as usize]],
        blocks: &[u32],
    ) -> SaveResponse {
        let grant = self.grants.issue().unwrap().unwrap();
        let request = self.save_request(hashes, blocks, &grant);
        let answer = self.session.rpc.save(request).await.unwrap().into_inner();
        grant.settle().unwrap();
        answer
    }

    pub(crate) fn load_request(
        &self,
        lease: u64,
        first: u32,
        blocks: &[u32],
        grant: &IssuedGrant,
    ) -> LoadRequest {
        LoadRequest {
            session_id: self.session.id(),
            registration_id: self.registered.registration_id,
            request_id: "a-load".to_owned(),
            lease_id: lease,
            lease_boot_id: self.registered.boot_id,
            first,
            block_ids: blocks.to_vec(),
            grant: Some(message(grant)),
            point: None,
            in_ring: false,
            has_more: false,
        }
    }

    /// Loads with a grant of its own.
    pub(crate) async fn load(
        &mut self,
        lease: u64,
        first: u32,
        blocks: &[u32],
    ) -> Result<LoadResponse, Status> {
        let grant = self.grants.issue().unwrap().unwrap();
        let request = self.load_request(lease, first, blocks, &grant);
        let answer = self.session.rpc.load(request).await?.into_inner();
        grant.settle().unwrap();
        Ok(answer)
    }
}

/// A whole engine.
pub(crate) struct Engine {
    pub(crate) scheduler: Session,
    pub(crate) workers: Vec<Worker>,
}

impl Engine {
    /// Each worker holds a shard of its own.
    pub(crate) async fn start(socket: &Path, shape: &Shape) -> Self {
        let scheduler = Session::attach(connect(socket).await, shape.attach_scheduler())
            .await
            .unwrap();
        let mut workers = Vec::new();
        for rank in 0..shape.workers {
            workers.push(Worker::start(socket, shape, rank, rank % shape.shards).await);
        }
        Self { scheduler, workers }
    }

    /// Saves blocks of all workers.
    pub(crate) async fn save(&mut self, hashes: &[[u8; HASH_BYTES as usize]], blocks: &[u32]) {
        for worker in &mut self.workers {
            let answer = worker.save(hashes, blocks).await;
            assert_eq!(answer.saved as usize, hashes.len(), "{answer:?}");
        }
    }

    pub(crate) async fn lookup(&mut self, hashes: &[[u8; HASH_BYTES as usize]]) -> LookupResponse {
        let request = lookup_request(self.scheduler.id(), packed(hashes));
        self.scheduler.rpc.lookup(request).await.unwrap().into_inner()
    }
}

pub(crate) fn register_request(session_id: u64, namespace: &[u8; 32], memory: &Memory) -> RegisterRequest {
    RegisterRequest {
        session_id,
        namespace: Bytes::copy_from_slice(namespace),
        hash_bytes: HASH_BYTES,
        groups: vec![memory.layout()],
        memory: Some(MemoryKind::Host(HostMemory {})),
    }
}

pub(crate) fn lookup_request(session_id: u64, hashes: Bytes) -> LookupRequest {
    LookupRequest {
        session_id,
        request_id: "a-request".to_owned(),
        group: 0,
        hash_bytes: HASH_BYTES,
        hashes,
        lookup_id: rand::random_range(1..u64::MAX),
        block_compute_ns: None,
    }
}

pub(crate) fn message(grant: &IssuedGrant) -> Grant {
    Grant {
        slot: grant.slot(),
        generation: grant.generation(),
    }
}
