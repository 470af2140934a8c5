//! The scheduler side's client: lookups and leases.

mod ask;
mod breaker;
mod config;
mod lookup;
mod serve;
mod state;
mod table;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pegaflow_proto::limits::{HASH_BYTES_MAX, HASH_BYTES_MIN};
use pegaflow_proto::v1::LookupRequest;

use self::state::Shared;
use self::table::Known;
use crate::background::Background;
use crate::error::{ClientError, ClientErrorKind, Result};
use crate::session::keep_attached;

pub use config::SchedulerConfig;
pub use lookup::{LeaseRef, Lookup, LookupState};

const LOOKUP_DEADLINE: Duration = Duration::from_millis(50);

/// The scheduler side's session: it connects, and connects again, by itself.
///
/// Without a daemon, or with one that does not answer, every lookup says [`LookupState::Off`].
#[derive(Debug)]
pub struct SchedulerClient {
    background: Background,
    shared: Arc<Shared>,
}

impl SchedulerClient {
    /// Starts to connect, in the background. A lookup is late after 50 ms, and given up after ten times as long.
    pub fn new(config: SchedulerConfig) -> Result<Self> {
        Self::with_deadline(config, LOOKUP_DEADLINE)
    }

    /// As [`new`](Self::new), with another deadline for lookups.
    pub fn with_deadline(config: SchedulerConfig, deadline: Duration) -> Result<Self> {
        let shared = Arc::new(Shared::new(config, deadline));
        let role = Arc::clone(&shared);
        let background = Background::start("pega-scheduler", move |closing| async move {
            tokio::select! {
                () = keep_attached(&role, &role.config.socket) => {}
                () = closing.notified() => {}
            }
        })?;
        Ok(Self { background, shared })
    }

    /// Asks once per request and identity (the hashes, `hash_bytes` each, in order); waits at most `wait` for the answer.
    ///
    /// The same call again gives the same answer, and a late one is waited for again. Other hashes for the same request end
    /// its earlier lookup. While blocks are on their way from a slower tier the answer is [`LookupState::Pending`], at once: the
    /// client asks for them by itself. A lookup that was given up is [`LookupState::Off`] once, and then asked anew.
    pub fn lookup(&self, request_id: &str, hashes: Bytes, hash_bytes: u32, wait: Duration) -> Result<Lookup> {
        self.background.check_process()?;
        check_hashes(&hashes, hash_bytes)?;
        if hashes.is_empty() {
            return Ok(Lookup::NO_HITS);
        }
        let deadline = Instant::now() + wait;
        let shared = &*self.shared;
        let mut state = shared.lock();
        let token = match state.table.find(request_id, &hashes) {
            Known::Answer(lookup) => return Ok(lookup),
            Known::InFlight(token) => token,
            Known::Nothing { superseded } => {
                if let Some(lookup) = superseded {
                    shared.discard(&mut state, &lookup);
                }
                let Some(session) = state.usable_session() else {
                    state.counters.short_circuits += 1;
                    return Ok(Lookup::OFF);
                };
                let token = state.table.begin(request_id, hashes.clone());
                state.counters.lookups += 1;
                let block_compute_ns = state
                    .block_compute
                    .and_then(|time| u64::try_from(time.as_nanos()).ok());
                drop(state);
                let most = session.blocks_per_lease().saturating_mul(hash_bytes as usize);
                let request = LookupRequest {
                    session_id: session.id(),
                    request_id: request_id.to_owned(),
                    group: 0,
                    hash_bytes,
                    hashes: hashes.slice(..hashes.len().min(most)),
                    lookup_id: token,
                    block_compute_ns,
                };
                self.background
                    .spawn(ask::ask(Arc::clone(&self.shared), session, token, request));
                state = shared.lock();
                token
            }
        };
        loop {
            if let Some(lookup) = state.table.outcome(request_id, token) {
                return Ok(lookup);
            }
            if shared.answered.wait_until(&mut state, deadline).timed_out() {
                return Ok(Lookup::ASK_AGAIN);
            }
        }
    }

    /// How long the engine takes to compute one block: the daemon fetches from slower tiers what comes faster. None: not known.
    pub fn set_block_compute(&self, time: Option<Duration>) -> Result<()> {
        self.background.check_process()?;
        self.shared.lock().block_compute = time;
        Ok(())
    }

    /// The lease of the request's answer, which now belongs to a load; `None` when there is none, or when it ended with its
    /// session.
    pub fn take(&self, request_id: &str) -> Result<Option<LeaseRef>> {
        self.background.check_process()?;
        Ok(self
            .shared
            .lock()
            .table
            .take(request_id)
            .and_then(|lookup| lookup.lease()))
    }

    /// The request is gone: its lease is released, also one in an answer that comes later.
    pub fn forget(&self, request_id: &str) -> Result<()> {
        self.background.check_process()?;
        let mut state = self.shared.lock();
        if let Some(lookup) = state.table.remove(request_id) {
            self.shared.discard(&mut state, &lookup);
        }
        Ok(())
    }

    /// Gives back a lease that was taken and will not be loaded.
    pub fn release(&self, lease: LeaseRef) -> Result<()> {
        self.background.check_process()?;
        self.shared.release(&mut self.shared.lock(), lease);
        Ok(())
    }

    /// Whether there is a session.
    pub fn attached(&self) -> Result<bool> {
        self.background.check_process()?;
        Ok(self.shared.lock().session.is_some())
    }

    /// Counts by name; `leases_held` is a gauge, the others only grow.
    pub fn counters(&self) -> Result<Vec<(&'static str, u64)>> {
        self.background.check_process()?;
        let state = self.shared.lock();
        let counters = &state.counters;
        Ok(vec![
            ("lookups", counters.lookups),
            ("answers", counters.answers),
            ("timeouts", counters.timeouts),
            ("given_up", counters.given_up),
            ("short_circuits", counters.short_circuits),
            ("breaker_opened", counters.breaker_opened),
            ("attaches", counters.attaches),
            ("leases_held", state.table.lease_ids().count() as u64),
        ])
    }

    /// Ends the session; the client then answers as without a daemon.
    pub fn close(&self) -> Result<()> {
        self.background.check_process()?;
        self.background.close();
        self.shared.lock().close();
        self.shared.answered.notify_all();
        Ok(())
    }
}

fn check_hashes(hashes: &Bytes, hash_bytes: u32) -> Result<()> {
    if !(HASH_BYTES_MIN..=HASH_BYTES_MAX).contains(&hash_bytes) {
        return Err(ClientError::new(
            ClientErrorKind::Config,
            format!(
                "block hashes of {hash_bytes} bytes are not allowed: {HASH_BYTES_MIN} to {HASH_BYTES_MAX}"
            ),
        ));
    }
    if !hashes.len().is_multiple_of(hash_bytes as usize) {
        return Err(ClientError::new(
            ClientErrorKind::Config,
            format!(
                "{} bytes of hashes are not a whole number of hashes of {hash_bytes} bytes",
                hashes.len()
            ),
        ));
    }
    Ok(())
}
