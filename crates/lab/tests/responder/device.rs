//! A device on this host: the responder over the kernel's sockets, with an interface that disturbs what comes in.

use linerate_model::Clock as _;
use linerate_responder::{Config, Instant, Port, Reply, Responder, Signal};
use linerate_sys::clock::MonoClock;
use linerate_sys::shared::bind_both;
use linerate_sys::tcp::wait_readable;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the interface does to datagrams, by their place in the order in which they come, from 0.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disturbance {
    /// Only to those of this payload or more, which are counted: messages by which clocks are compared are shorter.
    pub(crate) length: usize,
    /// These it has no room for.
    pub(crate) dropped: Vec<u64>,
    /// These it hands on twice.
    pub(crate) doubled: Vec<u64>,
    /// These it hands on after the one that follows.
    pub(crate) swapped: Vec<u64>,
}

/// A device that runs until it is dropped.
pub(crate) struct Device {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Device {
    pub(crate) fn start(disturbance: Disturbance) -> Self {
        let mut sockets = Sockets::open();
        let address = sockets.control.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut responder = Responder::new(sockets.config());
            let mut interface = Interface::new(disturbance);
            while !stopped.load(Ordering::Relaxed) {
                sockets.turn(&mut responder, &mut interface);
            }
        });
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let outcome = thread.join();
            assert!(outcome.is_ok() || std::thread::panicking());
        }
    }
}

/// Counts and disturbs what comes.
struct Interface {
    disturbance: Disturbance,
    counted: u64,
    received: u64,
    dropped: u64,
    /// One that waits for the next.
    held: Option<(SocketAddr, Vec<u8>)>,
}

impl Interface {
    const fn new(disturbance: Disturbance) -> Self {
        Self {
            disturbance,
            counted: 0,
            received: 0,
            dropped: 0,
            held: None,
        }
    }

    /// What is handed on of a datagram that came, in order.
    fn pass(&mut self, from: SocketAddr, datagram: &[u8]) -> Vec<(SocketAddr, Vec<u8>)> {
        self.received += 1;
        if datagram.len() < self.disturbance.length {
            return vec![(from, datagram.to_vec())];
        }
        let place = self.counted;
        self.counted += 1;
        let has = |list: &[u64]| list.contains(&place);
        if has(&self.disturbance.dropped) {
            self.dropped += 1;
            return Vec::new();
        }
        let this = (from, datagram.to_vec());
        if has(&self.disturbance.swapped) {
            self.held = Some(this);
            return Vec::new();
        }
        let again = has(&self.disturbance.doubled).then(|| this.clone());
        [Some(this), again, self.held.take()]
            .into_iter()
            .flatten()
            .collect()
    }
}

/// The sockets of a device.
struct Sockets {
    control: TcpListener,
    client: Option<TcpStream>,
    /// To receive on, and to send from.
    datagrams: [UdpSocket; 2],
    listeners: [TcpListener; 2],
    stream: Option<TcpStream>,
    /// Bytes of the stream that are not sent yet.
    unsent: usize,
}

impl Sockets {
    fn open() -> Self {
        let control = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        control.set_nonblocking(true).unwrap();
        let [(a, b), (c, d)] = [both(), both()];
        Self {
            control,
            client: None,
            datagrams: [b, d],
            listeners: [a, c],
            stream: None,
            unsent: 0,
        }
    }

    fn config(&self) -> Config {
        let [receive_port, send_port] =
            [0, 1].map(|at| self.datagrams[at].local_addr().unwrap().port());
        Config {
            receive_port,
            send_port,
            ..Config::new("sockets of \"this\" host", "none", 0x5eed)
        }
    }

    /// One round of a device's loop.
    fn turn(&mut self, responder: &mut Responder, interface: &mut Interface) {
        self.wait(responder);
        let now = now();
        // As if it slept half of its time. Before what came is read: what the client asks for is answered with it.
        responder.count(Signal::CpuIdle, now.as_nanos() / 2);
        self.attend_control(now, responder);
        self.attend_datagrams(now, responder, interface);
        self.attend_stream(now, responder);
        for (signal, value) in [
            (Signal::NicRxPackets, interface.received),
            (Signal::NicRxDropped, interface.dropped),
            (Signal::SoftnetDropped, 0),
            (Signal::UdpRcvbufErrors, 0),
        ] {
            responder.count(signal, value);
        }
        responder.poll(now);
        self.say(now, responder);
    }

    /// Sleeps until something comes or is due.
    fn wait(&self, responder: &mut Responder) {
        let now = now();
        let left = responder.deadline(now).as_nanos();
        let left = Duration::from_nanos(left.saturating_sub(now.as_nanos()));
        let mut all = vec![self.control.as_fd()];
        all.extend(self.client.iter().map(|client| client.as_fd()));
        all.extend(self.datagrams.iter().map(|socket| socket.as_fd()));
        all.extend(self.listeners.iter().map(|socket| socket.as_fd()));
        all.extend(self.stream.iter().map(|stream| stream.as_fd()));
        wait_readable(&all, left).unwrap();
    }

    fn attend_control(&mut self, now: Instant, responder: &mut Responder) {
        // Another client waits until the one before has said goodbye.
        if self.client.is_none()
            && let Ok((client, from)) = self.control.accept()
        {
            client.set_nonblocking(true).unwrap();
            responder.control_opened(now, from.ip());
            self.client = Some(client);
        }
        let mut bytes = [0; 700];
        while let Some(client) = &mut self.client {
            match client.read(&mut bytes) {
                Ok(0) => {
                    self.client = None;
                    responder.control_closed(now);
                }
                Ok(count) => responder.control_received(now, &bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.client = None;
                    responder.control_closed(now);
                }
            }
        }
    }

    fn attend_datagrams(&self, now: Instant, responder: &mut Responder, interface: &mut Interface) {
        let mut room = [0; 2048];
        for (socket, port) in self.datagrams.iter().zip([Port::Receive, Port::Send]) {
            while let Ok((length, from)) = socket.recv_from(&mut room) {
                for (from, mut datagram) in interface.pass(from, &room[..length]) {
                    let reply = responder.datagram_received(now, port, from, &mut datagram);
                    if reply == Reply::SendBack {
                        socket.send_to(&datagram, from).unwrap();
                    }
                }
            }
        }
        // As many as the queue of a small device takes.
        for _ in 0..16 {
            let Some((length, to)) = responder.datagram_output(now, &mut room) else {
                break;
            };
            self.datagrams[1].send_to(&room[..length], to).unwrap();
        }
    }

    fn attend_stream(&mut self, now: Instant, responder: &mut Responder) {
        for listener in &self.listeners {
            if let Ok((stream, from)) = listener.accept()
                && responder.stream_opened(from.ip())
            {
                stream.set_nonblocking(true).unwrap();
                self.stream = Some(stream);
                self.unsent = 0;
            }
        }
        let Some(stream) = &mut self.stream else {
            return;
        };
        let mut bytes = [0; 4096];
        match stream.read(&mut bytes) {
            Ok(0) => responder.stream_ended(),
            Ok(count) => {
                let bytes = &mut bytes[..count];
                if responder.stream_received(now, bytes) == Reply::SendBack {
                    stream.write_all(bytes).unwrap();
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => responder.stream_ended(),
        }
        if self.unsent == 0 {
            self.unsent = responder.stream_output(now, 16 * 1024);
        }
        if self.unsent > 0 {
            self.unsent -= stream.write(&vec![0; self.unsent]).unwrap_or(0);
        }
        if self.unsent == 0 && responder.stream_wants_close() {
            self.stream = None;
            responder.stream_closed();
        }
    }

    /// Sends what is to be said, in small pieces.
    fn say(&mut self, now: Instant, responder: &mut Responder) {
        let Some(client) = &mut self.client else {
            return;
        };
        let mut room = [0; 100];
        loop {
            let length = responder.control_output(&mut room);
            if length == 0 {
                break;
            }
            client.set_nonblocking(false).unwrap();
            let sent = client.write_all(&room[..length]);
            client.set_nonblocking(true).unwrap();
            if sent.is_err() {
                break;
            }
        }
        if responder.control_wants_close() {
            self.client = None;
            responder.control_closed(now);
        }
    }
}

/// A TCP listener and a UDP socket of one port, neither of which waits.
fn both() -> (TcpListener, UdpSocket) {
    let (listener, socket) = bind_both((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    listener.set_nonblocking(true).unwrap();
    socket.set_nonblocking(true).unwrap();
    (listener, socket)
}

fn now() -> Instant {
    Instant::from_nanos(MonoClock.now().as_nanos())
}
