//! What surrounds every call: its metrics, that its connection is in use, and the status of a message that is too large.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use http_body_util::BodyExt;
use tonic::Code;
use tonic::body::Body;
use tonic::codegen::http::{HeaderValue, Request, Response};
use tonic::transport::server::UdsConnectInfo;
use tower::{Layer, Service};

use crate::connections::CallerInfo;
use crate::telemetry::RpcMetrics;

const STATUS: &str = "grpc-status";

/// Counts each call, and answers `RESOURCE_EXHAUSTED` to a message above the limit.
#[derive(Debug, Clone)]
pub(super) struct CallLayer(pub(super) RpcMetrics);

impl<S> Layer<S> for CallLayer {
    type Service = Calls<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Calls {
            inner,
            metrics: self.0.clone(),
        }
    }
}

/// A service with [`CallLayer`] around it.
#[derive(Debug, Clone)]
pub(super) struct Calls<S> {
    inner: S,
    metrics: RpcMetrics,
}

type Answering<R, E> = Pin<Box<dyn Future<Output = Result<R, E>> + Send>>;

impl<S, B> Service<Request<B>> for Calls<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Answering<Self::Response, Self::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut call = Call {
            metrics: self.metrics.clone(),
            path: request.uri().path().to_owned(),
            began: Instant::now(),
            code: Code::Cancelled,
        };
        let caller = request.extensions().get::<CallerInfo<UdsConnectInfo>>();
        let in_use = caller.map(|caller| caller.usage.begin());
        let answering = self.inner.call(request);
        Box::pin(async move {
            let mut response = answering.await?;
            call.answered(refine(&mut response));
            // A stream of messages is a use of the connection until its end.
            Ok(response.map(|body| {
                Body::new(body.map_frame(move |frame| {
                    let _ = &in_use;
                    frame
                }))
            }))
        })
    }
}

/// One call, counted when it is over: cancelled, unless it was answered.
struct Call {
    metrics: RpcMetrics,
    path: String,
    began: Instant,
    code: Code,
}

impl Call {
    fn answered(&mut self, code: Code) {
        self.code = code;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.metrics.observe(&self.path, self.code, self.began.elapsed());
    }
}

/// The status of an answer. The transport calls a message above the limit out of range, the protocol calls it exhausted;
/// no service of ours answers `OUT_OF_RANGE`.
fn refine<R>(response: &mut Response<R>) -> Code {
    // An answer that has a message has its status after it, and is a success.
    let Some(status) = response.headers_mut().get_mut(STATUS) else {
        return Code::Ok;
    };
    if Code::from_bytes(status.as_bytes()) == Code::OutOfRange {
        *status = HeaderValue::from(Code::ResourceExhausted as i32);
    }
    Code::from_bytes(status.as_bytes())
}
