//! A host over gRPC: connections of `proto/brunt/v1/agent.proto` over what a [`Dial`] gives.

use std::os::unix::process::ExitStatusExt;
use std::sync::{Mutex, PoisonError};

use brunt_proto::v1::{self, agent_client::AgentClient};
use brunt_proto::{CallError, MAX_MESSAGE, stdio};
use tokio::process::Child;
use tokio::sync::mpsc;
use tonic::transport::Channel;
use tonic::{Response, Status, Streaming};

use crate::dial::{Dial, DialError, Dialed, Purpose};
use crate::link::LinkEvent;
use crate::tether::talk::{Answer, Line, Reports, Talk};
use crate::tether::{Crew, Link, Terms};

/// Lines of an agent that may wait for the master before the agent waits.
const LINES: usize = 256;

/// A link to an agent over gRPC. Dropped, it gives the agent up.
pub type GrpcLink = Link<GrpcLine>;

impl GrpcLink {
    /// A link to host number `host` by `dial`. Nothing is dialed before the greeting.
    pub fn over(
        host: usize,
        crew: Crew,
        dial: Box<dyn Dial>,
        terms: Terms,
        events: mpsc::Sender<(usize, LinkEvent)>,
    ) -> Self {
        let (log, lines) = mpsc::channel(LINES);
        let line = GrpcLine { dial, log: Mutex::new(Some(log)) };
        Link::new(host, crew, line, terms, lines, events)
    }
}

/// A way to one agent.
#[derive(Debug)]
pub struct GrpcLine {
    dial: Box<dyn Dial>,
    /// Where lines of the way go; `None` once the agent is given up.
    log: Mutex<Option<mpsc::Sender<String>>>,
}

impl Line for GrpcLine {
    type Talk = GrpcTalk;

    async fn open(&self, purpose: Purpose) -> Result<GrpcTalk, DialError> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let log = log.ok_or_else(|| DialError::Never("it was given up".to_owned()))?;
        let Dialed { channel, carrier } = self.dial.dial(purpose, log).await?;
        let client =
            AgentClient::new(channel).max_decoding_message_size(MAX_MESSAGE).max_encoding_message_size(MAX_MESSAGE);
        Ok(GrpcTalk { client, carrier: tokio::sync::Mutex::new(carrier) })
    }

    fn name(&self) -> String {
        self.dial.name()
    }

    async fn agent_ended(&self) -> Option<String> {
        self.dial.agent_ended().await
    }

    fn abandon(&self) {
        self.dial.abandon();
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A connection.
#[derive(Debug)]
pub struct GrpcTalk {
    client: AgentClient<Channel>,
    carrier: tokio::sync::Mutex<Option<Child>>,
}

/// The message of an answer.
fn answer<T>(response: Result<Response<T>, Status>) -> Answer<T> {
    response.map(Response::into_inner).map_err(CallError::from)
}

impl Talk for GrpcTalk {
    type Reports = Streaming<v1::WorkerMessage>;

    async fn hello(&self, request: v1::HelloRequest) -> Answer<v1::HelloReply> {
        answer(self.client.clone().hello(request).await)
    }

    async fn ping(&self, request: v1::PingRequest) -> Answer<v1::PingReply> {
        answer(self.client.clone().ping(request).await)
    }

    async fn inspect(&self, request: v1::InspectRequest) -> Answer<v1::InspectReply> {
        answer(self.client.clone().inspect(request).await)
    }

    async fn prepare(&self, request: v1::PrepareRequest) -> Answer<v1::PrepareReply> {
        answer(self.client.clone().prepare(request).await)
    }

    async fn start(&self, request: v1::StartRequest) -> Answer<v1::StartReply> {
        answer(self.client.clone().start(request).await)
    }

    async fn events(&self, request: v1::EventsRequest) -> Answer<Self::Reports> {
        answer(self.client.clone().events(request).await)
    }

    async fn stop(&self, request: v1::StopRequest) -> Answer<v1::StopReply> {
        answer(self.client.clone().stop(request).await)
    }

    async fn grant(&self, request: v1::GrantRequest) -> Answer<v1::GrantReply> {
        answer(self.client.clone().grant(request).await)
    }

    async fn drop_sd(&self, request: v1::DropSdRequest) -> Answer<v1::DropSdReply> {
        answer(self.client.clone().drop_sd(request).await)
    }

    async fn run_hook(&self, request: v1::RunHookRequest) -> Answer<v1::RunHookReply> {
        answer(self.client.clone().run_hook(request).await)
    }

    async fn shutdown(&self, request: v1::ShutdownRequest) -> Answer<v1::ShutdownReply> {
        answer(self.client.clone().shutdown(request).await)
    }

    async fn ended(&self) -> Option<String> {
        let mut carrier = self.carrier.lock().await;
        let status = carrier.as_mut()?.wait().await;
        // Nothing on the host did that.
        let here = if status.as_ref().is_ok_and(|status| status.signal().is_some()) { " on this machine" } else { "" };
        Some(format!("{}{here}", stdio::ended(status)))
    }
}

impl Reports for Streaming<v1::WorkerMessage> {
    async fn next(&mut self) -> Answer<Option<v1::WorkerMessage>> {
        self.message().await.map_err(CallError::from)
    }
}

#[cfg(test)]
mod tests;
