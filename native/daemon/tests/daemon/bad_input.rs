//! Bad input ends one call with one sentence: the connection lives and nothing else is touched.

use bytes::Bytes;
use pegaflow_proto::v1::register_request::Memory as MemoryKind;
use pegaflow_proto::v1::{
    CudaMemory, GroupLayout, LoadRequest, LookupRequest, ProtocolVersion, SaveRequest, Segment,
};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use tonic::{Code, Status};

use crate::support::engine::{
    BLOCKS, Engine, HASH_BYTES, Memory, Session, Shape, Worker, connect, fresh_hashes, lookup_request,
    packed, register_request,
};
use crate::support::{Child, Daemon, eventually};

/// A daemon with one engine that has saved something.
struct Scene {
    daemon: Daemon,
    engine: Engine,
    hashes: Vec<[u8; HASH_BYTES as usize]>,
}

impl Scene {
    async fn set() -> Self {
        let daemon = Daemon::start();
        let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
        let hashes = fresh_hashes(4);
        engine.save(&hashes, &[0, 1, 2, 3]).await;
        Self {
            daemon,
            engine,
            hashes,
        }
    }

    async fn lookup_error(&mut self, adjust: impl FnOnce(&mut LookupRequest)) -> Status {
        let mut request = lookup_request(self.engine.scheduler.id(), packed(&self.hashes));
        adjust(&mut request);
        let error = self.engine.scheduler.rpc.lookup(request).await.unwrap_err();
        self.all_is_well().await;
        error
    }

    async fn save_error(&mut self, adjust: impl FnOnce(&mut SaveRequest)) -> Status {
        let worker = &mut self.engine.workers[0];
        let grant = worker.grants.issue().unwrap().unwrap();
        let mut request = worker.save_request(&fresh_hashes(2), &[5, 6], &grant);
        adjust(&mut request);
        let error = worker.session.rpc.save(request).await.unwrap_err();
        grant.settle().unwrap();
        self.all_is_well().await;
        error
    }

    /// The load that is refused does not use the lease up.
    async fn load_error(&mut self, adjust: impl FnOnce(&mut LoadRequest)) -> Status {
        let lease = self.engine.lookup(&self.hashes).await.lease_id;
        let worker = &mut self.engine.workers[0];
        let grant = worker.grants.issue().unwrap().unwrap();
        let mut request = worker.load_request(lease, 0, &[5, 6], &grant);
        adjust(&mut request);
        let error = worker.session.rpc.load(request).await.unwrap_err();
        grant.settle().unwrap();
        assert!(worker.load(lease, 0, &[7]).await.unwrap().bytes > 0);
        self.all_is_well().await;
        error
    }

    /// The same connections go on, and nothing was cached or is held.
    async fn all_is_well(&mut self) {
        let found = self.engine.lookup(&self.hashes).await;
        assert_eq!(found.memory_blocks, 4);
        self.engine.workers[0]
            .load(found.lease_id, 0, &[10, 11, 12, 13])
            .await
            .unwrap();
        let status = self.daemon.status().await;
        assert_eq!(status["leases"]["held"], 0);
        assert_eq!(status["namespaces"][0]["blocks"], 4);
        assert_eq!(status["pool"]["in_flight_pages"], 0);
        assert_eq!(
            (&status["saves"]["in_flight"], &status["loads"]["in_flight"]),
            (&0.into(), &0.into())
        );
    }
}

fn says(error: &Status, code: Code, parts: &[&str]) {
    assert_eq!(error.code(), code, "{}", error.message());
    for part in parts {
        assert!(
            error.message().contains(part),
            "{part:?} is not in: {}",
            error.message()
        );
    }
    assert!(!error.message().ends_with('.'), "{}", error.message());
}

#[tokio::test]
async fn lookups() {
    let mut scene = Scene::set().await;
    let error = scene.lookup_error(|request| request.hash_bytes = 16).await;
    says(&error, Code::InvalidArgument, &["hash_bytes = 16", "32"]);
    let error = scene.lookup_error(|request| request.hash_bytes = 0).await;
    says(&error, Code::InvalidArgument, &["hash_bytes = 0"]);
    let error = scene
        .lookup_error(|request| request.hashes = Bytes::from_static(&[1; 33]))
        .await;
    says(&error, Code::InvalidArgument, &["33 bytes", "multiple"]);
    let error = scene.lookup_error(|request| request.group = 7).await;
    says(&error, Code::InvalidArgument, &["group = 7"]);
    let error = scene
        .lookup_error(|request| request.hashes = vec![0; 65_537 * 32].into())
        .await;
    says(&error, Code::ResourceExhausted, &["65537", "65536"]);
}

#[tokio::test]
async fn ten_million_hashes_are_above_the_size_of_a_message() {
    let mut scene = Scene::set().await;
    let error = scene
        .lookup_error(|request| request.hashes = vec![0; 10_000_000 * 32].into())
        .await;
    says(
        &error,
        Code::ResourceExhausted,
        &["3200000", &(8 << 20).to_string()],
    );
}

#[tokio::test]
async fn unknown_sessions_and_foreign_roles() {
    let mut scene = Scene::set().await;
    let error = scene.lookup_error(|request| request.session_id = 42).await;
    says(&error, Code::NotFound, &["42", "attach again"]);
    let worker_session = scene.engine.workers[0].session.id();
    let error = scene
        .lookup_error(|request| request.session_id = worker_session)
        .await;
    says(&error, Code::FailedPrecondition, &["worker"]);
    let scheduler_session = scene.engine.scheduler.id();
    let error = scene
        .save_error(|request| request.session_id = scheduler_session)
        .await;
    says(&error, Code::FailedPrecondition, &["scheduler"]);
    let error = scene.save_error(|request| request.registration_id = 42).await;
    says(&error, Code::NotFound, &["42", "register again"]);
}

#[tokio::test]
async fn saves() {
    let mut scene = Scene::set().await;
    let error = scene
        .save_error(|request| request.block_ids = vec![5, BLOCKS])
        .await;
    says(&error, Code::InvalidArgument, &["block id 64", "64 blocks"]);
    let error = scene.save_error(|request| request.block_ids = vec![6, 6]).await;
    says(&error, Code::InvalidArgument, &["block id 6", "twice"]);
    let error = scene.save_error(|request| request.block_ids = vec![6]).await;
    says(&error, Code::InvalidArgument, &["2 hashes", "1 block ids"]);
    let error = scene
        .save_error(|request| request.block_ids = (0..16_385).collect())
        .await;
    says(&error, Code::ResourceExhausted, &["16385", "16384"]);
    for bytes in [1, 32, 63, 96] {
        let error = scene
            .save_error(|request| request.after = vec![0; bytes].into())
            .await;
        says(
            &error,
            Code::InvalidArgument,
            &["after", &format!("{bytes} bytes"), "64"],
        );
    }
    let error = scene.save_error(|request| request.point = Some(0)).await;
    says(&error, Code::InvalidArgument, &["point = 0", "registered 0"]);
    let error = scene.save_error(|request| request.grant = None).await;
    says(&error, Code::InvalidArgument, &["grant"]);
    let error = scene
        .save_error(|request| request.grant.as_mut().unwrap().slot = 1_000_000)
        .await;
    says(&error, Code::InvalidArgument, &["1000000"]);
    let error = scene.save_error(|request| request.in_ring = true).await;
    says(&error, Code::InvalidArgument, &["in_ring", "no ring"]);
}

#[tokio::test]
async fn loads() {
    let mut scene = Scene::set().await;
    let error = scene
        .load_error(|request| request.block_ids = vec![1, 2, BLOCKS + 9])
        .await;
    says(&error, Code::InvalidArgument, &["block id 73"]);
    let error = scene.load_error(|request| request.block_ids = vec![1, 1]).await;
    says(&error, Code::InvalidArgument, &["block id 1", "twice"]);
    let error = scene.load_error(|request| request.point = Some(7)).await;
    says(&error, Code::InvalidArgument, &["point = 7", "registered 0"]);
    let error = scene.load_error(|request| request.first = 3).await;
    says(&error, Code::InvalidArgument, &["3"]);
    let error = scene.load_error(|request| request.first = u32::MAX).await;
    says(&error, Code::InvalidArgument, &[]);
    let error = scene
        .load_error(|request| request.grant.as_mut().unwrap().generation = 0)
        .await;
    says(&error, Code::InvalidArgument, &["generation 0"]);
    let error = scene.load_error(|request| request.in_ring = true).await;
    says(&error, Code::InvalidArgument, &["in_ring", "no ring"]);
}

#[tokio::test]
async fn another_major_version_is_refused_with_both_versions() {
    let mut scene = Scene::set().await;
    let mut request = Shape::new().attach_scheduler();
    request.version = Some(ProtocolVersion { major: 2, minor: 3 });
    let error = Session::attach(connect(scene.daemon.socket()).await, request.clone())
        .await
        .err()
        .unwrap();
    says(&error, Code::FailedPrecondition, &["2.3", "1.0", "install"]);
    request.version = Some(ProtocolVersion { major: 1, minor: 99 });
    Session::attach(connect(scene.daemon.socket()).await, request)
        .await
        .unwrap();
    scene.all_is_well().await;
}

#[tokio::test]
async fn attaches() {
    let mut scene = Scene::set().await;
    let socket = scene.daemon.socket().to_owned();
    let refused = async |adjust: fn(&mut pegaflow_proto::v1::AttachRequest)| {
        let mut request = Shape::new().attach_scheduler();
        adjust(&mut request);
        Session::attach(connect(&socket).await, request)
            .await
            .err()
            .unwrap()
    };
    let error = refused(|request| request.engine_key = Bytes::from_static(&[1; 15])).await;
    says(&error, Code::InvalidArgument, &["engine_key", "15", "16"]);
    let error = refused(|request| request.role = None).await;
    says(&error, Code::InvalidArgument, &["role"]);
    let error = refused(|request| request.engine_id = "x".repeat(2_000)).await;
    says(&error, Code::ResourceExhausted, &["engine_id", "2000", "1024"]);
    scene.all_is_well().await;
}

#[tokio::test]
async fn registrations() {
    let mut scene = Scene::set().await;
    let memory = Memory::random();
    let socket = scene.daemon.socket().to_owned();
    let refused = async |adjust: &dyn Fn(&mut GroupLayout)| {
        let shape = Shape::new();
        let mut session = Session::attach(connect(&socket).await, shape.attach_worker(0, 0))
            .await
            .unwrap();
        let mut request = register_request(session.id(), &shape.namespace, &memory);
        adjust(&mut request.groups[0]);
        session.rpc.register(request).await.unwrap_err()
    };
    let error = refused(&|group| group.num_blocks = 0).await;
    says(&error, Code::InvalidArgument, &["0 blocks"]);
    let error = refused(&|group| group.layers.clear()).await;
    says(&error, Code::InvalidArgument, &["0 layers"]);
    let error = refused(&|group| group.layers[0].base_address = 4_096).await;
    assert_ne!(error.code(), Code::Ok, "memory that is not there");
    let error = refused(&|group| group.layers[0].base_address = u64::MAX - 8).await;
    says(&error, Code::InvalidArgument, &["address space"]);
    let huge = vec![Segment {
        offset: 0,
        length: 1 << 40,
    }];
    let error = refused(&|group| {
        group.num_blocks = 1;
        group.layers.truncate(1);
        group.layers[0].segments.clone_from(&huge);
    })
    .await;
    says(&error, Code::ResourceExhausted, &["at most"]);
    eventually("the refused workers are gone", async || {
        scene.daemon.status().await["engines"].as_array().unwrap().len() == 1
    })
    .await;
    scene.all_is_well().await;
}

#[tokio::test]
async fn registrations_of_memory_on_a_gpu() {
    let mut scene = Scene::set().await;
    let memory = Memory::random();
    let socket = scene.daemon.socket().to_owned();
    let refused = async |adjust: &dyn Fn(&mut CudaMemory)| {
        let shape = Shape::new();
        let mut session = Session::attach(connect(&socket).await, shape.attach_worker(0, 0))
            .await
            .unwrap();
        let handle = Bytes::from_static(&[1; 64]);
        let mut cuda = CudaMemory {
            gpu_uuid: Bytes::from_static(&[7; 16]),
            allocations: vec![handle.clone()],
            points: vec![handle],
            ring: None,
        };
        adjust(&mut cuda);
        let mut request = register_request(session.id(), &shape.namespace, &memory);
        request.memory = Some(MemoryKind::Cuda(cuda));
        session.rpc.register(request).await.unwrap_err()
    };
    let error = refused(&|_| {}).await;
    says(
        &error,
        Code::NotFound,
        &["GPU-07070707-0707-0707-0707-070707070707"],
    );
    let error = refused(&|memory| memory.gpu_uuid.truncate(15)).await;
    says(&error, Code::InvalidArgument, &["gpu_uuid", "15 bytes", "16"]);
    let error = refused(&|memory| memory.allocations[0].truncate(63)).await;
    says(&error, Code::InvalidArgument, &["63 bytes", "64"]);
    let error = refused(&|memory| memory.points.clear()).await;
    says(&error, Code::InvalidArgument, &["points"]);
    let many = vec![Bytes::from_static(&[1; 64]); 1_025];
    let error = refused(&|memory| memory.points.clone_from(&many)).await;
    says(&error, Code::ResourceExhausted, &["points", "1025", "1024"]);
    scene.all_is_well().await;
}

#[tokio::test]
async fn garbage_on_the_socket_ends_only_its_own_connection() {
    let mut scene = Scene::set().await;
    for round in 0..50 {
        let mut stream = UnixStream::connect(scene.daemon.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let garbage: Vec<u8> = (0..1 + round * 97).map(|_| rand::random()).collect();
        // The daemon may hang up before it has read everything.
        drop(stream.write_all(&garbage));
        drop(stream.shutdown(std::net::Shutdown::Write));
        drop(stream.read_to_end(&mut Vec::new()));
    }
    scene.all_is_well().await;
}

#[tokio::test]
async fn a_session_is_its_own_process_only() {
    let daemon = Daemon::start();
    let child = Child::start("engine", daemon.socket().to_str().unwrap());
    let mut own = Worker::start(daemon.socket(), &Shape::new(), 0, 0).await;
    // Ids are given in order: the child's are right below.
    let theirs = own.session.id() - 2;
    let error = own
        .session
        .rpc
        .lookup(lookup_request(theirs, Bytes::new()))
        .await
        .unwrap_err();
    says(&error, Code::NotFound, &["attach again"]);
    child.end_keepers();
}
