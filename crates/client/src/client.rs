//! One session with a peer, in which tests run one after the other.

use crate::address::PeerAddress;
use crate::address::routes::{Reached, Started};
use crate::failures::{exit_code, is_closing, is_interruption, is_silence};
use crate::no_greeting::no_greeting;
use crate::outcome::{BrokenTest, TestOutcome, directions, left_alone};
use crate::pulse::Pulse;
use crate::target::Target;
use anyhow::{Result, anyhow};
use linerate_boards::{Greeting, HeldLink};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::facts::Facts;
use linerate_model::run::{BuildId, Host, HostRole, Instance, StartId};
use linerate_model::spec::{Direction, TestSpec};
use linerate_model::stack::StackReport;
use linerate_model::{Clock as _, MonoInstant};
use linerate_observe::{Observer, Scope};
use linerate_peers::{
    ClientConfig, Control, PeerEvent, PeerHello, ProtocolError, RefusalCode, StopCause, Tests,
};
use linerate_session::key::credential;
use linerate_session::login::{LoginAttempt, moment};
use linerate_session::{Driver, Line, SessionError, SessionEvent};
use linerate_stacks::RunningStack;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::ending;
use linerate_sys::random::random_bytes;
use std::net::{IpAddr, TcpStream};
use std::time::Duration;

/// How long to retry connecting after a test: iperf3 closes its port in between.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long to retry connecting before the first test: there may be no server at all.
const FIRST_CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// How long the user who ended a test waits for the peer's report of it. With what follows it stays below the time in
/// which the process must end ([`ending::GRACE`]).
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// What is said of a peer that did not answer within it.
const UNANSWERED: &str = "the peer did not answer it within 1 s";

/// Interval between connection attempts.
const CONNECT_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// A control connection to a peer; one per test, if its protocol requires that.
pub struct Client {
    driver: Driver,
    target: Target,
    /// Its last test.
    last: Option<TestSpec>,
    /// The last test was aborted, and the session with it.
    is_broken: bool,
    /// What was counted of the last test, if it broke off.
    broken: Option<BrokenTest>,
    /// Its host.
    remote: IpAddr,
    /// Its address, for messages.
    peer: String,
    hello: PeerHello,
    facts: Facts,
    /// The stack started for it, with the number of ended streams, those of both directions counted twice.
    stack: Option<(RunningStack, u64)>,
    /// Start id of that stack.
    started: Option<StartId>,
    /// Link element before its peer, removed after the session's end.
    link: Option<HeldLink>,
}

impl Client {
    /// Connects and performs the handshake; a stack is started first, and ends with the client, as a link element does.
    pub fn connect(target: &Target) -> Result<Self> {
        let link = target.hold_link()?;
        let Some(Started { mut running, peer }) = target.far.start(target.ip)? else {
            let mut client = Self::connect_to(target)?;
            client.link = link;
            return Ok(client);
        };
        let target = Target {
            far: peer,
            ..target.clone()
        };
        let mut client = match Self::connect_to(&target) {
            Ok(client) => client,
            Err(error) => {
                running.check()?;
                return Err(error);
            }
        };
        client.stack = Some((running, 0));
        client.started = Some(StartId::new(format!(
            "{:016x}",
            u64::from_ne_bytes(random_bytes()?)
        )));
        Ok(client)
    }

    fn connect_to(target: &Target) -> Result<Self> {
        let patience = match target.far.kind().about().tests {
            // It serves one client and ends: a user, or a loop, starts it again.
            Tests::Alike => target.timeout,
            Tests::Many => Duration::ZERO,
            // It may just have ended a test of another command, or of another cell of a study.
            Tests::One => FIRST_CONNECT_TIMEOUT,
        };
        Self::with_patience(target, patience, is_closing)
    }

    /// Connects and performs the handshake, retrying for some time while the error `may_pass`.
    fn with_patience(
        target: &Target,
        patience: Duration,
        may_pass: fn(&SessionError) -> bool,
    ) -> Result<Self> {
        let deadline = MonoClock.now().after(patience);
        loop {
            if ending::is_asked() {
                let message = if target.is_own {
                    "interrupted before the test began".to_owned()
                } else {
                    format!("interrupted before {} answered", target.far)
                };
                return Err(Failure::new(ExitCode::Other, message).into());
            }
            let error = match Self::open(target) {
                Ok(mut client) => match client.greet(client.target.first_answer, &mut || true) {
                    Ok(()) => return Ok(client),
                    Err(error) if !may_pass(&error) && !ending::is_asked() => {
                        return Err(client.failed(error).into());
                    }
                    Err(error) => client.failed(error).into(),
                },
                Err(error) => error,
            };
            if MonoClock.now() >= deadline && !ending::is_asked() {
                return Err(error);
            }
            sleep_until(MonoClock.now().after(CONNECT_RETRY_INTERVAL));
        }
    }

    /// Connects.
    fn open(target: &Target) -> Result<Self> {
        Self::over(target.far.route().reach(target)?, target)
    }

    /// A session over the line of `reached`.
    fn over(reached: Reached, target: &Target) -> Result<Self> {
        let Reached {
            line,
            key,
            patience,
            wire,
        } = reached;
        let mut target = target.clone();
        if patience > target.timeout {
            target.set_timeout(patience);
        }
        let local = line.local().ip();
        let remote = line.remote().ip();
        let observer = observer(&target, local, remote);
        let facts = observer.facts();
        let config = ClientConfig {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            timeout: target.timeout,
            first_answer: target.first_answer,
            credential: credential(key.as_ref())?,
            fence: target.fence,
            local,
            random: random_bytes()?,
            login: login_attempt(&target),
            far_output: target.far_output,
            remote_port: line.remote().port(),
            wire,
        };
        let kind = target.far.kind();
        let session = kind.client(config, MonoClock.now());
        let driver =
            Driver::client(line, session, observer, target.timeout).told_by(kind.about().demux);
        Ok(Self {
            driver,
            last: None,
            is_broken: false,
            broken: None,
            remote,
            peer: target.far.to_string(),
            target,
            hello: PeerHello::default(),
            facts,
            stack: None,
            started: None,
            link: None,
        })
    }

    /// How many tests of which kind one connection carries.
    pub fn tests(&self) -> Tests {
        self.target.far.kind().about().tests
    }

    /// Whether the peer is a tool other than linerate.
    pub fn is_foreign(&self) -> bool {
        self.target.far.kind().about().is_foreign
    }

    /// Whether the peer grants leases on its host: it has a key, and is no older linerate.
    pub const fn grants_leases(&self) -> bool {
        self.hello.limits.leases
    }

    /// The host that datagrams go to and come from.
    pub(crate) fn remote(&self) -> IpAddr {
        self.remote
    }

    /// Whether messages to and from the peer carry its clock.
    pub fn shows_clock(&self) -> bool {
        !self.is_foreign()
    }

    /// Caveats for all figures, as notes for the run: which host is emulated, and what the peer's protocol does not
    /// report.
    pub fn caveats(&self) -> Vec<String> {
        let hosts = [("this host", &self.facts), (&*self.peer, &self.hello.facts)];
        let emulated = hosts.iter().filter_map(|(host, facts)| {
            let what = facts.emulated.as_ref()?;
            Some(format!(
                "{host} is emulated ({what}): its rates, delays and CPU figures are the emulator's, not the board's"
            ))
        });
        let kind = self.target.far.kind();
        let spots = kind.about().blind_spots;
        let blind = (!spots.is_empty()).then(|| blind(kind.id(), spots));
        let deployed = self.target.far.deployment_note();
        emulated.chain(blind).chain(deployed).collect()
    }

    /// Reconnects for another test. The peer may still be busy with the end of the last one.
    fn reconnect(&mut self) -> Result<()> {
        self.driver.end_session();
        let patience = match self.tests() {
            Tests::Alike => self.target.timeout,
            Tests::Many | Tests::One => RECONNECT_TIMEOUT,
        };
        let known = Target {
            // It has answered before, so it may only be busy with the end of that test.
            first_answer: self.target.first_answer.max(self.target.timeout),
            ..self.target.clone()
        };
        let mut client = Self::with_patience(&known, patience, is_ending)?;
        std::mem::swap(&mut self.driver, &mut client.driver);
        Ok(())
    }

    /// Whether the connection cannot carry this test after its last one.
    fn is_used_up_for(&self, spec: &TestSpec) -> bool {
        let Some(last) = &self.last else { return false };
        match self.tests() {
            Tests::Alike => {
                let TestSpec {
                    stop,
                    warm_up,
                    interval,
                    observe,
                    ..
                } = *spec;
                let same = TestSpec {
                    stop,
                    warm_up,
                    interval,
                    observe,
                    ..last.clone().with_payload(spec.payload())
                };
                same != *spec
            }
            Tests::Many => false,
            Tests::One => true,
        }
    }

    /// Both hosts, with their facts.
    pub fn hosts(&self) -> Vec<Host> {
        let hostname = self.hello.facts.hostname.clone();
        let peer = self.target.peer_facts.as_ref();
        vec![
            Host {
                name: self.facts.hostname.clone(),
                facts: self.facts.clone(),
                ..Host::new(HostRole::Client)
            },
            Host {
                name: hostname.or_else(|| Some(self.peer.clone())),
                facts: peer.unwrap_or(&self.hello.facts).clone(),
                ..Host::new(HostRole::Server)
            },
        ]
    }

    /// Identity of the build and start of the peer's program; `None` where it does not report it.
    pub fn instance(&self) -> Option<Instance> {
        if let Some(start) = self.started.clone() {
            return Some(Instance { start, build: None });
        }
        let facts = &self.hello.facts;
        Some(Instance {
            start: StartId::new(facts.program_start.clone()?),
            build: facts.program_build.clone().map(BuildId::new),
        })
    }

    /// Runs one test. `pulse` is called many times a second and returns whether to go on.
    pub fn run(
        &mut self,
        spec: &TestSpec,
        pulse: &mut dyn FnMut(&Pulse) -> bool,
    ) -> Result<TestOutcome> {
        if self.is_broken || self.is_used_up_for(spec) {
            self.reconnect()?;
            self.is_broken = false;
        }
        self.last = Some(spec.clone());
        let result = self.run_inner(spec, pulse);
        match (&result, &mut self.stack) {
            (Err(_), stack) => {
                self.driver.end_session();
                self.is_broken = true;
                if let Some((stack, _)) = stack {
                    // If it has ended, that is the reason.
                    stack.check()?;
                }
            }
            (Ok(outcome), Some((_, ended))) if !outcome.stopped => {
                *ended += u64::from(spec.streams) * outcome.directions.len() as u64;
            }
            (Ok(_), _) => {}
        }
        result
    }

    /// Report of the stack started for this client; `None` if there is none.
    pub fn stack_report(&mut self) -> Result<Option<StackReport>> {
        let report = |(stack, ended): &mut (RunningStack, u64)| stack.report(*ended);
        Ok(self.stack.as_mut().map(report).transpose()?)
    }

    /// Keeps an idle connection alive.
    pub fn tend(&mut self) -> Result<()> {
        if self.tests() != Tests::Many || self.target.far.kind().about().control == Control::Absent
        {
            return Ok(());
        }
        match self.driver.turn().map_err(|error| self.failed(error))? {
            Some(SessionEvent::Closed) => {
                let message = format!(
                    "{} closed the control connection between two tests",
                    self.peer
                );
                Err(Failure::new(ExitCode::Peer, message).into())
            }
            _ => Ok(()),
        }
    }

    fn run_inner(
        &mut self,
        spec: &TestSpec,
        pulse: &mut dyn FnMut(&Pulse) -> bool,
    ) -> Result<TestOutcome> {
        self.driver
            .begin(spec)
            .map_err(|error| self.failed(error))?;
        let (mut own, mut theirs, mut far_output) = (Vec::new(), Vec::new(), None);
        let mut notes = Vec::new();
        let mut stopping = None;
        let mut peer = None;
        loop {
            let event = self.driver.turn();
            let is_ending = stopping.is_some() || ending::is_asked();
            // The peer's answer to the end that it was asked for.
            if is_ending && is_interruption(&event) {
                return Ok(TestOutcome::dropped());
            }
            match self.of_test(event) {
                // Whoever ended the test learns what it measured until then, not how its peer took that.
                Err(failure) if is_ending => {
                    self.is_broken = true;
                    own.extend(self.driver.halt());
                    return Ok(left_alone(spec.direction, own, theirs, &failure.message));
                }
                Err(failure) => {
                    let elapsed = self.driver.progress().elapsed;
                    own.extend(self.driver.halt());
                    self.broken = BrokenTest::new(spec.direction, own, theirs, elapsed);
                    return Err(failure.into());
                }
                Ok(Some(SessionEvent::OwnReports(reports))) => own = reports,
                Ok(Some(SessionEvent::Peer(PeerEvent::Report(reports)))) => {
                    theirs = reports;
                    let clocks = theirs.iter_mut().filter_map(|report| report.clock.as_mut());
                    clocks.for_each(linerate_observe::recognise_clock);
                }
                Ok(Some(SessionEvent::Peer(PeerEvent::Output(text)))) => far_output = Some(text),
                Ok(Some(SessionEvent::Peer(PeerEvent::Note(text)))) => notes.push(text),
                Ok(Some(SessionEvent::TestOver)) => {
                    return Ok(TestOutcome {
                        directions: directions(spec.direction, own, theirs),
                        far_output,
                        stopped: stopping.is_some(),
                        notes,
                    });
                }
                Ok(Some(SessionEvent::Peer(PeerEvent::Progress(progress)))) => {
                    peer = Some(progress);
                }
                Ok(_) => {}
            }
            let progress = self.driver.progress();
            let go_on = pulse(&Pulse {
                elapsed: progress.elapsed,
                bytes: progress.bytes.get(),
                own: progress,
                peer: peer.clone(),
                peer_receives: spec.direction == Direction::Forward,
            });
            if self.is_left(&mut stopping, go_on)? {
                own.extend(self.driver.halt());
                return Ok(left_alone(spec.direction, own, theirs, UNANSWERED));
            }
        }
    }

    /// What was counted of the last test, if it broke off while traffic ran; `None` the next time.
    pub const fn take_broken(&mut self) -> Option<BrokenTest> {
        self.broken.take()
    }

    /// Its session.
    pub(crate) const fn driver(&mut self) -> &mut Driver {
        &mut self.driver
    }

    /// An event of a test that goes on; an error where the peer will say no more of it.
    pub(crate) fn of_test(
        &self,
        event: Result<Option<SessionEvent>, SessionError>,
    ) -> Result<Option<SessionEvent>, Failure> {
        match event.map_err(|error| self.failed(error))? {
            Some(SessionEvent::TestEnded {
                cause,
                code,
                reason,
            }) => Err(self.not_made(cause, code, &reason)),
            Some(SessionEvent::Closed) => {
                let message = format!(
                    "{} closed the control connection in the middle of a test",
                    self.peer
                );
                Err(Failure::new(ExitCode::Peer, message))
            }
            event => Ok(event),
        }
    }

    /// Ends the traffic at the user's wish; whether the peer did not answer that until the deadline set then.
    fn is_left(&mut self, stopping: &mut Option<MonoInstant>, go_on: bool) -> Result<bool> {
        match stopping {
            None if !go_on => {
                *stopping = Some(MonoClock.now().after(STOP_TIMEOUT));
                self.driver.end_traffic()?;
            }
            Some(deadline) if MonoClock.now() >= *deadline => self.is_broken = true,
            _ => return Ok(false),
        }
        Ok(self.is_broken)
    }

    /// Waits for the peer's hello while `go_on` returns true; not for long if the peer sends nothing at all.
    fn greet(
        &mut self,
        first_answer: Duration,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), SessionError> {
        let deadline = MonoClock.now().after(first_answer);
        // A shell sends nothing before input, and may need it again.
        let answers_at_once = self.target.far.kind().about().control != Control::Shell;
        loop {
            let turned = self.driver.turn();
            let is_overdue = turned.as_ref().err().is_some_and(is_silence);
            if answers_at_once
                && !self.driver.was_heard()
                && (is_overdue || MonoClock.now() >= deadline)
            {
                return Err(anyhow!(no_greeting(&self.target.far, first_answer)).into());
            }
            if !go_on() || ending::is_asked() {
                return Err(anyhow!("nobody waits for its hello any more").into());
            }
            match turned? {
                Some(SessionEvent::Peer(PeerEvent::Hello(hello))) => {
                    self.hello = *hello;
                    linerate_observe::recognise(&mut self.hello.facts);
                    return Ok(());
                }
                Some(SessionEvent::Closed) => {
                    let hint = self.target.far.kind().about().start_hint;
                    let what = "it closed the connection instead of saying hello; is it";
                    return Err(anyhow!("{what} {hint}?").into());
                }
                _ => {}
            }
        }
    }

    pub(crate) fn failed(&self, error: SessionError) -> Failure {
        let code = match &error {
            SessionError::Protocol(ProtocolError::Shell { code, .. }) => exit_code(*code),
            _ => ExitCode::Peer,
        };
        let message = format!("the test with {} failed: {}", self.peer, error.words());
        Failure::new(code, message)
    }

    fn not_made(&self, cause: StopCause, code: RefusalCode, reason: &str) -> Failure {
        let peer = &self.peer;
        let message = match (cause, code) {
            (_, RefusalCode::Timeout) => format!("the test with {peer} timed out: {reason}"),
            _ if self.target.is_own => reason.to_owned(),
            (StopCause::Local, _) => {
                format!("the test with {peer} cannot be made from this host: {reason}")
            }
            (StopCause::Peer, _) => format!("{peer} refused the test ({code}): {reason}"),
        };
        Failure::new(exit_code(code), message)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.driver.end_session();
        // The end of the session passes over the link that it had.
        drop(self.link.take());
    }
}

/// Performs the handshake with an emulated board's agent over a new connection, while `go_on` returns true.
pub fn greet(stream: TcpStream, go_on: &mut dyn FnMut() -> bool) -> Greeting {
    match greet_over(stream, go_on) {
        Ok(()) => Greeting::Heard,
        Err(SessionError::Protocol(error @ ProtocolError::Version { .. })) => {
            Greeting::Refused(error.to_string())
        }
        Err(error) => Greeting::NotYet(error.words()),
    }
}

fn greet_over(stream: TcpStream, go_on: &mut dyn FnMut() -> bool) -> Result<(), SessionError> {
    let address = stream.peer_addr().map_err(anyhow::Error::from)?;
    let mut target = Target::new(PeerAddress::from(address));
    // Collecting its facts takes long; a second connection would make it do that twice at once.
    target.set_timeout(linerate_peers::EMULATED_TIMEOUT);
    let reached = Reached::over(Line::over(stream, target.timeout)?, &target);
    Client::over(reached, &target)?.greet(target.first_answer, go_on)
}

/// Whether the peer closed its port for a moment, or is still busy with the end of the last test.
const fn is_ending(error: &SessionError) -> bool {
    const BUSY: RefusalCode = RefusalCode::Busy;
    is_closing(error)
        || matches!(
            error,
            SessionError::Protocol(ProtocolError::TurnedAway { code: BUSY, .. })
        )
}

/// User to authenticate in a session that begins now.
fn login_attempt(target: &Target) -> Option<LoginAttempt> {
    let login = target.login.clone()?;
    let moment = moment();
    Some(LoginAttempt { login, moment })
}

/// Observer of the interface that carries tests between these ends.
fn observer(target: &Target, local: IpAddr, remote: IpAddr) -> Observer {
    let found = || linerate_observe::interface_for(&Scope::live(None), remote, local);
    let interface = target.interface.clone().or_else(found);
    Observer::new(Scope {
        beside: target.beside.clone(),
        ..Scope::live(interface)
    })
}

/// Note on what a protocol does not report.
fn blind(id: &str, spots: &[&str]) -> String {
    let spots = spots.join("; ");
    format!("{id} does not tell, so it is absent here: {spots}")
}
