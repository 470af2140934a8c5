//! A receiver of OTLP: by gRPC and by HTTP on one port, with TLS or without.

use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::thread;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use parking_lot::Mutex;
use prost::Message;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::service::Routes;
use tonic::transport::{Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

/// What was received.
#[derive(Clone, Default)]
pub(crate) struct Receiver {
    pub(crate) spans: Arc<Mutex<Vec<Span>>>,
    pub(crate) metrics: Arc<Mutex<Vec<Metric>>>,
    pub(crate) resource: Arc<Mutex<Vec<KeyValue>>>,
    /// Of the last call.
    pub(crate) headers: Arc<Mutex<HeaderMap>>,
}

#[tonic::async_trait]
impl TraceService for Receiver {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        *self.headers.lock() = request.metadata().clone().into_headers();
        self.keep_spans(request.into_inner());
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Receiver {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        *self.headers.lock() = request.metadata().clone().into_headers();
        self.keep_metrics(request.into_inner());
        Ok(Response::new(Default::default()))
    }
}

impl Receiver {
    /// Receives, on a thread of its own until the test's process ends; the address.
    pub(crate) fn start() -> (Self, String) {
        let (receiver, port) = Self::start_with(None);
        (receiver, format!("http://127.0.0.1:{port}"))
    }

    /// As [`start`](Self::start), with TLS if that is given; the port.
    pub(crate) fn start_with(tls: Option<ServerTlsConfig>) -> (Self, u16) {
        let listener = StdListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let receiver = Self::default();
        let routes = receiver.routes();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                let mut server = Server::builder().accept_http1(true);
                if let Some(tls) = tls {
                    server = server.tls_config(tls).unwrap();
                }
                let serving = server.add_routes(routes);
                serving
                    .serve_with_incoming(TcpListenerStream::new(listener))
                    .await
                    .unwrap();
            });
        });
        (receiver, port)
    }

    fn routes(&self) -> Routes {
        let grpc = Routes::new(TraceServiceServer::new(self.clone()))
            .add_service(MetricsServiceServer::new(self.clone()));
        let http = Router::new()
            .route("/under/v1/traces", post(Self::posted_spans))
            .route("/under/v1/metrics", post(Self::posted_metrics))
            .route("/full/v1/traces", post(StatusCode::SERVICE_UNAVAILABLE))
            .route("/full/v1/metrics", post(StatusCode::SERVICE_UNAVAILABLE))
            .with_state(self.clone());
        Routes::from(grpc.into_axum_router().merge(http))
    }

    async fn posted_spans(State(this): State<Self>, headers: HeaderMap, body: Bytes) -> StatusCode {
        let message = ExportTraceServiceRequest::decode(body);
        this.posted(headers, message.map(|message| this.keep_spans(message)))
    }

    async fn posted_metrics(State(this): State<Self>, headers: HeaderMap, body: Bytes) -> StatusCode {
        let message = ExportMetricsServiceRequest::decode(body);
        this.posted(headers, message.map(|message| this.keep_metrics(message)))
    }

    fn posted(&self, headers: HeaderMap, kept: Result<(), prost::DecodeError>) -> StatusCode {
        let is_protobuf = headers["content-type"] == "application/x-protobuf";
        *self.headers.lock() = headers;
        if kept.is_ok() && is_protobuf {
            StatusCode::OK
        } else {
            StatusCode::BAD_REQUEST
        }
    }

    fn keep_spans(&self, message: ExportTraceServiceRequest) {
        for of_resource in message.resource_spans {
            *self.resource.lock() = of_resource.resource.unwrap().attributes;
            let scopes = of_resource.scope_spans.into_iter();
            self.spans.lock().extend(scopes.flat_map(|scope| scope.spans));
        }
    }

    fn keep_metrics(&self, message: ExportMetricsServiceRequest) {
        let resources = message.resource_metrics.into_iter();
        let scopes = resources.flat_map(|of_resource| of_resource.scope_metrics);
        *self.metrics.lock() = scopes.flat_map(|scope| scope.metrics).collect();
    }

    pub(crate) fn span(&self, name: &str) -> Option<Span> {
        self.spans.lock().iter().find(|span| span.name == name).cloned()
    }
}
