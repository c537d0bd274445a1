//! This end's output as iperf3 prints it, for clients that ask for the server's.

use super::results::{lost, retransmitted};
use linerate_model::sample::{EndpointReport, StreamReport};
use linerate_model::spec::{Side, TestSpec, Transport};
use linerate_model::units::float;
use linerate_model::{ByteCount, PacketCount};
use std::fmt::Write as _;
use std::time::Duration;

/// Maximum interval lines: an hour of them.
const MAX_LINES: usize = 3600;

/// The log of one test.
pub(super) fn write(version: &str, spec: &TestSpec, reports: &[EndpointReport]) -> String {
    let mut text = format!("linerate {version}, speaking iperf3\n");
    let mut lines = 0;
    for report in reports {
        heading(&mut text, spec.transport(), report.side);
        for stream in &report.streams {
            for interval in stream
                .intervals
                .iter()
                .take(MAX_LINES.saturating_sub(lines))
            {
                line(
                    &mut text,
                    stream.index,
                    interval.start,
                    interval.end,
                    interval.bytes,
                );
                text.push('\n');
                lines += 1;
            }
        }
        text.push_str("- - - - - - - - - - - - - - - - - - - - - - - - -\n");
        for stream in &report.streams {
            summary(&mut text, spec.transport(), report.side, stream);
        }
    }
    text
}

fn heading(text: &mut String, transport: Transport, side: Side) {
    let more = match (transport, side) {
        (Transport::Tcp, Side::Sender) => "   Retr",
        (Transport::Tcp, Side::Receiver) => "",
        (Transport::Udp, _) => "   Jitter    Lost/Total Datagrams",
    };
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "[ ID] Interval           Transfer     Bitrate      {more}"
    );
}

fn line(text: &mut String, index: u16, from: Duration, to: Duration, bytes: ByteCount) {
    let (amount, unit) = scaled(float(bytes.get()), 1024.0);
    let seconds = to.saturating_sub(from).as_secs_f64();
    let rate = if seconds > 0.0 {
        float(bytes.get()) * 8.0 / seconds
    } else {
        0.0
    };
    let (rate, rate_unit) = scaled(rate, 1000.0);
    let _ = write!(
        text,
        "[{:3}] {:6.2}-{:<6.2} sec  {amount} {unit}Bytes  {rate} {rate_unit}bits/sec",
        index + 1,
        from.as_secs_f64(),
        to.as_secs_f64(),
    );
}

fn summary(text: &mut String, transport: Transport, side: Side, stream: &StreamReport) {
    line(
        text,
        stream.index,
        Duration::ZERO,
        stream.duration,
        stream.bytes,
    );
    let (total, missing) = match stream.work.sequence() {
        Some(sequence) => (PacketCount::new(sequence.next_expected), lost(sequence)),
        None => (stream.packets, 0),
    };
    let _ = match (transport, side) {
        (Transport::Tcp, Side::Sender) => {
            write!(
                text,
                "  {:3}             sender",
                retransmitted(stream).unwrap_or(0)
            )
        }
        (Transport::Tcp, Side::Receiver) => write!(text, "                  receiver"),
        (Transport::Udp, side) => {
            let jitter = float(stream.work.rtp_jitter_ns().unwrap_or(0)) / 1e6;
            let (sum, word) = (
                total.get(),
                if side == Side::Sender {
                    "sender"
                } else {
                    "receiver"
                },
            );
            let share = if sum > 0 {
                float(missing) * 100.0 / float(sum)
            } else {
                0.0
            };
            write!(
                text,
                "  {jitter:5.3} ms  {missing}/{sum} ({share:.2}%)  {word}"
            )
        }
    };
    text.push('\n');
}

/// A number with three digits, and its unit prefix.
fn scaled(mut value: f64, step: f64) -> (String, &'static str) {
    let mut prefix = "";
    for larger in ["K", "M", "G", "T"] {
        if value < step {
            break;
        }
        value /= step;
        prefix = larger;
    }
    let digits = if value < 9.995 {
        2
    } else {
        usize::from(value < 99.95)
    };
    (format!("{value:.digits$}"), prefix)
}
