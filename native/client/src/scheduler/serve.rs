//! What runs beside an open session: renewals, releases, and the breaker's probe.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pegaflow_proto::v1::{AttachRequest, ReleaseRequest, RenewRequest};
use tokio::time::{sleep, timeout};

use super::state::Shared;
use crate::error::{ClientError, Result};
use crate::session::{Role, Session};

/// A release or renewal without an answer is sent again after this.
const UPKEEP_DEADLINE: Duration = Duration::from_secs(5);
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

impl Role for Arc<Shared> {
    async fn attach_request(&self) -> AttachRequest {
        self.config.attach_request()
    }

    async fn opened(&self, session: &Arc<Session>) -> Result<()> {
        self.lock().open(session);
        Ok(())
    }

    async fn serve(&self, session: &Arc<Session>) {
        tokio::join!(renew(self, session), release(self, session), probe(self, session));
    }

    fn closed(&self) {
        self.lock().close();
        self.answered.notify_all();
    }

    fn failed(&self, error: &ClientError) {
        tracing::debug!(%error, "cannot attach");
    }
}

async fn renew(shared: &Shared, session: &Arc<Session>) {
    loop {
        sleep(session.lease_ttl() / 3).await;
        let lease_ids: Vec<u64> = shared.lock().table.lease_ids().collect();
        if lease_ids.is_empty() {
            continue;
        }
        let request = RenewRequest {
            session_id: session.id(),
            lease_ids,
            breaker_openings: 0,
        };
        match timeout(UPKEEP_DEADLINE, session.rpc().renew(request)).await {
            Ok(Ok(answer)) => {
                session.observe_boot(answer.get_ref().boot_id);
                let ended = answer.into_inner().unknown.into_iter().collect();
                shared.lock().table.drop_leases(&ended);
            }
            Ok(Err(status)) => session.observe_error(&status),
            Err(_) => {}
        }
    }
}

async fn release(shared: &Shared, session: &Arc<Session>) {
    loop {
        shared.releases.notified().await;
        let unreleased = shared.lock().take_unreleased();
        if unreleased.is_empty() {
            continue;
        }
        let request = ReleaseRequest {
            session_id: session.id(),
            lease_ids: unreleased.lease_ids,
            lookup_ids: unreleased.lookup_ids,
        };
        // Releasing twice is harmless, so a call without an answer is made again.
        loop {
            match timeout(UPKEEP_DEADLINE, session.rpc().release(request.clone())).await {
                Ok(Ok(answer)) => break session.observe_boot(answer.get_ref().boot_id),
                Ok(Err(status)) => break session.observe_error(&status),
                Err(_) => {}
            }
        }
    }
}

/// Closes the breaker once the daemon answers a renewal of nothing as fast as it should answer a lookup.
///
/// One probe at a time, never cancelled: the daemon would take many cancelled calls for an attack.
async fn probe(shared: &Shared, session: &Arc<Session>) {
    if shared.lock().untold_openings > 0 {
        renew_nothing(shared, session).await;
    }
    loop {
        shared.breaker_opened.notified().await;
        loop {
            sleep(PROBE_INTERVAL).await;
            let asked = Instant::now();
            renew_nothing(shared, session).await;
            if asked.elapsed() <= shared.deadline {
                break;
            }
        }
        shared.lock().breaker.close();
        tracing::info!("the daemon answers again");
    }
}

/// Tells the daemon how often the breaker has opened meanwhile; whatever it answers, it answers.
async fn renew_nothing(shared: &Shared, session: &Arc<Session>) {
    let breaker_openings = shared.lock().untold_openings;
    let request = RenewRequest {
        session_id: session.id(),
        lease_ids: Vec::new(),
        breaker_openings,
    };
    match session.rpc().renew(request).await {
        Ok(answer) => {
            shared.lock().untold_openings -= breaker_openings;
            session.observe_boot(answer.get_ref().boot_id);
        }
        Err(status) => session.observe_error(&status),
    }
}
