//! Where the daemon is on its way from serving to ended.

use tokio::sync::watch;

/// What the daemon does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Everything is allowed.
    Serving,
    /// No new sessions, lookups or saves; loads of leases that engines hold go on.
    Draining,
    /// The memory tier is closed; this many bytes of it stay taken.
    Drained { pool_bytes_kept: u64 },
    /// The socket is closed.
    Ended,
}

/// The daemon's phase, which only ever moves forward, seen by all its threads.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    phase: watch::Sender<Phase>,
    purge: watch::Sender<bool>,
}

impl Lifecycle {
    /// Begins with [`Phase::Serving`].
    pub(crate) fn new() -> Self {
        Self {
            phase: watch::Sender::new(Phase::Serving),
            purge: watch::Sender::new(false),
        }
    }

    /// The phase now.
    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Asks the daemon to end; `purge` frees the memory tier. Asked again, it ends once, and purges if anyone asked for it.
    pub(crate) fn drain(&self, purge: bool) {
        self.purge.send_modify(|asked| *asked |= purge);
        self.phase.send_if_modified(|phase| {
            let begins = *phase == Phase::Serving;
            if begins {
                *phase = Phase::Draining;
            }
            begins
        });
    }

    /// Whether the daemon is to end, or has ended.
    pub(crate) fn is_draining(&self) -> bool {
        self.phase() != Phase::Serving
    }

    /// Whether the memory tier is to be freed.
    pub(crate) fn is_purge(&self) -> bool {
        *self.purge.borrow()
    }

    /// The memory tier is closed.
    pub(crate) fn drained(&self, pool_bytes_kept: u64) {
        self.phase.send_replace(Phase::Drained { pool_bytes_kept });
    }

    /// The socket is closed.
    pub(crate) fn ended(&self) {
        self.phase.send_replace(Phase::Ended);
    }

    /// Waits until the daemon is to end.
    pub(crate) async fn draining(&self) {
        self.reached(|phase| *phase != Phase::Serving).await;
    }

    /// Waits until the memory tier is closed; the bytes of it that stay taken.
    pub(crate) async fn wait_drained(&self) -> u64 {
        match self
            .reached(|phase| matches!(phase, Phase::Drained { .. } | Phase::Ended))
            .await
        {
            Phase::Drained { pool_bytes_kept } => pool_bytes_kept,
            Phase::Serving | Phase::Draining | Phase::Ended => 0,
        }
    }

    /// Waits until the socket is closed.
    pub(crate) async fn wait_ended(&self) {
        self.reached(|phase| *phase == Phase::Ended).await;
    }

    async fn reached(&self, is_reached: impl FnMut(&Phase) -> bool) -> Phase {
        let mut phases = self.phase.subscribe();
        // This holds the sender, so the wait ends only with the phase.
        phases
            .wait_for(is_reached)
            .await
            .map_or(Phase::Ended, |phase| *phase)
    }
}
