//! Loss ratio of each reporting interval over time.

use super::timeline::{About, chart, chosen, left_out, lines, middle};
use super::{ChartKind, Drawn, Topic};
use crate::figures::{Unit, float};
use crate::path::grouped;
use linerate_model::run::{Run, Trial, TrialInterval};

pub(super) const KIND: ChartKind = ChartKind {
    id: "loss-over-time",
    summary: "Loss ratio of each reporting interval over time.",
    topic: Topic::Loss,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    let lossy = |trial: &Trial| trial.loss_ratio().is_some_and(|ratio| ratio.get() > 0.0);
    if !run.trials.iter().any(|trial| trial.valid && lossy(trial)) {
        return Drawn::NotApplicable;
    }
    let timed = |trial: &Trial| lossy(trial) && trial.intervals.iter().any(|i| loss(i).is_some());
    let (trials, total) = chosen(run, timed);
    let lines = lines(run, &trials, points);
    if lines.is_empty() {
        return Drawn::Missing("loss per reporting interval");
    }
    let about = About {
        id: "loss-over-time",
        title: "Loss over time".to_owned(),
        caption: caption(&trials) + &left_out(lines.len(), total),
        quantity: "Loss ratio",
        unit: Unit::PERCENT,
    };
    Drawn::Charts(vec![chart(about, &lines)])
}

/// Lost and all datagrams of an interval; `None` if they are not known or there were none.
fn loss(interval: &TrialInterval) -> Option<(u64, u64)> {
    let (lost, total) = (interval.lost_packets?.get(), interval.total_packets?.get());
    (total > 0).then_some((lost, total))
}

fn points(trial: &Trial) -> Vec<(f64, f64)> {
    let ratios = trial.intervals.iter().filter_map(|interval| {
        let (lost, total) = loss(interval)?;
        Some((
            middle(interval.start, interval.end),
            float(lost) / float(total),
        ))
    });
    ratios.collect()
}

/// How the loss of the trial that lost most is spread.
fn caption(trials: &[&Trial]) -> String {
    let lost_of = |trial: &&&Trial| trial.packets().and_then(|packets| packets.lost);
    let Some(worst) = trials.iter().max_by_key(lost_of) else {
        return String::new();
    };
    let timed: Vec<(u64, u64)> = worst.intervals.iter().filter_map(loss).collect();
    let lossy = timed.iter().filter(|(lost, _)| *lost > 0).count();
    let most = timed.iter().map(|(lost, _)| *lost).max().unwrap_or(0);
    let all = timed
        .iter()
        .map(|(lost, _)| *lost)
        .fold(0, u64::saturating_add);
    let said = format!(
        "datagrams were lost in {lossy} of {} intervals: {} in all of them, {} in the worst.",
        timed.len(),
        grouped(all),
        grouped(most),
    );
    match trials {
        [_] => super::capital(&said),
        _ => format!("In the trial that lost most, {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::PacketCount;
    use linerate_model::run::{DatagramsResult, Packets};
    use linerate_model::spec::{Direction, Transport};
    use std::time::Duration;

    #[test]
    fn each_interval_has_its_ratio_and_the_caption_says_where_the_loss_is() {
        let mut work = DatagramsResult::default();
        work.counts.packets = Some(Packets {
            lost: Some(PacketCount::new(50)),
            ..Packets::default()
        });
        let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
        trial.intervals = [(0, 0, 100), (1, 50, 100), (2, 0, 0)]
            .map(|(second, lost, total)| TrialInterval {
                start: Duration::from_secs(second),
                end: Duration::from_secs(second + 1),
                lost_packets: Some(PacketCount::new(lost)),
                total_packets: Some(PacketCount::new(total)),
                ..TrialInterval::default()
            })
            .to_vec();
        assert_eq!(points(&trial), [(0.5, 0.0), (1.5, 0.5)]);
        assert_eq!(
            caption(&[&trial]),
            "Datagrams were lost in 1 of 2 intervals: 50 in all of them, 50 in the worst."
        );
    }
}
