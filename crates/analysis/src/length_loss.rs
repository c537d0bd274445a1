//! Loss of the frames of each length of a mix, and what it says of a search.
//!
//! A queue that is bounded in bytes has room for a short frame where a long one no longer fits: then long frames are lost
//! first, and how many of all are lost hardly rises with the load for a while. A search for a loss ratio has wide bounds there.

use linerate_model::PacketCount;
use linerate_model::run::{Forwarding, FrameMix, LengthLoss, Run, Trial};
use linerate_model::sample::{EndpointReport, StreamWork};
use std::collections::BTreeMap;

/// What was lost of the frames of each length of a mix, from the shortest on, in all trials of a search that lost any; empty
/// if none did, or the receivers do not tell.
pub fn length_losses(part: &Run, mix: &FrameMix) -> Vec<LengthLoss> {
    let mut by_length: BTreeMap<u16, [u64; 2]> = BTreeMap::new();
    for trial in &part.trials {
        let Some((sent, came)) = by_place(trial, mix.lengths_bytes.len()) else {
            continue;
        };
        let lost: Vec<_> = sent
            .iter()
            .zip(&came)
            .map(|(sent, came)| sent.saturating_sub(*came))
            .collect();
        if lost.iter().all(|lost| *lost == 0) {
            continue;
        }
        for (length, (sent, lost)) in mix.lengths_bytes.iter().zip(sent.into_iter().zip(lost)) {
            let [all, gone] = by_length.entry(*length).or_default();
            *all += sent;
            *gone += lost;
        }
    }
    let loss = |(length, [sent, lost]): (u16, [u64; 2])| LengthLoss {
        length,
        sent: PacketCount::new(sent),
        lost: PacketCount::new(lost),
    };
    by_length.into_iter().map(loss).collect()
}

/// Counted frames sent and received at each place of a mix, of all streams of a trial.
fn by_place(trial: &Trial, places: usize) -> Option<(Vec<u64>, Vec<u64>)> {
    let streams = trial
        .raw()
        .iter()
        .flat_map(|report: &EndpointReport| &report.streams);
    let ports = streams.clone().filter_map(|stream| match &stream.work {
        StreamWork::DatagramReceiver(receiver) => Some(receiver.by_port.len()),
        _ => None,
    });
    // Frames to each port have numbers of their own.
    let ports = ports.max().unwrap_or(0).max(1);
    let (mut sent, mut came) = (vec![0; places], vec![0; places]);
    let mut tells = false;
    for stream in streams {
        match &stream.work {
            StreamWork::DatagramSender(_) => {
                // Numbers are dense: frame n has place n modulo their count.
                let to_each = dealt(stream.packets.get(), ports);
                let by_place = to_each.flat_map(|packets| dealt(packets, places).enumerate());
                by_place.for_each(|(place, packets)| sent[place] += packets);
            }
            StreamWork::DatagramReceiver(receiver) if receiver.by_place.len() == places => {
                tells = true;
                let counts = came.iter_mut().zip(&receiver.by_place);
                counts.for_each(|(came, count)| *came += count.get());
            }
            _ => {}
        }
    }
    tells.then_some((sent, came))
}

/// How many of `total` each of `parts` has where they are dealt out in turns, the first part first.
pub(crate) fn dealt(total: u64, parts: usize) -> impl Iterator<Item = u64> {
    let count = parts as u64;
    (0..count).map(move |part| total / count + u64::from(part < total % count))
}

/// Times by which long frames are lost more often than short ones where a queue is bounded in bytes.
const CLEARLY_MORE: f64 = 2.0;
/// Fewest lost frames from which that is said.
const FEWEST_LOST: u64 = 20;

/// Why the bounds of a search with a mix of lengths stay wider than asked; `None` if they do not, or for another reason.
pub fn why_bounds_are_wide(row: &Forwarding) -> Option<String> {
    let mix = row.mix.as_ref()?;
    let open = row.goals.iter().filter(|goal| !goal.reached);
    let apart = open.filter_map(|goal| {
        let (low, high) = (goal.lower_bound?.pps(), goal.upper_bound?.pps());
        Some(1.0 - low / high)
    });
    let widest = apart.fold(0.0, f64::max);
    let (short, long) = (mix.losses.first()?, mix.losses.last()?);
    let lost: u64 = mix.losses.iter().map(|loss| loss.lost.get()).sum();
    let is_clear = long.ratio().get() > CLEARLY_MORE * short.ratio().get() && lost >= FEWEST_LOST;
    if widest == 0.0 || !is_clear {
        return None;
    }
    let words = |loss: &LengthLoss| {
        let percent = loss.ratio().get() * 100.0;
        format!(
            "{} of {} frames of {} B ({percent:.2} %)",
            loss.lost, loss.sent, loss.length
        )
    };
    Some(format!(
        "the bounds of {} are up to {:.1} % apart: a queue bounded in bytes lets short frames pass where long ones no longer fit, so loss rises slowly with the load; lost in trials with loss: {}, {}",
        mix.genome,
        widest * 100.0,
        words(short),
        words(long)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::ForwardingGoal;
    use linerate_model::spec::Direction;
    use linerate_model::{ByteCount, PacketRate, Ratio};

    fn row(reached: bool, losses: &[(u16, u64, u64)]) -> Forwarding {
        let mut mix = FrameMix::from(&"imix".parse().unwrap());
        mix.losses = losses
            .iter()
            .map(|(length, sent, lost)| LengthLoss {
                length: *length,
                sent: PacketCount::new(*sent),
                lost: PacketCount::new(*lost),
            })
            .collect();
        let [low, high] = [700.0, 1000.0].map(|pps| Some(PacketRate::from_pps(pps)));
        let goal = ForwardingGoal {
            loss_goal: Ratio::ZERO,
            lower_bound: low,
            upper_bound: high,
            conditional_throughput: None,
            reached,
        };
        Forwarding {
            mix: Some(mix),
            goals: vec![goal],
            ..Forwarding::new(ByteCount::new(362), Direction::Forward)
        }
    }

    #[test]
    fn wide_bounds_of_a_mix_are_explained_by_long_frames_that_are_lost_first() {
        let long_first = [(64, 7000, 3), (594, 4000, 90), (1518, 1000, 80)];
        let why = why_bounds_are_wide(&row(false, &long_first)).unwrap();
        assert!(why.contains("30.0 % apart"), "{why}");
        assert!(
            why.contains("80 of 1000 frames of 1518 B (8.00 %)"),
            "{why}"
        );
        // Narrow bounds, equal losses, and too few to tell.
        let alike = [(64, 7000, 300), (1518, 1000, 45)];
        let few = [(64, 7000, 0), (1518, 1000, 5)];
        for (reached, losses) in [
            (true, &long_first[..]),
            (false, &alike),
            (false, &few),
            (false, &[]),
        ] {
            assert_eq!(why_bounds_are_wide(&row(reached, losses)), None);
        }
    }
}
