//! Messages are read up to the protocol's limit, which is twice the transport's own.

use tonic::Code;

use crate::support::Daemon;
use crate::support::engine::{Engine, HASH_BYTES, Shape, fresh_hashes, lookup_request, packed};

const TRANSPORTS_OWN: usize = 4 << 20;

#[tokio::test]
async fn a_message_of_seven_mebibytes_is_read() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let hashes = fresh_hashes((7 << 20) / HASH_BYTES as usize);
    let request = lookup_request(engine.scheduler.id(), packed(&hashes));
    assert!(request.hashes.len() > TRANSPORTS_OWN);
    let error = engine.scheduler.rpc.lookup(request).await.unwrap_err();
    // The sentence is of a limit that only who has read the message can know of.
    assert_eq!(error.code(), Code::ResourceExhausted);
    assert!(
        error.message().contains(&format!("{} hashes", hashes.len())),
        "{}",
        error.message()
    );
}
