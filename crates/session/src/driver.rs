//! Drives one control session: the same loop at both ends.

use crate::demux::{AwaitedStreams, DemuxHandle};
use crate::endpoints::{DataStreams, Endpoints, sides};
use crate::error::{Result, SessionError};
use crate::flows::Place;
use crate::line::{Line, LineRead};
use crate::listener::StreamListener;
use crate::state::{State, Test};
use anyhow::anyhow;
use linerate_engine::Role;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Observe, Side, TestSpec, Transport, WaitMode};
use linerate_model::{ByteCount, Clock as _, MonoInstant, PacketCount, Ratio};
use linerate_observe::{CoreLoad, Observer};
use linerate_peers::{
    Action, Arrival, Demux, Ending, Grant, Input, PeerEvent, Progress, Refusal, RefusalCode,
    Session, StreamEvent, StreamFormat, StreamOrder, StreamTarget, TestEnd,
};
use linerate_sys::clock::MonoClock;
use std::sync::Arc;
use std::time::Duration;

/// How long a read waits while there is something to be seen that wakes nobody: the first bytes of a stream
/// without control connection, samples of a profile.
const BUSY_WAIT: Duration = Duration::from_millis(5);

/// How long a read waits otherwise: bounds how late an interrupt is noticed. A wake-up takes some 50 µs of a core
/// that may be the traffic's.
const IDLE_WAIT: Duration = Duration::from_millis(100);

/// How long after its deadline a session that hears something goes on: the rest of a message that keeps it may be
/// under way. A peer that never pauses does not keep it beyond this.
const HEARING_GRACE: Duration = Duration::from_secs(1);

/// How long it waits while the traffic spins. On a core that it shares with this thread every wake-up holds up two
/// or three round trips, and a 99th percentile rests on ten in a thousand.
const SPIN_WAIT: Duration = Duration::from_millis(500);

/// How long the streams of a test at a shared port may take: a client with many of them over a long path
/// opens one per round trip. The client's word on the control connection ends the waiting sooner.
const STREAMS_LIMIT: Duration = Duration::from_secs(25);

/// One end of a session: what it does beside the protocol.
pub struct Driver {
    line: Line,
    session: Box<dyn Session>,
    role: Role,
    timeout: Duration,
    observer: Observer,
    arrivals: Arrivals,
    /// Client: where the peer's data stream comes, and how many of its first bytes tell what it is.
    listener: Option<StreamListener>,
    opening_len: fn(&[u8]) -> usize,
    /// The same, once that has come: its socket shares the port, and while the peer's address is known, nothing that
    /// comes from there is a new stream.
    listened: Option<(StreamListener, Option<Place>)>,
    state: State,
    /// Whether the peer has said anything over the control connection.
    was_heard: bool,
    core_load: CoreLoad,
    /// How busy each core was in the last interval.
    cores: Vec<Ratio>,
}

/// Server of a port that many tests share: how its data streams come.
enum Arrivals {
    /// They are here.
    Here(DataStreams),
    /// They do not come to a shared port, or have been taken.
    None,
    /// Through the demux, at which this is the test's place.
    Through(DemuxHandle),
}

/// What became of waiting for data streams at a shared port.
enum Awaited {
    /// They are here.
    Streams(DataStreams),
    /// Not all came in time.
    Failed(SessionError),
    /// None will come, which the session knows or will hear from its client.
    Over,
}

/// What the owner of a driver should know.
#[derive(Debug)]
pub enum SessionEvent {
    /// Of the peer.
    Peer(PeerEvent),
    /// A test begins (server).
    TestBegan,
    /// This end's own reports of the test.
    OwnReports(Vec<EndpointReport>),
    /// The test is complete.
    TestOver,
    /// The test will not be made, or was ended early.
    TestEnded {
        /// What kind of reason.
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

    /// The same, with a peer that may open data streams, which are told by their beginning.
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
            core_load: CoreLoad::default(),
            cores: Vec::new(),
        }
    }

    /// Server of a shared port: its control connection came with this.
    pub fn admit(&mut self, handle: DemuxHandle) -> Result<()> {
        self.tell(Input::Bytes(handle.cookie()))?;
        self.arrivals = Arrivals::Through(handle);
        Ok(())
    }

    /// This data stream came, of a protocol without control connection or to a client that listened for it, and it begins with `bytes`.
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

    /// Ends the traffic of the test under way; what was counted is kept.
    pub fn end_traffic(&mut self) -> Result<()> {
        self.tell(Input::End(Ending::Traffic))
    }

    /// Says goodbye; what the peer thinks of it no longer matters.
    pub fn end_session(&mut self) {
        let _ = self.tell(Input::End(Ending::Session));
        while let Some(action) = self.session.poll_action() {
            if let Action::Send(bytes) = action {
                let _ = self.line.write(&bytes);
            }
        }
        // One that waits for the end of the connection shall not wait for this driver's.
        self.line.half_close();
    }

    /// Whether the peer has said anything over the control connection.
    pub const fn was_heard(&self) -> bool {
        self.was_heard
    }

    /// Whether a test is under way, from the opening of its data streams on.
    pub const fn has_test(&self) -> bool {
        self.state.test().is_some()
    }

    /// What this end has counted so far in the test under way.
    pub fn progress(&self) -> Progress {
        self.state.test().map_or_else(Progress::default, |test| {
            let own = test.endpoints.progress();
            let tcp = own.tcp.unwrap_or_default();
            Progress {
                elapsed: own.elapsed,
                bytes: ByteCount::new(own.bytes),
                packets: PacketCount::new(own.packets),
                missing: own.missing.map(PacketCount::new),
                cwnd: tcp.cwnd_bytes.map(ByteCount::new),
                srtt_ns: tcp.srtt_ns,
                retransmitted: tcp.retransmitted.map(PacketCount::new),
                busiest_core: self
                    .cores
                    .iter()
                    .copied()
                    .max_by(|a, b| a.get().total_cmp(&b.get())),
                cores: self.cores.clone(),
            }
        })
    }

    /// One turn: carries out what the session wants, or waits a moment for something to happen.
    pub fn turn(&mut self) -> Result<Option<SessionEvent>> {
        if let Some(event) = self.carry_out_all()? {
            return Ok(Some(event));
        }
        self.attend_arrivals()?;
        if let Some(event) = self.attend_traffic()? {
            return Ok(Some(event));
        }
        self.attend_listener()?;
        // What it wants because of what it was told now: the peer may wait for just that.
        if let Some(event) = self.carry_out_all()? {
            return Ok(Some(event));
        }
        self.read()?;
        Ok(None)
    }

    /// Carries out what the session wants, up to what the owner should know.
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

    /// Ends the test because of what failed here.
    fn abort(&mut self, code: RefusalCode, error: impl Into<SessionError>) -> Result<()> {
        let reason = error.into().words();
        self.tell(Input::End(Ending::Test { code, reason }))
    }

    /// Does not make the test that is asked for.
    fn refuse(&mut self, code: RefusalCode, error: impl Into<SessionError>) -> Result<()> {
        let message = error.into().words();
        self.tell(Input::Prepared(Err(Refusal { code, message })))
    }

    fn carry_out(&mut self, action: Action) -> Result<Option<SessionEvent>> {
        match action {
            Action::Send(bytes) => self.line.write(&bytes)?,
            Action::Peer(event) => return Ok(Some(SessionEvent::Peer(event))),
            Action::Prepare { spec, format } => return self.prepare(*spec, &format),
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
            Action::Stop { code, reason, .. } => {
                self.clear();
                self.tell(Input::Stopped)?;
                return Ok(Some(SessionEvent::TestEnded { code, reason }));
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
            // What stopped it has been told.
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
            TestEnd::Refused(Refusal { code, message }) => {
                self.clear();
                let reason = message;
                Some(SessionEvent::TestEnded { code, reason })
            }
        }
    }

    /// Waits for a data stream of the peer's.
    fn listen(&mut self, transport: Transport, port: u16) -> Result<()> {
        let opened = StreamListener::open(transport, self.line.local().ip(), port);
        match opened.and_then(|listener| Ok((listener.port()?, listener))) {
            Ok((port, listener)) => {
                self.listener = Some(listener);
                self.tell(Input::Prepared(Ok(vec![(Side::Receiver, vec![port])])))
            }
            Err(error) => self.refuse(RefusalCode::Unsupported, error),
        }
    }

    /// Takes the data stream of the peer's, if it has come.
    fn attend_listener(&mut self) -> Result<()> {
        let Some(listener) = &self.listener else {
            return Ok(());
        };
        let from = self.line.remote().ip();
        let Some(stream) = listener.stream(from, self.opening_len)? else {
            return Ok(());
        };
        let listener = self.listener.take();
        self.listened = listener.map(|listener| (listener, stream.place));
        self.host(stream.data_streams, &stream.bytes)
    }

    /// Opens the sockets of a test. What cannot be done is told to the client, not fatal.
    fn prepare(
        &mut self,
        spec: TestSpec,
        format: &Arc<dyn StreamFormat>,
    ) -> Result<Option<SessionEvent>> {
        let arrival = format.arrival();
        if arrival == Arrival::SharedPort {
            return self.receive(spec, format);
        }
        let endpoints = match Endpoints::listen(self.role, &spec, format, self.line.local()) {
            Ok(endpoints) => endpoints,
            Err(error) => {
                self.refuse(RefusalCode::Unsupported, error)?;
                return Ok(None);
            }
        };
        let is_told = arrival == Arrival::ToldPorts && spec.transport() == Transport::Udp;
        let ports = endpoints.ports();
        self.state = State::Open(Test { spec, endpoints });
        self.tell(Input::Prepared(Ok(ports)))?;
        if is_told {
            return Ok(None);
        }
        self.flush()?;
        self.await_streams()
    }

    /// Server of a shared port: takes the streams that show what the client's control connection showed.
    fn receive(
        &mut self,
        spec: TestSpec,
        format: &Arc<dyn StreamFormat>,
    ) -> Result<Option<SessionEvent>> {
        let endpoints = match self.await_arrivals(&spec)? {
            Awaited::Failed(error) => Err(error),
            Awaited::Over => return Ok(None),
            Awaited::Streams(streams) => Endpoints::adopt(self.role, &spec, format, streams),
        };
        match endpoints {
            Ok(endpoints) => {
                self.state = State::Open(Test { spec, endpoints });
                self.tell(Input::Connected)?;
                Ok(Some(SessionEvent::TestBegan))
            }
            Err(error) => {
                self.abort(RefusalCode::Unsupported, error)?;
                Ok(None)
            }
        }
    }

    /// The streams that come to a shared port.
    fn await_arrivals(&mut self, spec: &TestSpec) -> Result<Awaited> {
        match std::mem::replace(&mut self.arrivals, Arrivals::None) {
            Arrivals::Here(streams) => {
                self.tell(Input::Prepared(Ok(Vec::new())))?;
                Ok(Awaited::Streams(streams))
            }
            Arrivals::Through(handle) => {
                let awaited = self.await_demux(&handle, spec);
                self.arrivals = Arrivals::Through(handle);
                awaited
            }
            Arrivals::None => {
                Err(anyhow!("bug in linerate: its streams came to no shared port").into())
            }
        }
    }

    /// The streams that come through the demux.
    fn await_demux(&mut self, handle: &DemuxHandle, spec: &TestSpec) -> Result<Awaited> {
        let sides = sides(self.role, spec.direction).len();
        let count = usize::from(spec.streams) * sides;
        let wanted = AwaitedStreams {
            transport: spec.transport(),
            count,
        };
        if let Err(error) = handle.expect(wanted, self.line.connection()?, STREAMS_LIMIT) {
            self.refuse(RefusalCode::Busy, error)?;
            return Ok(Awaited::Over);
        }
        self.tell(Input::Prepared(Ok(Vec::new())))?;
        self.flush()?;
        Ok(match handle.wait(self.line.connection()?, STREAMS_LIMIT) {
            Ok(Some(streams)) => Awaited::Streams(streams),
            Ok(None) => Awaited::Over,
            Err(error) => Awaited::Failed(error.into()),
        })
    }

    /// Server: the client connects while we wait here; it says so on the control connection afterwards.
    fn await_streams(&mut self) -> Result<Option<SessionEvent>> {
        let from = self.line.remote().ip();
        let limit = self.timeout / 2;
        let State::Open(test) = &mut self.state else {
            return Ok(None);
        };
        let line = &self.line;
        match test.endpoints.await_peer(from, limit, &|| line.has_ended()) {
            Ok(()) => {
                self.tell(Input::Connected)?;
                Ok(Some(SessionEvent::TestBegan))
            }
            // Reading tells why.
            Err(_) if self.line.has_ended() => Ok(None),
            Err(error) => {
                self.abort(RefusalCode::Timeout, error)?;
                Ok(None)
            }
        }
    }

    /// Opens the data streams, and tells whether they are.
    fn open_streams(&mut self, target: StreamTarget, format: &Arc<dyn StreamFormat>) -> Result<()> {
        let remote = self.line.remote();
        let opened = match (std::mem::replace(&mut self.state, State::IDLE), target) {
            // Bound already: this end has told its ports first.
            (State::Open(mut test), StreamTarget::Ports(ports)) => {
                test.endpoints.join(remote, &ports).map(|()| test)
            }
            (State::Asked { spec, .. }, StreamTarget::Ports(ports)) => {
                Endpoints::connect(&spec, format, remote, &ports, self.timeout / 2)
                    .map(|endpoints| Test { spec, endpoints })
            }
            (State::Asked { spec, kept }, StreamTarget::SameStreams) => {
                Endpoints::adopt(Role::Client, &spec, format, kept)
                    .map(|endpoints| Test { spec, endpoints })
            }
            _ => return Err(anyhow!("bug in linerate: streams are opened for no test").into()),
        };
        match opened {
            Ok(test) => {
                self.state = State::Open(test);
                self.tell(Input::Connected)
            }
            Err(error) => self.abort(error.code(), error),
        }
    }

    /// Starts the traffic of one side; the first side begins the test's progress.
    fn start(&mut self, side: Side) -> Result<()> {
        let Some(test) = self.state.test_mut() else {
            return Ok(());
        };
        if let Err(error) = test.endpoints.start(side, &self.observer) {
            self.abort(error.code(), error)?;
        }
        self.state.run(MonoClock.now());
        // From here on: what the cores did before the test is none of it.
        (self.core_load, self.cores) = (CoreLoad::default(), Vec::new());
        self.look_at_cores();
        Ok(())
    }

    /// Notes how busy each core was since the last look, unless the test is to be disturbed by nothing.
    fn look_at_cores(&mut self) {
        let looks = self
            .state
            .test()
            .is_some_and(|test| test.spec.observe != Observe::None);
        if looks {
            self.cores = self.core_load.since_last(self.observer.scope());
        }
    }

    /// Does on the data streams what the session wants.
    fn order(&mut self, order: StreamOrder) -> Result<()> {
        let Some(test) = self.state.test() else {
            return Ok(());
        };
        match order {
            StreamOrder::Datagram { stream, bytes } => test.endpoints.send_datagram(stream, bytes),
            StreamOrder::Grant(grant) => return self.grant(grant),
        }
        Ok(())
    }

    fn grant(&mut self, grant: Grant) -> Result<()> {
        let is_taken = self
            .state
            .test()
            .is_none_or(|test| test.endpoints.grant(grant));
        if is_taken {
            return Ok(());
        }
        let error = anyhow!("it announced more than a thousand rounds ahead");
        self.abort(RefusalCode::Protocol, error)
    }

    /// Tells what comes on a data stream of which the session makes no test yet.
    fn attend_arrivals(&mut self) -> Result<()> {
        let Arrivals::Here(streams) = &mut self.arrivals else {
            return Ok(());
        };
        let Some((stream, bytes)) = streams.next_datagram() else {
            return Ok(());
        };
        let bytes = &bytes;
        self.tell(Input::Stream(StreamEvent::Datagram { stream, bytes }))
    }

    /// Looks after this end's traffic: what is said on its streams, finished senders, drained receivers, progress.
    fn attend_traffic(&mut self) -> Result<Option<SessionEvent>> {
        let is_running = matches!(self.state, State::Running { .. });
        if !is_running && !matches!(self.state, State::Reported(_)) {
            return Ok(None);
        }
        if !self.line.is_control() && self.attend_streams()? {
            return Ok(None);
        }
        let State::Running { test, .. } = &mut self.state else {
            return Ok(None);
        };
        let endpoints = &mut test.endpoints;
        endpoints.tend();
        let spent = endpoints.newly_spent();
        if spent > 0 {
            for _ in 0..spent {
                self.tell(Input::Stream(StreamEvent::GrantSpent))?;
            }
            return Ok(None);
        }
        if let Some(sent) = endpoints.newly_sent() {
            self.tell(Input::Finished { sent })?;
            return Ok(None);
        }
        if let Some(reports) = endpoints.reports(&self.observer) {
            self.state.report();
            if self.role == Role::Server && self.line.is_control() {
                // Its client gets them, and nobody here reads them: a report may be long.
                self.tell(Input::Reports(reports))?;
                return Ok(None);
            }
            self.tell(Input::Reports(reports.clone()))?;
            return Ok(Some(SessionEvent::OwnReports(reports)));
        }
        self.tell_progress()?;
        Ok(None)
    }

    /// What a control connection would tell, the data streams tell. Whether something was told.
    fn attend_streams(&mut self) -> Result<bool> {
        let Some(test) = self.state.test_mut() else {
            return Ok(false);
        };
        if let Some(stream) = test.endpoints.newly_heard() {
            self.tell(Input::Stream(StreamEvent::FirstData { stream }))?;
            return Ok(true);
        }
        if let Some((stream, bytes)) = test.endpoints.datagram() {
            let bytes = &bytes;
            self.tell(Input::Stream(StreamEvent::Datagram { stream, bytes }))?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Progress about once per interval.
    fn tell_progress(&mut self) -> Result<()> {
        let now = MonoClock.now();
        let State::Running {
            test,
            next_progress,
        } = &mut self.state
        else {
            return Ok(());
        };
        if now < *next_progress {
            return Ok(());
        }
        *next_progress = now.after(test.spec.interval);
        self.look_at_cores();
        let progress = self.progress();
        self.tell(Input::Progress(progress))
    }

    /// Writes everything that the session wants written now.
    fn flush(&mut self) -> Result<()> {
        while let Some(action) = self.session.poll_action() {
            self.carry_out(action)?;
        }
        Ok(())
    }

    /// Reads what has come, waiting a moment if nothing has; then lets the session see its deadline.
    fn read(&mut self) -> Result<()> {
        let mut buffer = [0; 16 * 1024];
        let endpoints = self.state.test().map(|test| &test.endpoints);
        let mut beside = endpoints.map_or_else(Vec::new, Endpoints::wakeup_fds);
        if let (false, Some(endpoints)) = (self.line.is_control(), endpoints) {
            beside.extend(endpoints.quiet_sockets());
        }
        if let Arrivals::Here(streams) = &self.arrivals {
            beside.extend(streams.datagram_sockets());
        }
        beside.extend(self.listener.as_ref().map(StreamListener::fd));
        let left = |due: MonoInstant| due.saturating_since(MonoClock.now());
        let dues = [self.session.deadline(), self.state.next_progress()];
        // Whatever is due is done by the next turn: one that is not must not spin.
        let dues = dues.into_iter().flatten();
        let wait = dues
            .map(|due| left(due).max(Duration::from_millis(1)))
            .min();
        let patience = self.patience();
        let wait = wait.map_or(patience, |wait| wait.min(patience));
        match self.line.read(&mut buffer, wait, &beside)? {
            LineRead::Bytes(length) => {
                self.was_heard = true;
                self.tell(Input::Bytes(&buffer[..length]))?;
                self.tell_overdue(HEARING_GRACE)
            }
            LineRead::End => self.tell(Input::Eof),
            LineRead::Nothing => self.tell_overdue(Duration::ZERO),
        }
    }

    /// Lets the session see that its deadline has passed by so much.
    fn tell_overdue(&mut self, by: Duration) -> Result<()> {
        let deadline = self.session.deadline();
        if deadline.is_some_and(|deadline| MonoClock.now() >= deadline.after(by)) {
            self.tell(Input::Timeout)?;
        }
        Ok(())
    }

    /// How long a read may wait if nothing is due before.
    fn patience(&self) -> Duration {
        let is_busy = |test: &Test| !self.line.is_control() || test.endpoints.is_sampling();
        match &self.state {
            State::Running { test, .. } | State::Reported(test) if is_busy(test) => BUSY_WAIT,
            State::Open(test) | State::Running { test, .. } | State::Reported(test)
                if test.spec.wait == WaitMode::Spin =>
            {
                SPIN_WAIT
            }
            _ => IDLE_WAIT,
        }
    }

    /// Drops the test, if there is one, and what it has started.
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
