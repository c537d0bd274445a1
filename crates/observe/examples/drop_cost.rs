//! What counting drop reasons costs: datagrams per second into a packet filter that drops them all,
//! with and without, interleaved; and how long it takes to switch on and off.
//!
//! As root, in a network namespace whose interface drops what is sent to ADDRESS:PORT:
//! `drop_cost ADDRESS:PORT [ROUNDS]`.
#![expect(clippy::print_stdout, reason = "a measurement prints")]

use linerate_model::Clock as _;
use linerate_observe::{DropWatch, Mark, Snapshot};
use linerate_sys::clock::MonoClock;
use std::net::UdpSocket;
use std::time::Duration;

const MARK: Mark = Mark {
    word: [1, 2, 3, 4],
    byte_at: 5,
    byte: 0,
};
const DATAGRAMS: u32 = 200_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments
        .next()
        .ok_or("usage: drop_cost ADDRESS:PORT [ROUNDS]")?;
    let rounds: u32 = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(address)?;
    for _ in 0..rounds {
        let without = send(&socket);
        let begun = MonoClock.now();
        let watch = DropWatch::open(MARK)?;
        let opened = MonoClock.now();
        let with = send(&socket);
        let mut snapshot = Snapshot::default();
        watch.read(&mut snapshot);
        let closing = MonoClock.now();
        drop(watch);
        let closed = MonoClock.now();
        println!(
            "without {:.0} ns/drop, with {:.0}; on {:?}, off {:?}; {:?}",
            each(without),
            each(with),
            opened.saturating_since(begun),
            closed.saturating_since(closing),
            snapshot.values
        );
    }
    Ok(())
}

fn send(socket: &UdpSocket) -> Duration {
    let mut datagram = [0; 200];
    datagram[..4].copy_from_slice(&MARK.word);
    let begun = MonoClock.now();
    for _ in 0..DATAGRAMS {
        // A refusal is what this is about.
        let _ = socket.send(&datagram);
    }
    MonoClock.now().saturating_since(begun)
}

fn each(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9 / f64::from(DATAGRAMS)
}
