//! The responder on smoltcp: its sockets, and the round that serves them.
//!
//! Whoever brings it to a board writes a driver ([`Device`]), a clock and a loop that calls [`Node::turn`],
//! [`Responder::poll`] and [`Node::say`]. Every frame is taken to its socket and from there before the next one is
//! taken, so no socket overflows: what is lost is lost before the interface.
#![no_std]
#![forbid(unsafe_code)]

mod memory;

pub use memory::Memory;

use core::mem::swap;
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use linerate_responder::{CONTROL_PORT, Config, Instant, Port, Reply, Responder};
use smoltcp::iface::{self, Interface, PollIngressSingleResult, SocketHandle, SocketSet};
use smoltcp::phy::Device;
use smoltcp::socket::{tcp, udp};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr, IpEndpoint};

/// Where a node is.
#[derive(Debug, Clone, Copy)]
pub struct Network {
    /// Its MAC address; the link-local IPv6 address is made of it.
    pub mac: [u8; 6],
    /// Its IPv4 address.
    pub ipv4: Ipv4Addr,
    /// Bits of that which are the network's.
    pub prefix: u8,
    /// The router.
    pub gateway: Ipv4Addr,
}

/// Most frames of one round: a flood must not keep the control connection waiting.
const MAX_FRAMES: usize = 64;

/// A responder's interface and sockets.
pub struct Node<'a> {
    interface: Interface,
    sockets: SocketSet<'a>,
    control: Connection,
    /// What the control connection of the client before was.
    closing: SocketHandle,
    /// To receive on, and to send from.
    datagrams: [SocketHandle; 2],
    streams: [Connection; 2],
    /// The one of these that is the test's.
    stream: Option<usize>,
    /// A datagram on its way through the responder.
    scratch: &'a mut [u8],
}

/// A TCP socket that waits at a port or has a client.
#[derive(Clone, Copy)]
struct Connection {
    handle: SocketHandle,
    port: u16,
    /// Whether the responder knows of its client.
    is_known: bool,
}

impl Connection {
    const fn new(handle: SocketHandle, port: u16) -> Self {
        Self {
            handle,
            port,
            is_known: false,
        }
    }
}

impl<'a> Node<'a> {
    /// Opens the sockets.
    pub fn new(
        memory: &'a mut Memory<'a>,
        device: &mut impl Device,
        network: Network,
        config: &Config,
        now: Instant,
    ) -> Self {
        let mac = HardwareAddress::Ethernet(EthernetAddress(network.mac));
        let mut settings = iface::Config::new(mac);
        settings.random_seed = config.random;
        let mut interface = Interface::new(settings, device, time(now));
        interface.update_ip_addrs(|addresses| {
            let ipv4 = IpCidr::new(IpAddress::Ipv4(network.ipv4), network.prefix);
            // The stack has room for two.
            let _ = addresses.push(ipv4);
            let _ = addresses.push(IpCidr::new(link_local(network.mac).into(), 64));
        });
        let _ = interface
            .routes_mut()
            .add_default_ipv4_route(network.gateway);
        let memory::Parts {
            mut sockets,
            control,
            datagrams,
            streams,
            scratch,
        } = memory.parts();
        let [control, closing] = control.map(|socket| sockets.add(socket));
        let ports = [config.receive_port, config.send_port];
        let mut node = Self {
            interface,
            control: Connection::new(control, CONTROL_PORT),
            closing,
            datagrams: datagrams.map(|socket| sockets.add(socket)),
            streams: streams.map(|socket| Connection::new(sockets.add(socket), 0)),
            stream: None,
            sockets,
            scratch,
        };
        for (at, port) in ports.into_iter().enumerate() {
            node.streams[at].port = port;
            let socket = node.sockets.get_mut::<udp::Socket<'_>>(node.datagrams[at]);
            // It is bound to nothing yet, and no port is 0.
            let _ = socket.bind(port);
        }
        node
    }

    /// Takes what has come to the interface, frame by frame, and answers it.
    pub fn turn(&mut self, now: Instant, device: &mut impl Device, responder: &mut Responder) {
        for _ in 0..MAX_FRAMES {
            let polled = self
                .interface
                .poll_ingress_single(time(now), device, &mut self.sockets);
            if polled == PollIngressSingleResult::None {
                break;
            }
            if polled == PollIngressSingleResult::SocketStateChanged {
                self.serve(now, responder);
                self.flush(now, device);
            }
        }
        self.serve(now, responder);
        self.flush(now, device);
    }

    /// Sends what the responder and the stack's timers have to say.
    pub fn say(&mut self, now: Instant, device: &mut impl Device, responder: &mut Responder) {
        self.serve(now, responder);
        self.flush(now, device);
    }

    fn flush(&mut self, now: Instant, device: &mut impl Device) {
        self.interface
            .poll_egress(time(now), device, &mut self.sockets);
    }

    fn serve(&mut self, now: Instant, responder: &mut Responder) {
        self.serve_control(now, responder);
        self.serve_datagrams(now, responder);
        for at in 0..self.streams.len() {
            self.serve_stream(now, at, responder);
        }
    }

    fn serve_control(&mut self, now: Instant, responder: &mut Responder) {
        let control = &mut self.control;
        let socket = self.sockets.get_mut::<tcp::Socket<'_>>(control.handle);
        if !control.is_known {
            listen(socket, control.port);
            let Some(client) = socket.remote_endpoint().filter(|_| socket.may_send()) else {
                return;
            };
            control.is_known = true;
            responder.control_opened(now, client.addr.into());
        }
        while socket.can_recv() {
            let taken = socket.recv(|bytes| {
                responder.control_received(now, bytes);
                (bytes.len(), bytes.len())
            });
            if taken.is_err() || taken == Ok(0) {
                break;
            }
        }
        if socket.can_send() {
            // Nothing is lost by an error: the socket is then closed.
            let _ = socket.send(|room| (responder.control_output(room), ()));
        }
        let is_gone = !socket.may_recv() || !socket.may_send();
        if is_gone || responder.control_wants_close() {
            responder.control_closed(now);
            socket.close();
            control.is_known = false;
            // A client that comes back at once would be refused until its end of the connection before is known here.
            swap(&mut control.handle, &mut self.closing);
            listen(self.sockets.get_mut(control.handle), control.port);
        }
    }

    fn serve_datagrams(&mut self, now: Instant, responder: &mut Responder) {
        for (handle, port) in self.datagrams.into_iter().zip([Port::Receive, Port::Send]) {
            let socket = self.sockets.get_mut::<udp::Socket<'_>>(handle);
            while let Ok((length, from)) = socket.recv_slice(self.scratch) {
                let datagram = &mut self.scratch[..length];
                let address = address(from.endpoint);
                let reply = responder.datagram_received(now, port, address, datagram);
                if reply == Reply::SendBack {
                    // Without room it is lost, as on any full queue; the client counts it.
                    let _ = socket.send_slice(datagram, from.endpoint);
                }
            }
        }
        let socket = self.sockets.get_mut::<udp::Socket<'_>>(self.datagrams[1]);
        while socket.can_send() {
            let Some((length, to)) = responder.datagram_output(now, self.scratch) else {
                break;
            };
            let _ = socket.send_slice(&self.scratch[..length], IpEndpoint::from(to));
        }
    }

    fn serve_stream(&mut self, now: Instant, at: usize, responder: &mut Responder) {
        let stream = &mut self.streams[at];
        let socket = self.sockets.get_mut::<tcp::Socket<'_>>(stream.handle);
        if !stream.is_known {
            listen(socket, stream.port);
            let Some(client) = socket.remote_endpoint().filter(|_| socket.may_send()) else {
                return;
            };
            if self.stream.is_some() || !responder.stream_opened(client.addr.into()) {
                return socket.abort();
            }
            stream.is_known = true;
            self.stream = Some(at);
        }
        Self::take(now, socket, responder, self.scratch);
        if socket.can_send() {
            let _ = socket.send(|room| (responder.stream_output(now, room.len()), ()));
        }
        if !socket.may_recv() && !socket.can_recv() {
            responder.stream_ended();
        }
        if responder.stream_wants_close() || !socket.is_active() {
            responder.stream_closed();
            socket.close();
            self.streams[at].is_known = false;
            self.stream = None;
        }
    }

    /// Takes bytes of the data connection, as long as what is to go back has room.
    fn take(
        now: Instant,
        socket: &mut tcp::Socket<'_>,
        responder: &mut Responder,
        scratch: &mut [u8],
    ) {
        while socket.can_recv() {
            let room = socket.send_capacity() - socket.send_queue();
            let most = room.min(scratch.len());
            let Some(room) = scratch.get_mut(..most).filter(|room| !room.is_empty()) else {
                break;
            };
            let Ok(length) = socket.recv_slice(room) else {
                break;
            };
            if responder.stream_received(now, &mut room[..length]) == Reply::SendBack {
                let _ = socket.send_slice(&room[..length]);
            }
        }
    }
}

/// Waits for a client at this port, if the socket is free to.
fn listen(socket: &mut tcp::Socket<'_>, port: u16) {
    // All that could come has come: the port must be free for the next test.
    if socket.state() == tcp::State::TimeWait {
        socket.abort();
    }
    if !socket.is_open() {
        // Of a request and its answer each waits for the other.
        socket.set_nagle_enabled(false);
        socket.set_ack_delay(None);
        // A closed socket and a port that is not 0 cannot be refused.
        let _ = socket.listen(port);
    }
}

fn time(now: Instant) -> smoltcp::time::Instant {
    smoltcp::time::Instant::from_micros((now.as_nanos() / 1000).cast_signed())
}

/// The address of RFC 4291 §2.5.6 with the interface identifier of its appendix A.
fn link_local(mac: [u8; 6]) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac;
    let identifier = [a ^ 2, b, c, 0xff, 0xfe, d, e, f];
    let mut bytes = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes[8..].copy_from_slice(&identifier);
    Ipv6Addr::from(bytes)
}

fn address(endpoint: IpEndpoint) -> SocketAddr {
    SocketAddr::new(endpoint.addr.into(), endpoint.port)
}
