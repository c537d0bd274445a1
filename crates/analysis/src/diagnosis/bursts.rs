//! Loss that only TCP meets: its bursts overflow a queue, where as many datagrams at an even rate all get through.

use super::explained::LimitedTrials;
use super::weights::Suspect;
use crate::causes::path_loss;
use crate::readings::whole_intervals;
use crate::thresholds::bursts::{EXPECTED, OFTEN};
use crate::thresholds::half_load::FAR_LESS;
use linerate_model::run::{Change, Run, Trial};
use linerate_model::spec::Transport;
use linerate_model::tcp::TcpRetransmissions;
use linerate_model::{PacketCount, Ratio};

/// Whether `suspect` is loss at any load, and datagrams were spared what TCP lost all the time.
pub(super) fn speaks_against(seen: &LimitedTrials<'_>, suspect: Suspect) -> bool {
    *suspect == path_loss::CAUSE && spared(seen.run, seen.limited).is_some()
}

/// The sentence that says what datagrams were spared of TCP's loss.
pub(super) fn describe(run: &Run, limited: &Trial) -> Option<String> {
    let Spared { share, lost, sent } = spared(run, limited)?;
    Some(format!(
        "TCP lost {} of its segments and datagrams at an even rate {lost} of {sent}: TCP's bursts overflow a queue on the path.",
        Ratio::clamped(share)
    ))
}

/// Datagrams that were lost far more seldom than TCP's segments.
struct Spared {
    /// Of TCP's segments that were lost.
    share: f64,
    lost: PacketCount,
    sent: PacketCount,
}

fn spared(run: &Run, limited: &Trial) -> Option<Spared> {
    let share = lost_share(limited).filter(|_| loses_often(limited))?;
    let alike = run.probes.iter().filter(|made| {
        matches!(made.change, Change::Datagrams { .. })
            && made.trial.valid
            && made.trial.direction == limited.direction
    });
    let count = |packets: Option<PacketCount>| packets.map_or(0, PacketCount::get);
    let (mut lost, mut sent) = (0_u64, 0_u64);
    for packets in alike.filter_map(|made| made.trial.packets()) {
        // A probe that is lost for another reason, such as its rate, says nothing of loss by chance.
        let (its_lost, its_sent) = (count(packets.lost), count(packets.sent));
        if Ratio::from_parts(its_lost, its_sent).get() <= share {
            lost = lost.saturating_add(its_lost);
            sent = sent.saturating_add(its_sent);
        }
    }
    let (lost, sent) = (PacketCount::new(lost), PacketCount::new(sent));
    let expected = sent.as_f64() * share;
    (expected >= EXPECTED && lost.as_f64() * FAR_LESS <= expected).then_some(Spared {
        share,
        lost,
        sent,
    })
}

/// Share of the segments of `trial` that were sent again and needed.
fn lost_share(trial: &Trial) -> Option<f64> {
    if trial.transport != Transport::Tcp {
        return None;
    }
    let TcpRetransmissions {
        segments,
        needless,
        sent,
        ..
    } = trial.tcp()?.retransmissions?;
    let needed = segments?.saturating_sub(needless.unwrap_or(0));
    let share = Ratio::from_parts(needed, sent?).get();
    (share > 0.0).then_some(share)
}

/// Whether segments were sent again in most of a trial's intervals: outages come between short probes.
fn loses_often(trial: &Trial) -> bool {
    let again = whole_intervals(trial).filter_map(|interval| interval.retransmitted_segments);
    let (mut lossy, mut all) = (0_u64, 0_u64);
    for segments in again {
        lossy += u64::from(segments > 0);
        all += 1;
    }
    all > 1 && Ratio::from_parts(lossy, all).get() >= OFTEN
}
