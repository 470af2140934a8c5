//! What a service manager such as systemd is told: the datagrams of sd_notify(3).

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram as StdDatagram};
use std::process;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixDatagram;
use tokio::time::{MissedTickBehavior, interval};

use crate::daemon::Daemon;

/// Where the manager listens; in the environment of what it started.
const SOCKET: &str = "NOTIFY_SOCKET";
/// Microseconds within which the manager wants a sign of life.
const WATCHDOG: &str = "WATCHDOG_USEC";
/// The process that it wants them from.
const WATCHDOG_PID: &str = "WATCHDOG_PID";

/// Whether a service manager that wants to be told started this process: it starts the next one too.
pub(crate) fn is_there() -> bool {
    env::var_os(SOCKET).is_some()
}

/// Tells the service manager, if there is one, that the daemon answers, then that it lives, then that it ends.
///
/// Runs where calls are answered: when they hang, so do the signs of life.
pub(crate) async fn keep_told(daemon: Arc<Daemon>) {
    let Some(name) = env::var_os(SOCKET) else { return };
    let manager = match Manager::connect(&name) {
        Ok(manager) => manager,
        Err(error) => {
            tracing::error!(
                "the service manager at {SOCKET}={} is not told anything: {error}",
                name.display()
            );
            return;
        }
    };
    let pool = daemon.store.pool_snapshot();
    let serving = format!(
        "serving, {} MiB of memory ({})",
        pool.bytes >> 20,
        pool.kind.name()
    );
    manager.tell(&format!("READY=1\nSTATUS={serving}")).await;
    tokio::select! {
        () = daemon.lifecycle.draining() => {}
        () = manager.give_signs_of_life() => {}
    }
    manager.tell("STOPPING=1\nSTATUS=draining").await;
    manager.give_signs_of_life().await;
}

struct Manager {
    socket: UnixDatagram,
    watchdog: Option<Duration>,
}

impl Manager {
    /// The one that listens at `name`: a path, or behind an `@` a name without one.
    fn connect(name: &OsStr) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            _ => SocketAddr::from_pathname(name)?,
        };
        let socket = StdDatagram::unbound()?;
        socket.connect_addr(&address)?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: UnixDatagram::from_std(socket)?,
            watchdog: watchdog(),
        })
    }

    async fn tell(&self, states: &str) {
        if let Err(error) = self.socket.send(states.as_bytes()).await {
            tracing::warn!("the service manager did not hear {states:?}: {error}");
        }
    }

    /// For ever, twice as often as the manager asks for.
    async fn give_signs_of_life(&self) {
        let Some(period) = self.watchdog else {
            return std::future::pending().await;
        };
        let mut ticks = interval(period / 2);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.tell("WATCHDOG=1").await;
        }
    }
}

fn watchdog() -> Option<Duration> {
    let number = |name| env::var(name).ok()?.parse::<u64>().ok();
    let is_meant = env::var_os(WATCHDOG_PID).is_none() || number(WATCHDOG_PID) == Some(process::id().into());
    let period = number(WATCHDOG).filter(|&microseconds| microseconds > 1)?;
    is_meant.then(|| Duration::from_micros(period))
}
