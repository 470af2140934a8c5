//! What a lookup says.

use pegaflow_proto::v1::LookupResponse;

/// What is known of a request's lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookupState {
    /// The answer holds.
    Ready,
    /// No answer yet, be it late.
    AskAgain,
    /// Blocks are on their way from a slower tier: the answer comes when they are there, or when the daemon gives them up.
    Pending,
    /// No daemon, or one that does not answer: count on no hits.
    Off,
}

/// A lookup's answer; everything but `state` is 0 unless it is [`LookupState::Ready`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// What is known.
    pub state: LookupState,
    /// Leading blocks that are in the memory tier.
    pub memory_blocks: u32,
    /// Blocks after them that came from the ssd tier.
    pub ssd_blocks: u32,
    /// Blocks that came from other hosts.
    pub remote_blocks: u32,
    /// The lease on them; 0 when there are none.
    pub lease_id: u64,
    /// The daemon that gave it.
    pub boot_id: u64,
}

/// A lease, as a load names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseRef {
    /// The lease.
    pub lease_id: u64,
    /// The daemon that gave it.
    pub boot_id: u64,
}

impl Lookup {
    pub(super) const OFF: Self = Self::without_blocks(LookupState::Off);
    pub(super) const ASK_AGAIN: Self = Self::without_blocks(LookupState::AskAgain);
    pub(super) const PENDING: Self = Self::without_blocks(LookupState::Pending);
    pub(super) const NO_HITS: Self = Self::without_blocks(LookupState::Ready);

    const fn without_blocks(state: LookupState) -> Self {
        Self {
            state,
            memory_blocks: 0,
            ssd_blocks: 0,
            remote_blocks: 0,
            lease_id: 0,
            boot_id: 0,
        }
    }

    /// Blocks without a lease cannot be loaded: they are no hits.
    pub(super) fn of_answer(answer: &LookupResponse) -> Self {
        if answer.lease_id == 0 {
            return Self {
                boot_id: answer.boot_id,
                ..Self::NO_HITS
            };
        }
        Self {
            state: LookupState::Ready,
            memory_blocks: answer.memory_blocks,
            ssd_blocks: answer.ssd_blocks,
            remote_blocks: answer.remote_blocks,
            lease_id: answer.lease_id,
            boot_id: answer.boot_id,
        }
    }

    pub(super) fn lease(&self) -> Option<LeaseRef> {
        (self.lease_id != 0).then_some(LeaseRef {
            lease_id: self.lease_id,
            boot_id: self.boot_id,
        })
    }
}
