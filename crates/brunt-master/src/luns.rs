//! The disks of a host, for somebody who writes a parameter file: a short visit to its agent.

use std::time::Duration;

use brunt_plan::devices::ListedDevice;
use brunt_proto::v1::{self, agent_client::AgentClient};
use brunt_proto::{CallError, MAX_MESSAGE, PROTOCOL};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::transport::Channel;

use crate::dial::{Dial, Purpose};

/// Time for the answers, once there is a connection: a host waits for its devices up to 45 seconds.
const LIMIT: Duration = Duration::from_secs(90);
/// Lines beside the protocol that may wait.
const LINES: usize = 256;

/// Asks a host what disks it has. Its agent is begun for that, and ends afterwards.
///
/// # Errors
/// There is no connection, or another version, or no answer: a sentence with the way's name.
pub async fn devices(dial: &dyn Dial) -> Result<Vec<ListedDevice>, String> {
    let (log, mut lines) = mpsc::channel(LINES);
    // What is said beside the protocol matters only when there is no connection, and then it is in the error.
    let chatter = tokio::spawn(async move { while lines.recv().await.is_some() {} });
    // A program may have to be copied over a slow link: the way itself knows how long that may take.
    let dialed = dial.dial(Purpose::Begin, log).await.map_err(|error| error.to_string())?;
    let listed = timeout(LIMIT, visit(dialed.channel)).await;
    drop(dialed.carrier);
    chatter.abort();
    let silent = || Err(format!("no answer within {} seconds", LIMIT.as_secs()));
    listed.unwrap_or_else(|_| silent()).map_err(|reason| format!("{}: {reason}", dial.name()))
}

async fn visit(channel: Channel) -> Result<Vec<ListedDevice>, String> {
    let mut client =
        AgentClient::new(channel).max_decoding_message_size(MAX_MESSAGE).max_encoding_message_size(MAX_MESSAGE);
    let failed = |status: tonic::Status| match CallError::from(status) {
        CallError::Refused(reason) | CallError::Broken(reason) => reason,
    };
    let version = env!("CARGO_PKG_VERSION");
    let hello = v1::HelloRequest { protocol: PROTOCOL, version: version.to_owned(), ..Default::default() };
    let reply = client.hello(hello).await.map_err(failed)?.into_inner();
    if reply.protocol != PROTOCOL {
        return Err(format!(
            "this is brunt {version} with protocol {PROTOCOL}, there is brunt {} with protocol {}; install the same version \
             on both",
            reply.version, reply.protocol
        ));
    }
    let request = v1::InspectRequest { list_devices: true, ..Default::default() };
    let listed = client.inspect(request).await.map_err(failed);
    // It has nothing to stop; that it ends is all.
    let _ = client.shutdown(v1::ShutdownRequest {}).await;
    Ok(listed?.into_inner().devices.into_iter().map(Into::into).collect())
}
