//! Where clients come in: who is admitted, and the conversation with each.

use super::AgentPlan;
use super::port::Port;
use crate::access::{credential, is_allowed, plain};
use crate::door::{Entry, Shown, read_cookie};
use crate::driver::{Driver, News};
use crate::login::{Gate, moment};
use anyhow::{Context as _, Result};
use linerate_model::Clock as _;
use linerate_model::spec::MAX_STREAMS;
use linerate_observe::{Observer, Scope};
use linerate_peers::{Limits, PeerKind, RefusalCode, ServerConfig, TIMEOUT};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::tcp::wait_readable;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How often the listener looks whether it should end.
const LOOK: Duration = Duration::from_millis(50);

/// Most connections to shared ports that have not shown yet what they are.
const MAX_STRANGERS: u32 = 512;

/// Counts and limits of all clients of one agent.
struct Hall<'a> {
    plan: &'a AgentPlan,
    stop: &'a AtomicBool,
    clients: AtomicU32,
    strangers: AtomicU32,
    sessions: AtomicU64,
    /// Clients that have left.
    left: AtomicU64,
    lines: mpsc::Sender<String>,
}

/// Counts something as long as it lives.
struct Counted<'a>(&'a AtomicU32);

impl<'a> Counted<'a> {
    /// Counts one more; how many there were before.
    fn one_more(counter: &'a AtomicU32) -> (Self, u32) {
        let before = counter.fetch_add(1, Ordering::Relaxed);
        (Self(counter), before)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) fn accept_loop(
    ports: &[Port],
    plan: &AgentPlan,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<()> {
    let (lines, inbox) = mpsc::channel::<String>();
    let hall = Hall {
        plan,
        stop,
        clients: AtomicU32::new(0),
        strangers: AtomicU32::new(0),
        sessions: AtomicU64::new(0),
        left: AtomicU64::new(0),
        lines,
    };
    let fds: Vec<_> = ports.iter().flat_map(Port::fds).collect();
    thread::scope(|scope| {
        let mut connections = 0;
        loop {
            while let Ok(line) = inbox.try_recv() {
                tell(&line);
            }
            let one_left = plan.once && hall.left.load(Ordering::Relaxed) > 0;
            if stop.load(Ordering::Relaxed) || one_left {
                return Ok(());
            }
            wait_readable(&fds, LOOK).context("waiting for clients")?;
            for port in ports {
                if let Some(shared) = &port.shared {
                    shared.door.meet(&shared.udp);
                }
                while let Some(stream) = next(port) {
                    let (hall, number) = (&hall, connections);
                    connections += 1;
                    scope.spawn(move || hall.take(stream, number, port));
                }
            }
        }
    })
}

/// The next connection at a port, if one waits.
fn next(port: &Port) -> Option<TcpStream> {
    match port.listener.accept() {
        Ok((stream, _)) => Some(stream),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
        // A client that is gone before it was accepted, or a moment without descriptors.
        Err(_) => {
            sleep_until(MonoClock.now().after(LOOK));
            None
        }
    }
}

impl Hall<'_> {
    /// Takes one connection to its end, and says how a client left.
    fn take(&self, stream: TcpStream, number: u64, port: &Port) {
        let Ok(from) = stream.peer_addr() else { return };
        let from = SocketAddr::new(plain(from.ip()), from.port());
        let served = match &port.shared {
            None => self.serve(stream, None, port),
            Some(shared) => {
                let (counted, before) = Counted::one_more(&self.strangers);
                if before >= MAX_STRANGERS {
                    return;
                }
                let shown = read_cookie(&stream)
                    .and_then(|cookie| shared.door.show(cookie, stream, number));
                drop(counted);
                match shown {
                    Ok(Shown::Settled) => return,
                    Ok(Shown::New(entry, stream)) => self.serve(stream, Some(entry), port),
                    Err(error) => Err(error),
                }
            }
        };
        let said = match served {
            Ok(()) => format!("{from} left"),
            Err(error) => format!("{from}: {error:#}"),
        };
        self.left.fetch_add(1, Ordering::Relaxed);
        // Nobody listens any more when the agent ends.
        drop(self.lines.send(said));
    }

    /// Serves one client to its end.
    fn serve(&self, stream: TcpStream, entry: Option<Entry>, port: &Port) -> Result<()> {
        let from = stream.peer_addr()?.ip();
        let (_counted, before) = Counted::one_more(&self.clients);
        let turn_away = self.admission(from, before, port);
        self.converse(stream, entry, (port.kind, turn_away))
    }

    /// Why this client is turned away, if it is.
    fn admission(&self, from: IpAddr, clients: u32, port: &Port) -> Option<(RefusalCode, String)> {
        let shows_key = self.plan.key.is_some() && port.has_keys();
        if !shows_key && !is_allowed(from, &self.plan.allow) {
            let from = plain(from);
            let message = format!(
                "{from} is not a loopback, private or link-local address; start the server with --allow {from}, or with --key"
            );
            return Some((RefusalCode::Denied, message));
        }
        let most = u32::from(self.plan.max_clients);
        (clients >= most).then(|| {
            let message = format!("this server has {most} clients already; try again later, or start it with a higher --max-clients");
            (RefusalCode::Busy, message)
        })
    }

    /// The users that are let in, for a session that begins now.
    fn gate(&self) -> Result<Option<Gate>> {
        let Some(logins) = self.plan.logins.clone() else {
            return Ok(None);
        };
        let moment = moment()?;
        Ok(Some(Gate { logins, moment }))
    }

    fn converse(
        &self,
        stream: TcpStream,
        entry: Option<Entry>,
        (kind, turn_away): (&dyn PeerKind, Option<(RefusalCode, String)>),
    ) -> Result<()> {
        stream.set_nonblocking(false)?;
        let (local, remote) = (stream.local_addr()?.ip(), stream.peer_addr()?.ip());
        let found = || linerate_observe::interface_for(&Scope::live(None), remote, local);
        let observer = Observer::new(Scope::live(self.plan.interface.clone().or_else(found)));
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let config = ServerConfig {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            timeout: TIMEOUT,
            session: format!("{number:08}"),
            facts: observer.facts(),
            limits: Limits {
                max_duration: self.plan.max_duration,
                max_streams: MAX_STREAMS,
                max_rate: self.plan.max_rate,
            },
            local,
            turn_away,
            credential: credential(self.plan.key.as_ref())?,
            logins: self.gate()?,
        };
        let session = kind.server(config, MonoClock.now());
        let mut driver = Driver::new(stream, session, observer, TIMEOUT)?;
        if let Some(entry) = entry {
            driver.admit(entry)?;
        }
        let result = answer(&mut driver, self.stop);
        driver.bye();
        result
    }
}

/// Answers until the client leaves or the agent is stopped.
fn answer(driver: &mut Driver, stop: &AtomicBool) -> Result<()> {
    while !stop.load(Ordering::Relaxed) {
        if let Some(News::Closed) = driver.turn().context("the session ended")? {
            break;
        }
    }
    Ok(())
}
