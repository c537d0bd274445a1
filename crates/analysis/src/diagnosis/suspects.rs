//! The suspects and their weights.

use crate::rules;
use linerate_model::run::{Limit, Verdict};
use linerate_model::spec::{Side, Transport};

/// What may limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspect {
    /// The path's rate, with a queue before it.
    Link,
    /// A shaper among the queueing disciplines of the sender's own host.
    OwnShaper,
    Policer,
    PathLoss,
    /// What acknowledgements come back on.
    ReturnPath,
    /// Congestion control, by its own choice or among others' traffic.
    Congestion,
    SenderCpu,
    SenderApp,
    SenderBuffer,
    ReceiverWindow,
    ReceiverCpu,
    ReceiverApp,
    /// Its buffer, too small for bursts of datagrams.
    ReceiverSocket,
    /// What has arrived and waits for the receiver's CPU to take it to the socket.
    ReceiverBacklog,
}

/// What may limit datagrams, with how often it does before anything is known of the run: a judgement. They are held back
/// by no window, and wait for no answer.
const OF_DATAGRAMS: &[(Suspect, f64)] = &[
    (Suspect::Link, 0.28),
    (Suspect::OwnShaper, 0.08),
    (Suspect::Policer, 0.08),
    (Suspect::PathLoss, 0.08),
    (Suspect::SenderCpu, 0.19),
    (Suspect::ReceiverCpu, 0.12),
    (Suspect::ReceiverApp, 0.05),
    (Suspect::ReceiverSocket, 0.09),
    (Suspect::ReceiverBacklog, 0.03),
];

/// What may limit a byte stream: the path has about half, each host a quarter.
const OF_BYTE_STREAMS: &[(Suspect, f64)] = &[
    (Suspect::Link, 0.25),
    (Suspect::OwnShaper, 0.06),
    (Suspect::Policer, 0.08),
    (Suspect::PathLoss, 0.08),
    (Suspect::ReturnPath, 0.03),
    (Suspect::Congestion, 0.08),
    (Suspect::SenderCpu, 0.09),
    (Suspect::SenderApp, 0.04),
    (Suspect::SenderBuffer, 0.05),
    (Suspect::ReceiverWindow, 0.08),
    (Suspect::ReceiverCpu, 0.11),
    (Suspect::ReceiverApp, 0.05),
];

/// Every suspect of what `transport` carries, with its weight before anything is known of the run.
pub(super) const fn of(transport: Transport) -> &'static [(Suspect, f64)] {
    match transport {
        Transport::Tcp => OF_BYTE_STREAMS,
        Transport::Udp => OF_DATAGRAMS,
    }
}

impl Suspect {
    /// The rule that knows it from one trial, if one does; none knows the sender's own shaper.
    pub(super) const fn rule(self) -> &'static str {
        match self {
            Self::Link | Self::OwnShaper => "link",
            Self::Policer => "policer",
            Self::PathLoss => "path-loss",
            Self::ReturnPath => "return-path",
            Self::Congestion => "congestion",
            Self::SenderCpu => "sender-cpu",
            Self::SenderApp => "sender-app",
            Self::SenderBuffer => "sender-buffer",
            Self::ReceiverWindow => "receiver-window",
            Self::ReceiverCpu => "receiver-cpu",
            Self::ReceiverApp => "receiver-app",
            Self::ReceiverSocket => "receiver-socket",
            Self::ReceiverBacklog => "receiver-backlog",
        }
    }

    /// Its key in the table of counts.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::OwnShaper => "own-shaper",
            _ => self.rule(),
        }
    }

    /// What a verdict calls it.
    pub(super) fn limit(self) -> Limit {
        if self == Self::OwnShaper {
            return rules::own_shaper();
        }
        let rule = rules::ALL.iter().find(|rule| rule.id() == self.rule());
        rule.map_or_else(
            || Limit::new(self.rule(), self.subject()),
            |rule| rule.limit(),
        )
    }

    /// On which side; none for the path.
    pub(super) const fn side(self) -> Option<Side> {
        match self {
            Self::Link | Self::Policer | Self::PathLoss | Self::ReturnPath => None,
            Self::OwnShaper
            | Self::Congestion
            | Self::SenderCpu
            | Self::SenderApp
            | Self::SenderBuffer => Some(Side::Sender),
            Self::ReceiverWindow
            | Self::ReceiverCpu
            | Self::ReceiverApp
            | Self::ReceiverSocket
            | Self::ReceiverBacklog => Some(Side::Receiver),
        }
    }

    /// Whether only what the path does to datagrams shows it: TCP alone looks alike before a link and a policer.
    pub(super) const fn is_on_path(self) -> bool {
        self.side().is_none()
    }

    /// Whether `verdict` is about it.
    pub(super) fn is_in(self, verdict: &Verdict) -> bool {
        verdict.limit.id() == self.rule() && verdict.side == self.side()
    }

    /// For sentences.
    pub(super) const fn subject(self) -> &'static str {
        match self {
            Self::Link => "the link",
            Self::OwnShaper => "the sender's own queueing discipline",
            Self::Policer => "a policer",
            Self::PathLoss => "loss on the path",
            Self::ReturnPath => "the return path",
            Self::Congestion => "congestion control",
            Self::SenderCpu => "the sender's CPU",
            Self::SenderApp => "the sending application",
            Self::SenderBuffer => "the sender's socket buffer",
            Self::ReceiverWindow => "the receiver's window",
            Self::ReceiverCpu => "the receiver's CPU",
            Self::ReceiverApp => "the receiving application",
            Self::ReceiverSocket => "the receiver's socket buffer",
            Self::ReceiverBacklog => "the receiver's backlog",
        }
    }
}
