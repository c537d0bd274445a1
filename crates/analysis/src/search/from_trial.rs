//! From a trial of the run document to what the search needs of it.

use super::outcome::{DelayQuantiles, TrialOutcome};
use linerate_model::run::{Delay, DelayOf, Trial};
use linerate_model::spec::Side;
use linerate_model::{Quantile, Ratio};
use std::time::Duration;

impl TrialOutcome {
    /// Takes over a datagram trial; `None` if it lacks a load, a duration or its packet counts.
    ///
    /// The receiver's duration is that of its slowest stream in the raw reports; delay is taken
    /// only if it is PDV.
    pub fn from_trial(trial: &Trial) -> Option<Self> {
        let packets = trial.packets?;
        let offered_load = trial.offered_load?;
        let received = trial
            .raw
            .iter()
            .filter(|report| report.side == Side::Receiver)
            .flat_map(|report| &report.streams)
            .map(|stream| stream.duration)
            .max();
        let pdv = trial
            .delay
            .as_ref()
            .filter(|delay| delay.of == DelayOf::Pdv);
        Some(Self {
            intended_load: trial.intended_load?,
            offered_load,
            received_rate: trial.received_rate?,
            loss_ratio: packets.loss_ratio?,
            sent: packets.sent?,
            duration: trial.duration?,
            receiver_duration: received.filter(|time| !time.is_zero()),
            delay: pdv.map(DelayQuantiles::from),
            delay_growth: None,
            valid: trial.valid,
        })
    }
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
    use linerate_model::run::Packets;
    use linerate_model::sample::{EndpointReport, Snapshot, StreamReport};
    use linerate_model::spec::{Direction, Transport};
    use linerate_model::{BitRate, Histogram, PacketCount};

    fn trial() -> Trial {
        let stream = StreamReport {
            duration: Duration::from_millis(1002),
            ..StreamReport::default()
        };
        let mut pdv = Histogram::new();
        pdv.record(1000);
        let mut trial = Trial::new(0, Transport::Udp, Direction::Forward);
        trial.intended_load = Some(BitRate::from_bps(1_000_000));
        trial.offered_load = Some(BitRate::from_bps(999_000));
        trial.received_rate = Some(BitRate::from_bps(990_000));
        trial.duration = Some(Duration::from_secs(1));
        trial.packets = Some(Packets {
            sent: Some(PacketCount::new(100)),
            loss_ratio: Some(Ratio::clamped(0.01)),
            ..Packets::default()
        });
        trial.delay = Delay::from_histogram(DelayOf::Pdv, pdv);
        trial.raw = vec![EndpointReport {
            side: Side::Receiver,
            streams: vec![stream],
            before: Snapshot::default(),
            after: Snapshot::default(),
        }];
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
        let trial = Trial {
            packets: None,
            ..trial()
        };
        assert!(TrialOutcome::from_trial(&trial).is_none());
    }

    #[test]
    fn round_trip_delay_is_not_taken_for_pdv() {
        let mut trial = trial();
        trial.delay.as_mut().unwrap().of = DelayOf::RoundTrip;
        assert!(TrialOutcome::from_trial(&trial).unwrap().delay.is_none());
    }
}
