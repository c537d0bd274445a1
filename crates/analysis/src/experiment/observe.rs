//! The quantities that predictions are about, read from a trial.

use crate::readings::packet;
use linerate_model::run::{DelayOf, Packets, Trial};
use linerate_model::spec::Transport;
use linerate_model::units::float;
use linerate_model::{Layer, Quantity};
use std::time::Duration;

/// What `trial` shows of `quantity`, in its unit; `None` where it does not tell.
pub fn observe(trial: &Trial, quantity: Quantity) -> Option<f64> {
    match quantity {
        Quantity::DelayUnderLoad => delay(trial),
        Quantity::LossRatio => {
            let (lost, sent) = losses(trial)?;
            (sent > 0.0).then(|| lost / sent)
        }
        Quantity::WindowUse => window_use(trial),
        Quantity::WireRate => wire_rate(trial),
        _ => quantity.of(trial),
    }
}

/// What `trial` shows of `quantity` as a part of a ratio of two trials: above zero.
///
/// Half a lost packet is added to each count (and one sent), so that a loss that vanishes has a ratio;
/// a delay of less than a nanosecond counts as one.
pub(super) fn observe_positive(trial: &Trial, quantity: Quantity) -> Option<f64> {
    let value = match quantity {
        Quantity::LossRatio => {
            let (lost, sent) = losses(trial)?;
            (lost + 0.5) / (sent + 1.0)
        }
        Quantity::DelayUnderLoad => delay(trial)?.max(1.0),
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
    let again = float(tcp.retransmitted_segments?);
    let segment = float(tcp.smss_bytes.filter(|bytes| *bytes > 0)?);
    let sent = trial.sent_bytes?.as_f64() / segment;
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
    Some(float(nanos))
}

fn window_use(trial: &Trial) -> Option<f64> {
    let tcp = trial.tcp()?;
    let window = tcp.cwnd_mean_bytes.filter(|bytes| bytes.get() > 0)?;
    let seconds = Duration::from_nanos(tcp.srtt_mean_ns?).as_secs_f64();
    let per_stream = trial.received_rate?.as_f64() / f64::from(trial.streams?.max(1));
    Some(per_stream * seconds / 8.0 / window.as_f64())
}
