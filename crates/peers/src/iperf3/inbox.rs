//! Cuts the peer's bytes into states and framed JSON.

use super::byte;
use crate::error::{Excerpt, ProtocolError, Result};
use crate::inbox::Inbox;
use serde_json::Value;

impl Inbox {
    /// Takes one state byte.
    pub(super) fn take_byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    /// Takes a length-prefixed JSON object, once it is complete.
    pub(super) fn take_json(
        &mut self,
        state: &'static str,
        message: &'static str,
        most: u32,
    ) -> Result<Option<Value>> {
        let Some(head) = self.pending().first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*head);
        if !(1..=most).contains(&length) {
            return Err(ProtocolError::Length {
                state,
                message,
                length,
                most,
                offset: self.offset(),
                bytes: Excerpt::from_bytes(self.pending()),
            });
        }
        let end = 4 + usize::try_from(length).unwrap_or(usize::MAX);
        let Some(body) = self.pending().get(4..end) else {
            return Ok(None);
        };
        let value = read(body).map_err(|cause| ProtocolError::Body {
            state,
            message,
            offset: self.offset(),
            bytes: Excerpt::from_bytes(body),
            cause,
        })?;
        self.consume(end);
        Ok(Some(value))
    }
}

/// Parses an object. iperf3 up to 3.1.1 wrote `nan` and `inf` for values that it could not compute.
fn read(body: &[u8]) -> Result<Value, String> {
    let value = serde_json::from_slice(body)
        .or_else(|error| serde_json::from_slice(&without_nan(body)).map_err(|_| error))
        .map_err(|error: serde_json::Error| error.to_string())?;
    match value {
        Value::Object(_) => Ok(value),
        _ => Err("it is JSON, but no object".to_owned()),
    }
}

/// `body` with `null` for each value `nan`, `-nan`, `inf` or `-inf`.
fn without_nan(body: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(body.len());
    let (mut rest, mut in_text, mut escaped) = (body, false, false);
    while let Some((&byte, tail)) = rest.split_first() {
        let word = [&b"-nan"[..], b"nan", b"-inf", b"inf"]
            .into_iter()
            .find(|word| !in_text && rest.starts_with(word));
        if let Some(word) = word {
            clean.extend_from_slice(b"null");
            rest = &rest[word.len()..];
            continue;
        }
        in_text ^= byte == b'"' && !escaped;
        escaped = in_text && byte == b'\\' && !escaped;
        clean.push(byte);
        rest = tail;
    }
    clean
}

/// Encodes an object with its length before it.
pub(super) fn framed(value: &Value) -> Vec<u8> {
    let body = value.to_string();
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], body.as_bytes()].concat()
}

/// iperf3's own name of a state, for messages.
pub(super) const fn name(state: u8) -> &'static str {
    match state {
        byte::TEST_START => "TEST_START",
        byte::TEST_RUNNING => "TEST_RUNNING",
        byte::TEST_END => "TEST_END",
        byte::PARAM_EXCHANGE => "PARAM_EXCHANGE",
        byte::CREATE_STREAMS => "CREATE_STREAMS",
        byte::SERVER_TERMINATE => "SERVER_TERMINATE",
        byte::CLIENT_TERMINATE => "CLIENT_TERMINATE",
        byte::EXCHANGE_RESULTS => "EXCHANGE_RESULTS",
        byte::DISPLAY_RESULTS => "DISPLAY_RESULTS",
        byte::IPERF_DONE => "IPERF_DONE",
        byte::SERVER_ERROR => "SERVER_ERROR",
        byte::ACCESS_DENIED => "ACCESS_DENIED",
        _ => "an unknown state",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_old_versions_could_not_compute_is_null() {
        let text = br#"{"jitter":-nan,"a":[nan,inf,-inf],"name":"nan \" nan"}"#;
        let value = read(text).unwrap();
        assert_eq!(value["jitter"], Value::Null);
        assert_eq!(value["a"], serde_json::json!([null, null, null]));
        assert_eq!(value["name"], "nan \" nan");
    }

    #[test]
    fn a_length_of_four_gigabytes_is_refused_before_anything_is_kept() {
        let mut inbox = Inbox::default();
        inbox.feed(&[0xff; 4]);
        let error = inbox.take_json("params", "parameters", 1000).unwrap_err();
        assert!(matches!(
            error,
            ProtocolError::Length {
                length: u32::MAX,
                ..
            }
        ));
    }
}
