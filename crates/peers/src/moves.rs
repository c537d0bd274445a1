//! What the sessions of other tools' protocols do in the same words, whichever protocol it is.

use crate::error::{Excerpt, MAX_TEXT, ProtocolError, clean};
use crate::session::{
    Action, Limits, PeerEvent, PeerHello, PeerKind, RefusalCode, ServerConfig, StopCause,
    StreamTarget,
};
use crate::steps::{Phase, Steps};
use crate::stream_format::StreamFormat;
use linerate_model::MonoInstant;
use linerate_model::facts::Facts;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Direction, MAX_DURATION, Stop, TestSpec, validate};
use std::sync::Arc;
use std::time::Duration;

/// Defines the states of a session, each with its name, and which of them have a test.
macro_rules! states {
    (
        $(#[$docs:meta])*
        $vis:vis enum $states:ident {
            $($(#[$doc:meta])* $state:ident = $name:literal,)*
        }
        with a test: $($test:ident)|+;
    ) => {
        $(#[$docs])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $states {
            $($(#[$doc])* $state,)*
        }

        impl $crate::steps::Phase for $states {
            const STOPPING: Self = Self::Stopping;
            const CLOSED: Self = Self::Closed;

            fn name(self) -> &'static str {
                match self {
                    $(Self::$state => $name,)*
                }
            }

            fn has_test(self) -> bool {
                matches!(self, $(Self::$test)|+)
            }
        }
    };
}
pub(crate) use states;

impl<P: Phase> Steps<P> {
    /// Reports a client to the owner.
    pub(crate) fn meet_client(&mut self, config: &ServerConfig) {
        self.meet(PeerHello {
            session: config.session.clone(),
            limits: config.limits,
            ..PeerHello::default()
        });
    }

    /// Reports a server to the owner; only its stream limit and these facts are known.
    pub(crate) fn meet_server(&mut self, max_streams: u16, facts: Facts) {
        self.meet(PeerHello {
            facts,
            limits: Limits {
                max_streams,
                ..Limits::default()
            },
            ..PeerHello::default()
        });
    }

    /// Reports the peer to the owner, with what it says of itself.
    pub(crate) fn meet(&mut self, peer: PeerHello) {
        self.act(Action::Peer(PeerEvent::Hello(Box::new(peer))));
    }

    /// Asks the driver to prepare a test.
    pub(crate) fn prepare(&mut self, spec: TestSpec, format: impl StreamFormat) {
        self.act(Action::Prepare {
            spec: Box::new(spec),
            format: Arc::new(format),
        });
    }

    /// Asks the driver to open the data streams.
    pub(crate) fn open(&mut self, target: StreamTarget, format: impl StreamFormat) {
        self.act(Action::OpenStreams {
            target,
            format: Arc::new(format),
        });
    }

    /// Enters a state that the peer has to end in time.
    pub(crate) fn step(&mut self, now: MonoInstant, state: P) {
        self.enter(now, state, self.timeout * 2);
    }

    /// Refuses a test for which a client has a key that the protocol lacks, an invalid one, or one that the protocol does
    /// not support; returns whether it did.
    pub(crate) fn refuses(&mut self, kind: &dyn PeerKind, spec: &TestSpec) -> bool {
        let invalid = if self.has_key {
            let login = if kind.about().has_users() {
                ", see --login"
            } else {
                ""
            };
            let id = kind.id();
            Err(format!("{id} has no keys: leave out --key{login}"))
        } else {
            validate(spec).map_err(|error| error.to_string())
        };
        let invalid = invalid.map_err(|why| (RefusalCode::Invalid, why));
        let unsupported = |()| {
            let supported = kind.check(spec);
            supported.map_err(|why| (RefusalCode::Unsupported, why))
        };
        let refused = invalid.and_then(unsupported).err();
        let is_refused = refused.is_some();
        if let Some((code, why)) = refused {
            self.cannot(code, why);
        }
        is_refused
    }

    /// Passes on the peer's reports.
    pub(crate) fn report(&mut self, reports: Vec<EndpointReport>) {
        self.act(Action::Peer(PeerEvent::Report(reports)));
    }

    /// Aborts the test for a local reason.
    pub(crate) fn break_off(&mut self, now: MonoInstant, code: RefusalCode, reason: &str) {
        self.stop(now, StopCause::Local, code, clean(reason, MAX_TEXT));
    }

    /// Aborts the test because of a timeout.
    pub(crate) fn time_out(&mut self, now: MonoInstant, reason: &str) {
        self.break_off(now, RefusalCode::Timeout, reason);
    }

    /// Aborts the test at the user's request: there is nothing to keep.
    pub(crate) fn interrupt(&mut self, now: MonoInstant) {
        self.break_off(now, RefusalCode::Interrupted, "stopped by its user");
    }

    /// Timeout message of the present step, for the user.
    pub(crate) fn nothing_came(&self, from: &str, limit: Duration) -> String {
        let (seconds, state) = (limit.as_secs_f64(), self.state.name());
        format!("nothing came from {from} for {seconds} s in state {state}")
    }

    /// Error for a message of the peer at `offset` that is invalid in this state or contradictory.
    pub(crate) fn unexpected(
        &self,
        message: &'static str,
        offset: u64,
        cause: impl Into<String>,
    ) -> ProtocolError {
        ProtocolError::Unexpected {
            state: self.state.name(),
            message,
            offset,
            cause: cause.into(),
        }
    }

    /// Error for a message of the peer at `offset` that cannot be parsed.
    pub(crate) fn unreadable(
        &self,
        message: &'static str,
        offset: u64,
        bytes: &[u8],
        cause: impl Into<String>,
    ) -> ProtocolError {
        ProtocolError::Body {
            state: self.state.name(),
            message,
            offset,
            bytes: Excerpt::from_bytes(bytes),
            cause: cause.into(),
        }
    }

    /// Error for a peer that ended the session before there was a test.
    pub(crate) fn turned_away(&self, code: RefusalCode, message: String) -> ProtocolError {
        ProtocolError::TurnedAway {
            state: self.state.name(),
            code,
            message,
        }
    }
}

/// Whether a test's client sends.
pub(crate) const fn client_sends(spec: &TestSpec) -> bool {
    !matches!(spec.direction, Direction::Reverse)
}

/// Whether a test's server sends.
pub(crate) const fn server_sends(spec: &TestSpec) -> bool {
    !matches!(spec.direction, Direction::Forward)
}

/// Maximum duration of a test's traffic, warm-up included.
pub(crate) fn whole_time(spec: &TestSpec) -> Duration {
    let time = match spec.stop {
        Stop::After(time) => time,
        Stop::Bytes(_) | Stop::Transactions(_) => MAX_DURATION,
    };
    time.saturating_add(spec.warm_up)
}

/// Amount of traffic when it last grew, and when that was seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Movement {
    seen: u64,
    at: MonoInstant,
}

impl Movement {
    /// Starts at `now` with no traffic.
    pub(crate) const fn from(now: MonoInstant) -> Self {
        Self { seen: 0, at: now }
    }

    /// Whether the amount, now `seen`, has not grown for `patience`.
    pub(crate) fn has_stalled(&mut self, now: MonoInstant, seen: u64, patience: Duration) -> bool {
        if seen != self.seen {
            *self = Self { seen, at: now };
        }
        now.saturating_since(self.at) >= patience
    }
}
