//! What was seen: raw counters, per stream and per host, cumulative and with their time.

mod connections;
mod counts;
mod flow_times;
mod flows;
mod moments;
mod path;
mod snapshot;
mod tcp;
mod work;

pub use connections::{AcceptedCounts, ConnectionCounts};
pub use counts::{
    ErrorCount, IntervalCount, MAX_SILENCES, Omitted, PeerCounts, RequestCount, SequenceCount,
    Silence,
};
pub use flow_times::{FlowClass, FlowReport, FlowTimes};
pub use flows::FlowCounts;
pub use moments::Moments;
pub use path::{MAX_PATH_NOTES, PathMtu, PathReport, XdpReport};
pub use snapshot::Snapshot;
pub use tcp::{CongestionState, TcpSample, TcpSocketReport};
pub use work::{
    ByteStreamReceiver, ByteStreamSender, ConnectionOpener, DatagramReceiver, DatagramSender,
    LongestGap, MarkedByteStreamSender, MessageTimes, OpenLoopRequester, Pacing, PeerStream,
    PortCount, ReceiveSocket, Requester, Responder, StreamKind, StreamWork,
    UnnumberedDatagramReceiver,
};

use crate::one_way::ClockIdentity;
use crate::profile::Profile;
use crate::spec::{MAX_THREADS, Side};
use crate::time::{as_optional_seconds, as_seconds};
use crate::units::{ByteCount, PacketCount};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What one side of one stream saw: what every stream has, and what its kind of work has.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StreamReport {
    /// Index of the stream within its direction, from 0.
    pub index: u16,
    /// L4 payload bytes: given to the system (sender) or taken from it without duplicates (receiver).
    pub bytes: ByteCount,
    /// Datagrams given to the system (sender), distinct datagrams taken from it (receiver), or
    /// completed transactions (request/response). Zero for a TCP byte stream.
    pub packets: PacketCount,
    /// Counted time: from the first counted byte to the last, on this side's clock; zero where the peer
    /// does not tell.
    #[serde(rename = "duration_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub duration: Duration,
    /// Per-interval counts, in order.
    pub intervals: Vec<IntervalCount>,
    /// The longest times in which this side moved nothing, in order; at most [`MAX_SILENCES`] are read. Empty also of a
    /// peer that does not tell.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "counts::bounded_silences"
    )]
    pub silences: Vec<Silence>,
    /// Errors of the data plane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorCount>,
    /// CPU time of the traffic thread, user and system; zero where the peer does not tell.
    #[serde(rename = "thread_cpu_s", with = "as_seconds", default)]
    #[schemars(with = "f64")]
    pub thread_cpu: Duration,
    /// The part of it that the thread spent in the kernel, by the kernel's samples; `None` where it is not told.
    #[serde(
        rename = "thread_system_cpu_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub thread_system_cpu: Option<Duration>,
    /// Time the traffic thread was runnable but waited for a core (`/proc/thread-self/schedstat`);
    /// `None` where the kernel does not account it or the peer does not tell.
    #[serde(
        rename = "run_delay_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub run_delay: Option<Duration>,
    /// Time for which the traffic thread slept until times of its own: those of its schedule, and the pauses of a slow
    /// application that it imitates; `None` where the peer does not tell.
    #[serde(
        rename = "paused_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub paused: Option<Duration>,
    /// Each stream's counts, where a thread carries several and this report is their sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowCounts>,
    /// What its datapath said.
    #[serde(flatten)]
    pub path: PathReport,
    /// What it did, and what is counted of that alone.
    #[serde(flatten)]
    pub work: StreamWork,
}

impl StreamReport {
    /// A stream of this kind that has moved nothing.
    pub fn new(index: u16, work: impl Into<StreamWork>) -> Self {
        Self {
            index,
            bytes: ByteCount::default(),
            packets: PacketCount::default(),
            duration: Duration::ZERO,
            intervals: Vec::new(),
            silences: Vec::new(),
            errors: Vec::new(),
            thread_cpu: Duration::ZERO,
            thread_system_cpu: None,
            run_delay: None,
            paused: None,
            flows: None,
            path: PathReport::default(),
            work: work.into(),
        }
    }

    /// Sets the counts of bytes and of datagrams or transactions.
    #[must_use]
    pub fn with_counts(self, bytes: ByteCount, packets: PacketCount) -> Self {
        Self {
            bytes,
            packets,
            ..self
        }
    }
}

/// L4 payload that all streams of one side counted.
pub fn bytes_of(reports: &[EndpointReport], side: Side) -> ByteCount {
    let of_side = reports.iter().filter(|report| report.side == side);
    let streams = of_side.flat_map(|report| &report.streams);
    ByteCount::new(streams.map(|stream| stream.bytes.get()).sum())
}

/// Everything one side of one direction reports after a test.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct EndpointReport {
    /// Sender or receiver.
    pub side: Side,
    /// Each stream, or each thread that carries several; at most [`MAX_THREADS`] are read.
    #[serde(deserialize_with = "bounded_streams")]
    pub streams: Vec<StreamReport>,
    /// Host counters just before the first byte.
    pub before: Snapshot,
    /// Host counters just after the last byte.
    pub after: Snapshot,
    /// Sampled call stacks of this end, where the test asked for them and the host allowed it; if
    /// it did not, `after.missing` says why at `profile`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::profile::checked"
    )]
    pub profile: Option<Profile>,
    /// The clock that this end's times are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockIdentity>,
}

impl EndpointReport {
    /// Streams of an end that tells nothing of its host.
    pub fn of_streams(side: Side, streams: Vec<StreamReport>) -> Self {
        Self {
            side,
            streams,
            before: Snapshot::default(),
            after: Snapshot::default(),
            profile: None,
            clock: None,
        }
    }
}

/// Reads at most `MAX_THREADS` streams: each may hold histograms that are far larger than their text.
fn bounded_streams<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<StreamReport>, D::Error> {
    struct Streams;

    impl<'de> Visitor<'de> for Streams {
        type Value = Vec<StreamReport>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MAX_THREADS} stream reports")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut streams = Vec::new();
            while let Some(stream) = seq.next_element()? {
                if streams.len() == usize::from(MAX_THREADS) {
                    return Err(A::Error::invalid_length(streams.len() + 1, &self));
                }
                streams.push(stream);
            }
            Ok(streams)
        }
    }

    d.deserialize_seq(Streams)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(streams: u16) -> EndpointReport {
        EndpointReport {
            side: Side::Receiver,
            streams: vec![
                StreamReport::new(0, ByteStreamReceiver::default());
                usize::from(streams)
            ],
            before: Snapshot::default(),
            after: Snapshot::default(),
            profile: None,
            clock: None,
        }
    }

    #[test]
    fn a_report_of_the_most_streams_is_read_and_one_more_is_refused() {
        let most = report(MAX_THREADS);
        let text = serde_json::to_string(&most).unwrap();
        assert_eq!(serde_json::from_str::<EndpointReport>(&text).unwrap(), most);
        let text = serde_json::to_string(&report(MAX_THREADS + 1)).unwrap();
        let error = serde_json::from_str::<EndpointReport>(&text).unwrap_err();
        assert!(error.to_string().contains("at most 128"), "{error}");
    }

    /// A stream of each kind that has counted nothing.
    fn kinds() -> Vec<StreamWork> {
        let lateness = crate::Histogram::new();
        vec![
            ByteStreamReceiver::default().into(),
            ByteStreamSender::default().into(),
            ConnectionOpener::default().into(),
            DatagramReceiver::default().into(),
            DatagramSender {
                pacing: Pacing::Paced { lateness },
                ..DatagramSender::default()
            }
            .into(),
            MarkedByteStreamSender::default().into(),
            OpenLoopRequester::default().into(),
            PeerStream::default().into(),
            Requester::default().into(),
            Responder::default().into(),
            UnnumberedDatagramReceiver::default().into(),
            StreamWork::Unreported,
        ]
    }

    #[test]
    fn every_kind_of_stream_survives_the_document() {
        for work in kinds() {
            let stream = StreamReport::new(3, work);
            let text = serde_json::to_string(&stream).unwrap();
            let back: StreamReport = serde_json::from_str(&text).unwrap();
            assert_eq!(back, stream, "{text}");
        }
    }

    #[test]
    fn a_stream_without_its_kind_or_with_too_many_notes_is_refused() {
        let refused = |change: fn(&mut serde_json::Value)| {
            let stream = StreamReport::new(0, DatagramSender::default());
            let mut value = serde_json::to_value(stream).unwrap();
            change(&mut value);
            serde_json::from_value::<StreamReport>(value)
                .unwrap_err()
                .to_string()
        };
        let why = refused(|value| drop(value.as_object_mut().unwrap().remove("kind")));
        assert!(why.contains("kind"), "{why}");
        let why = refused(|value| value["path_notes"] = vec!["x"; MAX_PATH_NOTES + 1].into());
        assert!(why.contains("more than 16 notes"), "{why}");
        refused(|value| value["lateness"] = "no histogram".into());
    }
}
