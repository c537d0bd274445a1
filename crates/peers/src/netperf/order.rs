//! A client's request, independent of its kind (classic or OMNI).

use super::block::Block;
use super::test::Test;
use crate::session::RefusalCode;
use linerate_model::ByteCount;
use linerate_model::spec::{
    Direction, MAX_BUFFER, MAX_TCP_PAYLOAD, SocketChoice, Stop, TestSpec, validate,
};
use std::time::Duration;

/// Error numbers of Linux that a client prints in words.
pub(super) mod errno {
    pub(in super::super) const PERMISSION: u32 = 1;
    pub(in super::super) const INTERRUPTED: u32 = 4;
    pub(in super::super) const IO: u32 = 5;
    pub(in super::super) const ACCESS: u32 = 13;
    pub(in super::super) const BUSY: u32 = 16;
    pub(in super::super) const INVALID: u32 = 22;
    pub(in super::super) const MESSAGE_SIZE: u32 = 90;
    pub(in super::super) const NOT_SUPPORTED: u32 = 95;
    pub(in super::super) const TIMED_OUT: u32 = 110;
    /// netperf's own: unknown test type.
    pub(in super::super) const UNKNOWN_TEST: u32 = 998;
}

/// Error number for a refusal of this end.
pub(super) const fn status_for(code: RefusalCode) -> u32 {
    match code {
        RefusalCode::Busy => errno::BUSY,
        RefusalCode::Denied => errno::ACCESS,
        RefusalCode::Internal | RefusalCode::Protocol => errno::IO,
        RefusalCode::Interrupted => errno::INTERRUPTED,
        RefusalCode::Invalid => errno::INVALID,
        RefusalCode::Limit => errno::PERMISSION,
        RefusalCode::Timeout => errno::TIMED_OUT,
        RefusalCode::Unsupported => errno::NOT_SUPPORTED,
    }
}

/// A request that is refused, with the error number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) status: u32,
    pub(super) cause: String,
}

pub(super) fn wrong(status: u32, cause: impl Into<String>) -> Wrong {
    Wrong {
        status,
        cause: cause.into(),
    }
}

/// A requested test.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) test: Test,
    pub(super) spec: TestSpec,
    /// Minimum length of a counted datagram, bytes.
    pub(super) least: u16,
    /// Duration of the test; `None` if the client ends it by a count.
    pub(super) length: Option<Duration>,
    pub(super) request: Block,
}

/// Values that both kinds of request carry.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestValues {
    pub(super) payload: u64,
    pub(super) least: u16,
    /// Seconds; a negative value is a number of transactions or bytes.
    pub(super) length: i32,
    pub(super) send_buffer: i32,
    pub(super) receive_buffer: i32,
}

impl RequestValues {
    /// Validates the values for `test`.
    pub(super) fn order(self, test: Test, request: &Block) -> Result<Order, Wrong> {
        let length = u64::try_from(self.length).ok().filter(|time| *time > 0);
        let length = length.map(Duration::from_secs);
        let base = test.template();
        let payload = match test {
            // Length of a read or write, which the client does not see.
            Test::TcpMaerts | Test::TcpStream => self.payload.min(MAX_TCP_PAYLOAD.get()),
            Test::TcpRr | Test::UdpRr | Test::UdpStream => self.payload,
        };
        let spec = TestSpec {
            direction: match test {
                Test::TcpMaerts => Direction::Reverse,
                _ => Direction::Forward,
            },
            stop: match (length, test) {
                (Some(time), _) => Stop::After(time),
                (None, Test::TcpMaerts) if self.length < 0 => {
                    Stop::Bytes(ByteCount::new(u64::from(self.length.unsigned_abs())))
                }
                (None, _) => base.stop,
            },
            socket: SocketChoice {
                send_buffer_bytes: buffer(self.send_buffer)?,
                receive_buffer_bytes: buffer(self.receive_buffer)?,
                ..SocketChoice::default()
            },
            ..base.with_payload(ByteCount::new(payload))
        };
        validate(&spec).map_err(|error| wrong(errno::INVALID, error.to_string()))?;
        Ok(Order {
            test,
            spec,
            least: self.least,
            length,
            request: request.clone(),
        })
    }
}

/// Requested buffer size; zero and less leave it to the system.
fn buffer(bytes: i32) -> Result<Option<ByteCount>, Wrong> {
    let Some(bytes) = u64::try_from(bytes).ok().filter(|bytes| *bytes > 0) else {
        return Ok(None);
    };
    if bytes > MAX_BUFFER.get() {
        let cause = format!("a buffer of {bytes} bytes; at most {MAX_BUFFER} are valid");
        return Err(wrong(errno::INVALID, cause));
    }
    Ok(Some(ByteCount::new(bytes)))
}

/// Common size of request and response messages; an error if they differ.
pub(super) fn one_size(there: u32, back: u32) -> Result<u64, Wrong> {
    if there == back && there > 0 {
        return Ok(u64::from(there));
    }
    let cause = format!(
        "requests of {there} and responses of {back} bytes: both must have the same size here"
    );
    Err(wrong(errno::NOT_SUPPORTED, cause))
}
