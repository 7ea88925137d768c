//! What can be wrong with a message.

use std::error::Error;

use crate::broken;

/// A message that does not say what the protocol asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A field that must be there is not.
    #[error("message {message} has no field `{field}`")]
    Missing {
        /// Name of the message.
        message: &'static str,
        /// Name of the field.
        field: &'static str,
    },
    /// A value that the protocol does not know, from a newer peer perhaps.
    #[error("field `{field}` of message {message} has the unknown value {value}")]
    Unknown {
        /// Name of the message.
        message: &'static str,
        /// Name of the field.
        field: &'static str,
        /// The value.
        value: i32,
    },
    /// A value that cannot be.
    #[error("field `{field}` of message {message} is wrong: {reason}")]
    Invalid {
        /// Name of the message.
        message: &'static str,
        /// Name of the field.
        field: &'static str,
        /// Why.
        reason: &'static str,
    },
}

/// Takes a field that must be there.
pub(crate) fn need<T>(value: Option<T>, message: &'static str, field: &'static str) -> Result<T, WireError> {
    value.ok_or(WireError::Missing { message, field })
}

/// A call that failed, with a sentence. An agent refuses with `FAILED_PRECONDITION` or `INVALID_ARGUMENT`; every
/// other status comes from the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The agent said why.
    Refused(String),
    /// There was no answer.
    Broken(String),
}

impl From<tonic::Status> for CallError {
    fn from(status: tonic::Status) -> Self {
        use tonic::Code;
        let text = if status.message().is_empty() { status.code().to_string() } else { status.message().to_owned() };
        match (status.code(), status.source()) {
            // Only what comes from the connection has an error behind it.
            (_, Some(error)) => CallError::Broken(broken::why(error)),
            (Code::FailedPrecondition | Code::InvalidArgument, None) => CallError::Refused(text),
            (Code::Unimplemented, None) => {
                let text = "the other end does not know this call: install the same version of brunt on both";
                CallError::Broken(text.to_owned())
            }
            (_, None) => CallError::Broken(text),
        }
    }
}
