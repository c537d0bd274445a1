//! The session with each client, to its end.

use crate::AgentPlan;
use crate::access::{is_in, unproved_sending};
use crate::delegation::DelegatedRun;
use crate::per_address::Counted as Place;
use crate::port::Port;
use crate::record::{Detail, Record};
use crate::state::{AgentState, Waiting, canonical, failed, greets};
use crate::threads::start_thread;
use anyhow::{Context as _, Result, bail};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::agent::{AgentEvent, CountedTraffic};
use linerate_model::facts::Facts;
use linerate_model::spec::{MAX_STREAMS, TestSpec};
use linerate_model::{ByteCount, Clock as _};
use linerate_observe::{Observer, Scope};
use linerate_peers::{
    Fence, LeaseRequest, Limits, PeerEvent, PeerKind, Refusal, RefusalCode, ServerConfig,
};
use linerate_session::key::credential;
use linerate_session::login::{Gate, Logins, moment};
use linerate_session::{DataStreams, DemuxHandle, Driver, Line, SessionEvent};
use linerate_sys::clock::MonoClock;
use linerate_sys::random::random_bytes;
use linerate_sys::sockopt::set_receive_low_water;
use linerate_sys::tcp::wait_readable;
use std::cell::{Cell, RefCell};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// Idle timeout of a datagram stream whose test was ended, and polling interval of the server's stop flag meanwhile.
const QUIET: Duration = Duration::from_secs(2);
const QUIET_READS: u32 = 10;

/// How often it is looked at how much a test has moved.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// How long a client keeps its slot without a test.
const IDLE_LIMIT: Duration = Duration::from_mins(10);

/// Serves one client of linerate's own protocol over `line`, to its end.
pub(crate) fn serve_one(line: Line, plan: &AgentPlan, stop: &AtomicBool) -> Result<()> {
    let wakeup_fd = crate::wakeup_fd()?;
    let (events, _) = mpsc::channel();
    let state = AgentState::new(plan, stop, events, &wakeup_fd);
    state.converse(line, None, linerate_peers::own(), None, None)
}

impl AgentState<'_> {
    /// Serves a stream that is a test, and begins with `bytes`.
    pub(crate) fn host(
        &self,
        line: Line,
        data_streams: DataStreams,
        bytes: &[u8],
        place: Waiting<'_>,
        port: &Port,
    ) -> Result<()> {
        let from = line.remote();
        let from = canonical(from);
        let (_counted, before) = self.data_streams.one_more(from.ip());
        let busy = || (before >= u32::from(self.plan().max_clients)).then(|| self.busy());
        let turn_away = self.denied(from.ip(), port).or_else(busy);
        let driver = self.driver(line, &*port.kind, turn_away)?;
        let datagrams = data_streams.udp.first();
        let datagrams = datagrams.and_then(|(socket, _)| socket.try_clone().ok());
        let mut is_cut = false;
        let mut record = Record::new(self, from, port.kind.id(), Detail::Streams);
        let mut driver = driver.behind(record.gate());
        driver.host(data_streams, bytes)?;
        let opening = Opening {
            bytes: ByteCount::new(bytes.len() as u64),
            place,
        };
        thread::scope(|scope| {
            let mut opening = Some(opening);
            let mut each = |driver: &mut Driver| {
                let may_leave = |opening: &mut Opening<'_>| driver.progress().bytes > opening.bytes;
                drop(opening.take_if(may_leave));
                Ok(false)
            };
            let result = answer(
                &mut driver,
                self.stop,
                &mut each,
                &mut record,
                &mut |_, event, _| {
                    is_cut |= matches!(event, SessionEvent::TestEnded { code, .. } if *code == RefusalCode::Limit);
                    if let SessionEvent::Peer(PeerEvent::CallBack { port: there, spec }) = event {
                        let to = SocketAddr::new(from.ip(), *there);
                        let spec = spec.clone();
                        let work = move || self.call_back(to, &spec, &*port.kind);
                        if let Err(error) = start_thread(scope, thread::Builder::new(), work) {
                            let error = error.to_string();
                            self.tell(AgentEvent::NotCalledBack { client: to, error });
                        }
                    }
                    Ok(())
                },
            );
            driver.end_session();
            if let Some(socket) = datagrams.filter(|_| is_cut) {
                self.outlast(&socket);
            }
            result
        })
    }

    /// Waits for the end of a datagram stream whose test was ended by a limit: the rest of it must not be taken for
    /// another test.
    fn outlast(&self, socket: &UdpSocket) {
        if socket.set_read_timeout(Some(QUIET / QUIET_READS)).is_err() {
            return;
        }
        let mut silent = 0;
        while silent < QUIET_READS && !self.stop.load(Ordering::Relaxed) {
            silent = match socket.recv(&mut [0; 1]) {
                Ok(_) => 0,
                Err(_) => silent + 1,
            };
        }
    }

    /// Runs a test towards a client that requested it.
    fn call_back(&self, to: SocketAddr, spec: &TestSpec, kind: &dyn PeerKind) {
        let allowance = self.allowance(to.ip());
        if let Err(refusal) = allowance.admit(spec) {
            return self.tell(AgentEvent::TestEnded {
                client: to,
                protocol: kind.id().to_owned(),
                test: None,
                volume: None,
                by_client: false,
                code: refusal.code,
                reason: refusal.message,
            });
        }
        let made = PeerAddress::parse(&format!("{}://{to}", kind.id()))
            .map_err(anyhow::Error::from)
            .and_then(|peer| Client::connect(&Target::new(peer)))
            .and_then(|mut client| client.run(spec, &mut |_| !self.stop.load(Ordering::Relaxed)));
        match made {
            Ok(outcome) => {
                let reports = outcome
                    .directions
                    .into_iter()
                    .filter_map(|done| done.sender);
                for report in reports {
                    let traffic = CountedTraffic::from(&report);
                    drop(allowance.charge(traffic.bytes));
                    self.tell(AgentEvent::Counted {
                        client: to,
                        protocol: kind.id().to_owned(),
                        traffic,
                    });
                }
            }
            Err(error) => self.tell(failed(to, &error)),
        }
        allowance.settle();
    }

    /// Serves one client to its end.
    pub(crate) fn serve<'a>(
        &'a self,
        stream: TcpStream,
        waiting: Waiting<'a>,
        handle: Option<DemuxHandle>,
        port: &'a Port,
    ) -> Result<()> {
        let from = stream.peer_addr()?.ip();
        let mut entry = Entry {
            waiting: Some(waiting),
            place: None,
            port,
        };
        let turn_away = if greets(&*port.kind) {
            await_greeting(&stream, port.kind.about().greeting_len, self.plan().timeout)?;
            self.would_refuse(from, port)
        } else {
            self.enter(from, &mut entry).err()
        };
        stream.set_nonblocking(false)?;
        let line = Line::over(stream, self.plan().timeout)?;
        self.converse(line, handle, &*port.kind, turn_away, Some(entry))
    }

    /// Decides on a lease, and tells the client; its fence, if it holds or has held.
    fn lease_to(
        &self,
        driver: &mut Driver,
        from: IpAddr,
        request: &LeaseRequest,
        entry: Option<&mut Entry<'_>>,
    ) -> Result<Option<Fence>> {
        let decision = if self.plan().key.is_some() {
            self.lease.ask(request, from)
        } else {
            let message =
                "this agent leases its host only to holders of its key: start it with --key FILE";
            Err(Refusal {
                code: RefusalCode::Denied,
                message: message.to_owned(),
            })
        };
        let fence = decision.as_ref().ok().map(|grant| grant.fence);
        if let (Some(entry), Some(_)) = (entry, fence) {
            // Tests of the lease come in other sessions, which need one.
            entry.place = None;
        }
        driver.leased(decision)?;
        Ok(fence)
    }

    /// Gives a client a place for the one where it waited, or says why there is none.
    fn enter<'a>(&'a self, from: IpAddr, entry: &mut Entry<'a>) -> Result<(), Refused> {
        if entry.place.is_none() {
            entry.place = Some(self.admit(from, entry.port)?);
            entry.waiting = None;
        }
        Ok(())
    }

    /// Users that are accepted, for a session that begins now.
    fn gate(logins: Option<Arc<Logins>>) -> Option<Gate> {
        let moment = moment();
        Some(Gate {
            logins: logins?,
            moment,
        })
    }

    fn converse<'a>(
        &'a self,
        line: Line,
        handle: Option<DemuxHandle>,
        kind: &dyn PeerKind,
        turn_away: Option<Refused>,
        mut entry: Option<Entry<'a>>,
    ) -> Result<()> {
        let client = canonical(line.remote());
        let from = client.ip();
        let mut record = Record::new(self, client, kind.id(), Detail::Tests);
        if let Some((code, reason)) = &turn_away {
            record.turn_away(*code, reason);
        }
        let driver = self.driver(line, kind, turn_away)?;
        let mut driver = driver.behind(record.gate());
        if let Some(handle) = handle {
            driver.admit(handle)?;
        }
        let delegated = RefCell::new(None);
        let leased = Cell::new(None);
        thread::scope(|scope| {
            let mut tell = |driver: &mut Driver, event: &SessionEvent, record: &mut Record<'_>| {
                match event {
                    SessionEvent::Admit => {
                        let entered = entry
                            .as_mut()
                            .map_or(Ok(()), |entry| self.enter(from, entry));
                        let place = entered.map_err(|(code, message)| {
                            record.turn_away(code, &message);
                            Refusal { code, message }
                        });
                        driver.admitted(place)?;
                    }
                    SessionEvent::Peer(PeerEvent::Delegate(delegation)) => {
                        let start = |admitted| {
                            DelegatedRun::start(scope, &self.plan(), delegation, admitted)
                        };
                        let started = record.admit_delegated().and_then(start);
                        *delegated.borrow_mut() = Some(started);
                    }
                    SessionEvent::Peer(PeerEvent::Lease(request)) => {
                        leased.set(self.lease_to(driver, from, request, entry.as_mut())?);
                    }
                    // Dropped at the client's wish.
                    SessionEvent::TestEnded { .. } => *delegated.borrow_mut() = None,
                    _ => {}
                }
                Ok(())
            };
            let mut each = |driver: &mut Driver| {
                let mut running = delegated.borrow_mut();
                let outcome = match running.as_ref() {
                    None => return Ok(leased.get().is_some_and(|fence| self.lease.holds(fence))),
                    Some(Err(refusal)) => Some(Err(refusal.clone())),
                    Some(Ok(run)) => DelegatedRun::outcome(run),
                };
                if let Some(outcome) = outcome {
                    *running = None;
                    driver.delegated(outcome)?;
                }
                Ok(true)
            };
            let result = answer(&mut driver, self.stop, &mut each, &mut record, &mut tell);
            // Before the scope waits for its thread.
            *delegated.borrow_mut() = None;
            driver.end_session();
            result
        })
    }

    /// Server side of a session over `line`.
    fn driver(
        &self,
        line: Line,
        kind: &dyn PeerKind,
        turn_away: Option<Refused>,
    ) -> Result<Driver> {
        let plan = self.plan();
        let (local, remote) = (line.local().ip(), line.remote().ip());
        // A refused client does not cause a reading of the host's facts.
        let is_served = turn_away.is_none();
        let found = || linerate_observe::interface_for(&Scope::live(None), remote, local);
        let interface = plan.interface.clone();
        let interface = interface.or_else(|| is_served.then(found).flatten());
        let mut observer = Observer::new(Scope::live(interface));
        let mut facts = if is_served {
            let interface = observer.scope().interface.as_deref();
            let read = || observer.facts();
            facts(kind, || self.facts.get(interface, &MonoClock, read))
        } else {
            Facts::default()
        };
        if !(plan.tell_name || plan.asks_for_key(kind) || remote.to_canonical().is_loopback()) {
            let salt = random_bytes()?;
            linerate_observe::hide(&mut facts, salt);
            observer = observer.with_hidden_identity(salt);
        }
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let config = ServerConfig {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            timeout: plan.timeout,
            session: format!("{number:08}"),
            facts,
            limits: Limits {
                max_duration: plan.max_duration,
                max_streams: MAX_STREAMS,
                max_rate: plan.max_rate,
                imitation: plan.allow_imitation,
                intrusion: plan.asks_for_key(kind) || is_in(remote, &plan.allow_intrusive),
                leases: plan.asks_for_key(kind),
            },
            unproved: unproved_sending(remote, &plan.allow_unproved),
            random: random_bytes()?,
            local,
            turn_away,
            credential: credential(plan.key.as_ref().filter(|_| is_served))?,
            logins: Self::gate(plan.logins.clone()),
        };
        let session = kind.server(config, MonoClock.now());
        Ok(Driver::server(line, session, observer, plan.timeout))
    }
}

/// Waits until the beginning of a client's first message has arrived, which comes with its connection: nothing is read of
/// the host for a client that says less.
fn await_greeting(stream: &TcpStream, length: usize, timeout: Duration) -> Result<()> {
    let mut bytes = vec![0; length];
    set_receive_low_water(stream, i32::try_from(length)?)?;
    wait_readable(&[stream.as_fd()], timeout)?;
    set_receive_low_water(stream, 1)?;
    stream.set_nonblocking(true)?;
    match stream.peek(&mut bytes) {
        Ok(come) if come == length => Ok(()),
        Ok(come @ 1..) => bail!("it said no more than {come} bytes"),
        _ => bail!("it said nothing"),
    }
}

/// Facts that a server of this kind reports; not read if it cannot.
fn facts(kind: &dyn PeerKind, read: impl FnOnce() -> Facts) -> Facts {
    if kind.about().tells_facts {
        read()
    } else {
        Facts::default()
    }
}

/// First bytes of a stream that is a test. Their source address may be forged: the stream stays pending until more has
/// arrived or been sent.
struct Opening<'a> {
    bytes: ByteCount,
    /// Held until then.
    #[expect(dead_code, reason = "its drop frees the place")]
    place: Waiting<'a>,
}

/// Why a client is not served.
type Refused = (RefusalCode, String);

/// A client's way from its connection to a place.
struct Entry<'a> {
    waiting: Option<Waiting<'a>>,
    place: Option<Place<'a>>,
    port: &'a Port,
}

/// Serves until the client leaves, was idle for long, or the agent is stopped. `each` is called before each turn, and
/// returns whether something of the client's is under way beside the session.
fn answer(
    driver: &mut Driver,
    stop: &AtomicBool,
    each: &mut dyn FnMut(&mut Driver) -> Result<bool>,
    record: &mut Record<'_>,
    tell: &mut dyn FnMut(&mut Driver, &SessionEvent, &mut Record<'_>) -> Result<()>,
) -> Result<()> {
    let mut busy = MonoClock.now();
    let mut looked = busy;
    while !stop.load(Ordering::Relaxed) {
        let now = MonoClock.now();
        if each(driver)? || driver.has_test() {
            busy = now;
            if now.saturating_since(looked) >= LOOK_INTERVAL {
                looked = now;
                if let Err(refusal) = record.progress(driver.progress().bytes) {
                    driver.end_test(refusal.code, refusal.message)?;
                }
            }
        } else if now.saturating_since(busy) >= IDLE_LIMIT {
            bail!("it made no test for {IDLE_LIMIT:?}: its place is free for others");
        }
        match driver.turn().context("the session ended")? {
            Some(SessionEvent::Closed) => break,
            Some(event) => {
                record.hear(&event);
                tell(driver, &event, record)?;
            }
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::net::{Ipv4Addr, Shutdown, TcpListener};

    /// What a client says decides, also where it comes in pieces, and nothing of the host is read before.
    #[test]
    fn a_client_is_heard_once_the_beginning_of_its_greeting_is_there() {
        let length = linerate_peers::own().about().greeting_len;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let said = |bytes: &[u8]| {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            for byte in bytes {
                client.write_all(&[*byte]).unwrap();
            }
            client.shutdown(Shutdown::Write).unwrap();
            // A test that waited for this would not pass.
            await_greeting(&stream, length, Duration::from_hours(1)).map_err(|why| why.to_string())
        };
        assert_eq!(said(&vec![7; length]), Ok(()));
        assert_eq!(said(&vec![7; length + 100]), Ok(()));
        let short = said(b"li").unwrap_err();
        assert!(short.contains("no more than 2 bytes"), "{short}");
        assert_eq!(said(b""), Err("it said nothing".to_owned()));
    }

    /// Its client sends without waiting, so what is read before its traffic is missed.
    #[test]
    fn the_host_is_not_looked_at_for_a_client_that_is_told_nothing_of_it() {
        for kind in linerate_peers::ALL {
            let mut reads = 0;
            facts(*kind, || {
                reads += 1;
                Facts::default()
            });
            assert_eq!(reads, u32::from(kind.about().tells_facts), "{}", kind.id());
        }
    }
}
