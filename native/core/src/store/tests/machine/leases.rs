//! Leases and loads of the machine.

use std::time::Duration;

use proptest::prelude::*;

use super::model::{Held, LOADERS, Machine, ModelLease, Pass};
use super::take;
use crate::error::ErrorKind;
use crate::lease::{LEASE_TTL, SessionId};

impl Machine {
    pub(super) fn lease(&mut self, held: Held, owner: u64) -> Result<(), TestCaseError> {
        let is_empty = held.hits.is_empty();
        match self.leases.grant(SessionId(owner), held.hits, LOADERS, self.now) {
            Ok(id) => {
                prop_assert!(!is_empty);
                let expires = self.now + LEASE_TTL;
                let blocks = held.blocks;
                self.model_leases.push(ModelLease {
                    id,
                    owner,
                    blocks,
                    begun: Vec::new(),
                    done: 0,
                    expires,
                });
            }
            Err(error) => prop_assert!(is_empty && error.kind() == ErrorKind::Invalid),
        }
        Ok(())
    }

    pub(super) fn begin_load(&mut self, which: &prop::sample::Index, rank: u32) -> Result<(), TestCaseError> {
        if self.model_leases.is_empty() {
            return Ok(());
        }
        self.begin_load_of(which.index(self.model_leases.len()), rank)
    }

    pub(super) fn begin_load_of(&mut self, at: usize, rank: u32) -> Result<(), TestCaseError> {
        let lease = &mut self.model_leases[at];
        let count = lease.blocks.len() as u32;
        match self.leases.begin_load(lease.id, rank, 0, count, false) {
            Ok(pass) => {
                prop_assert!(rank < LOADERS && !lease.begun.contains(&rank));
                lease.begun.push(rank);
                self.passes.push(Pass {
                    pass,
                    lease: lease.id,
                    blocks: lease.blocks.clone(),
                });
            }
            Err(error) if error.kind() == ErrorKind::Conflict => prop_assert!(lease.begun.contains(&rank)),
            Err(error) => prop_assert!(error.kind() == ErrorKind::Invalid && rank >= LOADERS),
        }
        Ok(())
    }

    pub(super) fn end_load(&mut self, pass: Pass) -> Result<(), TestCaseError> {
        self.check_bytes(&pass.blocks, |index, shard| {
            pass.pass.page(index, shard).map(|page| page.read())
        })?;
        drop(pass.pass);
        if let Some(lease) = self.model_leases.iter_mut().find(|lease| lease.id == pass.lease) {
            lease.done += 1;
        }
        self.model_leases.retain(|lease| lease.done < LOADERS);
        Ok(())
    }

    pub(super) fn wait(&mut self, time: Duration) {
        self.now += time;
        let ended = self
            .model_leases
            .extract_if(.., |lease| lease.expires <= self.now)
            .count();
        assert_eq!(self.leases.expire(self.now), ended);
    }

    pub(super) fn release(&mut self, which: &prop::sample::Index) -> Result<(), TestCaseError> {
        if let Some(lease) = take(&mut self.model_leases, which) {
            prop_assert!(
                !self.leases.release(SessionId(lease.owner + 1), lease.id),
                "another's lease"
            );
            prop_assert!(self.leases.release(SessionId(lease.owner), lease.id));
            prop_assert!(
                !self.leases.release(SessionId(lease.owner), lease.id),
                "ended twice"
            );
        }

        Ok(())
    }

    pub(super) fn renew(&mut self, which: &prop::sample::Index) -> Result<(), TestCaseError> {
        if !self.model_leases.is_empty() {
            let at = which.index(self.model_leases.len());
            let lease = &mut self.model_leases[at];
            prop_assert!(self.leases.renew(SessionId(lease.owner), lease.id, self.now));
            lease.expires = self.now + LEASE_TTL;
        }

        Ok(())
    }

    pub(super) fn end_owner(&mut self, owner: u64) -> Result<(), TestCaseError> {
        let ended = self
            .model_leases
            .extract_if(.., |lease| lease.owner == owner)
            .count();
        prop_assert_eq!(self.leases.end_owner(SessionId(owner)), ended);

        Ok(())
    }
}
