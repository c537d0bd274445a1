//! A run in plain words for a terminal: aligned columns, readable in ten seconds.

mod brief;
mod conclusion;
mod cost;
mod explanation;
mod latency;
mod listing;
mod live;
mod one_way;
mod study;

pub use brief::{Whereabouts, summaries_text, summary_text};
pub use explanation::explanation_text;
pub use listing::{listed_figure, listing_text, to_the_minute};
pub use live::{
    LiveInterval, interval_heading, interval_line, sparkline, trial_heading, trial_line,
};

use crate::connections;
use crate::curve::seen;
use crate::figures::{
    UNKNOWN, Unit, Value, between, clean, float, nanos, percent, percent_or_unknown,
};
use crate::headline::headlines;
use crate::paper::{Ink, Line, Paper, Style};
use crate::path::grouped;
use crate::words;
use linerate_model::cost::ProfileSide;
use linerate_model::run::{
    CpuSide, Delay, DelayOf, Experiment, Run, RunKind, RunStatus, RunWork, TcpSummary, Trial,
    Verdict,
};
use linerate_model::{PacketCount, Quantity};
use std::collections::{BTreeMap, BTreeSet};

/// A run and all its parts, each in full; of a study only its means, since its parts repeat each other. Lines wrap at
/// `width`; `usize::MAX` leaves each whole.
pub fn details_text(run: &Run, width: usize, style: Style) -> String {
    let mut paper = Paper::new(width, style);
    head(&mut paper, run);
    if let RunWork::Study {
        estimates,
        findings,
        parts,
    } = &run.work
    {
        study::limits(&mut paper, run, estimates, findings.as_deref());
        study::means(&mut paper, estimates, parts);
        study::unmeasured(&mut paper, estimates, parts);
        if let Some(findings) = findings {
            study::effects(&mut paper, findings);
            study::scatter(&mut paper, findings);
        }
    } else if run.kind() == RunKind::Switch {
        crate::document::write_text(&mut paper, &crate::forwarding::blocks(run));
    } else if run.parts().is_empty() {
        body(&mut paper, run);
    } else {
        outcomes(&mut paper, run.parts());
        verdict(&mut paper, run);
    }
    let mut text = paper.finish();
    let apart = run.parts().iter().filter(|_| run.kind() != RunKind::Study);
    for part in apart {
        text.push('\n');
        text.push_str(&details_text(part, width, style));
    }
    text
}

/// The table of several runs.
pub(crate) fn overview_text(runs: &[Run], width: usize, style: Style) -> String {
    let mut paper = Paper::new(width, style);
    outcomes(&mut paper, runs);
    paper.finish()
}

/// What each run is, and what came of it.
fn outcomes(paper: &mut Paper, runs: &[Run]) {
    for run in runs {
        paper.item(&words::title(run), &conclusion::outcome(run));
    }
}

fn head(paper: &mut Paper, run: &Run) {
    paper.title(&words::title(run));
    if run.status != RunStatus::Complete {
        paper.inked(Ink::Red, "status", words::status(run.status));
        paper.rows("", &run.notes);
    }
    doubts(paper, run);
}

/// Figures that contradict each other.
fn doubts(paper: &mut Paper, run: &Run) {
    for doubt in &run.doubts {
        paper.inked(Ink::Red, "doubt", &clean(doubt));
    }
}

/// The figures that people ask for first.
fn body_results(paper: &mut Paper, run: &Run) {
    // The table of latency has a row for each condition, and the answer says which is best.
    let verdict_of = run.verdict.as_ref();
    let answered = verdict_of.is_some_and(|verdict| verdict.limit.is_round_trip());
    let is_timed = run.trials.iter().any(|trial| trial.delay().is_some());
    let in_table = answered && is_timed && latency::is_of(run);
    let results = if in_table { Vec::new() } else { headlines(run) };
    if results.is_empty() && !in_table {
        paper.row("result", UNKNOWN);
    }
    let said = results.iter();
    paper.rows(
        "result",
        said.map(|one| format!("{} {}", one.figure, one.about())),
    );
}

fn body(paper: &mut Paper, run: &Run) {
    body_results(paper, run);
    counts(paper, run);
    link(paper, run);
    stack(paper, run);
    cautions(paper, run);
    verdict(paper, run);
    curve(paper, run);
    shares(paper, run);
    tcp(paper, run);
    if latency::is_of(run) {
        latency::table(paper, run);
    } else if connections::is_of(run) {
        crate::document::write_text(paper, &connections::blocks(run));
    } else {
        delays(paper, run);
    }
    loops(paper, run);
    one_way::one_way(paper, run);
    one_way::parts(paper, run);
    if !cost::of_waiting(paper, run) {
        cpu(paper, run);
    }
    costs(paper, run);
    trials(paper, run);
    far_output(paper, run);
}

/// What the sender of the only trial offered, and what became of its packets; of several the report has a table.
fn counts(paper: &mut Paper, run: &Run) {
    let [trial] = run.trials.as_slice() else {
        return;
    };
    let offered = trial
        .received_rate
        .and_then(|_| seen(trial, Quantity::OfferedRate));
    if let Some(value) = offered.and_then(|seen| Value::from_observations(&[seen])) {
        let unit = Unit::for_rate(value.point() * 2.0);
        paper.row("offered", &format!("{} by the sender", value.show(unit)));
    }
    if let Some(packets) = trial.packets() {
        let count = |quantity, count: Option<PacketCount>| {
            let Some(interval) = trial.rounding(quantity) else {
                return count.map_or_else(|| UNKNOWN.to_owned(), |n| grouped(n.get()));
            };
            let whole = |count: f64| grouped(PacketCount::from_f64(count).get());
            between(&whole(interval.low), &whole(interval.high))
        };
        let sent = count(Quantity::SentPackets, packets.sent);
        let received = count(Quantity::ReceivedPackets, packets.received);
        let lost = count(Quantity::LostPackets, packets.lost);
        paper.row(
            "packets",
            &format!("sent {sent}, received {received}, lost {lost}"),
        );
    }
}

/// What stood between an emulated board and this host.
fn link(paper: &mut Paper, run: &Run) {
    if let Some(link) = words::link(run) {
        paper.row("link", &link);
    }
}

/// What the stack under test said of itself.
fn stack(paper: &mut Paper, run: &Run) {
    paper.rows("stack", run.stack.iter().flat_map(words::stack::said));
}

/// What the far tool printed itself.
fn far_output(paper: &mut Paper, run: &Run) {
    for text in run
        .trials
        .iter()
        .filter_map(|t| t.measured()?.peer_output.as_ref())
    {
        paper.rows("peer", text.lines());
    }
}

fn verdict(paper: &mut Paper, run: &Run) {
    let Some(verdict) = &run.verdict else {
        if run.parts().is_empty() {
            paper.row("limit", "no verdict was made");
        }
        return;
    };
    if verdict.limit.is_round_trip() {
        answer(paper, verdict);
        return;
    }
    limit(paper, verdict);
    paper.row("", &verdict.claim);
    evidence(paper, verdict);
    if let Some(found) = &verdict.experiment {
        experiment(paper, found, "");
    }
}

/// What limits, where, how much of it that explains, and how sure that is.
fn limit(paper: &mut Paper, verdict: &Verdict) {
    let side = verdict.side.map_or_else(String::new, |side| {
        format!(" · where: {}", words::side(Some(side)))
    });
    let share = words::explained(verdict).map_or_else(String::new, |share| {
        format!(" · explains {}", percent(share))
    });
    let text = match words::named_limit(verdict) {
        Some(limit) => {
            let sure = words::confidence(verdict);
            format!("{}{side}{share} · {sure}", limit.name())
        }
        None if verdict.limit.is_unknown() => format!("not identified{side}"),
        None => verdict.limit.name().to_owned(),
    };
    paper.inked(Ink::Bold, "limit", &text);
}

/// What to change and expect, or what came of it.
fn experiment(paper: &mut Paper, experiment: &Experiment, hint: &str) {
    let text = words::tried(experiment)
        .unwrap_or_else(|| format!("{}; expect: {}{hint}", experiment.change, experiment.expect));
    let label = experiment
        .result
        .as_ref()
        .map_or("to confirm", |_| "experiment");
    paper.row(label, &text);
}

/// What a latency run was made for, in place of a limit.
fn answer(paper: &mut Paper, verdict: &Verdict) {
    paper.row("answer", &verdict.claim);
    evidence(paper, verdict);
    if let Some(further) = &verdict.experiment {
        let text = format!("{}: {}", further.change, further.expect);
        paper.row("next", &text);
    }
}

fn evidence(paper: &mut Paper, verdict: &Verdict) {
    let all = verdict.evidence.iter();
    paper.rows("evidence", all.map(|evidence| format!("· {evidence}")));
}

fn curve(paper: &mut Paper, run: &Run) {
    let Some(facts) = run.curve() else { return };
    if let Some(knee) = &facts.knee {
        paper.row("knee", &crate::loops::knee_text(knee));
        return;
    }
    let at = facts.peak_intended.map_or_else(String::new, |load| {
        format!(" at {} intended", crate::charts::rate_in(run, load))
    });
    let rate = |rate| crate::charts::rate_in(run, rate);
    let peak = facts.peak_received.map_or_else(|| UNKNOWN.to_owned(), rate);
    let mut said = vec![format!("peak {peak} received{at}")];
    if let Some(left) = facts.overload_received {
        said.push(format!("{} under overload", rate(left)));
    }
    if let Some(rise) = facts.delay_rise {
        said.push(format!("delay rises from {}", rate(rise)));
    }
    paper.row("curve", &said.join(" · "));
}

fn delays(paper: &mut Paper, run: &Run) {
    let mut timed: Vec<_> = run
        .trials
        .iter()
        .filter(|trial| trial.valid)
        .filter_map(|trial| Some((trial, trial.delay()?)))
        .collect();
    timed.sort_by_key(|(trial, _)| (trial.direction, trial.intended_load));
    let Some((_, first)) = timed.first() else {
        return;
    };
    paper.row("delay", first.of.as_str());
    // What a sender was late for is not in its service time.
    let beside = match first.of {
        DelayOf::ResponseTime => "service p99",
        _ => "",
    };
    let mut rows = vec![["", "p50", "p90", "p99", "p99.9", "max", beside].map(str::to_owned)];
    for (trial, delay) in timed {
        rows.push(delay_row(run, trial, delay));
    }
    paper.beside(&Line::table(rows, Ink::Plain));
}

fn delay_row(run: &Run, trial: &Trial, delay: &Delay) -> [String; 7] {
    let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), |ns| nanos(float(ns)));
    [
        crate::charts::trial_name(run, trial),
        time(delay.p50_ns),
        time(delay.p90_ns),
        time(delay.p99_ns),
        time(delay.p999_ns),
        time(delay.max_ns),
        match delay.of {
            DelayOf::ResponseTime => time(trial.service().and_then(|d| d.p99_ns)),
            _ => String::new(),
        },
    ]
}

/// How the messages of a latency run were asked, what became of them, and what load changed.
fn loops(paper: &mut Paper, run: &Run) {
    for line in crate::loops::responsiveness(run) {
        paper.row("responsiveness", &line);
    }
    paper.rows("under load", crate::loops::side_by_side(run));
    if run.curve().is_none_or(|facts| facts.knee.is_none()) {
        for trial in &run.trials {
            if let Some(requests) = trial.requests() {
                paper.row("requests", &words::requests(trial, requests));
            }
        }
    }
    if let Some(note) = crate::loops::loop_note(run) {
        paper.row("", &note);
    }
}

/// How many streams shared the rate of each trial.
fn shares(paper: &mut Paper, run: &Run) {
    paper.rows("streams", words::stream_shares(run));
}

fn tcp(paper: &mut Paper, run: &Run) {
    let known = run.trials.iter().filter(|trial| trial.valid);
    let known: Vec<_> = known.filter_map(|t| Some((t, t.tcp()?))).collect();
    let mut lines = Vec::new();
    for (trial, tcp) in &known {
        let size = tcp.cwnd_mean_bytes.map(crate::figures::bytes);
        let rtt = tcp.srtt_mean_ns.map(|ns| nanos(float(ns)));
        let segments = tcp.retransmitted_segments.map(|n| n.to_string());
        let name = crate::charts::which(run, trial, known.len());
        let or_unknown = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
        lines.push(format!(
            "{name}cwnd {}, rtt {}, retransmitted {}{}",
            or_unknown(size),
            or_unknown(rtt),
            or_unknown(segments),
            chronographs(tcp)
        ));
        lines.extend(crate::charts::tcp_finding(tcp));
        let bloated = tcp.queueing.filter(|queueing| queueing.bloated);
        lines.extend(bloated.as_ref().map(words::bufferbloat));
    }
    paper.rows("tcp, sender", lines);
}

/// Shares of time that the sender was limited, if the kernel told.
fn chronographs(tcp: &TcpSummary) -> String {
    if tcp.shares.is_some()
        || tcp.rwnd_limited_ratio.is_none() && tcp.sndbuf_limited_ratio.is_none()
    {
        return String::new();
    }
    format!(
        "; limited by receiver's window {}, by send buffer {}",
        percent_or_unknown(tcp.rwnd_limited_ratio),
        percent_or_unknown(tcp.sndbuf_limited_ratio)
    )
}

fn cpu(paper: &mut Paper, run: &Run) {
    let busy = |trial: &&Trial| trial.received_rate.map_or(0, linerate_model::BitRate::bps);
    let measured = run.trials.iter().filter(|t| t.valid && t.cpu.is_some());
    let busiest = measured.max_by_key(busy);
    let Some((cpu, streams)) = busiest.and_then(|t| Some((t.cpu.as_ref()?, t.streams))) else {
        paper.row("cpu", UNKNOWN);
        return;
    };
    let say = |side: Option<&CpuSide>| {
        side.map_or_else(|| UNKNOWN.to_owned(), |side| words::cpu_line(side, streams))
    };
    paper.row("cpu, sender", &say(cpu.sender.as_ref()));
    paper.row("cpu, receiver", &say(cpu.receiver.as_ref()));
}

/// What the last sampled trial's ends cost, one line each.
fn costs(paper: &mut Paper, run: &Run) {
    let sampled = run.trials.iter().rev().find_map(|t| t.profile());
    let Some(profile) = sampled else { return };
    let ends = [
        ("cost, sender", &profile.sender),
        ("cost, receiver", &profile.receiver),
    ];
    for (label, side) in ends {
        match side {
            Some(ProfileSide::Sampled(cost)) => paper.row(label, &words::cost_line(cost)),
            Some(ProfileSide::Missing { missing }) => {
                paper.row(label, &format!("not sampled: {}", clean(missing)));
            }
            None => {}
        }
    }
}

fn trials(paper: &mut Paper, run: &Run) {
    let bad: Vec<_> = run.trials.iter().filter(|trial| !trial.valid).collect();
    let all = run.trials.len();
    let time: f64 = run
        .trials
        .iter()
        .filter_map(|trial| trial.duration)
        .map(|duration| duration.as_secs_f64())
        .sum();
    let counted = if time > 0.0 {
        let seconds = crate::figures::digits((time * 10.0).round() / 10.0);
        format!(", {seconds} s counted")
    } else {
        String::new()
    };
    paper.row("trials", &format!("{all}, {} invalid{counted}", bad.len()));
    invalid(paper, run);
}

/// The trials that say nothing, and why.
fn invalid(paper: &mut Paper, run: &Run) {
    let bad = run.trials.iter().filter(|trial| !trial.valid);
    for trial in bad {
        let why = words::reasons(trial);
        // The rows of latency bear names.
        let named = if latency::is_of(run) {
            format!(" ({})", crate::charts::trial_name(run, trial))
        } else {
            String::new()
        };
        paper.inked(
            Ink::Red,
            "",
            &format!("trial {}{named} invalid: {}", trial.index, clean(&why)),
        );
    }
}

/// What spoils no trial but should be known of some.
fn cautions(paper: &mut Paper, run: &Run) {
    let valid = run.trials.iter().filter(|trial| trial.valid);
    let all = valid.flat_map(|trial| trial.reasons.iter().map(|why| (why, trial.index)));
    let mut trials: BTreeMap<&String, BTreeSet<u32>> = BTreeMap::new();
    for (why, index) in all {
        trials.entry(why).or_default().insert(index);
    }
    let said = trials.into_iter().map(|(why, trials)| {
        // What holds for all is of the run.
        match trials.first() {
            Some(first) if trials.len() < run.trials.len() => format!("trial {first}: {why}"),
            _ => why.clone(),
        }
    });
    paper.rows("note", said);
}
