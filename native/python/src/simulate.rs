//! `RecordedRequests`: the simulation of caches.

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::eviction::PolicyKind;
use pegaflow_core::simulate::{Contender, Requests, Routing, curve, private_pools, tiers};
use pyo3::prelude::*;

use crate::enter::enter;

/// Recorded requests, and what caches would have hit of them.
#[pyclass(module = "pegaflow._native")]
pub(crate) struct RecordedRequests(Requests);

#[pymethods]
impl RecordedRequests {
    #[new]
    fn new() -> Self {
        Self(Requests::default())
    }

    fn push(&mut self, time_us: u64, names: Vec<u64>) {
        self.0.push(time_us, &names);
    }

    fn blocks(&self) -> usize {
        self.0.blocks()
    }

    fn known_blocks(&self) -> u64 {
        self.0.known_blocks()
    }

    fn distinct_blocks(&self) -> usize {
        self.0.distinct_blocks()
    }

    #[staticmethod]
    fn policies() -> Vec<&'static str> {
        Contender::all().map(Contender::name).collect()
    }

    fn hits(
        &self,
        py: Python<'_>,
        policy: &str,
        capacities: Vec<usize>,
        threads: usize,
    ) -> PyResult<Vec<u64>> {
        enter(py, || {
            Ok::<_, Error>(curve(&self.0, contender(policy)?, &capacities, threads))
        })
    }

    fn private_hits(
        &self,
        py: Python<'_>,
        policy: &str,
        capacity: usize,
        instances: usize,
        routing: &str,
    ) -> PyResult<u64> {
        enter(py, || {
            let routing = match routing {
                "round-robin" => Routing::RoundRobin,
                "sticky" => Routing::Sticky,
                _ => return Err(unknown("routing", routing, "round-robin, sticky")),
            };
            Ok(private_pools(
                &self.0,
                kind(policy)?,
                capacity,
                instances,
                routing,
            ))
        })
    }

    fn tier_hits(&self, py: Python<'_>, policy: &str, memory: usize, ssd: usize) -> PyResult<(u64, u64)> {
        enter(py, || {
            let hits = tiers(&self.0, kind(policy)?, memory, ssd);
            Ok::<_, Error>((hits.memory, hits.ssd))
        })
    }
}

fn kind(name: &str) -> Result<PolicyKind> {
    let kinds = PolicyKind::ALL.map(PolicyKind::name).join(", ");
    let found = PolicyKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| unknown("policy", name, &kinds))
}

fn contender(name: &str) -> Result<Contender> {
    let found = Contender::all().find(|contender| contender.name() == name);
    let names: Vec<_> = Contender::all().map(Contender::name).collect();
    found.ok_or_else(|| unknown("policy", name, &names.join(", ")))
}

fn unknown(what: &str, name: &str, allowed: &str) -> Error {
    Error::new(
        ErrorKind::Config,
        format!("the {what} {name:?} is not known; allowed: {allowed}"),
    )
}
