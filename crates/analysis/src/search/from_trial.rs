//! From a trial of the run document to what the search needs of it.

use super::outcome::{DelayQuantiles, TrialOutcome};
use linerate_model::run::{Delay, DelayOf, Trial};
use linerate_model::sample::DatagramReceiver;
use linerate_model::spec::Side;
use linerate_model::{Quantile, Ratio};
use std::time::Duration;

impl TrialOutcome {
    /// Takes over a datagram trial; `None` if it lacks a load, a duration or its packet counts.
    ///
    /// The receiver's duration is that of its slowest stream in the raw reports; delay is taken
    /// only if it is PDV.
    pub fn from_trial(trial: &Trial) -> Option<Self> {
        let packets = trial.packets()?;
        let offered_load = trial.offered_load?;
        let received = trial
            .raw()
            .iter()
            .filter(|report| report.side == Side::Receiver)
            .flat_map(|report| &report.streams)
            .map(|stream| stream.duration)
            .max();
        let pdv = trial.delay().filter(|delay| delay.of == DelayOf::Pdv);
        Some(Self {
            intended_load: trial.intended_load?,
            offered_load,
            received_rate: trial.received_rate?,
            loss_ratio: packets.loss_ratio?,
            sent: packets.sent?,
            duration: trial.duration?,
            receiver_duration: received.filter(|time| !time.is_zero()),
            delay: pdv.map(DelayQuantiles::from),
            delay_growth: growth(trial),
            valid: trial.valid,
        })
    }
}

/// By how much a queue on the path grew while the load was on: the trend of the smallest delays of
/// the trial's twentieths, over the whole trial; the worst stream counts.
///
/// The trend is the median of the steps from one twentieth to the next. A queue that overload fills
/// rises in every step. A queue that a stall of the sender left behind rises in one step and falls in
/// the others, so it does not count: the path carries such a load for ever.
fn growth(trial: &Trial) -> Option<Duration> {
    trial
        .raw()
        .iter()
        .filter(|report| report.side == Side::Receiver)
        .flat_map(|report| &report.streams)
        .filter_map(|stream| trend(&stream.work.get::<DatagramReceiver>()?.delay_floor_ns))
        .max()
}

/// The median step times the number of steps; `None` unless three quarters of the twentieths are known.
fn trend(floors: &[Option<u64>]) -> Option<Duration> {
    let mut steps: Vec<i64> = floors
        .windows(2)
        .filter_map(|pair| Some(pair[1]?.cast_signed() - pair[0]?.cast_signed()))
        .collect();
    if steps.is_empty() || steps.len() < floors.len() * 3 / 4 {
        return None;
    }
    steps.sort_unstable();
    let median = u64::try_from(steps[steps.len() / 2]).unwrap_or(0);
    Some(Duration::from_nanos(
        median.saturating_mul(floors.len() as u64),
    ))
}

impl From<&Delay> for DelayQuantiles {
    /// The quantiles that the summary names; the whole distribution is not needed.
    fn from(delay: &Delay) -> Self {
        let known = [
            (0.5, delay.p50_ns),
            (0.9, delay.p90_ns),
            (0.99, delay.p99_ns),
            (0.999, delay.p999_ns),
            (1.0, delay.max_ns),
        ];
        let quantiles = known.into_iter().filter_map(|(quantile, nanos)| {
            let quantile = Quantile(Ratio::clamped(quantile));
            Some((quantile, Duration::from_nanos(nanos?)))
        });
        Self::new(quantiles.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::{DatagramsResult, Packets, UnitCounts};
    use linerate_model::sample::{EndpointReport, StreamReport};
    use linerate_model::spec::{Direction, Transport};
    use linerate_model::{BitRate, Histogram, PacketCount};

    #[test]
    fn overload_rises_in_every_step_and_a_stall_does_not() {
        let overload: Vec<_> = (0..20).map(|step| Some(step * 125_000)).collect();
        assert_eq!(trend(&overload), Some(Duration::from_micros(2500)));
        let mut stall = vec![Some(0); 20];
        for (left, floor) in stall[12..].iter_mut().enumerate() {
            *floor = Some(8_000_000 - 300_000 * left as u64);
        }
        assert_eq!(trend(&stall), Some(Duration::ZERO));
        assert_eq!(trend(&[]), None);
        assert_eq!(trend(&[Some(1), None, Some(2), None]), None);
    }

    fn trial() -> Trial {
        let stream = StreamReport {
            duration: Duration::from_millis(1002),
            ..StreamReport::new(0, DatagramReceiver::default())
        };
        let mut pdv = Histogram::new();
        pdv.record(1000);
        let work = DatagramsResult {
            counts: UnitCounts {
                packets: Some(Packets {
                    sent: Some(PacketCount::new(100)),
                    loss_ratio: Some(Ratio::clamped(0.01)),
                    ..Packets::default()
                }),
                ..UnitCounts::default()
            },
            delay: Delay::from_histogram(DelayOf::Pdv, pdv),
            ..DatagramsResult::default()
        };
        let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
        trial.intended_load = Some(BitRate::from_bps(1_000_000));
        trial.offered_load = Some(BitRate::from_bps(999_000));
        trial.received_rate = Some(BitRate::from_bps(990_000));
        trial.duration = Some(Duration::from_secs(1));
        trial.measured_mut().unwrap().raw =
            vec![EndpointReport::of_streams(Side::Receiver, vec![stream])];
        trial
    }

    #[test]
    fn a_datagram_trial_is_taken_over() {
        let outcome = TrialOutcome::from_trial(&trial()).unwrap();
        assert_eq!(outcome.sent, PacketCount::new(100));
        assert_eq!(outcome.receiver_duration, Some(Duration::from_millis(1002)));
        let median = outcome.delay.unwrap().median().unwrap();
        assert_eq!(median, Duration::from_micros(1));
    }

    #[test]
    fn a_trial_without_packet_counts_is_not() {
        let mut trial = trial();
        trial.counts_mut().unwrap().packets = None;
        assert!(TrialOutcome::from_trial(&trial).is_none());
    }

    #[test]
    fn round_trip_delay_is_not_taken_for_pdv() {
        let mut trial = trial();
        trial.delay_mut().unwrap().of = DelayOf::RoundTrip;
        assert!(TrialOutcome::from_trial(&trial).unwrap().delay.is_none());
    }
}
