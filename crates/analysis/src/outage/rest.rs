//! A run without its outages: what its trials were in the rest of their time.

use super::{Doing, Outage, find, lost};
use linerate_model::run::{LedgerEntry, Packets, Place, Run, Trial, TrialInterval, TrialWork};
use linerate_model::spec::Direction;
use linerate_model::{BitRate, LossRatio, PacketCount};
use std::time::Duration;

/// The run with those of its trials in `direction` that had an outage of the path as they were in the rest of their time;
/// `None` if none had.
pub(crate) fn without(run: &Run, direction: Direction) -> Option<Run> {
    let in_direction = |trial| of_path(trial, direction);
    let outages: Vec<Vec<Outage>> = run.trials.iter().map(in_direction).collect();
    if outages.iter().all(Vec::is_empty) {
        return None;
    }
    let mut rest = run.clone();
    for (trial, outages) in rest.trials.iter_mut().zip(&outages) {
        if !outages.is_empty() {
            take_out(trial, outages);
        }
    }
    Some(rest)
}

/// The outages of the path in `trial`, if it went in `direction`.
fn of_path(trial: &Trial, direction: Direction) -> Vec<Outage> {
    let here = trial.direction == direction;
    let mut all = if here { find(trial) } else { Vec::new() };
    all.retain(|outage| outage.is_of_path());
    all
}

/// The share that outages of the path had of the time of all trials in `direction`.
pub(crate) fn share_of_time(run: &Run, direction: Direction) -> f64 {
    let here = run
        .trials
        .iter()
        .filter(|trial| trial.direction == direction);
    let whole: Duration = here.clone().filter_map(|trial| trial.duration).sum();
    let silent: Duration = here
        .flat_map(|trial| of_path(trial, direction))
        .map(Outage::length)
        .sum();
    silent.as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Makes `trial` what it was outside of `outages`.
pub(super) fn take_out(trial: &mut Trial, outages: &[Outage]) {
    let silent: Duration = outages.iter().map(|outage| outage.length()).sum();
    let Some(whole) = trial.duration.filter(|whole| *whole > silent) else {
        return;
    };
    let active = whole.saturating_sub(silent);
    trial.duration = Some(active);
    let over = |bytes| BitRate::from_bytes(bytes, active);
    trial.received_rate = trial.received_bytes.and_then(over).or(trial.received_rate);
    let is_touched = |interval: &TrialInterval| {
        let mut each = outages.iter();
        each.any(|outage| interval.start < outage.end && interval.end > outage.start)
    };
    trial.intervals.retain(|interval| !is_touched(interval));
    let gone = lost(outages)
        .or_else(|| super::all_lost(trial))
        .unwrap_or(0);
    match &mut trial.work {
        TrialWork::Datagrams(result) => {
            if outages.iter().any(|outage| outage.sender == Doing::CutOff) {
                trial.offered_load = trial.sent_bytes.and_then(over).or(trial.offered_load);
            }
            if let Some(packets) = &mut result.counts.packets {
                take_packets(packets, gone);
            }
            take_of_ledger(&mut result.ledger, gone);
        }
        TrialWork::ByteStream(result) => {
            trial.offered_load = trial.sent_bytes.and_then(over).or(trial.offered_load);
            // Where its time went is told of the whole time only.
            if let Some(tcp) = &mut result.tcp {
                tcp.shares = None;
                tcp.busy_ratio = None;
                tcp.rwnd_limited_ratio = None;
                tcp.sndbuf_limited_ratio = None;
                tcp.retransmissions = None;
                tcp.retransmitted_segments = None;
            }
        }
        _ => {}
    }
}

fn take_packets(packets: &mut Packets, gone: u64) {
    let (Some(sent), Some(lost)) = (packets.sent, packets.lost) else {
        return;
    };
    let gone = gone.min(lost.get());
    let (sent, lost) = (sent.get().saturating_sub(gone), lost.get() - gone);
    packets.sent = Some(PacketCount::new(sent));
    packets.lost = Some(PacketCount::new(lost));
    packets.loss_ratio = (sent > 0).then(|| LossRatio::from_parts(lost, sent));
}

/// Takes `gone` packets first of those that no end of the path counted.
fn take_of_ledger(ledger: &mut Vec<LedgerEntry>, gone: u64) {
    let mut left = gone;
    let mut take = |entry: &mut LedgerEntry| {
        let here = entry.packets.get().min(left);
        left -= here;
        entry.packets = PacketCount::new(entry.packets.get() - here);
    };
    for place in [Place::Network, Place::Unknown] {
        let at_place = ledger.iter_mut().filter(|entry| entry.place == place);
        at_place.for_each(&mut take);
    }
    ledger.iter_mut().for_each(&mut take);
    ledger.retain(|entry| entry.packets.get() > 0);
}
