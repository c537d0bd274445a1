//! Accepts what arrives at the ports, and starts a thread for each of it.

use crate::AgentPlan;
use crate::owner::Owner;
use crate::per_address::Counted as Place;
use crate::port::{By, Port, Shared};
use crate::state::{AgentState, Waiting, canonical};
use crate::threads::start_thread;
use anyhow::{Context as _, Result};
use linerate_metrics::answer_all;
use linerate_model::Clock as _;
use linerate_model::agent::AdmissionLimit;
use linerate_session::{Admission, DataStreams, Flow, Line, peek};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::tcp::wait_readable;
use linerate_sys::wake::Waker;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Polling interval of the listener's stop flag. It is woken by events, by signals, and by
/// [`Agent::stop`](crate::Agent::stop).
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How long sessions may take to end politely before their connections are closed: 1.5 times the delay after which a
/// session notices the end.
const GOODBYE_TIMEOUT: Duration = Duration::from_millis(750);

/// Maximum connections accepted from a port in a row, so that a flood does not starve other ports.
const MAX_ACCEPTED: usize = 64;

/// Wait after an accept failed.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) fn accept_loop(
    ports: &[Port],
    metrics: Option<&TcpListener>,
    plan: &AgentPlan,
    stop: &AtomicBool,
    wakeup_fd: &Waker,
    owner: &mut dyn Owner,
) -> Result<()> {
    let (events, inbox) = mpsc::channel();
    let state = AgentState::new(plan, stop, events, wakeup_fd);
    let mut fds: Vec<_> = ports.iter().flat_map(Port::fds).collect();
    fds.push(state.wakeup_fd.as_fd());
    for port in ports {
        state.count(&port.event());
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _over = Over(&is_over);
        if let (Some(listener), Some(metrics)) = (metrics, plan.metrics) {
            let (state, is_over) = (&state, &is_over);
            let page = move || (metrics.render)(&state.status());
            start_thread(
                scope,
                thread::Builder::new().name("metrics".to_owned()),
                move || {
                    answer_all(listener, is_over, &page);
                },
            )
            .context("starting a thread for metrics")?;
        }
        let mut connections = 0;
        loop {
            state.wakeup_fd.clear();
            for event in inbox.try_iter().chain(state.summary()) {
                owner.event(&event);
            }
            // Before the owner's turn, which is to see the same.
            let is_stopping = stop.load(Ordering::Relaxed);
            if let Some(plan) = owner.turn() {
                state.renew(plan);
            }
            let one_left = plan.once && state.left.load(Ordering::Relaxed) > 0;
            if is_stopping {
                state.connections.end(GOODBYE_TIMEOUT);
                return Ok(());
            }
            if one_left {
                return Ok(());
            }
            wait_readable(&fds, POLL_INTERVAL).context("waiting for clients")?;
            for port in ports {
                state.take_all(scope, port, &mut connections);
            }
        }
    })
}

/// Sets a flag when it is dropped, however the loop ends.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The next connection at a port, if one is queued.
fn next(port: &Port) -> Option<(TcpStream, SocketAddr)> {
    match port.listener.accept() {
        Ok(accepted) => Some(accepted),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        // The client is already gone, or the process is out of descriptors.
        Err(_) => {
            sleep_until(MonoClock.now().after(ACCEPT_RETRY_INTERVAL));
            None
        }
    }
}

impl AgentState<'_> {
    /// Accepts what has arrived at a port; connections are numbered in order.
    fn take_all<'scope>(
        &'scope self,
        scope: &'scope thread::Scope<'scope, '_>,
        port: &'scope Port,
        connections: &mut u64,
    ) {
        match &port.shared {
            None => {}
            Some(Shared {
                udp,
                by: By::Opening(demux),
            }) => demux.meet(udp),
            Some(Shared {
                udp,
                by: By::Itself { flows, .. },
            }) => {
                for flow in flows.meet(udp, |from| self.admit_flow(from)) {
                    self.start(scope, flow.from, move || self.take_flow(flow, port));
                }
            }
        }
        for (stream, from) in std::iter::from_fn(|| next(port)).take(MAX_ACCEPTED) {
            let number = *connections;
            *connections += 1;
            let from = canonical(from);
            let Ok(known) = self.connections.enter(&stream) else {
                self.refuse(from.ip(), Some(from.port()), AdmissionLimit::OpenFile);
                continue;
            };
            if let Some(waiting) = self.wait(from, &known, port) {
                self.start(scope, from, move || {
                    let _known = known;
                    self.take(stream, waiting, number, port);
                });
            }
        }
    }

    /// Runs `work` for a connection from `from` on its own thread. If the host has no thread left, only that client's
    /// socket is closed.
    fn start<'scope>(
        &'scope self,
        scope: &'scope thread::Scope<'scope, '_>,
        from: SocketAddr,
        work: impl FnOnce() + Send + 'scope,
    ) {
        if let Err(error) = start_thread(scope, thread::Builder::new(), work) {
            let error = error.to_string();
            let address = from.ip().to_canonical();
            self.refuse(address, Some(from.port()), AdmissionLimit::Thread { error });
        }
    }

    /// Serves one connection to its end, and reports how the client left.
    fn take<'a>(&'a self, stream: TcpStream, place: Waiting<'a>, number: u64, port: &'a Port) {
        let Ok(from) = stream.peer_addr() else { return };
        let from = canonical(from);
        let served = match &port.shared {
            None => self.serve(stream, place, None, port),
            Some(Shared {
                by: By::Itself { opening_len, .. },
                ..
            }) => self.take_stream(stream, place, port, *opening_len),
            Some(Shared {
                by: By::Opening(demux),
                ..
            }) => match demux.admit(stream, number) {
                Ok(Admission::Settled) => return,
                Ok(Admission::New(handle, stream)) => self.serve(stream, place, Some(handle), port),
                Err(error) => Err(error),
            },
        };
        self.log_disconnect(from, served);
    }

    /// Serves a TCP stream that is a test.
    fn take_stream(
        &self,
        stream: TcpStream,
        place: Waiting<'_>,
        port: &Port,
        opening_len: fn(&[u8]) -> usize,
    ) -> Result<()> {
        stream.set_nonblocking(false)?;
        let bytes = peek(&stream, opening_len)?;
        let line = Line::absent(stream.local_addr()?, stream.peer_addr()?);
        let data_streams = DataStreams {
            tcp: vec![stream],
            udp: Vec::new(),
        };
        self.host(line, data_streams, &bytes, place, port)
    }

    /// Serves a datagram stream that is a test.
    fn take_flow(&self, flow: Flow<Place<'_>>, port: &Port) {
        // Kept until the end: while its address is registered, nothing from there is a new stream.
        let _known = flow.place;
        let served = flow
            .socket
            .local_addr()
            .map_err(Into::into)
            .and_then(|local| {
                let line = Line::absent(local, flow.from);
                let first = flow.early.datagrams.first().cloned().unwrap_or_default();
                let data_streams = DataStreams {
                    tcp: Vec::new(),
                    udp: vec![(flow.socket, flow.early)],
                };
                self.host(
                    line,
                    data_streams,
                    &first,
                    Waiting::Counted(flow.leave),
                    port,
                )
            });
        self.log_disconnect(flow.from, served);
    }
}
