//! The words for enums, in one place.

mod agent;
mod cost;
mod cpu;
mod shares;
pub(crate) mod stack;
mod tcp;

pub use agent::agent_event;
pub(crate) use cost::cost_line;
pub(crate) use cpu::cpu_line;
pub(crate) use shares::stream_shares;
pub(crate) use tcp::bufferbloat;

use crate::figures::UNKNOWN;
use linerate_model::one_way::Stage;
use linerate_model::run::{
    Confidence, Experiment, HostRole, Limit, Observed, Requests, Run, RunKind, RunStatus, Trial,
    Verdict, Weighed,
};
use linerate_model::spec::{Direction, Side};
use linerate_model::{BitRate, PacketRate, Quantity, Ratio};

/// How a trial goes on: what it is called, and the rate so far.
pub fn progress(label: Option<&str>, rate: BitRate) -> String {
    match label {
        Some(label) => format!("{label}: {rate}"),
        None => rate.to_string(),
    }
}

pub(crate) const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "client → server",
        Direction::Reverse => "server → client",
        Direction::Duplex => "both ways",
    }
}

/// The direction between the ports of a mesh.
pub(crate) const EACH_TO_ALL: &str = "each port → all others";

/// The direction between the ports of a device.
pub(crate) const fn between_ports(way: Direction) -> &'static str {
    match way {
        Direction::Forward => "port A → port B",
        Direction::Reverse => "port B → port A",
        Direction::Duplex => "both ways",
    }
}

/// The direction in a run: a device has ports, all else has a client and a server.
pub(crate) fn direction_in(run: &Run, way: Direction) -> &'static str {
    if run.is_of_mesh() {
        EACH_TO_ALL
    } else if run.is_of_device() {
        between_ports(way)
    } else {
        direction(way)
    }
}

/// The direction of a quantity: a device has ports, all else has a client and a server.
pub(crate) const fn direction_of(quantity: Quantity, way: Direction) -> &'static str {
    match (quantity, way) {
        (Quantity::FrameThroughput, Direction::Forward) => "A → B",
        (Quantity::FrameThroughput, Direction::Reverse) => "B → A",
        _ => direction(way),
    }
}

pub(crate) const fn side(side: Option<Side>) -> &'static str {
    match side {
        Some(Side::Sender) => "sender",
        Some(Side::Receiver) => "receiver",
        None => "path",
    }
}

/// The link element before an emulated board; `None` where there was none.
pub(crate) fn link(run: &Run) -> Option<String> {
    let link = run.config.target.as_ref()?.link?;
    Some(format!("{link} (link element)"))
}

/// Why a trial does not count.
pub(crate) fn reasons(trial: &Trial) -> String {
    match trial.reasons.as_slice() {
        [] => "no reason is given".to_owned(),
        reasons => reasons.join("; "),
    }
}

/// `1 cell`, `3 cells`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// A host by its name; by its role where it has none, or both have the same. No figure of an emulated one may be taken
/// for a board's.
pub(crate) fn host(run: &Run, role: HostRole) -> String {
    let find = |role: HostRole| run.hosts.iter().find(|host| host.role == role);
    let name_of = |role: HostRole| {
        let host = find(role)?;
        host.name.as_ref().or(host.facts.hostname.as_ref())
    };
    let other = match role {
        HostRole::Client => HostRole::Server,
        HostRole::Server => HostRole::Client,
    };
    let name = match name_of(role) {
        Some(name) if name_of(other) != Some(name) => crate::figures::clean(name),
        _ => role.as_str().to_owned(),
    };
    if find(role).is_some_and(|host| host.facts.emulated.is_some()) {
        return format!("{name} (emulated)");
    }
    name
}

/// What limits, where a verdict says so: none does that could not identify it, or for which nobody looked.
pub(crate) fn named_limit(verdict: &Verdict) -> Option<&Limit> {
    Some(&verdict.limit).filter(|limit| !limit.is_unknown() && !limit.is_round_trip())
}

/// What came of an experiment; `None` where nobody asked for it.
pub(crate) fn tried(experiment: &Experiment) -> Option<String> {
    let Experiment {
        change,
        result,
        not_run,
        ..
    } = experiment;
    let not_run = || {
        not_run
            .as_ref()
            .map(|why| format!("{change}; could not be run: {why}"))
    };
    let result = result.as_ref().map(|result| format!("{change}: {result}"));
    result.or_else(not_run)
}

/// How sure a verdict that names a limit is: where signs and probes were weighed, with the probability that came of it.
pub(crate) fn confidence(verdict: &Verdict) -> String {
    let probability = verdict
        .weighed
        .as_ref()
        .map(|weighed| weighed.probability_ratio);
    match (verdict.confidence, probability) {
        (Confidence::Confirmed, _) => "confirmed by an experiment".to_owned(),
        (Confidence::Supported, None) => "supported by evidence".to_owned(),
        (Confidence::Supported, Some(probability)) => {
            format!("supported by evidence, probability {probability}")
        }
        (Confidence::Weak, None) => "weak: hints only".to_owned(),
        // Something else than the weighing holds it back, which the evidence names: its probability would contradict that.
        (Confidence::Weak, Some(probability)) if probability.get() >= Weighed::SUPPORTED => {
            "not proven: see the evidence".to_owned()
        }
        (Confidence::Weak, Some(probability)) => {
            format!("not proven, probability {probability}")
        }
    }
}

/// The share of the loss or the time that a verdict explains; `None` where a probability says how sure it is: two shares
/// beside each other would be taken for one. What is a guess, or no limit, explains nothing.
pub(crate) fn explained(verdict: &Verdict) -> Option<Ratio> {
    let is_shown = verdict.weighed.is_none()
        && verdict.confidence != Confidence::Weak
        && !verdict.limit.is_none();
    verdict.share_ratio.filter(|_| is_shown)
}

pub(crate) const fn status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Complete => "complete",
        RunStatus::Incomplete => "incomplete: ended early, what was measured stands",
        RunStatus::Invalid => "invalid: its result cannot be trusted",
    }
}

/// What limits, as a heading.
pub(crate) fn limited(by: &Limit) -> String {
    if by.is_none() {
        "Not saturated: the path carried the whole intended load".to_owned()
    } else if by.is_round_trip() {
        "Round trips, timed".to_owned()
    } else if by.is_unknown() {
        "Bottleneck not identified".to_owned()
    } else {
        format!("Limited by {}", by.name())
    }
}

/// A number of nanoseconds of either sign, for showing.
pub(crate) fn signed(nanos: i64) -> f64 {
    let size = crate::figures::float(nanos.unsigned_abs());
    if nanos < 0 { -size } else { size }
}

pub(crate) const fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::NearApplication => "near application",
        Stage::NearSendStack => "near send stack",
        Stage::NearQueue => "near queue and driver",
        Stage::Wire => "wire, both ways",
        Stage::FarReceiveStack => "far receive stack and wake-up",
        Stage::FarApplication => "far application",
        Stage::FarSendStack => "far send stack",
        Stage::FarQueue => "far queue and driver",
        Stage::NearReceiveStack => "near receive stack and wake-up",
    }
}

/// `intended 1000/s, offered 1000/s, answered 998/s, 12 unanswered`.
pub(crate) fn requests(trial: &Trial, requests: &Requests) -> String {
    let rate = |rate: Option<PacketRate>| {
        rate.map_or_else(|| UNKNOWN.to_owned(), crate::figures::per_second)
    };
    let label = trial.label.as_deref().unwrap_or_default();
    let known = [
        requests.intended_rate,
        trial.offered_packet_rate(),
        trial.received_packet_rate(),
    ];
    let rates = match known {
        [None, None, None] => format!("{label}: rates {UNKNOWN}"),
        [intended, offered, answered] => format!(
            "{label}: intended {}, offered {}, answered {}",
            rate(intended),
            rate(offered),
            rate(answered)
        ),
    };
    let counts = [
        (requests.unanswered, "unanswered"),
        (requests.unsent, "not sent"),
        (requests.duplicated, "answered twice"),
        (requests.reordered, "answered out of order"),
    ];
    let named = counts.iter().filter(|(count, _)| count.get() > 0);
    let named = named.map(|(count, what)| format!("{} {what}", count.get()));
    [rates]
        .into_iter()
        .chain(named)
        .collect::<Vec<_>>()
        .join(", ")
}

pub(crate) const fn kind(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Demo => "Demonstration",
        RunKind::Latency => "Latency",
        RunKind::Saturate => "Saturation search",
        RunKind::Switch => "Forwarding of a device",
        RunKind::Study => "Study",
        RunKind::Tcp => "TCP transfer",
        RunKind::Udp => "UDP stream",
    }
}

/// A run's own title, else what it is, which way, and at which load.
pub(crate) fn title(run: &Run) -> String {
    run.title.clone().unwrap_or_else(|| {
        let load = match (run.kind(), run.trials.as_slice()) {
            (RunKind::Tcp | RunKind::Udp, [one]) => one.intended_load.map(crate::figures::rate),
            _ => None,
        };
        let way = directions(run).filter(|_| run.parts().is_empty());
        let parts = [
            Some(kind(run.kind()).to_owned()),
            way.map(str::to_owned),
            load,
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    })
}

/// Whether a trial counts, and if not why.
pub(crate) fn counts(trial: &Trial) -> String {
    if trial.valid {
        "yes".to_owned()
    } else {
        format!("no: {}", reasons(trial))
    }
}

/// Which way the trials of a run and of its parts went, if it has any.
pub(crate) fn directions(run: &Run) -> Option<&'static str> {
    let mut seen = Vec::new();
    collect_directions(run, &mut seen);
    seen.sort_unstable();
    seen.dedup();
    match seen.as_slice() {
        [] => None,
        [one] => Some(direction_in(run, *one)),
        _ => Some(direction(Direction::Duplex)),
    }
}

fn collect_directions(run: &Run, seen: &mut Vec<Direction>) {
    seen.extend(run.trials.iter().map(|trial| trial.direction));
    for part in run.parts() {
        collect_directions(part, seen);
    }
}

pub(crate) const fn came_true(came_true: Option<bool>) -> &'static str {
    match came_true {
        Some(true) => "true",
        Some(false) => "false",
        None => "not shown",
    }
}

/// What was seen of one prediction: `the received rate was 1.93 times the baseline's (95 % interval
/// 1.85 to 2.01, n = 5)`.
pub(crate) fn observed(seen: &Observed) -> String {
    let Observed {
        prediction,
        estimate,
        ..
    } = seen;
    let interval = estimate.interval.map_or_else(String::new, |interval| {
        format!(
            "{} % interval {} to {}, ",
            crate::figures::digits((estimate.confidence_ratio * 1000.0).round() / 10.0),
            prediction.bound(interval.low),
            prediction.bound(interval.high)
        )
    });
    format!(
        "the {} was {} ({interval}n = {})",
        prediction.quantity,
        prediction.shown(estimate.point),
        estimate.n
    )
}

/// With a small first letter.
pub(crate) fn lower(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::{Host, RunKind, Tool};

    #[test]
    fn an_emulated_host_is_named_as_one() {
        let mut run = Run::new("r", RunKind::Udp, Tool::unversioned("linerate"));
        let mut board = Host::new(HostRole::Server);
        board.name = Some("unleashed".to_owned());
        run.hosts = vec![Host::new(HostRole::Client), board];
        assert_eq!(host(&run, HostRole::Server), "unleashed");
        run.hosts[1].facts.emulated = Some("sifive_u on QEMU 7.2.22".to_owned());
        assert_eq!(host(&run, HostRole::Server), "unleashed (emulated)");
        assert_eq!(host(&run, HostRole::Client), "client");
    }
}
