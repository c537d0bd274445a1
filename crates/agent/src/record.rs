//! What is said of the tests of one session.

use crate::allowance::Allowance;
use crate::lease::AdmittedTest;
use crate::state::AgentState;
use linerate_model::agent::{AgentEvent, TestOutline, TestVolume};
use linerate_model::sample::{EndpointReport, bytes_of};
use linerate_model::spec::{Direction, Side, TestSpec};
use linerate_model::{ByteCount, Clock as _, MonoInstant, RefusalCode};
use linerate_peers::{PeerEvent, Refusal, StopCause};
use linerate_session::{SessionEvent, TestGate};
use linerate_sys::clock::MonoClock;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

/// Whether what each end of a stream counted is said as well: most of the clients whose streams are tests of their own
/// receive no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// A test is one event.
    Tests,
    /// A test is one event, and so is each of its directions.
    Streams,
}

/// The tests of a session: each becomes an event when it is over, also by the end of the session.
pub(crate) struct Record<'a> {
    state: &'a AgentState<'a>,
    client: SocketAddr,
    protocol: &'static str,
    detail: Detail,
    /// It was said that the client is refused.
    was_turned_away: bool,
    allowance: Allowance,
    running: Option<Running>,
}

/// A test under way.
struct Running {
    outline: TestOutline,
    since: MonoInstant,
    /// Sent and received as its reports say, once they are there.
    reported: Option<[ByteCount; 2]>,
    /// What this end has counted so far, of the side that its progress is of.
    moved: ByteCount,
}

impl<'a> Record<'a> {
    pub(crate) fn new(
        state: &'a AgentState<'a>,
        client: SocketAddr,
        protocol: &'static str,
        detail: Detail,
    ) -> Self {
        state.clients_now.fetch_add(1, Ordering::Relaxed);
        Self {
            state,
            client,
            protocol,
            detail,
            was_turned_away: false,
            allowance: state.allowance(client.ip()),
            running: None,
        }
    }

    /// The client is refused before it asks for a test.
    pub(crate) fn turn_away(&mut self, code: RefusalCode, reason: &str) {
        if !self.was_turned_away {
            self.was_turned_away = true;
            self.state
                .turned_away(self.client, self.protocol, code, reason);
        }
    }

    /// What may refuse its tests.
    pub(crate) fn gate(&self) -> TestGate {
        self.allowance.gate()
    }

    /// Admits a test that another agent is the server of.
    pub(crate) fn admit_delegated(&self) -> Result<AdmittedTest, Refusal> {
        self.allowance.admit_unpaid()
    }

    /// What this end has counted so far in the test under way; why that is to end, if it is.
    pub(crate) fn progress(&mut self, moved: ByteCount) -> Result<(), Refusal> {
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        running.moved = running.moved.max(moved);
        self.allowance.charge(running.moved)
    }

    /// Says what an event of the session means.
    pub(crate) fn hear(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::TestBegan(spec) => self.begin(spec),
            SessionEvent::OwnReports(reports) => {
                let moved = [Side::Sender, Side::Receiver].map(|side| bytes_of(reports, side));
                self.report(moved);
                if self.detail == Detail::Streams {
                    self.count(reports);
                }
            }
            SessionEvent::Moved { sent, received } => self.report([*sent, *received]),
            SessionEvent::Peer(PeerEvent::Hello(hello)) => self.allowance.present(hello.fence),
            SessionEvent::Peer(PeerEvent::Curtailed(what)) => {
                self.state.tell(AgentEvent::Curtailed {
                    client: self.client,
                    protocol: self.protocol.to_owned(),
                    what: what.clone(),
                });
            }
            SessionEvent::TestOver => self.complete(),
            SessionEvent::TestEnded {
                cause,
                code,
                reason,
            } => {
                // It was said already, if the session says it once more of its first test.
                if self.running.is_some() || !self.was_turned_away {
                    self.end(*cause, *code, reason);
                }
            }
            SessionEvent::Admit | SessionEvent::Peer(_) | SessionEvent::Closed => {}
        }
    }

    /// What the server has sent and received in the test under way, all of it.
    const fn report(&mut self, moved: [ByteCount; 2]) {
        if let Some(running) = &mut self.running {
            running.reported = Some(moved);
        }
    }

    fn begin(&mut self, spec: &TestSpec) {
        self.finish();
        self.state
            .streams_now
            .fetch_add(spec.streams.into(), Ordering::Relaxed);
        self.running = Some(Running {
            outline: TestOutline::from(spec),
            since: MonoClock.now(),
            reported: None,
            moved: ByteCount::new(0),
        });
    }

    fn count(&self, reports: &[EndpointReport]) {
        for report in reports {
            self.state.tell(AgentEvent::Counted {
                client: self.client,
                protocol: self.protocol.to_owned(),
                traffic: report.into(),
            });
        }
    }

    fn taken(&mut self) -> Option<(TestOutline, TestVolume)> {
        let running = self.running.take()?;
        self.state
            .streams_now
            .fetch_sub(running.outline.streams.into(), Ordering::Relaxed);
        let volume = running.volume(MonoClock.now());
        let moved = volume.sent.get().saturating_add(volume.received.get());
        // It is over: what it was beyond is of the next one.
        drop(self.allowance.charge(ByteCount::new(moved)));
        self.allowance.settle();
        Some((running.outline, volume))
    }

    fn complete(&mut self) {
        if let Some((test, volume)) = self.taken() {
            self.state.tell(AgentEvent::TestOver {
                client: self.client,
                protocol: self.protocol.to_owned(),
                test,
                volume,
            });
        }
    }

    fn end(&mut self, cause: StopCause, code: RefusalCode, reason: &str) {
        let (test, volume) = self.taken().unzip();
        // Of a test that was admitted and did not begin.
        self.allowance.settle();
        self.state.tell(AgentEvent::TestEnded {
            client: self.client,
            protocol: self.protocol.to_owned(),
            test,
            volume,
            by_client: cause == StopCause::Peer,
            code,
            reason: reason.to_owned(),
        });
    }

    /// Ends a test whose end no event has said: clients of some protocols just leave when they have what they want.
    fn finish(&mut self) {
        match &self.running {
            None => {}
            Some(running) if running.reported.is_some() => self.complete(),
            Some(_) => self.end(
                StopCause::Local,
                RefusalCode::Interrupted,
                "the session ended before the test",
            ),
        }
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        self.finish();
        // Of a test that was admitted and did not begin.
        self.allowance.settle();
        self.state.clients_now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Running {
    fn volume(&self, now: MonoInstant) -> TestVolume {
        let none = ByteCount::new(0);
        let [sent, received] = self.reported.unwrap_or(match self.outline.direction {
            Direction::Reverse => [self.moved, none],
            _ => [none, self.moved],
        });
        TestVolume {
            duration: now.saturating_since(self.since),
            sent,
            received,
        }
    }
}
