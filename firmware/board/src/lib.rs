//! What every board's firmware has: registers, its interface for smoltcp, the address that it was built for, the round of its loop.
//!
//! `LINERATE_ADDRESS=10.78.1.2/24` and `LINERATE_GATEWAY=10.78.1.1` in the environment of the build are a board's address
//! and its router's; these are the usual ones. Its IPv6 address is the link-local one of its MAC address.
#![no_std]

mod nic;
mod registers;

pub use nic::{BUFFER, Counts, Driver, MAX_FRAME, Nic};
pub use registers::Registers;

use core::fmt::Write;
use core::mem::MaybeUninit;
use core::net::Ipv4Addr;
use linerate_on_smoltcp::{Memory, Network, Node};
use linerate_responder::{CONTROL_PORT, Config, Instant, Responder, Signal};
use smoltcp::phy::Device;

/// What the firmware of a board has of its hardware.
pub trait Board {
    /// Its network interface.
    type Nic: Device;
    /// The interface.
    fn nic(&mut self) -> &mut Self::Nic;
    /// The time since it was started.
    fn now(&mut self) -> Instant;
    /// Waits until `deadline` or until a frame comes.
    fn sleep(&mut self, deadline: Instant);
    /// Tells what its hardware has counted.
    fn count(&mut self, note: &mut dyn FnMut(Signal, u64));
}

/// Runs the responder on a board, with the sockets and the responder in this memory. `console` is told when it is
/// ready.
pub fn run<'a, B: Board>(
    mut board: B,
    mac: [u8; 6],
    config: Config,
    console: &mut dyn Write,
    (memory, responder): (&'a mut Memory<'a>, &'a mut MaybeUninit<Responder>),
) -> ! {
    let network = network(mac);
    let responder = responder.write(Responder::new(config));
    let now = board.now();
    let mut node = Node::new(memory, board.nic(), network, &config, now);
    // A board without a serial line works as well.
    let _ = writeln!(
        console,
        "linerate responder at {}:{CONTROL_PORT}",
        network.ipv4
    );
    let mut idle = 0;
    loop {
        let now = board.now();
        // Before what came is read: what the client asks for is answered with it.
        responder.count(Signal::CpuIdle, idle);
        node.turn(now, board.nic(), responder);
        // Frames go from the interface to their sockets one by one, and each is taken before the next comes.
        responder.count(Signal::SoftnetDropped, 0);
        responder.count(Signal::UdpRcvbufErrors, 0);
        board.count(&mut |signal, value| responder.count(signal, value));
        let now = board.now();
        responder.poll(now);
        node.say(now, board.nic(), responder);
        let before = board.now();
        board.sleep(responder.deadline(before));
        idle += board.now().as_nanos() - before.as_nanos();
    }
}

/// What a board that emulators have says of itself.
pub fn config(board: &'static str, processor: &'static str, mac: [u8; 6]) -> Config {
    let [a, b, c, d, e, f] = mac;
    Config {
        processor,
        emulated: option_env!("LINERATE_EMULATED").unwrap_or_default(),
        // They have no source of noise: the address differs from board to board, the time from test to test.
        ..Config::new(
            board,
            "smoltcp 0.14, no operating system",
            u64::from_be_bytes([0x6c, 0x72, a, b, c, d, e, f]),
        )
    }
}

fn network(mac: [u8; 6]) -> Network {
    let (ipv4, prefix) = option_env!("LINERATE_ADDRESS")
        .and_then(|text| text.split_once('/'))
        .and_then(|(address, prefix)| Some((address.parse().ok()?, prefix.parse().ok()?)))
        .unwrap_or((Ipv4Addr::new(10, 78, 1, 2), 24));
    let gateway = option_env!("LINERATE_GATEWAY").and_then(|text| text.parse().ok());
    Network {
        mac,
        ipv4,
        prefix,
        gateway: gateway.unwrap_or(Ipv4Addr::new(10, 78, 1, 1)),
    }
}
