//! Lines that a terminal shows while a test goes on: one for each interval, one for each trial of a search.

use crate::figures::{bytes, nanos, percent, rate};
use linerate_model::run::Trial;
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, ByteCount, PacketCount, Ratio};
use std::time::Duration;

/// One reporting interval of a test under way. What an end does not tell is absent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveInterval {
    /// Transport of the test.
    pub transport: Transport,
    /// Whether both ends send: then each line says its direction.
    pub is_duplex: bool,
    /// Which way this traffic goes.
    pub direction: Direction,
    /// From the start of counted time, the receiver's clock if it tells, else the sender's.
    pub start: Duration,
    /// End of the interval, from the start of counted time, on the clock of `start`.
    pub end: Duration,
    /// L4 payload.
    pub rate: BitRate,
    /// Whether the rate is what the sender sent, since the receiver tells nothing meanwhile.
    pub is_sent: bool,
    /// Datagrams that had not come by the end of the interval, and what share that is of those expected in it.
    pub lost: Option<(PacketCount, Ratio)>,
    /// Segments that the sender's TCP sent again.
    pub retransmitted: Option<PacketCount>,
    /// Smoothed round-trip time of the sender's TCP, the longest of its streams.
    pub srtt_ns: Option<u64>,
    /// Congestion windows of the sender's streams together.
    pub cwnd: Option<ByteCount>,
    /// Datagrams that the sender has sent since the start of the test.
    pub packets_sent: Option<PacketCount>,
    /// Datagrams that the receiver has received since then.
    pub packets_received: Option<PacketCount>,
    /// How busy the sender's busiest core was.
    pub sender_cpu: Option<Ratio>,
    /// How busy the receiver's busiest core was.
    pub receiver_cpu: Option<Ratio>,
}

const UNKNOWN: &str = "–";

/// What the columns of [`interval_line`] are.
pub fn interval_heading(transport: Transport) -> String {
    match transport {
        Transport::Tcp => row(["", "time", "rate", "retr", "RTT", "cwnd", "core tx/rx"]),
        Transport::Udp => row(["", "time", "rate", "lost", "", "", "core tx/rx"]),
    }
}

/// An interval in at most 79 columns: rate of L4 payload, loss or retransmissions, RTT, window, busiest core of both ends.
pub fn interval_line(interval: &LiveInterval) -> String {
    let way = match (interval.is_duplex, interval.direction) {
        (false, _) => "",
        (true, Direction::Reverse) => "←",
        (true, _) => "→",
    };
    let seconds = |time: Duration| format!("{:.1}", time.as_secs_f64());
    let time = format!("{}–{} s", seconds(interval.start), seconds(interval.end));
    let sent = if interval.is_sent { " sent" } else { "" };
    let rate = format!("{}{sent}", rate(interval.rate));
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
    let core =
        |ratio: Option<Ratio>| or_unknown(ratio.map(|ratio| format!("{:.0}", ratio.get() * 100.0)));
    let cores = format!(
        "{}/{} %",
        core(interval.sender_cpu),
        core(interval.receiver_cpu)
    );
    match interval.transport {
        Transport::Tcp => {
            let again = or_unknown(interval.retransmitted.map(|segments| segments.to_string()));
            let rtt = or_unknown(interval.srtt_ns.map(|ns| nanos(crate::figures::float(ns))));
            let window = or_unknown(interval.cwnd.map(bytes));
            row([way, &time, &rate, &again, &rtt, &window, &cores])
        }
        Transport::Udp => {
            let lost = or_unknown(
                interval
                    .lost
                    .map(|(count, share)| format!("{count} ({})", percent(share))),
            );
            row([way, &time, &rate, &lost, "", "", &cores])
        }
    }
}

/// Direction, time, rate, loss or retransmissions, RTT, window, cores. A datagram's loss takes the room of RTT too.
fn row([way, time, rate, lost, rtt, window, cores]: [&str; 7]) -> String {
    let line = if rtt.is_empty() {
        format!("{way:1}{time:>14}  {rate:>17}  {lost:>25}  {cores:>12}")
    } else {
        format!("{way:1}{time:>14}  {rate:>17}  {lost:>6}  {rtt:>8}  {window:>9}  {cores:>12}")
    };
    line.trim_end().to_owned()
}

/// Most bars of a sparkline.
const MAX_BARS: usize = 24;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A trial of a search, with what all trials so far received by load: at most 79 columns.
pub fn trial_line(trial: &Trial, so_far: &[(BitRate, BitRate)]) -> String {
    let or_unknown = |value: Option<BitRate>| value.map_or_else(|| UNKNOWN.to_owned(), rate);
    let lost = trial
        .loss_ratio()
        .map_or_else(|| UNKNOWN.to_owned(), percent);
    let mark = if trial.valid { "" } else { " invalid" };
    let (intended, received) = (
        or_unknown(trial.intended_load),
        or_unknown(trial.received_rate),
    );
    trial_row(
        [&trial.index.to_string(), &intended, &received, &lost],
        &sparkline(so_far),
    ) + mark
}

/// What the columns of [`trial_line`] are.
pub fn trial_heading() -> String {
    trial_row(
        ["trial", "intended", "received", "lost"],
        "received by load",
    )
}

fn trial_row([index, intended, received, lost]: [&str; 4], curve: &str) -> String {
    let line = format!("{index:>5}  {intended:>13}  {received:>13}  {lost:>8}  {curve}");
    line.trim_end().to_owned()
}

/// Received rates by intended load, each as a bar; where there are too many the highest of neighbours.
pub fn sparkline(points: &[(BitRate, BitRate)]) -> String {
    let mut sorted = points.to_vec();
    sorted.sort_unstable();
    let most = sorted.iter().map(|(_, received)| received.bps()).max();
    let Some(most) = most.filter(|most| *most > 0) else {
        return String::new();
    };
    let group = sorted.len().div_ceil(MAX_BARS).max(1);
    let heights = sorted.chunks(group).map(|group| {
        let height = group.iter().map(|(_, received)| received.bps()).max();
        let top = u64::try_from(BARS.len() - 1).unwrap_or_default();
        let step = u128::from(height.unwrap_or_default()) * u128::from(top) / u128::from(most);
        BARS[usize::try_from(step).unwrap_or_default()]
    });
    heights.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::DatagramsResult;

    fn interval(transport: Transport) -> LiveInterval {
        LiveInterval {
            transport,
            is_duplex: true,
            direction: Direction::Reverse,
            start: Duration::from_secs(3599),
            end: Duration::from_hours(1),
            rate: BitRate::from_bps(94_120_000),
            is_sent: false,
            lost: Some((PacketCount::new(123_456), Ratio::clamped(0.1234))),
            retransmitted: Some(PacketCount::new(1234)),
            srtt_ns: Some(14_030_000),
            cwnd: Some(ByteCount::new(218_828)),
            packets_sent: None,
            packets_received: None,
            sender_cpu: Ratio::new(0.43),
            receiver_cpu: None,
        }
    }

    #[test]
    fn an_interval_has_all_figures_in_80_columns_under_their_heading() {
        let line = interval_line(&interval(Transport::Tcp));
        assert_eq!(
            format!("{}\n{line}", interval_heading(Transport::Tcp)),
            "           time               rate    retr       RTT       cwnd    core tx/rx\n\
             ←3599.0–3600.0 s       94.12 Mbit/s    1234     14 ms  213.7 KiB        43/– %"
        );
        for transport in [Transport::Tcp, Transport::Udp] {
            let line = interval_line(&interval(transport));
            assert!(line.chars().count() < 80, "{line}");
        }
        let line = interval_line(&interval(Transport::Udp));
        assert!(line.contains("123456 (12.3 %)"), "{line}");
    }

    #[test]
    fn what_is_not_told_is_no_zero() {
        let line = interval_line(&LiveInterval {
            lost: None,
            is_sent: true,
            ..interval(Transport::Udp)
        });
        assert!(line.contains("94.12 Mbit/s sent"), "{line}");
        assert!(line.contains(" –  "), "{line}");
    }

    #[test]
    fn the_sparkline_rises_and_falls_with_what_arrived() {
        let mbit = |rate: u64| BitRate::from_bps(rate * 1_000_000);
        let points = [(1, 1), (64, 64), (128, 89), (1000, 64)];
        let points = points.map(|(intended, received)| (mbit(intended), mbit(received)));
        assert_eq!(sparkline(&points), "▁▆█▆");
        assert_eq!(sparkline(&[]), "");
        let many: Vec<_> = (1..=1000).map(|load| (mbit(load), mbit(load))).collect();
        assert!(sparkline(&many).chars().count() <= MAX_BARS);
        let mut trial = Trial::new(
            12,
            Transport::Udp,
            Direction::Forward,
            DatagramsResult::default(),
        );
        trial.intended_load = Some(mbit(128));
        trial.received_rate = Some(mbit(89));
        let line = trial_line(&trial, &many);
        assert!(line.contains("128 Mbit/s") && line.contains('█'), "{line}");
        assert!(line.chars().count() < 80, "{line}");
    }
}
