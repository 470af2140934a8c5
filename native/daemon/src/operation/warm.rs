//! Filling the memory tier's free room from ssd.

use std::time::{Duration, Instant};

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use pegaflow_core::ssd::BlockOrder;
use pegaflow_core::store::{WarmProgress, WarmRequest, WarmState};
use serde::{Deserialize, Serialize};

use super::Operate;
use super::amount::{Amount, Bytes};
use super::namespace::NamespacePrefix;
use super::path::AbsolutePath;
use super::tier::ssd_with_paths;
use crate::daemon::Daemon;

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Warm {
    from: Source,
    #[serde(default)]
    namespace: Option<NamespacePrefix>,
    /// Of the pool; null: as much as there is room for.
    #[serde(default)]
    limit: Option<Amount>,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    rate_bytes_per_s: Option<Bytes>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    Ssd,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Recent,
    Frequent,
}

#[derive(Debug, Serialize)]
pub(super) struct Warmed {
    dry_run: bool,
    planned_blocks: u64,
    planned_bytes: u64,
    /// Whether the limit left out blocks.
    limited: bool,
    blocks: u64,
    bytes: u64,
    present_blocks: u64,
    passed_blocks: u64,
    no_room_blocks: u64,
    failed_blocks: u64,
}

impl Operate for Warm {
    type Outcome = Warmed;

    fn operate(&self, daemon: &Daemon, progress: &Progress) -> Result<Warmed> {
        let Source::Ssd = self.from;
        let namespace = self.namespace.as_ref();
        let pool_bytes = daemon.store.pool_snapshot().bytes;
        let request = WarmRequest {
            namespace: namespace.map(|prefix| prefix.known(daemon)).transpose()?,
            limit_bytes: self.limit.map(|limit| limit.of(pool_bytes)),
            order: match self.order {
                Order::Recent => BlockOrder::Recent,
                Order::Frequent => BlockOrder::Frequent,
            },
            bytes_per_s: self.rate_bytes_per_s.map(Bytes::get),
            is_dry_run: self.dry_run,
            ..WarmRequest::default()
        };
        let end = warm(daemon, request, progress)?;
        Ok(Warmed::of(end, self.dry_run))
    }
}

/// Fetches what free memory has room for, of what is on a path or on any.
pub(super) fn fill_memory(
    daemon: &Daemon,
    path: Option<&AbsolutePath>,
    progress: &Progress,
) -> Result<WarmProgress> {
    let request = WarmRequest {
        path: path.map(|path| path.0.clone()),
        ..WarmRequest::default()
    };
    warm(daemon, request, progress)
}

fn warm(daemon: &Daemon, request: WarmRequest, progress: &Progress) -> Result<WarmProgress> {
    let ssd = ssd_with_paths(daemon)?;
    let warming = daemon.store.warm(request)?;
    let mut told = WarmProgress::default();
    loop {
        if progress.is_cancelled() {
            warming.cancel();
        }
        let now = warming.wait(Instant::now() + LOOK);
        progress.expect(now.planned_blocks, now.planned_bytes);
        progress.advance(
            now.fetched_blocks - told.fetched_blocks,
            now.fetched_bytes - told.fetched_bytes,
        );
        told = now;
        if now.state != WarmState::Running {
            return Ok(now);
        }
        ssd.check_answers().inspect_err(|_| warming.cancel())?;
    }
}

impl Warmed {
    fn of(end: WarmProgress, dry_run: bool) -> Self {
        Self {
            dry_run,
            planned_blocks: end.planned_blocks,
            planned_bytes: end.planned_bytes,
            limited: end.is_limited,
            blocks: end.fetched_blocks,
            bytes: end.fetched_bytes,
            present_blocks: end.present_blocks,
            passed_blocks: end.passed_blocks,
            no_room_blocks: end.no_room_blocks,
            failed_blocks: end.failed_blocks,
        }
    }
}
