use std::process::{Child, Command, Stdio};

use proptest::prelude::*;

use super::*;

fn sleeper() -> Child {
    Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_process_ends_for_its_peer_when_it_is_killed_even_before_it_is_reaped() {
    let mut child = sleeper();
    let peer = PeerProcess::open(child.id()).unwrap();
    assert!(!peer.has_ended().unwrap());
    peer.check_alive().unwrap();

    child.kill().unwrap();
    let mut fds = [PollFd::new(&peer, PollFlags::IN)];
    let limit = Timespec {
        tv_sec: 20,
        tv_nsec: 0,
    };
    assert_eq!(
        poll(&mut fds, Some(&limit)).unwrap(),
        1,
        "the pidfd becomes readable"
    );
    assert!(peer.has_ended().unwrap());
    assert_eq!(peer.check_alive().unwrap_err().kind(), ErrorKind::PeerEnded);

    child.wait().unwrap();
    assert!(peer.has_ended().unwrap());
    assert_eq!(
        PeerProcess::open(peer.identity().pid).unwrap_err().kind(),
        ErrorKind::PeerEnded
    );
}

#[test]
fn a_zombie_is_refused_as_ended() {
    let mut child = sleeper();
    let peer = PeerProcess::open(child.id()).unwrap();
    child.kill().unwrap();
    let mut fds = [PollFd::new(&peer, PollFlags::IN)];
    poll(&mut fds, None).unwrap();
    assert_eq!(
        PeerProcess::open(child.id()).unwrap_err().kind(),
        ErrorKind::PeerEnded
    );
    child.wait().unwrap();
}

#[test]
fn two_processes_never_have_one_identity() {
    let (mut first, mut second) = (sleeper(), sleeper());
    let peer = PeerProcess::open(first.id()).unwrap();
    let other = ProcessIdentity::of(second.id()).unwrap();
    peer.check_identity(ProcessIdentity::of(first.id()).unwrap())
        .unwrap();
    assert_eq!(
        peer.check_identity(other).unwrap_err().kind(),
        ErrorKind::Conflict
    );
    let reused = ProcessIdentity {
        start_time_ticks: peer.identity().start_time_ticks + 1,
        ..peer.identity()
    };
    assert_eq!(
        peer.check_identity(reused).unwrap_err().kind(),
        ErrorKind::Conflict
    );
    for child in [&mut first, &mut second] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn a_pid_of_another_namespace_is_refused_with_the_remedy() {
    for pid in [0, u32::MAX] {
        let error = PeerProcess::open(pid).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Permission);
        assert!(error.message().contains("pid namespace"), "{error}");
    }
}

#[test]
fn a_refusal_by_the_kernel_has_the_remedy() {
    let error = memory_error(7, "read", 0x1000, io::Error::from_raw_os_error(libc::EPERM));
    assert_eq!(error.kind(), ErrorKind::Permission);
    assert!(
        error.message().contains("ptrace_scope") && error.message().contains("CAP_SYS_PTRACE"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn the_start_time_is_found_whatever_the_process_is_called(name in "[ -~]{0,15}", ticks: u64) {
        let fields: Vec<String> = (3..=52).map(|n| if n == 22 { ticks.to_string() } else { n.to_string() }).collect();
        let stat = format!("42 ({name}) {}\n", fields.join(" "));
        prop_assert_eq!(start_time_ticks(stat.as_bytes()), Some(ticks));
    }

    #[test]
    fn any_bytes_are_a_start_time_or_none(stat in proptest::collection::vec(any::<u8>(), 0..200)) {
        start_time_ticks(&stat);
    }
}
