//! Drives one control session: the same loop at both ends.

use crate::demux::DemuxHandle;
use crate::endpoints::{DataStreams, Endpoints, sides};
use crate::line::{Heard, Line};
use anyhow::{Context as _, Result, bail};
use linerate_engine::EngineError;
use linerate_engine::Role;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Side, TestSpec, Transport, WaitMode};
use linerate_model::{ByteCount, Clock as _, MonoInstant, PacketCount};
use linerate_observe::Observer;
use linerate_peers::{
    Action, Arrival, Grant, Input, PeerHello, Progress, RefusalCode, Session, StreamFormat,
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

/// How long it waits while the traffic spins. On a core that it shares with this thread every wake-up holds up two
/// or three round trips, and a 99th percentile rests on ten in a thousand.
const SPIN_WAIT: Duration = Duration::from_millis(500);

/// How long the streams of a test at a shared port may take: a client with many of them over a long path
/// opens one per round trip. The client's word on the control connection ends the waiting sooner.
const STREAMS_LIMIT: Duration = Duration::from_secs(25);

/// What an end does beside the protocol.
pub struct Driver {
    line: Line,
    session: Box<dyn Session>,
    timeout: Duration,
    observer: Observer,
    spec: Option<TestSpec>,
    endpoints: Option<Endpoints>,
    reported: bool,
    next_progress: Option<MonoInstant>,
    arrivals: Arrivals,
    /// Client: the streams of the last test, for the next one.
    kept: Option<DataStreams>,
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

/// What the owner of a driver should know.
#[derive(Debug)]
pub enum News {
    /// The peer is what it should be.
    Hello(Box<PeerHello>),
    /// A test begins (server).
    TestBegan,
    /// This end's own reports of the test.
    OwnReports(Vec<EndpointReport>),
    /// The peer's reports of the test (client).
    PeerReports(Vec<EndpointReport>),
    /// What the peer printed of the test (client).
    PeerOutput(String),
    /// What the peer has counted so far (client).
    PeerProgress(Progress),
    /// The peer wants this test made towards it, at this port (server).
    CallBack {
        /// Where the peer listens.
        port: u16,
        /// The test.
        spec: Box<TestSpec>,
    },
    /// The test is complete.
    TestOver,
    /// The test will not be made, or was ended early.
    TestEnded {
        /// Why, for programs.
        code: RefusalCode,
        /// Why, for people.
        reason: String,
    },
    /// The session is over.
    Closed,
}

impl Driver {
    /// Drives `session` over `line`.
    pub const fn new(
        line: Line,
        session: Box<dyn Session>,
        observer: Observer,
        timeout: Duration,
    ) -> Self {
        Self {
            line,
            session,
            timeout,
            observer,
            spec: None,
            endpoints: None,
            reported: false,
            next_progress: None,
            arrivals: Arrivals::None,
            kept: None,
        }
    }

    /// Server of a shared port: its control connection came with this.
    pub fn admit(&mut self, handle: DemuxHandle) -> Result<()> {
        self.tell(Input::Bytes(handle.cookie()))?;
        self.arrivals = Arrivals::Through(handle);
        Ok(())
    }

    /// Server of a protocol without control connection: this data stream came, and it begins with `bytes`.
    pub fn host(&mut self, data_streams: DataStreams, bytes: &[u8]) -> Result<()> {
        let transport = data_streams.transport();
        self.arrivals = Arrivals::Here(data_streams);
        self.tell(Input::StreamOpened { transport, bytes })
    }

    /// Client: begins a test.
    pub fn begin(&mut self, spec: &TestSpec) -> Result<()> {
        self.spec = Some(spec.clone());
        self.tell(Input::Begin(Box::new(spec.clone())))
    }

    /// Ends the traffic of the test under way; what was counted is kept.
    pub fn end_traffic(&mut self) -> Result<()> {
        self.tell(Input::EndTraffic)
    }

    /// Says goodbye; what the peer thinks of it no longer matters.
    pub fn bye(&mut self) {
        let _ = self.tell(Input::Bye);
        while let Some(action) = self.session.poll_action() {
            if let Action::Send(bytes) = action {
                let _ = self.line.write(&bytes);
            }
        }
        // One that waits for the end of the connection shall not wait for this driver's.
        self.line.half_close();
    }

    /// What this end has counted so far in the test under way.
    pub fn progress(&self) -> Progress {
        self.endpoints
            .as_ref()
            .map_or_else(Progress::default, |endpoints| {
                let own = endpoints.progress();
                Progress {
                    elapsed: own.elapsed,
                    bytes: ByteCount::new(own.bytes),
                    packets: PacketCount::new(own.packets),
                }
            })
    }

    /// One turn: carries out what the session wants, or waits a moment for something to happen.
    pub fn turn(&mut self) -> Result<Option<News>> {
        while let Some(action) = self.session.poll_action() {
            if let Some(news) = self.carry_out(action)? {
                return Ok(Some(news));
            }
        }
        if let Some(news) = self.attend_traffic()? {
            return Ok(Some(news));
        }
        self.read()?;
        Ok(None)
    }

    fn tell(&mut self, input: Input<'_>) -> Result<()> {
        Ok(self.session.handle(MonoClock.now(), input)?)
    }

    fn carry_out(&mut self, action: Action) -> Result<Option<News>> {
        match action {
            Action::Send(bytes) => {
                self.line.write(&bytes)?;
                Ok(None)
            }
            Action::SendDatagram { stream, bytes } => {
                if let Some(endpoints) = &self.endpoints {
                    endpoints.send_datagram(stream, bytes);
                }
                Ok(None)
            }
            Action::PeerHello(hello) => Ok(Some(News::Hello(hello))),
            Action::Prepare { spec, format } => self.prepare(*spec, &format),
            Action::OpenStreams { ports, format } => self.open_streams(&ports, &format),
            Action::ReuseStreams { format } => self.reuse_streams(&format),
            Action::Grant(grant) => self.grant(grant),
            Action::StartReceivers => self.start(Side::Receiver),
            Action::StartSenders => self.start(Side::Sender),
            Action::StopSenders => {
                if let Some(endpoints) = &self.endpoints {
                    endpoints.stop_senders();
                }
                Ok(None)
            }
            Action::PeerProgress(progress) => Ok(Some(News::PeerProgress(progress))),
            Action::PeerFinished { sent } => {
                if let Some(endpoints) = &mut self.endpoints {
                    endpoints.drain(&sent);
                }
                Ok(None)
            }
            Action::CallBack { port, spec } => Ok(Some(News::CallBack { port, spec })),
            Action::PeerReport(reports) => Ok(Some(News::PeerReports(reports))),
            Action::PeerOutput(text) => Ok(Some(News::PeerOutput(text))),
            Action::TestOver => {
                self.kept = self.endpoints.as_mut().and_then(Endpoints::take_streams);
                self.clear();
                Ok(Some(News::TestOver))
            }
            Action::Refused { code, message } => {
                self.clear();
                Ok(Some(News::TestEnded {
                    code,
                    reason: message,
                }))
            }
            Action::Stop { code, reason, .. } => self.stop(code, reason),
            Action::TestAborted => Ok(None),
            Action::HalfClose => {
                self.line.half_close();
                Ok(None)
            }
            Action::Closed => {
                self.clear();
                Ok(Some(News::Closed))
            }
        }
    }

    /// Opens the sockets of a test. What cannot be done is told to the client, not fatal.
    fn prepare(&mut self, spec: TestSpec, format: &Arc<dyn StreamFormat>) -> Result<Option<News>> {
        if format.arrival() == Arrival::SharedPort {
            return self.receive(spec, format);
        }
        let local = self.line.local()?;
        // A client that makes ready has begun this test itself.
        let role = match self.spec {
            Some(_) => Role::Client,
            None => Role::Server,
        };
        match Endpoints::listen(role, &spec, format, local) {
            Ok(endpoints) => {
                let ports = endpoints.ports();
                self.endpoints = Some(endpoints);
                let is_told =
                    format.arrival() == Arrival::ToldPorts && spec.transport() == Transport::Udp;
                self.spec = Some(spec);
                self.tell(Input::Prepared { ports })?;
                if is_told {
                    return Ok(None);
                }
                self.flush()?;
                self.await_streams()
            }
            Err(error) => {
                let message = format!("{error:#}");
                self.tell(Input::Refused {
                    code: RefusalCode::Unsupported,
                    message,
                })?;
                Ok(None)
            }
        }
    }

    /// Server of a shared port: takes the streams that show what the client's control connection showed.
    fn receive(&mut self, spec: TestSpec, format: &Arc<dyn StreamFormat>) -> Result<Option<News>> {
        let data_streams = match std::mem::replace(&mut self.arrivals, Arrivals::None) {
            Arrivals::Here(data_streams) => {
                let ports = Vec::new();
                self.tell(Input::Prepared { ports })?;
                Ok(Some(data_streams))
            }
            Arrivals::Through(handle) => {
                let data_streams = self.wait_for_guests(&handle, &spec)?;
                self.arrivals = Arrivals::Through(handle);
                data_streams
            }
            Arrivals::None => bail!("bug in linerate: its streams came to no shared port"),
        };
        let endpoints = match data_streams {
            Ok(None) => return Ok(None),
            Ok(Some(data_streams)) => Endpoints::adopt(Role::Server, &spec, format, data_streams),
            Err(error) => Err(error),
        };
        match endpoints {
            Ok(endpoints) => {
                self.endpoints = Some(endpoints);
                self.spec = Some(spec);
                self.tell(Input::Connected)?;
                Ok(Some(News::TestBegan))
            }
            Err(error) => {
                let (code, reason) = (RefusalCode::Unsupported, format!("{error:#}"));
                self.tell(Input::Abort { code, reason })?;
                Ok(None)
            }
        }
    }

    /// The streams that come through the demux; none if there will be none, which has been told.
    fn wait_for_guests(
        &mut self,
        handle: &DemuxHandle,
        spec: &TestSpec,
    ) -> Result<Result<Option<DataStreams>>> {
        let sides = sides(Role::Server, spec.direction).len();
        let count = usize::from(spec.streams) * sides;
        if let Err(error) = handle.expect(spec.transport(), count, STREAMS_LIMIT) {
            let message = format!("{error:#}");
            let code = RefusalCode::Busy;
            self.tell(Input::Refused { code, message })?;
            return Ok(Ok(None));
        }
        let ports = Vec::new();
        self.tell(Input::Prepared { ports })?;
        self.flush()?;
        Ok(handle.wait(self.line.connection()?, STREAMS_LIMIT))
    }

    /// Server: the client connects while we wait here; it says so on the control connection afterwards.
    fn await_streams(&mut self) -> Result<Option<News>> {
        let from = self.line.remote()?.ip();
        let Some(endpoints) = &mut self.endpoints else {
            return Ok(None);
        };
        match endpoints.await_peer(from, self.timeout / 2) {
            Ok(()) => {
                self.tell(Input::Connected)?;
                Ok(Some(News::TestBegan))
            }
            Err(error) => {
                self.tell(Input::Abort {
                    code: RefusalCode::Timeout,
                    reason: format!("{error:#}"),
                })?;
                Ok(None)
            }
        }
    }

    fn open_streams(
        &mut self,
        ports: &[(Side, Vec<u16>)],
        format: &Arc<dyn StreamFormat>,
    ) -> Result<Option<News>> {
        let remote = self.line.remote()?;
        let spec = self
            .spec
            .clone()
            .context("invariant: streams are opened for a test")?;
        let opened = match self.endpoints.take() {
            // Bound already: this end has told its ports first.
            Some(mut endpoints) => endpoints.join(remote, ports).map(|()| endpoints),
            None => Endpoints::connect(&spec, format, remote, ports, self.timeout / 2),
        };
        self.opened(opened)
    }

    /// Client: the streams of the test before go on.
    fn reuse_streams(&mut self, format: &Arc<dyn StreamFormat>) -> Result<Option<News>> {
        let spec = self
            .spec
            .clone()
            .context("invariant: streams are opened for a test")?;
        let streams = self.kept.take().unwrap_or_default();
        self.opened(Endpoints::adopt(Role::Client, &spec, format, streams))
    }

    /// Tells whether the streams are open.
    fn opened(&mut self, opened: Result<Endpoints>) -> Result<Option<News>> {
        match opened {
            Ok(endpoints) => {
                self.endpoints = Some(endpoints);
                self.tell(Input::Connected)?;
            }
            Err(error) => {
                let (code, reason) = (cause(&error), format!("{error:#}"));
                self.tell(Input::Abort { code, reason })?;
            }
        }
        Ok(None)
    }

    fn start(&mut self, side: Side) -> Result<Option<News>> {
        let Some(endpoints) = &mut self.endpoints else {
            return Ok(None);
        };
        if let Err(error) = endpoints.start(side, &self.observer) {
            let (code, reason) = (cause(&error), format!("{error:#}"));
            self.tell(Input::Abort { code, reason })?;
        }
        self.next_progress = self
            .spec
            .as_ref()
            .map(|spec| MonoClock.now().after(spec.interval));
        Ok(None)
    }

    fn grant(&mut self, grant: Grant) -> Result<Option<News>> {
        let is_taken = self.endpoints.as_ref().is_none_or(|e| e.grant(grant));
        if !is_taken {
            let reason = "it announced more than a thousand rounds ahead".to_owned();
            let code = RefusalCode::Protocol;
            self.tell(Input::Abort { code, reason })?;
        }
        Ok(None)
    }

    fn stop(&mut self, code: RefusalCode, reason: String) -> Result<Option<News>> {
        self.clear();
        self.tell(Input::Stopped)?;
        Ok(Some(News::TestEnded { code, reason }))
    }

    /// Looks after this end's traffic: finished senders, drained receivers, progress.
    fn attend_traffic(&mut self) -> Result<Option<News>> {
        let Some(endpoints) = &mut self.endpoints else {
            return Ok(None);
        };
        if self.next_progress.is_none() {
            return Ok(None);
        }
        if self.line.is_absent() {
            // What a control connection would tell, the data streams tell.
            if let Some(stream) = endpoints.newly_heard() {
                self.tell(Input::Heard { stream })?;
                return Ok(None);
            }
            if let Some((stream, bytes)) = endpoints.datagram() {
                let bytes = &bytes;
                self.tell(Input::Datagram { stream, bytes })?;
                return Ok(None);
            }
        }
        if self.reported {
            return Ok(None);
        }
        endpoints.tend();
        let spent = endpoints.newly_spent();
        if spent > 0 {
            for _ in 0..spent {
                self.tell(Input::Spent)?;
            }
            return Ok(None);
        }
        if let Some(sent) = endpoints.newly_sent() {
            self.tell(Input::Finished { sent })?;
            return Ok(None);
        }
        if let Some(reports) = endpoints.reports(&self.observer) {
            self.reported = true;
            self.tell(Input::Reports(reports.clone()))?;
            return Ok(Some(News::OwnReports(reports)));
        }
        self.tell_progress()?;
        Ok(None)
    }

    /// Progress about once per interval.
    fn tell_progress(&mut self) -> Result<()> {
        let now = MonoClock.now();
        let due = self.next_progress.is_some_and(|due| now >= due);
        if due {
            let interval = self.spec.as_ref().map_or(IDLE_WAIT, |spec| spec.interval);
            self.next_progress = Some(now.after(interval));
            let progress = self.progress();
            self.tell(Input::Progress(progress))?;
        }
        Ok(())
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
        let endpoints = self.endpoints.as_ref();
        let mut beside = endpoints.map_or_else(Vec::new, Endpoints::bells);
        if let (true, Some(endpoints)) = (self.line.is_absent(), endpoints) {
            beside.extend(endpoints.quiet_sockets());
        }
        let left = |due: MonoInstant| due.saturating_since(MonoClock.now());
        let progress = self.next_progress.filter(|_| !self.reported);
        let dues = [self.session.deadline(), progress].into_iter().flatten();
        // Whatever is due is done by the next turn: one that is not must not spin.
        let wait = dues
            .map(|due| left(due).max(Duration::from_millis(1)))
            .min();
        let patience = self.patience();
        let wait = wait.map_or(patience, |wait| wait.min(patience));
        match self.line.read(&mut buffer, wait, &beside)? {
            Heard::Bytes(length) => self.tell(Input::Bytes(&buffer[..length])),
            Heard::End => self.tell(Input::Eof),
            Heard::Nothing => {
                let deadline = self.session.deadline();
                if deadline.is_some_and(|deadline| MonoClock.now() >= deadline) {
                    self.tell(Input::Timeout)?;
                }
                Ok(())
            }
        }
    }

    /// How long a read may wait if nothing is due before.
    fn patience(&self) -> Duration {
        let busy = |endpoints: &Endpoints| self.line.is_absent() || endpoints.is_sampling();
        match &self.endpoints {
            Some(endpoints) if self.next_progress.is_some() && busy(endpoints) => BUSY_WAIT,
            Some(_) if self.spins() => SPIN_WAIT,
            _ => IDLE_WAIT,
        }
    }

    fn spins(&self) -> bool {
        let spec = self.spec.as_ref();
        spec.is_some_and(|spec| spec.wait == WaitMode::Spin)
    }

    fn clear(&mut self) {
        if let Some(mut endpoints) = self.endpoints.take() {
            endpoints.stop();
        }
        self.spec = None;
        self.reported = false;
        self.next_progress = None;
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Whether this end lacks something for the test, or the cause is another.
fn cause(error: &anyhow::Error) -> RefusalCode {
    match error.downcast_ref() {
        Some(EngineError::Host { .. } | EngineError::Plan { .. }) => RefusalCode::Unsupported,
        _ => RefusalCode::Internal,
    }
}
