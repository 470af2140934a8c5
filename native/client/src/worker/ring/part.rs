//! The parts of a transfer, as many at once as the ring has room for.

use std::sync::Arc;

use bytes::Bytes;
use pegaflow_proto::v1::{LoadRequest, SaveRequest};
use tokio::task::JoinSet;
use tonic::{Response, Status};

use super::super::answer::Answer;
use super::super::transfer::Outcome;
use super::Slots;
use super::transfer::RingTransfer;

impl RingTransfer {
    /// Saves what `request` names as blocks; it returns when no part is under way any more.
    pub(in crate::worker) async fn save(self: Arc<Self>, mut request: SaveRequest) -> Outcome {
        let blocks = std::mem::take(&mut request.block_ids);
        let (hashes, after) = (request.hashes.clone(), request.after.clone());
        let hash_bytes = request.hash_bytes as usize;
        request.in_ring = true;
        let (mut parts, mut first) = (JoinSet::new(), 0);
        for blocks in blocks.chunks(self.ring.part_pages) {
            let end = first + blocks.len();
            let bytes = first * hash_bytes..end * hash_bytes;
            let part = SaveRequest {
                hashes: hashes.slice(bytes.clone()),
                after: if after.is_empty() {
                    Bytes::new()
                } else {
                    after.slice(bytes)
                },
                ..request.clone()
            };
            parts.spawn(Arc::clone(&self).save_part(part, blocks.to_vec()));
            first = end;
        }
        all_of(parts).await
    }

    /// Loads what `request` names as blocks; it returns when no part is under way any more.
    pub(in crate::worker) async fn load(self: Arc<Self>, mut request: LoadRequest) -> Outcome {
        let blocks = std::mem::take(&mut request.block_ids);
        request.in_ring = true;
        request.point = None;
        request.has_more = blocks.len() > self.ring.part_pages;
        let (mut parts, mut first) = (JoinSet::new(), request.first);
        for blocks in blocks.chunks(self.ring.part_pages) {
            let part = LoadRequest {
                first,
                ..request.clone()
            };
            parts.spawn(Arc::clone(&self).load_part(part, blocks.to_vec()));
            first += blocks.len() as u32;
        }
        let outcome = all_of(parts).await;
        if request.has_more || !outcome.ok || blocks.is_empty() {
            request.has_more = false;
            let mut rpc = self.registration.session.rpc();
            // The lease ends when the daemon hears it, for which nobody waits; where it has ended already, that is what it says.
            tokio::spawn(async move { drop(rpc.load(request).await) });
        }
        outcome
    }

    async fn save_part(
        self: Arc<Self>,
        mut request: SaveRequest,
        blocks: Vec<u32>,
    ) -> Result<Outcome, Outcome> {
        let slots = self.slots(blocks.len()).await?;
        let pages = blocks.into_iter().zip(slots.slots.iter().copied()).collect();
        let point = self.ring.launcher.gather(pages, Arc::clone(&self.after)).await;
        let point = point.map_err(|error| Outcome::failed(error.to_string()))?;
        let grant = self.issue()?;
        request.block_ids = slots.slots.clone();
        request.grant = Some(grant);
        request.point = Some(point.event());
        let answer = self.registration.session.rpc().save(request).await;
        match self.outcome(answer) {
            Ok(outcome) => {
                self.settle(&grant);
                Ok(outcome)
            }
            Err(status) => {
                self.until_free(&grant, true).await;
                Err(status.into())
            }
        }
    }

    async fn load_part(
        self: Arc<Self>,
        mut request: LoadRequest,
        blocks: Vec<u32>,
    ) -> Result<Outcome, Outcome> {
        let slots = self.slots(blocks.len()).await?;
        let grant = self.issue()?;
        request.block_ids = slots.slots.clone();
        request.grant = Some(grant);
        let answer = self.registration.session.rpc().load(request).await;
        let outcome = match self.outcome(answer) {
            Ok(outcome) => {
                self.settle(&grant);
                outcome
            }
            Err(status) => {
                // The blocks are free without it: only the slots have to wait.
                tokio::spawn(async move {
                    self.until_free(&grant, false).await;
                    drop(slots);
                });
                return Err(status.into());
            }
        };
        if !outcome.ok {
            return Ok(outcome);
        }
        if !self.begin_scatter() {
            return Err(Outcome::failed("the transfer was revoked"));
        }
        let pages = blocks.into_iter().zip(slots.slots.iter().copied()).collect();
        let spread = self.ring.launcher.scatter(pages, Arc::clone(&self.after)).await;
        self.end_scatter();
        spread
            .map(|()| outcome)
            .map_err(|error| Outcome::failed(error.to_string()))
    }

    /// Slots for one part, once there are so many.
    async fn slots(&self, count: usize) -> Result<Slots, String> {
        let taken = self.ring.take(count).await;
        taken.map_err(|error| error.to_string())
    }

    fn outcome<A: Answer>(&self, answer: Result<Response<A>, Status>) -> Result<Outcome, Status> {
        let session = &self.registration.session;
        let answer = answer
            .inspect_err(|status| session.observe_error(status))?
            .into_inner();
        session.observe_boot(answer.boot_id());
        Ok(answer.outcome())
    }
}

/// All parts went well, or why the first of them did not.
async fn all_of(mut parts: JoinSet<Result<Outcome, Outcome>>) -> Outcome {
    let mut all = Outcome {
        ok: true,
        bytes: 0,
        message: String::new(),
        lost: false,
    };
    while let Some(part) = parts.join_next().await {
        let part = part
            .unwrap_or_else(|error| Err(Outcome::failed(error.to_string())))
            .unwrap_or_else(|failed| failed);
        all.bytes += part.bytes;
        if all.ok && !part.ok {
            (all.ok, all.message, all.lost) = (false, part.message, part.lost);
        }
    }
    all
}
