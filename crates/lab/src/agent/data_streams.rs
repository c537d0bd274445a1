//! Streams that are tests of their own: what they begin with, how many there are, and what was seen of them.

use crate::driver::News;
use anyhow::Result;
use linerate_model::sample::{EndpointReport, StreamReport};
use linerate_model::spec::{MAX_STREAMS, Side};
use linerate_model::{BitRate, ByteCount, Clock as _};
use linerate_peers::PeerKind;
use linerate_sys::clock::{MonoClock, sleep_until};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a stream may take to begin.
const BEGIN_LIMIT: Duration = Duration::from_secs(10);

/// How long the rest of a header may take: it is sent at once.
const REST_LIMIT: Duration = Duration::from_millis(500);

/// Pause between two looks at what has come.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Most bytes that a kind of stream may need to tell what it is.
const MAX_OPENING_BYTES: usize = 256;

/// What a stream begins with, as far as its kind needs it; the bytes are still to be read.
pub(crate) fn peek(stream: &TcpStream, kind: &dyn PeerKind) -> Result<Vec<u8>> {
    stream.set_read_timeout(Some(BEGIN_LIMIT))?;
    let mut room = [0; MAX_OPENING_BYTES];
    let mut length = match stream.peek(&mut room) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            anyhow::bail!("nothing came within {BEGIN_LIMIT:?}")
        }
        length => length?,
    };
    let deadline = MonoClock.now().after(REST_LIMIT);
    while length > 0 && length < kind.opening_len(&room[..length]).min(MAX_OPENING_BYTES) {
        if MonoClock.now() >= deadline {
            break;
        }
        sleep_until(MonoClock.now().after(POLL_INTERVAL));
        length = stream.peek(&mut room)?;
    }
    Ok(room[..length].to_vec())
}

/// Addresses that have streams here, and how many.
#[derive(Default)]
pub(super) struct Addresses(Mutex<BTreeMap<IpAddr, u16>>);

/// Counts a stream as long as it lives.
pub(super) struct Counted<'a>(&'a Addresses, IpAddr);

impl Addresses {
    /// Counts one more stream; how many addresses there were before, or more than may be if this one has too
    /// many streams.
    pub(super) fn one_more(&self, from: IpAddr) -> (Counted<'_>, u32) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let others = all.keys().filter(|address| **address != from).count();
        let streams = all.entry(from).or_default();
        *streams = streams.saturating_add(1);
        // A client that ends a test of all its streams begins the next before the last ones are forgotten.
        let before = if *streams > MAX_STREAMS * 4 {
            u32::MAX
        } else {
            u32::try_from(others).unwrap_or(u32::MAX)
        };
        drop(all);
        (Counted(self, from), before)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let mut all = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(streams) = all.get_mut(&self.1) {
            *streams = streams.saturating_sub(1);
            if *streams == 0 {
                all.remove(&self.1);
            }
        }
    }
}

/// What happened to a stream from `from`, for who runs this server: most clients are told nothing.
pub(super) fn describe(from: SocketAddr, kind: &dyn PeerKind, news: &News) -> Vec<String> {
    let id = kind.id();
    match news {
        News::OwnReports(reports) => reports
            .iter()
            .map(|report| format!("{from} {id}: {}", words(report)))
            .collect(),
        News::TestEnded { code, reason } => vec![format!("{from} {id}: {code}: {reason}")],
        _ => Vec::new(),
    }
}

fn words(report: &EndpointReport) -> String {
    let sum = |part: fn(&StreamReport) -> u64| report.streams.iter().map(part).sum::<u64>();
    let bytes = ByteCount::new(sum(|stream| stream.bytes.get()));
    let time = report.streams.iter().map(|stream| stream.duration).max();
    let time = time.unwrap_or_default();
    let done = match report.side {
        Side::Sender => "sent",
        Side::Receiver => "received",
    };
    let mut text = format!(
        "{done} {} bytes in {:.3} s",
        bytes.get(),
        time.as_secs_f64()
    );
    if let Some(rate) = BitRate::from_bytes(bytes, time) {
        // Writing to a string cannot fail.
        let _ = write!(text, ", {rate}");
    }
    let packets = sum(|stream| stream.packets.get());
    if packets > 0 {
        let _ = write!(text, ", {packets} datagrams");
    }
    for sequence in report.streams.iter().filter_map(|s| s.work.sequence()) {
        let expected = sequence.next_expected;
        let lost = expected.saturating_sub(sequence.received.get());
        let _ = write!(
            text,
            ", {lost} of {expected} lost, {} reordered, {} twice",
            sequence.reordered.get(),
            sequence.duplicated.get()
        );
    }
    text
}
