//! Why a request, or one update of it, is refused: a canonical code and words.

use crate::proto::{google, p4::v1::Error};
use linerate_p4::WriteError;
use prost::Message as _;
use prost_types::Any;
use tonic::{Code, Status};

/// A canonical code with words for developers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Refusal>;

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }
}

pub(crate) fn invalid<T>(message: impl Into<String>) -> Result<T> {
    Err(Refusal::new(Code::InvalidArgument, message))
}

pub(crate) fn out_of_range<T>(message: impl Into<String>) -> Result<T> {
    Err(Refusal::new(Code::OutOfRange, message))
}

pub(crate) fn not_found<T>(message: impl Into<String>) -> Result<T> {
    Err(Refusal::new(Code::NotFound, message))
}

pub(crate) fn unimplemented<T>(message: impl Into<String>) -> Result<T> {
    Err(Refusal::new(Code::Unimplemented, message))
}

impl From<WriteError> for Refusal {
    fn from(error: WriteError) -> Self {
        let code = match &error {
            WriteError::Invalid(_) => Code::InvalidArgument,
            WriteError::Exists(_) => Code::AlreadyExists,
            WriteError::Missing(_) => Code::NotFound,
            WriteError::Full { .. } => Code::ResourceExhausted,
            WriteError::Constant(_) => Code::PermissionDenied,
            WriteError::InUse(_) => Code::FailedPrecondition,
        };
        Self::new(code, error.to_string())
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code, refusal.message)
    }
}

/// The status of a batch of which some elements were refused: `UNKNOWN`, with a `p4.v1.Error` for each element.
pub(crate) fn batch_status(results: &[Result<()>]) -> Status {
    let error = |result: &Result<()>| match result {
        Ok(()) => Error::default(),
        Err(refusal) => Error {
            canonical_code: refusal.code as i32,
            message: refusal.message.clone(),
            ..Error::default()
        },
    };
    let refused = results.iter().filter(|result| result.is_err()).count();
    let first = results.iter().find_map(|result| result.as_ref().err());
    let first = first.map_or(String::new(), |refusal| format!(": {}", refusal.message));
    let message = format!("{refused} of {} refused{first}", results.len());
    let details = results.iter().map(|result| Any {
        type_url: "type.googleapis.com/p4.v1.Error".to_owned(),
        value: error(result).encode_to_vec(),
    });
    let status = google::rpc::Status {
        code: Code::Unknown as i32,
        message: message.clone(),
        details: details.collect(),
    };
    Status::with_details(Code::Unknown, message, status.encode_to_vec().into())
}

/// What happened to each element of a batch; empty where the status does not say it.
pub(crate) fn batch_results(status: &Status) -> Vec<Result<()>> {
    let Ok(details) = google::rpc::Status::decode(status.details()) else {
        return Vec::new();
    };
    let result = |any: &Any| match Error::decode(any.value.as_slice()) {
        Ok(error) if error.canonical_code == Code::Ok as i32 => Ok(()),
        Ok(error) => Err(Refusal::new(
            Code::from(error.canonical_code),
            error.message,
        )),
        Err(error) => Err(Refusal::new(Code::Internal, error.to_string())),
    };
    details.details.iter().map(result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_of_a_batch_has_its_error() {
        let results = [Ok(()), invalid("odd"), Ok(())];
        let status = batch_status(&results);
        assert_eq!(status.code(), Code::Unknown);
        assert_eq!(batch_results(&status), results);
    }
}
