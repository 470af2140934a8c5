//! What the daemon's answers say of a transfer.

use pegaflow_proto::v1::load_response::Outcome as Loaded;
use pegaflow_proto::v1::{LoadResponse, SaveResponse};

use super::transfer::Outcome;

/// The daemon's answer to a transfer.
pub(super) trait Answer {
    /// The daemon that gave it.
    fn boot_id(&self) -> u64;
    /// How the transfer went.
    fn outcome(self) -> Outcome;
}

impl Answer for SaveResponse {
    fn boot_id(&self) -> u64 {
        self.boot_id
    }

    fn outcome(self) -> Outcome {
        let ok = self.revoked == 0;
        let message = if ok {
            String::new()
        } else {
            format!("{} blocks were revoked", self.revoked)
        };
        Outcome {
            ok,
            bytes: self.bytes,
            message,
            lost: false,
        }
    }
}

impl Answer for LoadResponse {
    fn boot_id(&self) -> u64 {
        self.boot_id
    }

    fn outcome(self) -> Outcome {
        let outcome = LoadResponse::outcome(&self);
        let message = match outcome {
            Loaded::Loaded => String::new(),
            outcome if self.message.is_empty() => outcome.as_str_name().to_owned(),
            _ => self.message,
        };
        Outcome {
            ok: outcome == Loaded::Loaded,
            bytes: self.bytes,
            message,
            lost: false,
        }
    }
}
