//! Converts the board's counts into the report of its end.

use super::output::{Download, Upload};
use super::units::{Release, rate};
use linerate_model::sample::{EndpointReport, PeerStream, StreamReport};
use linerate_model::spec::{Side, TestSpec, Transport};
use linerate_model::{ByteCount, PacketCount};
use std::time::Duration;

fn report(side: Side, stream: StreamReport) -> EndpointReport {
    EndpointReport::of_streams(side, vec![stream])
}

/// What the board received of a UDP test that this host sent. `None` of TCP: it does not print how many
/// bytes came.
///
/// Our client sends its first datagram twice, since the one that opens a session is not counted up to Zephyr
/// 4.4; later ones count it, so one is taken away. zperf's number of lost datagrams is not used: it is never
/// taken back for one that came late.
///
/// The time is that of `answer`, which came over the network at the stream's end: the session that knows how
/// long the stream was open before its traffic has taken that out, and the shell prints hundredths of a second
/// only. Without an answer it is not known.
pub(super) fn receiver(
    spec: &TestSpec,
    numbers: &Download,
    release: Release,
    answer: Option<&EndpointReport>,
) -> Option<EndpointReport> {
    let datagrams = numbers.datagrams.as_ref()?;
    let again = u64::from(!release.leaves_out_the_first());
    let received = datagrams.received.get().saturating_sub(again);
    let jitter = u64::try_from(datagrams.jitter.as_nanos()).ok();
    let stream = PeerStream {
        rtp_jitter_ns: jitter,
        ..PeerStream::default()
    };
    let bytes = ByteCount::new(received.saturating_mul(spec.payload().get()));
    let answered = answer.and_then(|answer| answer.streams.first());
    let stream = StreamReport {
        duration: answered.map_or(Duration::ZERO, |stream| stream.duration),
        ..StreamReport::new(0, stream).with_counts(bytes, PacketCount::new(received))
    };
    Some(report(Side::Receiver, stream))
}

/// What the board sent in a test of which this host received `own`. `None` if its datagrams were not all
/// of one size, so that their number does not tell their bytes.
pub(super) fn sender(
    spec: &TestSpec,
    numbers: &Upload,
    size: u32,
    own: &EndpointReport,
) -> Option<EndpointReport> {
    let size = match numbers.transport {
        Transport::Tcp => u64::from(size),
        Transport::Udp => datagram_size(own).unwrap_or_else(|| spec.payload().get()),
    };
    let is_uniform = numbers.transport == Transport::Tcp || is_uniform(own, size);
    let packets = match numbers.transport {
        Transport::Tcp => PacketCount::default(),
        Transport::Udp => numbers.sent,
    };
    let bytes = ByteCount::new(numbers.sent.get().saturating_mul(size));
    let stream = StreamReport {
        duration: numbers.duration,
        ..StreamReport::new(0, PeerStream::default()).with_counts(bytes, packets)
    };
    is_uniform.then(|| report(Side::Sender, stream))
}

/// Length of each received datagram: a build with a lower limit sends shorter ones than requested.
fn datagram_size(own: &EndpointReport) -> Option<u64> {
    let stream = own.streams.first()?;
    stream.bytes.get().checked_div(stream.packets.get())
}

fn is_uniform(own: &EndpointReport, size: u64) -> bool {
    own.streams
        .iter()
        .all(|stream| stream.packets.get().checked_mul(size) == Some(stream.bytes.get()))
}

/// What the board says of a TCP stream that it received, as a note: its time and rate are cut, so no
/// bytes are made of them.
pub(super) fn words(numbers: &Download, release: Release) -> Option<String> {
    let rate = rate(&numbers.rate, release)?;
    let seconds = numbers.duration.as_secs_f64();
    Some(format!(
        "the board says that it received {rate} for {seconds:.2} s"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::output::Datagrams;
    use super::*;
    use linerate_model::BitRate;
    use linerate_model::sample::DatagramReceiver;
    use linerate_model::spec::Pace;

    fn spec() -> TestSpec {
        TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(10_000_000)))
            .with_payload(ByteCount::new(1000))
    }

    fn download() -> Download {
        Download {
            transport: Transport::Udp,
            duration: Duration::from_secs(3),
            datagrams: Some(Datagrams {
                received: PacketCount::new(3916),
                lost: PacketCount::new(20),
                out_of_order: PacketCount::new(1),
                jitter: Duration::from_micros(47),
            }),
            rate: "9.95 Mbps".to_owned(),
        }
    }

    #[test]
    fn the_datagram_that_opens_a_session_counts_once() {
        let old = receiver(&spec(), &download(), Release::parse("3.3").unwrap(), None).unwrap();
        let stream = &old.streams[0];
        assert_eq!(stream.packets.get(), 3916);
        assert_eq!(stream.bytes.get(), 3_916_000);
        assert_eq!(stream.work.rtp_jitter_ns(), Some(47_000));
        let new = receiver(&spec(), &download(), Release::parse("4.5").unwrap(), None).unwrap();
        assert_eq!(new.streams[0].packets.get(), 3915);
    }

    #[test]
    fn the_time_is_that_of_the_traffic_and_not_what_the_shell_prints() {
        let release = Release::parse("3.3").unwrap();
        let time = |answer: Option<&EndpointReport>| {
            let report = receiver(&spec(), &download(), release, answer).unwrap();
            report.streams[0].duration
        };
        assert_eq!(time(None), Duration::ZERO);
        let answered = StreamReport {
            duration: Duration::from_micros(2_899_412),
            ..StreamReport::new(0, PeerStream::default())
        };
        let answer = report(Side::Receiver, answered);
        assert_eq!(time(Some(&answer)), Duration::from_micros(2_899_412));
    }

    #[test]
    fn a_board_that_sends_shorter_datagrams_is_believed_by_their_size() {
        let upload = Upload {
            transport: Transport::Udp,
            duration: Duration::from_secs(3),
            sent: PacketCount::new(1915),
            errors: None,
            rate: "4.98 Mbps".to_owned(),
            has_report: true,
        };
        let own = |packets, bytes| {
            let stream = StreamReport::new(0, DatagramReceiver::default());
            report(
                Side::Receiver,
                stream.with_counts(ByteCount::new(bytes), PacketCount::new(packets)),
            )
        };
        let bytes = |own: &EndpointReport| {
            sender(&spec(), &upload, 1000, own).map(|sent| sent.streams[0].bytes.get())
        };
        assert_eq!(bytes(&own(1900, 1900 * 512)), Some(1915 * 512));
        assert_eq!(bytes(&own(0, 0)), Some(1915 * 1000));
        assert_eq!(bytes(&own(2, 1001)), None);
    }

    #[test]
    fn a_tcp_rate_is_in_the_units_of_the_release() {
        let tcp = Download {
            transport: Transport::Tcp,
            datagrams: None,
            ..download()
        };
        let old = Release::parse("3.3").unwrap();
        assert_eq!(receiver(&spec(), &tcp, old, None), None);
        let said = words(&tcp, old).unwrap();
        assert!(said.contains("10.43 Mbit/s for 3.00 s"), "{said}");
    }
}
