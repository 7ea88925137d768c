//! Messages that are kept outside of a connection: what they take, and their bytes for a file.

use prost::Message;

use crate::v1;

/// Bytes of a message on the wire.
pub fn size(message: &v1::WorkerMessage) -> usize {
    message.encoded_len()
}

/// What an agent said of its host, as bytes.
pub fn pack(reply: &v1::InspectReply) -> Vec<u8> {
    reply.encode_to_vec()
}

/// What [`pack`] made bytes of; `None`: they are not from there.
pub fn unpack(bytes: &[u8]) -> Option<v1::InspectReply> {
    v1::InspectReply::decode(bytes).ok()
}
