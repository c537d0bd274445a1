//! Drives one control session over one TCP connection: the same loop at both ends.

use crate::door::Entry;
use crate::endpoints::{Endpoints, sides};
use anyhow::{Context as _, Result};
use linerate_engine::Role;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Side, TestSpec};
use linerate_model::{ByteCount, Clock as _, MonoInstant, PacketCount};
use linerate_observe::Observer;
use linerate_peers::{Action, Framing, Input, PeerHello, Progress, RefusalCode, Session};
use linerate_sys::clock::MonoClock;
use linerate_sys::random::random_u32;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How long a read waits while traffic runs: bounds how late the end of the sender is noticed.
const BUSY_WAIT: Duration = Duration::from_millis(5);
/// How long a read waits otherwise: bounds how late an interrupt is noticed.
const IDLE_WAIT: Duration = Duration::from_millis(100);

/// How long the streams of a test at a shared port may take: a client with many of them over a long path
/// opens one per round trip. The client's word on the control connection ends the waiting sooner.
const STREAMS_LIMIT: Duration = Duration::from_secs(25);

/// What an end does beside the protocol.
pub(crate) struct Driver {
    stream: TcpStream,
    session: Box<dyn Session>,
    timeout: Duration,
    observer: Observer,
    spec: Option<TestSpec>,
    endpoints: Option<Endpoints>,
    reported: bool,
    next_progress: Option<MonoInstant>,
    waits: Duration,
    /// This test's place at the port that it shares with others.
    entry: Option<Entry>,
}

/// What the owner of a driver should know.
#[derive(Debug)]
pub(crate) enum News {
    /// The far end is what it should be.
    Hello(Box<PeerHello>),
    /// A test begins (server).
    TestBegan,
    /// This end's own reports of the test.
    OwnReports(Vec<EndpointReport>),
    /// The far end's reports of the test (client).
    PeerReports(Vec<EndpointReport>),
    /// What the far end printed of the test (client).
    PeerOutput(String),
    /// What the far end has counted so far (client).
    PeerProgress(Progress),
    /// The test is complete.
    TestOver,
    /// The test will not be made, or was ended early.
    TestEnded { code: RefusalCode, reason: String },
    /// The session is over.
    Closed,
}

impl Driver {
    /// Drives `session` over `stream`.
    pub(crate) fn new(
        stream: TcpStream,
        session: Box<dyn Session>,
        observer: Observer,
        timeout: Duration,
    ) -> Result<Self> {
        stream.set_nodelay(true)?;
        linerate_sys::sockopt::set_network_control(&stream)?;
        stream.set_write_timeout(Some(timeout))?;
        let mut driver = Self {
            stream,
            session,
            timeout,
            observer,
            spec: None,
            endpoints: None,
            reported: false,
            next_progress: None,
            waits: Duration::ZERO,
            entry: None,
        };
        driver.wait_at_most(IDLE_WAIT)?;
        Ok(driver)
    }

    /// Server of a shared port: its control connection came with this.
    pub(crate) fn admit(&mut self, entry: Entry) -> Result<()> {
        self.tell(Input::Bytes(entry.cookie()))?;
        self.entry = Some(entry);
        Ok(())
    }

    /// Client: begins a test.
    pub(crate) fn begin(&mut self, spec: &TestSpec) -> Result<()> {
        self.spec = Some(spec.clone());
        self.tell(Input::Begin(Box::new(spec.clone())))
    }

    /// Ends the traffic of the test under way; what was counted is kept.
    pub(crate) fn end_traffic(&mut self) -> Result<()> {
        self.tell(Input::EndTraffic)
    }

    /// Says goodbye; what the far end thinks of it no longer matters.
    pub(crate) fn bye(&mut self) {
        let _ = self.tell(Input::Bye);
        while let Some(action) = self.session.poll_action() {
            if let Action::Send(bytes) = action {
                let _ = self.stream.write_all(&bytes);
            }
        }
    }

    /// What this end has counted so far in the test under way.
    pub(crate) fn progress(&self) -> Progress {
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
    pub(crate) fn turn(&mut self) -> Result<Option<News>> {
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
                self.send(&bytes)?;
                Ok(None)
            }
            Action::PeerHello(hello) => Ok(Some(News::Hello(hello))),
            Action::Prepare { spec, framing } => self.prepare(*spec, framing),
            Action::OpenStreams { ports, framing } => self.open_streams(&ports, framing),
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
            Action::PeerReport(reports) => Ok(Some(News::PeerReports(reports))),
            Action::PeerOutput(text) => Ok(Some(News::PeerOutput(text))),
            Action::TestOver => {
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
                // A connection that is gone has no half left to close.
                let _ = self.stream.shutdown(Shutdown::Write);
                Ok(None)
            }
            Action::Closed => {
                self.clear();
                Ok(Some(News::Closed))
            }
        }
    }

    /// Writes to the far end. One that has hung up may have said why: reading finds that, or the end.
    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        match self.stream.write_all(bytes) {
            Err(error) if is_hang_up(&error) => Ok(()),
            written => written.context("writing to the control connection"),
        }
    }

    /// Server: opens the sockets of a test. What cannot be done is told to the client, not fatal.
    fn prepare(&mut self, spec: TestSpec, framing: Option<Framing>) -> Result<Option<News>> {
        if let Some(framing) = framing.filter(Framing::shares_port) {
            return self.receive(spec, framing);
        }
        let token = random_u32()?;
        let framing = framing.unwrap_or(Framing::Native { token });
        let local = self.stream.local_addr()?;
        match Endpoints::listen(&spec, framing, local) {
            Ok(endpoints) => {
                let ports = endpoints.ports();
                self.endpoints = Some(endpoints);
                self.spec = Some(spec);
                self.tell(Input::Prepared { ports, token })?;
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
    fn receive(&mut self, spec: TestSpec, framing: Framing) -> Result<Option<News>> {
        let sides = sides(Role::Server, spec.direction).len();
        let count = usize::from(spec.streams) * sides;
        let entry = self
            .entry
            .take()
            .context("invariant: a client that says how streams begin came to a shared port")?;
        if let Err(error) = entry.expect(spec.transport, count, STREAMS_LIMIT) {
            let message = format!("{error:#}");
            let code = RefusalCode::Busy;
            self.tell(Input::Refused { code, message })?;
            return Ok(None);
        }
        let (ports, token) = (Vec::new(), 0);
        self.tell(Input::Prepared { ports, token })?;
        self.flush()?;
        let guests = entry.wait(&self.stream, STREAMS_LIMIT);
        self.entry = Some(entry);
        let endpoints = match guests {
            Ok(None) => return Ok(None),
            Ok(Some(guests)) => Endpoints::adopt(&spec, framing, guests),
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

    /// Server: the client connects while we wait here; it says so on the control connection afterwards.
    fn await_streams(&mut self) -> Result<Option<News>> {
        let from = self.stream.peer_addr()?.ip();
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
        framing: Framing,
    ) -> Result<Option<News>> {
        let remote: SocketAddr = self.stream.peer_addr()?;
        let spec = self
            .spec
            .clone()
            .context("invariant: streams are opened for a test")?;
        match Endpoints::connect(&spec, framing, remote, ports, self.timeout / 2) {
            Ok(endpoints) => {
                self.endpoints = Some(endpoints);
                self.tell(Input::Connected)?;
            }
            Err(error) => {
                self.tell(Input::Abort {
                    code: RefusalCode::Internal,
                    reason: format!("{error:#}"),
                })?;
            }
        }
        Ok(None)
    }

    fn start(&mut self, side: Side) -> Result<Option<News>> {
        let Some(endpoints) = &mut self.endpoints else {
            return Ok(None);
        };
        if let Err(error) = endpoints.start(side, &self.observer) {
            self.tell(Input::Abort {
                code: RefusalCode::Internal,
                reason: format!("{error:#}"),
            })?;
        }
        self.next_progress = self
            .spec
            .as_ref()
            .map(|spec| MonoClock.now().after(spec.interval));
        self.wait_at_most(BUSY_WAIT)?;
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
        if self.reported || self.next_progress.is_none() {
            return Ok(None);
        }
        endpoints.tend();
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
        match self.stream.read(&mut buffer) {
            Ok(0) => self.tell(Input::Eof)?,
            Ok(length) => self.tell(Input::Bytes(&buffer[..length]))?,
            Err(error) if is_patience(&error) => {
                if self
                    .session
                    .deadline()
                    .is_some_and(|deadline| MonoClock.now() >= deadline)
                {
                    self.tell(Input::Timeout)?;
                }
            }
            Err(error) if is_hang_up(&error) => self.tell(Input::Eof)?,
            Err(error) => return Err(error).context("reading from the control connection"),
        }
        Ok(())
    }

    fn wait_at_most(&mut self, wait: Duration) -> Result<()> {
        if self.waits != wait {
            self.stream.set_read_timeout(Some(wait))?;
            self.waits = wait;
        }
        Ok(())
    }

    fn clear(&mut self) {
        if let Some(mut endpoints) = self.endpoints.take() {
            endpoints.stop();
        }
        self.spec = None;
        self.reported = false;
        self.next_progress = None;
        // A connection that cannot change its patience is about to fail on its next read anyway.
        let _ = self.wait_at_most(IDLE_WAIT);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Errors that say that the far end has closed the connection.
fn is_hang_up(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
    )
}

/// Errors of a read that only mean "nothing yet".
fn is_patience(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}
