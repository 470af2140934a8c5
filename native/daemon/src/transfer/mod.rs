//! Saves and loads: what runs on threads of its own while a call waits for it.

mod lanes;
mod load;
mod points;
mod save;
mod threads;

use std::sync::Arc;

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_proto::v1;

pub(crate) use lanes::Lanes;
pub(crate) use load::{BegunLoad, LoadEnd, LoadJob};
pub(crate) use points::PointWatch;
pub(crate) use save::{SaveCounts, SaveJob};
pub(crate) use threads::TransferThreads;

use crate::session::Registration;

/// The engine's leave for one transfer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grant {
    slot: u32,
    generation: u64,
}

impl Grant {
    /// The grant that a message names, which must be one that the registration's file can have.
    ///
    /// # Errors
    /// `Invalid` for none, or one outside of the file.
    pub(crate) fn of(message: Option<v1::Grant>, registration: &Registration) -> Result<Self> {
        let Some(v1::Grant { slot, generation }) = message else {
            return Err(Error::new(
                ErrorKind::Invalid,
                "grant is missing: each transfer names one",
            ));
        };
        registration.grants.is_valid(slot, generation)?;
        Ok(Self { slot, generation })
    }
}

/// Refuses to go on for a session that has ended.
fn check_open(registration: &Arc<Registration>) -> Result<()> {
    if registration.session.has_ended() {
        return Err(Error::new(
            ErrorKind::PeerEnded,
            "the engine session ended during the transfer",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
