//! How a message gets to the endpoint: by gRPC, or as the body of an HTTP request.

use std::error::Error;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, metrics_service_client::MetricsServiceClient,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, trace_service_client::TraceServiceClient,
};
use prost::Message;
use tokio::time::timeout;
use tonic::Request;
use tonic::body::Body;
use tonic::metadata::MetadataMap;

use super::settings::{OtlpSettings, Protocol};

/// Bytes of an answer that are read.
const ANSWER_BYTES: usize = 64 << 10;

/// Why the endpoint does not have a message.
pub(super) type SendError = Box<dyn Error + Send + Sync>;

/// Connections to the endpoint, which are made when there is something to send.
#[derive(Debug)]
pub(super) struct Transport {
    client: Client<HttpsConnector<HttpConnector>, Body>,
    protocol: Protocol,
    endpoint: Uri,
    headers: HeaderMap,
    timeout: Duration,
}

impl Transport {
    pub(super) fn new(settings: &OtlpSettings) -> Self {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(settings.tls.clone())
            .https_or_http();
        let is_grpc = settings.protocol == Protocol::Grpc;
        let connector = if is_grpc {
            connector.enable_http2().build()
        } else {
            connector.enable_all_versions().build()
        };
        let mut client = Client::builder(TokioExecutor::new());
        Self {
            client: client.http2_only(is_grpc).build(connector),
            protocol: settings.protocol,
            endpoint: settings.endpoint.clone(),
            headers: settings.headers.clone(),
            timeout: settings.timeout,
        }
    }

    /// Sends spans.
    ///
    /// # Errors
    /// Why the endpoint does not have them.
    pub(super) async fn send_spans(&self, message: ExportTraceServiceRequest) -> Result<(), SendError> {
        self.in_time(async {
            match self.protocol {
                Protocol::HttpProtobuf => self.post("v1/traces", &message).await,
                Protocol::Grpc => {
                    let mut client =
                        TraceServiceClient::with_origin(self.client.clone(), self.endpoint.clone());
                    client.export(self.request(message)).await?;
                    Ok(())
                }
            }
        })
        .await
    }

    /// Sends metrics.
    ///
    /// # Errors
    /// Why the endpoint does not have them.
    pub(super) async fn send_metrics(&self, message: ExportMetricsServiceRequest) -> Result<(), SendError> {
        self.in_time(async {
            match self.protocol {
                Protocol::HttpProtobuf => self.post("v1/metrics", &message).await,
                Protocol::Grpc => {
                    let mut client =
                        MetricsServiceClient::with_origin(self.client.clone(), self.endpoint.clone());
                    client.export(self.request(message)).await?;
                    Ok(())
                }
            }
        })
        .await
    }

    async fn in_time(&self, call: impl Future<Output = Result<(), SendError>>) -> Result<(), SendError> {
        match timeout(self.timeout, call).await {
            Ok(ended) => ended,
            Err(_) => Err(format!("it did not answer within {:?}", self.timeout).into()),
        }
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        *request.metadata_mut() = MetadataMap::from_headers(self.headers.clone());
        request
    }

    async fn post(&self, path: &str, message: &impl Message) -> Result<(), SendError> {
        let base = self.endpoint.to_string();
        let mut request = hyper::Request::post(format!("{}/{path}", base.trim_end_matches('/')))
            .body(Body::new(Full::from(message.encode_to_vec())))?;
        request.headers_mut().extend(self.headers.clone());
        request
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        let answer = self.client.request(request).await?;
        let status = answer.status();
        // To its end, or the connection is of no use for the next one.
        Limited::new(answer.into_body(), ANSWER_BYTES).collect().await?;
        if status.is_success() {
            Ok(())
        } else {
            Err(format!("it answered {status}").into())
        }
    }
}
