//! The quantities that predictions are about, read from a trial.

use crate::readings::packet;
use linerate_model::run::{DelayOf, Packets, Quantity, Trial};
use linerate_model::spec::Transport;
use linerate_model::{BitRate, Layer, PacketCount, PacketRate};
use std::time::Duration;

/// What `trial` shows of `quantity`, in its unit; `None` where it does not tell.
pub fn observe(trial: &Trial, quantity: Quantity) -> Option<f64> {
    match quantity {
        Quantity::OfferedRate => trial.offered_load.map(BitRate::as_f64),
        Quantity::ReceivedRate => trial.received_rate.map(BitRate::as_f64),
        Quantity::WireRate => wire_rate(trial),
        Quantity::OfferedPacketRate => trial.offered_packet_rate().map(PacketRate::pps),
        Quantity::ReceivedPacketRate => trial.received_packet_rate().map(PacketRate::pps),
        Quantity::LossRatio => {
            let (lost, sent) = losses(trial)?;
            (sent > 0.0).then(|| lost / sent)
        }
        Quantity::Delay => delay(trial),
        Quantity::WindowUse => window_use(trial),
    }
}

/// The same for a ratio of two trials: above zero.
///
/// Half a lost packet is added to each count (and one sent), so that a loss that vanishes has a ratio;
/// a delay of less than a nanosecond counts as one.
pub(super) fn observe_positive(trial: &Trial, quantity: Quantity) -> Option<f64> {
    let value = match quantity {
        Quantity::LossRatio => {
            let (lost, sent) = losses(trial)?;
            (lost + 0.5) / (sent + 1.0)
        }
        Quantity::Delay => delay(trial)?.max(1.0),
        _ => observe(trial, quantity)?,
    };
    (value.is_finite() && value > 0.0).then_some(value)
}

/// At L1 in IPv4 on Ethernet; the real headers differ by a factor that is the same in both trials.
fn wire_rate(trial: &Trial) -> Option<f64> {
    let (overhead, segment) = packet(trial)?;
    let rate = overhead.rate_at(Layer::L1, trial.received_rate?, segment)?;
    Some(rate.as_f64())
}

/// Lost and sent packets; of a TCP stream its retransmitted and sent segments.
fn losses(trial: &Trial) -> Option<(f64, f64)> {
    if let Some(Packets {
        lost: Some(lost),
        sent: Some(sent),
        ..
    }) = trial.packets()
    {
        return Some((lost.as_f64(), sent.as_f64()));
    }
    let tcp = trial.tcp()?;
    let again = PacketCount::new(tcp.retransmitted_segments?).as_f64();
    let segment = PacketCount::new(tcp.smss_bytes.filter(|bytes| *bytes > 0)?).as_f64();
    let sent = PacketCount::new(trial.sent_bytes?.get()).as_f64() / segment;
    Some((again, sent + again))
}

fn delay(trial: &Trial) -> Option<f64> {
    let nanos = match trial.transport {
        Transport::Udp => {
            let delay = trial.delay().filter(|d| d.of == DelayOf::Pdv)?;
            delay.p50_ns?
        }
        Transport::Tcp => trial.tcp()?.srtt_mean_ns?,
    };
    Some(Duration::from_nanos(nanos).as_secs_f64() * 1e9)
}

fn window_use(trial: &Trial) -> Option<f64> {
    let tcp = trial.tcp()?;
    let window = tcp.cwnd_mean_bytes.filter(|bytes| bytes.get() > 0)?;
    let seconds = Duration::from_nanos(tcp.srtt_mean_ns?).as_secs_f64();
    let per_stream = trial.received_rate?.as_f64() / f64::from(trial.streams?.max(1));
    Some(per_stream * seconds / 8.0 / window.as_f64())
}
