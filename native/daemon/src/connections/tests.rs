use std::collections::VecDeque;

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use super::*;

fn stream() -> DuplexStream {
    duplex(64).0
}

async fn has_ended(connection: &mut Connection<DuplexStream>) -> bool {
    let mut byte = [0];
    let reading = connection.read(&mut byte);
    match tokio::time::timeout(std::time::Duration::ZERO, reading).await {
        Ok(read) => read.is_err() || connection.write(b"x").await.is_err(),
        Err(_) => false,
    }
}

#[tokio::test]
async fn whoever_waits_for_a_connection_hears_of_its_end() {
    let connections = Connections::new(1);
    let (ours, _theirs) = duplex(4);
    let mut first = connections.admit(ours).unwrap();
    let reading = tokio::spawn(async move { first.read_u8().await.unwrap_err().kind() });
    tokio::task::yield_now().await;
    let (ours, _theirs) = duplex(4);
    let mut second = connections.admit(ours).unwrap();
    assert_eq!(reading.await.unwrap(), std::io::ErrorKind::ConnectionAborted);

    let writing = tokio::spawn(async move { second.write_all(&[0; 16]).await.unwrap_err().kind() });
    tokio::task::yield_now().await;
    let _third = connections.admit(stream()).unwrap();
    assert_eq!(writing.await.unwrap(), std::io::ErrorKind::ConnectionAborted);
}

#[derive(Debug, Clone)]
enum Step {
    Accept,
    Close(usize),
    Begin(usize),
    End(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Accept),
        1 => (0_usize..8).prop_map(Step::Close),
        2 => (0_usize..8).prop_map(Step::Begin),
        1 => (0_usize..8).prop_map(Step::End),
    ]
}

/// A connection and what it is used by.
type Used = (Connection<DuplexStream>, Vec<InUse>);

proptest! {
    #[test]
    fn the_oldest_that_is_not_in_use_makes_room(steps in prop::collection::vec(step(), 1..60), most in 1_usize..5) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let connections = Connections::new(most);
        // The oldest first.
        let mut open: VecDeque<Used> = VecDeque::new();
        for step in steps {
            match step {
                Step::Accept => {
                    let goes = (open.len() == most).then(|| open.iter().position(|(_, uses)| uses.is_empty()));
                    // Its other end is kept open by a task that never ends: only the table ends it.
                    let (ours, theirs) = duplex(64);
                    std::mem::forget(theirs);
                    match (connections.admit(ours), goes) {
                        (None, Some(None)) => {}
                        (Some(new), Some(Some(goes))) => {
                            let (mut gone, _) = open.remove(goes).unwrap();
                            prop_assert!(runtime.block_on(has_ended(&mut gone)));
                            open.push_back((new, Vec::new()));
                        }
                        (Some(new), None) => open.push_back((new, Vec::new())),
                        (new, goes) => prop_assert!(false, "{} {goes:?}", new.is_some()),
                    }
                }
                Step::Close(at) if at < open.len() => drop(open.remove(at)),
                Step::Begin(at) if at < open.len() => {
                    let (connection, uses) = &mut open[at];
                    uses.push(connection.usage().begin());
                }
                Step::End(at) if at < open.len() => drop(open[at].1.pop()),
                Step::Close(_) | Step::Begin(_) | Step::End(_) => {}
            }
            prop_assert!(connections.open.lock().by_age.len() == open.len() && open.len() <= most);
            for (connection, _) in &mut open {
                prop_assert!(!runtime.block_on(has_ended(connection)));
            }
        }
    }
}
