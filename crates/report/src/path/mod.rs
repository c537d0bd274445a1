//! The way of one trial's packets from application to application: how many pass each place, how many are lost
//! there, and what else is known of it.
//!
//! A value made of the trial's packet accounts, its loss ledger and the run's verdict; it draws no conclusion of its
//! own. What no source tells is `None`, never zero.
//!
//! Invariant: where packets were counted at both ends, `sent = placed losses + unplaced losses + received`.

mod draw;
mod figures;
mod limit;
mod table;

pub(crate) use draw::picture;
pub(crate) use table::table;

use crate::charts::trial_name;
use crate::figures::{UNKNOWN, clean};
use crate::words;
use linerate_model::PacketCount;
use linerate_model::run::{HostRole, LedgerEntry, Place, Run, Trial, TrialWork};
use linerate_model::signals as signal;
use linerate_model::spec::{Direction, Side};

linerate_model::named_enum! {
    /// A place on the way, in path order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum PathStage {
        /// The program that sends.
        SenderApplication = "sender-application",
        /// Its socket.
        SenderSocket = "sender-socket",
        /// The queueing discipline of its interface.
        SenderQdisc = "sender-qdisc",
        /// Its interface and driver.
        SenderNic = "sender-nic",
        /// Between the hosts.
        Network = "network",
        /// The receiver's interface and driver.
        ReceiverNic = "receiver-nic",
        /// The queue between driver and protocols (`softnet`).
        ReceiverBacklog = "receiver-backlog",
        /// The receiving program's socket.
        ReceiverSocket = "receiver-socket",
        /// The program that receives.
        ReceiverApplication = "receiver-application",
    }
}

impl PathStage {
    /// Places that frames pass to a device between two ports and back: they are made and counted at the interfaces.
    const OF_DEVICE: [Self; 5] = [
        Self::SenderApplication,
        Self::SenderNic,
        Self::Network,
        Self::ReceiverNic,
        Self::ReceiverApplication,
    ];

    /// As on the page of a device.
    const fn name_at_device(self) -> &'static str {
        match self {
            Self::SenderApplication => "generator",
            Self::Network => "device",
            Self::ReceiverApplication => "receiver",
            other => other.name(),
        }
    }

    /// As on the page, within the column of its host.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SenderApplication | Self::ReceiverApplication => "application",
            Self::SenderSocket | Self::ReceiverSocket => "socket",
            Self::SenderQdisc => "queueing discipline",
            Self::SenderNic | Self::ReceiverNic => "interface",
            Self::Network => "network",
            Self::ReceiverBacklog => "softnet backlog",
        }
    }

    /// The host that it is in; `None` between the hosts.
    pub const fn side(self) -> Option<Side> {
        match self {
            Self::SenderApplication | Self::SenderSocket | Self::SenderQdisc | Self::SenderNic => {
                Some(Side::Sender)
            }
            Self::Network => None,
            Self::ReceiverNic
            | Self::ReceiverBacklog
            | Self::ReceiverSocket
            | Self::ReceiverApplication => Some(Side::Receiver),
        }
    }

    /// Where the ledger writes what is lost here; nothing is lost in an application.
    const fn place(self) -> Option<Place> {
        match self {
            Self::SenderApplication | Self::ReceiverApplication => None,
            Self::SenderSocket => Some(Place::SenderSocket),
            Self::SenderQdisc => Some(Place::SenderQdisc),
            Self::SenderNic => Some(Place::SenderNic),
            Self::Network => Some(Place::Network),
            Self::ReceiverNic => Some(Place::ReceiverNic),
            Self::ReceiverBacklog => Some(Place::ReceiverBacklog),
            Self::ReceiverSocket => Some(Place::ReceiverSocket),
        }
    }

    /// The host-wide counter of what is dropped here: zero of it rules a loss out.
    const fn counter(self) -> Option<&'static str> {
        match self {
            Self::SenderApplication | Self::Network | Self::ReceiverApplication => None,
            Self::SenderSocket => Some(signal::UDP_SNDBUF_ERRORS),
            Self::SenderQdisc => Some(signal::QDISC_DROPPED),
            Self::SenderNic => Some(signal::NIC_TX_DROPPED),
            Self::ReceiverNic => Some(signal::NIC_RX_DROPPED),
            Self::ReceiverBacklog => Some(signal::SOFTNET_DROPPED),
            Self::ReceiverSocket => Some(signal::UDP_RCVBUF_ERRORS),
        }
    }
}

linerate_model::named_enum! {
    /// What is counted on the way.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum PathUnit {
        /// UDP, one way.
        Datagrams = "datagrams",
        /// Through a device between two ports.
        Frames = "frames",
        /// Requests and responses.
        Messages = "messages",
        /// TCP.
        Segments = "segments",
    }
}

/// What is known of loss at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageLoss {
    /// This many, by these sources.
    Counted {
        /// How many.
        packets: u64,
        /// What counted them.
        sources: String,
    },
    /// None: the ledger places every loss elsewhere, or a counter here stood still.
    Clear,
    /// Some of what has no place may have been lost here.
    NotKnown,
}

impl StageLoss {
    /// Packets that were lost here for certain.
    pub(crate) const fn placed(&self) -> u64 {
        match self {
            Self::Counted { packets, .. } => *packets,
            Self::Clear | Self::NotKnown => 0,
        }
    }
}

/// A figure of a place: what it is, and the value in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageFigure {
    /// What it is.
    pub name: &'static str,
    /// With its unit.
    pub value: String,
}

/// One place on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageFlow {
    /// Which place.
    pub stage: PathStage,
    /// What it is called, within the column of its host.
    pub name: &'static str,
    /// Packets that came here: sent less what was placed before. Those without a place are in it up to the receiver's
    /// application.
    pub entered: Option<u64>,
    /// What is known of loss here.
    pub loss: StageLoss,
    /// What else is known.
    pub figures: Vec<StageFigure>,
    /// Whether the verdict's limit is here.
    pub limits: bool,
}

/// Losses that no source can place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplaced {
    /// How many.
    pub packets: u64,
    /// Why their place is not known.
    pub why: String,
}

/// The whole way of one trial's packets, one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPicture {
    /// Which way.
    pub direction: Direction,
    /// The direction in words: `client → server`, `port A → port B`.
    pub way: &'static str,
    /// What is counted.
    pub unit: PathUnit,
    /// Which trial, and why that one.
    pub about: String,
    /// The sending host.
    pub sender: String,
    /// The receiving host.
    pub receiver: String,
    /// Meant to be sent and never given to the system.
    pub not_offered: Option<u64>,
    /// By the sender's application.
    pub sent: Option<u64>,
    /// By the receiver's application.
    pub received: Option<u64>,
    /// On the way; of TCP what was sent again.
    pub lost: Option<u64>,
    /// Every place that packets pass, in path order.
    pub stages: Vec<StageFlow>,
    /// Losses without a place.
    pub unplaced: Option<Unplaced>,
    /// What limits, in words; `None` where nothing was saturated or looked for.
    pub limit: Option<String>,
}

impl PathPicture {
    /// The picture of one trial of a run.
    pub fn new(run: &Run, trial: &Trial, why: &str) -> Self {
        let accounts = Accounts::from_trial(trial);
        let limiting = limit::places(run, trial);
        let unplaced = accounts.unplaced(trial.ledger());
        let mut entered = accounts.sent;
        let is_device = run.is_of_device();
        let has_losses = |stage: &PathStage| {
            let mut entries = trial.ledger().iter();
            entries.any(|entry| Some(entry.place) == stage.place())
        };
        let is_passed = |stage: &PathStage| {
            !is_device || PathStage::OF_DEVICE.contains(stage) || has_losses(stage)
        };
        let mut stages = Vec::with_capacity(PathStage::ALL.len());
        for stage in PathStage::ALL.into_iter().filter(is_passed) {
            let loss = accounts.loss(trial, stage, unplaced.is_some());
            let placed = loss.placed();
            stages.push(StageFlow {
                stage,
                name: if is_device {
                    stage.name_at_device()
                } else {
                    stage.name()
                },
                entered: match stage {
                    PathStage::ReceiverApplication => accounts.received,
                    _ => entered,
                },
                loss,
                figures: figures::of(run, trial, stage),
                limits: limiting.contains(&stage),
            });
            entered = entered.map(|packets| packets.saturating_sub(placed));
        }
        let name = |side| {
            if is_device {
                port_name(run, trial.direction, side).to_owned()
            } else {
                host_name(run, trial, side)
            }
        };
        Self {
            direction: trial.direction,
            way: words::direction_in(run, trial.direction),
            unit: if is_device {
                PathUnit::Frames
            } else {
                accounts.unit
            },
            about: clean(&format!("Trial {}: {why}", trial_name(run, trial))),
            sender: name(Side::Sender),
            receiver: name(Side::Receiver),
            not_offered: not_offered(trial, accounts.sent),
            sent: accounts.sent,
            received: accounts.received,
            lost: accounts.lost,
            stages,
            unplaced,
            limit: limit::words(run),
        }
    }

    /// Packets lost, as words: `62 608 of 220 852 datagrams (28.3 %) are lost`.
    pub fn account(&self) -> String {
        let unit = self.unit.as_str();
        let again = match self.unit {
            PathUnit::Segments => "sent again",
            PathUnit::Datagrams | PathUnit::Frames | PathUnit::Messages => "lost",
        };
        match (self.sent, self.lost) {
            (Some(sent), Some(0)) => format!("{} {unit} sent, none {again}", grouped(sent)),
            (Some(sent), Some(lost)) => format!(
                "{} of {} {unit} {again} ({})",
                grouped(lost),
                grouped(sent),
                share(lost, sent)
            ),
            (Some(sent), None) => format!("{} {unit} sent, loss {UNKNOWN}", grouped(sent)),
            (None, Some(lost)) => format!("{} {unit} {again}, sent {UNKNOWN}", grouped(lost)),
            (None, None) => format!("{unit} sent and lost: {UNKNOWN}"),
        }
    }
}

/// `28.3 %` of a whole.
pub(crate) fn share(part: u64, whole: u64) -> String {
    crate::figures::percent(linerate_model::Ratio::from_parts(part, whole))
}

/// Digits in groups of three, with thin spaces that do not break.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// The packets of a trial, whatever counted them.
struct Accounts {
    unit: PathUnit,
    sent: Option<u64>,
    received: Option<u64>,
    lost: Option<u64>,
    ledger: Vec<LedgerEntry>,
}

impl Accounts {
    fn from_trial(trial: &Trial) -> Self {
        let ledger = trial.ledger().to_vec();
        let packets = trial.packets();
        let of = |count: Option<PacketCount>| count.map(PacketCount::get);
        match &trial.work {
            TrialWork::ByteStream(_) => Self::segments(trial),
            TrialWork::Datagrams(_) => Self {
                unit: PathUnit::Datagrams,
                sent: packets.and_then(|packets| of(packets.sent)),
                received: packets.and_then(|packets| of(packets.received)),
                lost: packets.and_then(|packets| of(packets.lost)),
                ledger,
            },
            TrialWork::ClosedLoop(_) | TrialWork::Connections(_) | TrialWork::OpenLoop(_) => Self {
                unit: PathUnit::Messages,
                sent: packets.and_then(|packets| of(packets.sent)),
                received: packets.and_then(|packets| of(packets.received)),
                lost: packets.and_then(|packets| of(packets.lost)),
                ledger,
            },
        }
    }

    /// A byte stream loses nothing; what its TCP sent again was lost, or taken for lost, at a place it cannot know.
    fn segments(trial: &Trial) -> Self {
        let tcp = trial.tcp();
        let counts = tcp.and_then(|tcp| tcp.retransmissions);
        let again = counts
            .and_then(|counts| counts.segments)
            .or_else(|| tcp?.retransmitted_segments);
        let sent = counts.and_then(|counts| counts.sent);
        Self {
            unit: PathUnit::Segments,
            sent,
            received: sent
                .zip(again)
                .map(|(sent, again)| sent.saturating_sub(again)),
            lost: again,
            ledger: Vec::new(),
        }
    }

    fn unplaced(&self, ledger: &[LedgerEntry]) -> Option<Unplaced> {
        let lost = self.lost.filter(|lost| *lost > 0)?;
        let placed = ledger.iter().filter(|entry| entry.place != Place::Unknown);
        let placed = placed.fold(0_u64, |sum, entry| sum.saturating_add(entry.packets.get()));
        let packets = lost.checked_sub(placed).filter(|packets| *packets > 0)?;
        let said = ledger.iter().filter(|entry| entry.place == Place::Unknown);
        let said: Vec<&str> = said.map(|entry| entry.source.as_str()).collect();
        let why = match (said.is_empty(), self.unit) {
            (false, _) => clean(&said.join("; ")),
            (true, PathUnit::Segments) => {
                "TCP does not tell where; some may have been sent again without need".to_owned()
            }
            (true, _) => "no source tells where".to_owned(),
        };
        Some(Unplaced { packets, why })
    }

    fn loss(&self, trial: &Trial, stage: PathStage, some_unplaced: bool) -> StageLoss {
        let Some(place) = stage.place() else {
            return StageLoss::Clear;
        };
        // The device under test is what lies between the interfaces.
        let is_here = |of: Place| of == place || of == Place::Device && place == Place::Network;
        let here = || self.ledger.iter().filter(move |entry| is_here(entry.place));
        let packets = here().fold(0_u64, |sum, entry| sum.saturating_add(entry.packets.get()));
        if packets > 0 {
            let sources: Vec<&str> = here().map(|entry| entry.source.as_str()).collect();
            let sources = clean(&sources.join("; "));
            return StageLoss::Counted { packets, sources };
        }
        let still = || {
            let gained = trial.counters(stage.side()?)?.get(stage.counter()?)?;
            Some(*gained == 0)
        };
        let is_counted = self.unit == PathUnit::Datagrams && still() == Some(true);
        match self.lost {
            Some(_) if !some_unplaced || is_counted => StageLoss::Clear,
            None if is_counted => StageLoss::Clear,
            _ => StageLoss::NotKnown,
        }
    }
}

/// Packets that were intended and not offered, as far as both loads and the packets offered are known.
fn not_offered(trial: &Trial, sent: Option<u64>) -> Option<u64> {
    let intended = trial.intended_load?.as_f64();
    let offered = trial.offered_load?.as_f64();
    let missing = (intended / offered - 1.0) * crate::figures::float(sent?);
    // Below a hundredth it is the edge of the trial's time scale.
    let is_short = offered > 0.0 && intended > offered * 1.01;
    Some(if is_short {
        linerate_model::BitRate::from_f64(missing.round()).bps()
    } else {
        0
    })
}

/// The port of a device that an end is at.
fn port_name(run: &Run, direction: Direction, side: Side) -> &'static str {
    match (direction, side) {
        _ if run.is_of_mesh() => "all ports",
        (Direction::Reverse, Side::Sender)
        | (Direction::Forward | Direction::Duplex, Side::Receiver) => "port B",
        (Direction::Reverse, Side::Receiver)
        | (Direction::Forward | Direction::Duplex, Side::Sender) => "port A",
    }
}

fn host_name(run: &Run, trial: &Trial, side: Side) -> String {
    words::host(run, HostRole::of(trial.direction, side))
}
