//! What a link needs of a way to an agent: connections, and the calls of the protocol on them.
//!
//! The real one is gRPC over what a [`Dial`](crate::dial::Dial) gives; a simulation has its own.

use std::future::Future;

use brunt_proto::{CallError, v1};

use crate::dial::{DialError, Purpose};

/// The answer to a call.
pub type Answer<T> = Result<T, CallError>;

/// A way to one agent, which can be gone more than once.
pub trait Line: Send + Sync + 'static {
    /// A connection. What carries it goes with it.
    type Talk: Talk;

    /// Connects.
    fn open(&self, purpose: Purpose) -> impl Future<Output = Result<Self::Talk, DialError>> + Send;

    /// How it is called in messages.
    fn name(&self) -> String;

    /// See [`Dial::agent_ended`](crate::dial::Dial::agent_ended).
    fn agent_ended(&self) -> impl Future<Output = Option<String>> + Send;

    /// Gives the agent up, once it is lost.
    fn abandon(&self);
}

/// One connection. Every call may come twice and has its effect once.
pub trait Talk: Send + Sync + 'static {
    /// The event stream.
    type Reports: Reports;

    /// `Hello`.
    fn hello(&self, request: v1::HelloRequest) -> impl Future<Output = Answer<v1::HelloReply>> + Send;
    /// `Ping`.
    fn ping(&self, request: v1::PingRequest) -> impl Future<Output = Answer<v1::PingReply>> + Send;
    /// `Inspect`.
    fn inspect(&self, request: v1::InspectRequest) -> impl Future<Output = Answer<v1::InspectReply>> + Send;
    /// `Prepare`.
    fn prepare(&self, request: v1::PrepareRequest) -> impl Future<Output = Answer<v1::PrepareReply>> + Send;
    /// `Start`.
    fn start(&self, request: v1::StartRequest) -> impl Future<Output = Answer<v1::StartReply>> + Send;
    /// `Events`.
    fn events(&self, request: v1::EventsRequest) -> impl Future<Output = Answer<Self::Reports>> + Send;
    /// `Stop`.
    fn stop(&self, request: v1::StopRequest) -> impl Future<Output = Answer<v1::StopReply>> + Send;
    /// `Grant`.
    fn grant(&self, request: v1::GrantRequest) -> impl Future<Output = Answer<v1::GrantReply>> + Send;
    /// `DropSd`.
    fn drop_sd(&self, request: v1::DropSdRequest) -> impl Future<Output = Answer<v1::DropSdReply>> + Send;
    /// `RunHook`.
    fn run_hook(&self, request: v1::RunHookRequest) -> impl Future<Output = Answer<v1::RunHookReply>> + Send;
    /// `Shutdown`.
    fn shutdown(&self, request: v1::ShutdownRequest) -> impl Future<Output = Answer<v1::ShutdownReply>> + Send;

    /// Waits until what carries the connection has ended, and says how; `None` at once where nothing does.
    fn ended(&self) -> impl Future<Output = Option<String>> + Send;
}

/// The event stream of a connection.
pub trait Reports: Send + 'static {
    /// The next message; `None`: the stream has ended.
    fn next(&mut self) -> impl Future<Output = Answer<Option<v1::WorkerMessage>>> + Send;
}
