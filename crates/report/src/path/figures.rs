//! What is known of each place on the way besides packets: rates, CPU, delay.

use super::{PathStage, StageFigure};
use crate::figures::{UNKNOWN, clean, float, nanos, percent, rate};
use crate::words;
use linerate_model::Ratio;
use linerate_model::run::{DelayOf, Place, Run, Trial};
use linerate_model::signals as signal;
use linerate_model::spec::Side;

/// The figures of one place. Rate and CPU of the applications and the delay between the hosts are always there, as
/// not recorded where nobody told them.
pub(super) fn of(run: &Run, trial: &Trial, stage: PathStage) -> Vec<StageFigure> {
    match stage {
        PathStage::SenderApplication => application(run, trial, Side::Sender),
        PathStage::SenderSocket => sender_socket(trial),
        PathStage::SenderQdisc => qdisc(run, trial),
        PathStage::SenderNic => interface(run, trial, Side::Sender),
        PathStage::Network => {
            let link = known("link", words::link(run));
            let all = network(trial).into_iter().chain(link);
            all.chain(dropped_by_device(trial)).collect()
        }
        PathStage::ReceiverNic => interface(run, trial, Side::Receiver),
        PathStage::ReceiverBacklog => backlog(trial),
        PathStage::ReceiverSocket => receiver_socket(trial),
        PathStage::ReceiverApplication => application(run, trial, Side::Receiver),
    }
}

fn figure(name: &'static str, value: impl Into<String>) -> StageFigure {
    StageFigure {
        name,
        value: value.into(),
    }
}

fn known(name: &'static str, value: Option<String>) -> Option<StageFigure> {
    value.map(|value| figure(name, value))
}

fn or_unknown(name: &'static str, value: Option<String>) -> StageFigure {
    figure(name, value.unwrap_or_else(|| UNKNOWN.to_owned()))
}

fn share(ratio: Option<Ratio>) -> Option<String> {
    ratio.map(percent)
}

fn application(run: &Run, trial: &Trial, side: Side) -> Vec<StageFigure> {
    let (name, value) = match side {
        Side::Sender => ("offered", trial.offered_load),
        Side::Receiver => ("received", trial.received_rate),
    };
    let intended = trial.intended_load.filter(|_| side == Side::Sender);
    let thread = trial.cpu_of(side).and_then(|cpu| cpu.thread_ratio);
    let load = |value| crate::charts::rate_in(run, value);
    let mut figures = vec![or_unknown(name, value.map(load))];
    figures.extend(known("intended", intended.map(load)));
    figures.push(or_unknown("thread CPU", share(thread)));
    figures
}

fn sender_socket(trial: &Trial) -> Vec<StageFigure> {
    let tcp = trial.tcp();
    let limited = tcp.and_then(|tcp| tcp.sndbuf_limited_ratio);
    let all = [
        known("sender waited", share(trial.send_blocked_ratio())),
        known("send buffer full", share(limited)),
    ];
    all.into_iter().flatten().collect()
}

fn gained(trial: &Trial, side: Side, name: &str) -> Option<u64> {
    trial.counters(side)?.get(name).copied()
}

fn qdisc(run: &Run, trial: &Trial) -> Vec<StageFigure> {
    let host = run.host_of(trial.direction, Side::Sender);
    let kind = host.and_then(|host| host.facts.queueing_discipline.as_deref());
    let held = gained(trial, Side::Sender, signal::QDISC_OVERLIMITS);
    let all = [
        known("discipline", kind.map(clean)),
        known(
            "held back",
            held.map(|times| format!("{}×", super::grouped(times))),
        ),
    ];
    all.into_iter().flatten().collect()
}

fn interface(run: &Run, trial: &Trial, side: Side) -> Vec<StageFigure> {
    let host = run.host_of(trial.direction, side);
    let name = host.and_then(|host| host.facts.interface.as_deref());
    let speed = host
        .and_then(|host| host.facts.link_speed_bps)
        .or(run.config.link_speed)
        .filter(|_| !run.has_emulated_link());
    let (counted, signal) = match side {
        Side::Sender => ("sent, all traffic", signal::NIC_TX_PACKETS),
        Side::Receiver => ("got, all traffic", signal::NIC_RX_PACKETS),
    };
    let packets = gained(trial, side, signal).map(super::grouped);
    let all = [
        known("name", name.map(clean)),
        known("speed", speed.map(rate)),
        known(counted, packets),
    ];
    all.into_iter().flatten().collect()
}

/// Delay between the hosts: what stood in queues, and what a round trip took.
fn network(trial: &Trial) -> Vec<StageFigure> {
    let time = |ns: u64| nanos(float(ns));
    if let Some(tcp) = trial.tcp() {
        let smallest = tcp.min_rtt_ns.map(time);
        return vec![
            or_unknown("round trip, mean", tcp.srtt_mean_ns.map(time)),
            or_unknown("smallest", smallest),
        ];
    }
    let delay = trial.delay();
    let name = match delay.map(|delay| delay.of) {
        Some(DelayOf::HalfRoundTrip) => "half round trip",
        Some(DelayOf::RoundTrip) => "round trip",
        Some(DelayOf::ResponseTime) => "response time",
        Some(DelayOf::OneWay) => "one way",
        Some(DelayOf::Pdv | DelayOf::Lateness | DelayOf::Part) | None => "queue delay",
    };
    vec![
        or_unknown(name, delay.and_then(|delay| delay.p50_ns).map(time)),
        or_unknown("p99", delay.and_then(|delay| delay.p99_ns).map(time)),
    ]
}

/// What a device under test dropped, by its own places.
fn dropped_by_device(trial: &Trial) -> impl Iterator<Item = StageFigure> {
    let entries = trial.ledger().iter();
    let of_device = entries.filter(|entry| entry.place == Place::Device);
    of_device.map(|entry| {
        let packets = super::grouped(entry.packets.get());
        figure("dropped", clean(&format!("{packets} at {}", entry.source)))
    })
}

fn backlog(trial: &Trial) -> Vec<StageFigure> {
    let cpu = trial.cpu_of(Side::Receiver);
    let soft = cpu.and_then(|cpu| cpu.softirq_ratio);
    let squeezed = gained(trial, Side::Receiver, signal::SOFTNET_TIME_SQUEEZE);
    let all = [
        known("soft interrupts", share(soft)),
        known(
            "ran out of time",
            squeezed.map(|times| format!("{}×", super::grouped(times))),
        ),
    ];
    all.into_iter().flatten().collect()
}

fn receiver_socket(trial: &Trial) -> Vec<StageFigure> {
    let limited = trial.tcp().and_then(|tcp| tcp.rwnd_limited_ratio);
    known("window full", share(limited)).into_iter().collect()
}
