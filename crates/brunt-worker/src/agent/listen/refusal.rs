//! A client that cannot be served is told why, in the protocol that it speaks.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use brunt_proto::v1::agent_server::SERVICE_NAME;
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;
use tonic::transport::Server;

use crate::agent::connection::{Bytes, Connections, Ends};

/// Time a client has to ask, and to hear it.
const LIMIT: Duration = Duration::from_secs(30);

/// Gives all calls the same answer until the client has gone: a sentence, and that it may be another one later.
pub async fn refuse(stream: impl Bytes + 'static, why: &str) {
    let (connections, Ends { incoming, mut ended }) = Connections::new();
    connections.add(stream);
    let server = Server::builder().add_service(Refusing(why.into()));
    let serving = tokio::spawn(server.serve_with_incoming(UnboundedReceiverStream::new(incoming)));
    // Whether it has heard or not.
    let _ = timeout(LIMIT, ended.recv()).await;
    connections.cut_all();
    serving.abort();
}

#[derive(Clone)]
struct Refusing(Arc<str>);

impl NamedService for Refusing {
    const NAME: &'static str = SERVICE_NAME;
}

impl Service<http::Request<Body>> for Refusing {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Body>) -> Self::Future {
        ready(Ok(Status::unavailable(&*self.0).into_http()))
    }
}
