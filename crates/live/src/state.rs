//! State of a running measurement.

use linerate_model::run::{
    ByteStreamResult, DatagramsResult, Host, Packets, Run, RunKind, TcpSummary, Tool, Trial,
    TrialWork,
};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, PacketCount, Ratio};
use linerate_report::figures::{clean, nanos, percent, rate};
use linerate_report::{LiveInterval, PathPicture};
use std::collections::BTreeMap;
use std::time::Duration;

/// State of a running measurement, and of the panels' scrolling.
#[derive(Debug, Default)]
pub struct Live {
    pub(crate) phase: Phase,
    pub(crate) title: String,
    hosts: Vec<Host>,
    /// Progress of the run, 0 to 1.
    pub(crate) share: f64,
    pub(crate) doing: String,
    pub(crate) elapsed: Duration,
    /// Intervals of the newest test of each direction.
    pub(crate) intervals: Vec<LiveInterval>,
    /// Valid trials of a search or of `latency`.
    pub(crate) points: Vec<TrialPoint>,
    /// The newest path of each direction.
    pub(crate) paths: BTreeMap<Direction, PathPicture>,
    /// Utilisation of this host's cores, and of the peer's.
    pub(crate) cores: [Vec<Ratio>; 2],
    pub(crate) log: Vec<String>,
    pub(crate) is_ending: bool,
    pub(crate) focus: Panel,
    /// Scrolled lines per panel: the log up from its end, the others down from their beginning.
    pub(crate) scrolled: [u16; Panel::ALL.len()],
}

/// Phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Phase {
    /// The peer has not answered yet.
    #[default]
    Connecting,
    /// Trials of the run itself.
    Measuring(RunKind),
    /// The run is complete; more trials diagnose the bottleneck.
    Following(RunKind),
}

linerate_model::named_enum! {
    /// A panel that scrolls.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub(crate) enum Panel {
        /// Messages and trials, newest last.
        #[default]
        Log = "log",
        /// Where packets were lost, and other counters of each place.
        Ledger = "ledger",
        /// Busy share of each core.
        Cpu = "CPU by core",
    }
}

/// Scroll step of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scroll {
    /// To the beginning.
    Begin,
    /// To the end.
    End,
    /// Lines down; negative up.
    Lines(i16),
}

/// Result of a valid trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TrialPoint {
    pub(crate) direction: Direction,
    /// L4 payload.
    pub(crate) intended: Option<BitRate>,
    /// L4 payload, receiver side.
    pub(crate) received: Option<BitRate>,
    pub(crate) loss: Option<Ratio>,
    /// Median and 99th percentile of its delay.
    pub(crate) delay_ns: Option<(u64, u64)>,
}

impl Live {
    /// A run begins; the results of the previous run in the other direction stay.
    pub fn began(&mut self, kind: RunKind, title: &str, hosts: &[Host]) {
        let is_same = self.phase == Phase::Following(kind) || self.phase == Phase::Measuring(kind);
        if !is_same {
            self.intervals.clear();
            self.points.clear();
        }
        self.phase = Phase::Measuring(kind);
        self.title = clean(title);
        self.hosts = hosts.to_vec();
        (self.share, self.elapsed) = (0.0, Duration::ZERO);
        self.doing.clear();
        self.log.push(self.title.clone());
    }

    /// More trials follow the run.
    pub fn follows(&mut self, kind: RunKind, title: &str) {
        self.phase = Phase::Following(kind);
        self.log.push(clean(title));
    }

    /// A trial goes on.
    pub fn progress(&mut self, share: f64, text: &str, elapsed: Duration) {
        (self.share, self.elapsed) = (share.clamp(0.0, 1.0), elapsed);
        self.doing = clean(text);
    }

    /// Updates the utilisation of both ends' cores; an empty list leaves the last values.
    pub fn cores(&mut self, here: &[Ratio], there: &[Ratio]) {
        for (known, latest) in self.cores.iter_mut().zip([here, there]) {
            if !latest.is_empty() {
                known.clear();
                known.extend_from_slice(latest);
            }
        }
    }

    /// An interval of a test ended.
    pub fn interval(&mut self, interval: &LiveInterval) {
        let direction = interval.direction;
        let same = |one: &&LiveInterval| one.direction == direction;
        let last = self.intervals.iter().rev().find(same);
        let middle = interval.start + interval.end.saturating_sub(interval.start) / 2;
        if last.is_some_and(|last| last.end > middle) {
            self.intervals.retain(|one| one.direction != direction);
        }
        self.intervals.push(*interval);
        let trial = so_far(self.intervals.iter().filter(same), interval);
        self.show_path(&trial, "so far");
    }

    /// A trial ended.
    pub fn trial(&mut self, trial: &Trial) {
        self.log.push(clean(&said(trial)));
        let Phase::Measuring(kind) = self.phase else {
            return;
        };
        self.show_path(trial, "the newest");
        let is_point = match kind {
            // Named trials are not part of the search.
            RunKind::Saturate => trial.label.is_none(),
            _ => true,
        };
        if is_point && trial.valid {
            let delay = trial.delay();
            self.points.push(TrialPoint {
                direction: trial.direction,
                intended: trial.intended_load,
                received: trial.received_rate,
                loss: trial.loss_ratio(),
                delay_ns: delay.and_then(|delay| delay.p50_ns.zip(delay.p99_ns)),
            });
        }
    }

    /// Adds a message for the user.
    pub fn note(&mut self, text: &str) {
        self.log.push(format!("note: {}", clean(text)));
    }

    /// The user has requested the end of the test.
    pub fn ends(&mut self) {
        self.is_ending = true;
    }

    /// Focuses the next panel, or with `false` the previous one.
    pub fn focus(&mut self, next: bool) {
        let step = if next { 1 } else { Panel::ALL.len() - 1 };
        self.focus = Panel::ALL[(self.focus as usize + step) % Panel::ALL.len()];
    }

    fn show_path(&mut self, trial: &Trial, why: &str) {
        let kind = match self.phase {
            Phase::Measuring(kind) | Phase::Following(kind) => kind,
            Phase::Connecting => return,
        };
        let mut run = Run::new("live", kind, Tool::linerate(env!("CARGO_PKG_VERSION")));
        run.hosts.clone_from(&self.hosts);
        let path = PathPicture::new(&run, trial, why);
        self.paths.insert(trial.direction, path);
    }
}

/// Preliminary trial from these intervals, up to the end of the newest.
fn so_far<'a>(all: impl Iterator<Item = &'a LiveInterval>, newest: &LiveInterval) -> Trial {
    let (mut lost, mut again) = (None, None);
    let add = |sum: &mut Option<u64>, more: Option<PacketCount>| {
        if let Some(more) = more {
            *sum = Some(sum.unwrap_or(0).saturating_add(more.get()));
        }
    };
    for interval in all {
        add(&mut lost, interval.lost.map(|(count, _)| count));
        add(&mut again, interval.retransmitted);
    }
    let work: TrialWork = match newest.transport {
        Transport::Tcp => {
            let work = ByteStreamResult {
                tcp: Some(TcpSummary {
                    retransmitted_segments: again,
                    srtt_mean_ns: newest.srtt_ns,
                    ..TcpSummary::default()
                }),
                ..ByteStreamResult::default()
            };
            work.into()
        }
        Transport::Udp => {
            let mut work = DatagramsResult::default();
            work.counts.packets = Some(Packets {
                sent: newest.packets_sent,
                received: newest.packets_received,
                lost: lost.map(PacketCount::new),
                ..Packets::default()
            });
            work.into()
        }
    };
    let mut trial = Trial::new(0, newest.transport, newest.direction, work);
    if newest.is_sent {
        trial.offered_load = Some(newest.rate);
    } else {
        trial.received_rate = Some(newest.rate);
    }
    trial
}

/// A trial in one sentence.
fn said(trial: &Trial) -> String {
    let name = match &trial.label {
        Some(label) => label.clone(),
        None => format!("trial {}", trial.index),
    };
    let mut said = Vec::new();
    if let Some(load) = trial.intended_load {
        said.push(format!("{} intended", rate(load)));
    }
    if let Some(received) = trial.received_rate {
        said.push(format!("{} received", rate(received)));
    }
    if let Some(loss) = trial.loss_ratio() {
        said.push(format!("{} lost", percent(loss)));
    }
    let delay = trial
        .delay()
        .and_then(|delay| delay.p50_ns.zip(delay.p99_ns));
    if let Some((median, high)) = delay {
        let time = |ns: u64| nanos(PacketCount::new(ns).as_f64());
        said.push(format!("p50 {}, p99 {}", time(median), time(high)));
    }
    if !trial.valid {
        said.push(format!("does not count: {}", trial.reasons.join("; ")));
    }
    let way = match trial.direction {
        Direction::Reverse => "←",
        Direction::Forward | Direction::Duplex => "→",
    };
    format!("{way} {name}: {}", said.join(", "))
}
