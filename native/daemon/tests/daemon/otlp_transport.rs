//! The ways to a receiver of OTLP: gRPC and HTTP, with TLS and without.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::Signal;
use tempfile::TempDir;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::support::engine::{Engine, Shape, fresh_hashes};
use crate::support::otlp_receiver::Receiver;
use crate::support::{Child, config, eventually, metrics};

/// Certificates of one authority, for `localhost` and for a client of it.
struct Authority {
    certificate: String,
    server: (String, String),
    client: (String, String),
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let issue = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
            (
                params.signed_by(&key, &issuer).unwrap().pem(),
                key.serialize_pem(),
            )
        };
        Self {
            server: issue("localhost"),
            client: issue("client"),
            certificate: issuer.pem(),
        }
    }

    fn server(&self) -> ServerTlsConfig {
        ServerTlsConfig::new().identity(Identity::from_pem(&self.server.0, &self.server.1))
    }

    /// Its files as variables name them.
    fn variables(&self, directory: &Path) -> Vec<(&'static str, String)> {
        let write = |name: &str, text: &str| {
            let file = directory.join(name);
            fs::write(&file, text).unwrap();
            file.to_str().unwrap().to_owned()
        };
        vec![
            (
                "OTEL_EXPORTER_OTLP_CERTIFICATE",
                write("ca.pem", &self.certificate),
            ),
            (
                "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
                write("client.pem", &self.client.0),
            ),
            (
                "OTEL_EXPORTER_OTLP_CLIENT_KEY",
                write("client.key", &self.client.1),
            ),
        ]
    }
}

/// A daemon in a process of its own, whose environment has these variables too.
fn exporting(directory: &TempDir, endpoint: &str, variables: &[(&str, &str)]) -> Child {
    let mut config = config(directory.path());
    config.otlp_endpoint = Some(endpoint.to_owned());
    let mut all = vec![
        ("OTEL_BSP_SCHEDULE_DELAY", "20"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "20"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-token=of%20test"),
    ];
    all.extend_from_slice(variables);
    Child::start_with("daemon", &serde_json::to_string(&config).unwrap(), &all)
}

/// Both kinds of messages come, with the headers.
async fn receives(receiver: &Receiver, directory: &TempDir) {
    let mut engine = Engine::start(&directory.path().join("daemon.sock"), &Shape::new()).await;
    engine.save(&fresh_hashes(2), &[0, 1]).await;
    eventually("a span and the metrics are received", async || {
        let saves = |name: &str| receiver.metrics.lock().iter().any(|metric| metric.name == name);
        receiver.span("pegaflow.save").is_some() && saves("pegaflow_save_duration_seconds")
    })
    .await;
    assert_eq!(receiver.headers.lock()["x-token"], "of test");
}

#[tokio::test]
async fn both_protocols_reach_a_receiver_without_tls() {
    for (protocol, path) in [("grpc", ""), ("http/protobuf", "/under")] {
        let directory = tempfile::tempdir().unwrap();
        let (receiver, endpoint) = Receiver::start();
        let endpoint = format!("{endpoint}{path}");
        let _daemon = exporting(
            &directory,
            &endpoint,
            &[("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)],
        );
        receives(&receiver, &directory).await;
    }
}

#[tokio::test]
async fn both_protocols_reach_a_receiver_that_wants_a_certificate() {
    for (protocol, path) in [("grpc", ""), ("http/protobuf", "/under")] {
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        let tls = authority
            .server()
            .client_ca_root(Certificate::from_pem(&authority.certificate));
        let (receiver, port) = Receiver::start_with(Some(tls));
        let files = authority.variables(directory.path());
        let mut variables: Vec<_> = files.iter().map(|(name, file)| (*name, file.as_str())).collect();
        variables.push(("OTEL_EXPORTER_OTLP_PROTOCOL", protocol));
        let _daemon = exporting(&directory, &format!("https://localhost:{port}{path}"), &variables);
        receives(&receiver, &directory).await;
    }
}

#[tokio::test]
async fn a_receiver_that_the_authority_does_not_know_gets_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (receiver, port) = Receiver::start_with(Some(Authority::new().server()));
    let other = Authority::new().variables(directory.path());
    let trusted = [(other[0].0, other[0].1.as_str())];
    let daemon = exporting(&directory, &format!("https://localhost:{port}"), &trusted);
    let http_addr = daemon.said["http_addr"].as_str().unwrap();
    eventually("exports fail", async || {
        metrics(http_addr)["pegaflow_otlp_exports_failed_total"] >= 2.0
    })
    .await;
    assert!(receiver.metrics.lock().is_empty());
    daemon.signal(Signal::TERM);
}

#[tokio::test]
async fn an_answer_that_is_no_success_is_a_failed_export() {
    let directory = tempfile::tempdir().unwrap();
    let (_receiver, endpoint) = Receiver::start();
    let endpoint = format!("{endpoint}/full");
    let protocol = [("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")];
    let daemon = exporting(&directory, &endpoint, &protocol);
    let http_addr = daemon.said["http_addr"].as_str().unwrap();
    eventually("exports fail", async || {
        metrics(http_addr)["pegaflow_otlp_exports_failed_total"] >= 2.0
    })
    .await;
}
