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

/// The most bytes of a status's details: they are a header of HTTP, in base64, and clients take 8 KiB of headers.
const MAX_DETAILS: usize = 5 << 10;

/// The status of a batch of which some elements were refused: `UNKNOWN`, with a `p4.v1.Error` for each element; of a batch that
/// is too long for that, the message alone says which was the first.
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
    // Those that were not made because of another one say nothing.
    let reasons = results.iter().zip(1..).filter_map(|(result, number)| {
        let refusal = result.as_ref().err()?;
        Some((refusal.code == Code::Aborted, number, &refusal.message))
    });
    let first = reasons.min_by_key(|(aborted, number, _)| (*aborted, *number));
    let first = first.map_or(String::new(), |(_, number, message)| {
        format!("; number {number}: {message}")
    });
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
    if status.encoded_len() > MAX_DETAILS {
        return Status::new(Code::Unknown, message);
    }
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

    #[test]
    fn a_long_batch_says_which_element_was_the_first() {
        let aborted = || Err(Refusal::new(Code::Aborted, "not made"));
        let mut results = vec![aborted(), aborted(), invalid("odd")];
        results.extend((0..1000).map(|_| Ok(())));
        let status = batch_status(&results);
        assert!(status.details().is_empty());
        assert_eq!(status.message(), "3 of 1003 refused; number 3: odd");
    }
}
