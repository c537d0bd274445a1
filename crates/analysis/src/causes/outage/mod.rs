//! An outage: for a time nothing arrived.

use super::evidence::{Evidence, Need};
use super::{Case, Cause, RuleOutcome, clear, not_evaluated, supported_if, words};
use crate::outage::{self, Doing, Outage, seconds};
use linerate_model::run::{Experiment, Trial};
use linerate_model::{BitRate, PacketCount};
use std::time::Duration;

/// Nothing got through for a time: a link that went down, a host that changed its network, a route that was lost.
pub(crate) static CAUSE: Cause = Cause {
    id: "outage",
    name: "an outage of the path",
    subject: "an outage of the path",
    summary: "For a time nothing arrived, though the sender went on; the rest of the run is judged without it.",
    needs: &[Need::ReceivedRate],
    is_whole_story: true,
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_latency() {
        return clear("request/response is judged by its answers");
    }
    let subject = evidence.subject();
    if !subject.iter().any(|trial| outage::is_timed(trial)) {
        return not_evaluated("Not recorded: when packets arrived (trials.intervals)");
    }
    let each: Vec<(&Trial, Vec<Outage>)> = subject
        .iter()
        .map(|trial| (*trial, outage::find(trial)))
        .collect();
    let of_path: Vec<(&Trial, Vec<Outage>)> = each
        .iter()
        .map(|(trial, all)| {
            (
                *trial,
                all.iter().copied().filter(|one| one.is_of_path()).collect(),
            )
        })
        .filter(|(_, all): &(&Trial, Vec<Outage>)| !all.is_empty())
        .collect();
    if of_path.is_empty() {
        let mut all = subject.iter();
        if let Some(loss) = all.find_map(|trial| outage::brief::unresolved(trial)) {
            return not_evaluated(format!("all loss was {loss}"));
        }
        return clear(because(each.iter().flat_map(|(_, all)| all)));
    }
    if let Some(why) = evidence.not_reassembled() {
        return clear(why);
    }
    found(&of_path, &subject)
}

/// Why the silences that there are are none of the path.
fn because<'a>(mut all: impl Iterator<Item = &'a Outage>) -> String {
    all.next().map_or_else(
        || "something arrived all the time".to_owned(),
        |silence| match silence.sender {
            Doing::Waiting => format!("the receiver read nothing {silence}, though packets came"),
            Doing::Starved => format!("a traffic thread waited for a core {silence}"),
            Doing::Late => format!("nothing that was sent {silence} was lost: it came late"),
            _ => format!("the sender sent nothing {silence}"),
        },
    )
}

fn found(of_path: &[(&Trial, Vec<Outage>)], subject: &[&Trial]) -> RuleOutcome {
    let all = || of_path.iter().flat_map(|(_, outages)| outages);
    let silent: Duration = all().map(|outage| outage.length()).sum();
    let whole: Duration = of_path.iter().filter_map(|(trial, _)| trial.duration).sum();
    let is_unsent = |outage: &Outage| {
        outage.sender == Doing::CutOff && outage.lost.is_none_or(|lost| lost == 0)
    };
    let is_cut_off = all().all(is_unsent);
    let is_known = |outage: &Outage| matches!(outage.sender, Doing::Sending | Doing::CutOff);
    let is_shown = all().all(is_known);
    let times: Vec<String> = all().take(MOST_TIMES).map(ToString::to_string).collect();
    let more = all().count().saturating_sub(times.len());
    let more = if more > 0 {
        format!(" and {more} times more")
    } else {
        String::new()
    };
    let (what, why) = if is_cut_off {
        (
            "was sent",
            ", for the sender's host had no way to the receiver",
        )
    } else {
        ("arrived", "")
    };
    let claim = format!(
        "Nothing {what} {}{more}: {} s of {} s{why}.",
        times.join(", "),
        seconds(silent),
        seconds(whole)
    );
    let mut figures: Vec<String> = of_path
        .iter()
        .filter_map(|(trial, all)| lost(trial, all))
        .collect();
    figures.extend(of_path.iter().filter_map(|(trial, all)| unsent(trial, all)));
    figures.extend(of_path.iter().filter_map(|(trial, all)| rest(trial, all)));
    if all().any(|outage| outage.sender == Doing::Unknown) {
        figures.push("Whether the sender sent in that time is not known.".to_owned());
    }
    CAUSE.found(Case {
        share: share(of_path, subject),
        confidence: supported_if(is_shown),
        claim,
        evidence: figures,
        experiment: Experiment::in_words(
            "look for what went down then (ip -s link, dmesg, Wi-Fi roaming, routes), and repeat the test",
            "packets arrive all the time",
        ),
    })
}

/// More times than these are counted only.
const MOST_TIMES: usize = 4;

/// Share of the loss that fell into the outages; `None` where what was not carried then was not lost, as of a byte stream,
/// and where the sender could not send.
fn share(of_path: &[(&Trial, Vec<Outage>)], subject: &[&Trial]) -> Option<f64> {
    let all = || of_path.iter().flat_map(|(_, all)| all);
    if all().any(|outage| outage.sender == Doing::CutOff) {
        return None;
    }
    let in_them = of_path.iter().filter_map(|(_, all)| outage::lost(all));
    let lost = subject.iter().filter_map(|trial| trial.packets()?.lost);
    let lost = lost.map(PacketCount::get).reduce(u64::saturating_add)?;
    let here = in_them.reduce(u64::saturating_add)?;
    (lost > 0).then(|| PacketCount::new(here).as_f64() / PacketCount::new(lost).as_f64())
}

/// `2 975 sending calls failed: the sender's host had no interface, address or route to the receiver.`
fn unsent(trial: &Trial, outages: &[Outage]) -> Option<String> {
    let mut all = outages.iter();
    all.any(|outage| outage.sender == Doing::CutOff).then(|| {
        format!(
            "{} sending calls failed: the sender's host had no interface, address or route to the receiver.",
            words::count(outage::unreachable(trial))
        )
    })
}

/// `1 294 of 1 294 lost packets were sent in that time.`
fn lost(trial: &Trial, outages: &[Outage]) -> Option<String> {
    let all = trial.packets()?.lost?.get();
    let here = outage::lost(outages)?;
    (all > 0).then(|| {
        format!(
            "{} of {} lost packets were sent in that time.",
            words::count(here),
            words::count(all)
        )
    })
}

/// `In the rest of the time 5 Mbit/s of L4 payload arrived.`
fn rest(trial: &Trial, outages: &[Outage]) -> Option<String> {
    let silent: Duration = outages.iter().map(|outage| outage.length()).sum();
    let active = trial.duration?.checked_sub(silent)?;
    let rate = BitRate::from_bytes(trial.received_bytes?, active)?;
    Some(format!(
        "In the rest of the time {rate} of L4 payload arrived."
    ))
}
