//! Drives one control session: the same loop at both ends.

mod port;
mod streams;
mod traffic;
mod wait;

use crate::demux::DemuxHandle;
use crate::endpoints::DataStreams;
use crate::error::{Result, SessionError};
use crate::flows::Place;
use crate::line::Line;
use crate::listener::StreamListener;
use crate::state::State;
use linerate_engine::Role;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::TestSpec;
use linerate_model::{ByteCount, Clock as _, Ratio};
use linerate_observe::{CoreLoad, Observer};
use linerate_peers::{
    Action, DelegatedTest, Delegation, Demux, Ending, Input, LeaseGrant, LeaseRequest, PeerEvent,
    Refusal, RefusalCode, Session, StopCause, StreamEvent, TestEnd,
};
use linerate_sys::clock::MonoClock;
use port::DescribedPort;
use std::time::Duration;

/// One end of a session: its I/O outside the protocol.
pub struct Driver {
    line: Line,
    session: Box<dyn Session>,
    role: Role,
    timeout: Duration,
    observer: Observer,
    arrivals: Arrivals,
    /// Client: listener for the data stream that the peer opens, with how many of its first bytes identify it.
    listener: Option<StreamListener>,
    opening_len: fn(&[u8]) -> usize,
    /// The listener after its stream has arrived: the stream's socket shares the port, and while the peer's address is
    /// registered, nothing from there is a new stream.
    listened: Option<(StreamListener, Option<Place>)>,
    state: State,
    /// Whether the peer has sent anything over the control connection.
    was_heard: bool,
    /// Server: the port that its client asked about.
    port: Option<DescribedPort>,
    /// Server: what may refuse a test.
    gate: Option<TestGate>,
    core_load: CoreLoad,
    /// Utilisation of each core in the last interval.
    cores: Vec<Ratio>,
}

/// Asked before a test is prepared; it may refuse it.
pub type TestGate = Box<dyn FnMut(&TestSpec) -> std::result::Result<(), Refusal> + Send>;

/// Server of a shared port: source of its data streams.
enum Arrivals {
    /// They have arrived.
    Here(DataStreams),
    /// They do not arrive at a shared port, or have been taken.
    None,
    /// Through the demultiplexer, with the test's registration.
    Through(DemuxHandle),
}

/// Events for the owner of a driver.
#[derive(Debug)]
pub enum SessionEvent {
    /// Event of the peer.
    Peer(PeerEvent),
    /// The client has shown who it is, and waits for [`Driver::admitted`] (server).
    Admit,
    /// A test begins (server).
    TestBegan(Box<TestSpec>),
    /// This end's own reports of the test.
    OwnReports(Vec<EndpointReport>),
    /// L4 payload that this end's reports say it moved, where these go to the client only (server).
    Moved {
        /// All that it sent.
        sent: ByteCount,
        /// All that it received.
        received: ByteCount,
    },
    /// The test is complete.
    TestOver,
    /// The test was refused, could not be made, or was aborted.
    TestEnded {
        /// Which end it ended by.
        cause: StopCause,
        /// Kind of reason.
        code: RefusalCode,
        /// The reason.
        reason: String,
    },
    /// The session is over.
    Closed,
}

impl Driver {
    /// Drives the client's `session` over `line`.
    pub fn client(
        line: Line,
        session: Box<dyn Session>,
        observer: Observer,
        timeout: Duration,
    ) -> Self {
        let mut driver = Self::server(line, session, observer, timeout);
        driver.role = Role::Client;
        driver
    }

    /// Adds a peer that may open data streams, identified by their first bytes.
    #[must_use]
    pub fn told_by(mut self, demux: Demux) -> Self {
        if let Demux::EachATest { opening_len } = demux {
            self.opening_len = opening_len;
        }
        self
    }

    /// Drives the server's `session` over `line`.
    pub fn server(
        line: Line,
        session: Box<dyn Session>,
        observer: Observer,
        timeout: Duration,
    ) -> Self {
        Self {
            line,
            session,
            role: Role::Server,
            timeout,
            observer,
            arrivals: Arrivals::None,
            listener: None,
            opening_len: |_| 0,
            listened: None,
            state: State::IDLE,
            was_heard: false,
            port: None,
            gate: None,
            core_load: CoreLoad::default(),
            cores: Vec::new(),
        }
    }

    /// Server: sets what may refuse a test before anything is opened for it.
    #[must_use]
    pub fn behind(mut self, gate: TestGate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Ends the test under way, and tells the peer why.
    pub fn end_test(&mut self, code: RefusalCode, reason: String) -> Result<()> {
        self.tell(Input::End(Ending::Test { code, reason }))
    }

    /// Server of a shared port: sets the registration of its control connection.
    pub fn admit(&mut self, handle: DemuxHandle) -> Result<()> {
        if let Some(cookie) = handle.cookie() {
            self.tell(Input::Bytes(cookie))?;
        }
        self.arrivals = Arrivals::Through(handle);
        Ok(())
    }

    /// Takes a data stream that begins with `bytes`, of a protocol without control connection or for a client that
    /// listened for it.
    pub fn host(&mut self, data_streams: DataStreams, bytes: &[u8]) -> Result<()> {
        let transport = data_streams.transport();
        self.arrivals = Arrivals::Here(data_streams);
        self.tell(Input::Stream(StreamEvent::Opened { transport, bytes }))
    }

    /// Client: begins a test.
    pub fn begin(&mut self, spec: &TestSpec) -> Result<()> {
        let kept = self.state.end();
        let spec = spec.clone();
        let asked = Input::Begin(Box::new(spec.clone()));
        self.state = State::Asked { spec, kept };
        self.tell(asked)
    }

    /// Client: has the peer make a test with another server.
    pub fn delegate(&mut self, delegation: Delegation) -> Result<()> {
        self.tell(Input::Delegate(Box::new(delegation)))
    }

    /// Client: asks for a lease on the server's host.
    pub fn lease(&mut self, request: LeaseRequest) -> Result<()> {
        self.tell(Input::Lease(request))
    }

    /// Server: decides on the lease that the client asked for.
    pub fn leased(&mut self, decision: std::result::Result<LeaseGrant, Refusal>) -> Result<()> {
        self.tell(Input::Leased(decision))
    }

    /// Server: whether the client has a place; a refusal is told to it, and ends the session.
    pub fn admitted(&mut self, place: std::result::Result<(), Refusal>) -> Result<()> {
        self.tell(Input::Admitted(place))
    }

    /// Server: tells what came of the test that the client delegated.
    pub fn delegated(
        &mut self,
        outcome: std::result::Result<Box<DelegatedTest>, Refusal>,
    ) -> Result<()> {
        self.tell(Input::Delegated(outcome))
    }

    /// Ends the traffic of the test under way; its counts are kept.
    pub fn end_traffic(&mut self) -> Result<()> {
        self.tell(Input::End(Ending::Traffic))
    }

    /// Ends the session politely; errors of the peer no longer matter.
    pub fn end_session(&mut self) {
        let _ = self.tell(Input::End(Ending::Session));
        while let Some(action) = self.session.poll_action() {
            if let Action::Send(bytes) = action {
                let _ = self.line.write(&bytes);
            }
        }
        // A peer that waits for the end of the connection should not have to wait for this driver's drop.
        self.line.half_close();
    }

    /// Whether the peer has sent anything over the control connection.
    pub const fn was_heard(&self) -> bool {
        self.was_heard
    }

    /// Whether a test is under way, from the opening of its data streams on.
    pub const fn has_test(&self) -> bool {
        self.state.test().is_some()
    }

    /// One turn: carries out the session's actions, or waits a moment for an event.
    pub fn turn(&mut self) -> Result<Option<SessionEvent>> {
        if let Some(event) = self.carry_out_all()? {
            return Ok(Some(event));
        }
        self.attend_arrivals()?;
        if let Some(event) = self.attend_traffic()? {
            return Ok(Some(event));
        }
        self.attend_listener()?;
        // Carry out new actions at once: the peer may wait for them.
        if let Some(event) = self.carry_out_all()? {
            return Ok(Some(event));
        }
        self.read()?;
        Ok(None)
    }

    /// Carries out the session's actions, up to the first event for the owner.
    fn carry_out_all(&mut self) -> Result<Option<SessionEvent>> {
        while let Some(action) = self.session.poll_action() {
            if let Some(event) = self.carry_out(action)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn tell(&mut self, input: Input<'_>) -> Result<()> {
        Ok(self.session.handle(MonoClock.now(), input)?)
    }

    /// Aborts the test because of a local error.
    fn abort(&mut self, code: RefusalCode, error: impl Into<SessionError>) -> Result<()> {
        let reason = error.into().words();
        self.tell(Input::End(Ending::Test { code, reason }))
    }

    /// Refuses the requested test.
    fn refuse(&mut self, code: RefusalCode, error: impl Into<SessionError>) -> Result<()> {
        let message = error.into().words();
        self.tell(Input::Prepared(Err(Refusal { code, message })))
    }

    fn carry_out(&mut self, action: Action) -> Result<Option<SessionEvent>> {
        match action {
            Action::Send(bytes) => self.line.write(&bytes)?,
            Action::Admit => return Ok(Some(SessionEvent::Admit)),
            Action::Peer(event) => return Ok(Some(SessionEvent::Peer(event))),
            Action::Describe(request) => self.answer_description(*request)?,
            Action::Prepare { spec, format } => {
                let gate = self.gate.as_mut();
                if let Some(Err(refusal)) = gate.map(|gate| gate(spec.as_ref())) {
                    self.tell(Input::Prepared(Err(refusal)))?;
                } else {
                    return self.prepare(*spec, &format);
                }
            }
            Action::Listen { transport, port } => self.listen(transport, port)?,
            Action::OpenStreams { target, format } => self.open_streams(target, &format)?,
            Action::Start(side) => self.start(side)?,
            Action::Stream(order) => self.order(order)?,
            Action::StopSenders => {
                if let Some(test) = self.state.test() {
                    test.endpoints.stop_senders();
                }
            }
            Action::PeerFinished { sent } => {
                if let Some(test) = self.state.test_mut() {
                    test.endpoints.drain(&sent);
                }
            }
            Action::Stop {
                cause,
                code,
                reason,
            } => {
                self.clear();
                self.tell(Input::Stopped)?;
                return Ok(Some(SessionEvent::TestEnded {
                    cause,
                    code,
                    reason,
                }));
            }
            Action::TestOver(end) => return Ok(self.test_over(end)),
            Action::HalfClose => self.line.half_close(),
            Action::Closed => {
                self.clear();
                return Ok(Some(SessionEvent::Closed));
            }
        }
        Ok(None)
    }

    fn test_over(&mut self, end: TestEnd) -> Option<SessionEvent> {
        match end {
            // The cause of the abort has been reported already.
            TestEnd::Aborted => None,
            TestEnd::Complete => {
                let kept = self
                    .state
                    .test_mut()
                    .map(|test| test.endpoints.take_streams());
                self.clear();
                if let Some(kept) = kept {
                    self.state = State::Idle { kept };
                }
                Some(SessionEvent::TestOver)
            }
            TestEnd::Impossible(refusal) => Some(self.not_made(StopCause::Local, refusal)),
            TestEnd::Refused(refusal) => {
                let cause = match self.role {
                    Role::Client => StopCause::Peer,
                    Role::Server => StopCause::Local,
                };
                Some(self.not_made(cause, refusal))
            }
        }
    }

    /// The test that was wanted is not made.
    fn not_made(&mut self, cause: StopCause, refusal: Refusal) -> SessionEvent {
        self.clear();
        SessionEvent::TestEnded {
            cause,
            code: refusal.code,
            reason: refusal.message,
        }
    }

    /// Writes everything that the session has queued.
    fn flush(&mut self) -> Result<()> {
        while let Some(action) = self.session.poll_action() {
            self.carry_out(action)?;
        }
        Ok(())
    }

    /// Drops the test, if there is one, and stops what it has started.
    fn clear(&mut self) {
        let kept = self.state.end();
        (self.listener, self.listened) = (None, None);
        self.state = State::Idle { kept };
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.clear();
    }
}
