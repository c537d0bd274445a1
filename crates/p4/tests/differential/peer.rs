//! `simple_switch` with files as ports: packets in, packets out, and a few calls of its Thrift server.

use linerate_model::{Clock as _, MonoInstant};
use linerate_sys::clock::{MonoClock, sleep_until};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Clone sessions with their ports.
pub(crate) const SESSIONS: &[(u32, u32)] = &[(1, 5), (2, 6), (3, 7)];
/// Ports of multicast group 1.
pub(crate) const GROUP: &[u32] = &[0, 1, 2, 3];

/// What leaves each port, in its order.
pub(crate) type Sent = BTreeMap<u32, Vec<Vec<u8>>>;

/// What leaves, and the CPU time that it took.
pub(crate) fn run(
    program: &Path,
    json: &str,
    packets: &[(u32, Vec<u8>)],
    ports: u32,
) -> io::Result<(Sent, Duration)> {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    fs::write(at.join("program.json"), json)?;
    for port in 0..ports {
        fs::write(at.join(format!("p{port}_in.pcap")), capture(packets, port))?;
    }
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let control = listener.local_addr()?.port();
    drop(listener);
    let mut command = Command::new(program);
    command
        .current_dir(at)
        .args(["--use-files", "2", "--thrift-port", &control.to_string()]);
    command.args([
        "--notifications-addr",
        &format!("ipc://{}/notify", at.display()),
    ]);
    for port in 0..ports {
        command.args(["-i", &format!("{port}@p{port}")]);
    }
    let log = fs::File::create(at.join("log"))?;
    command
        .arg("program.json")
        .stdout(log.try_clone()?)
        .stderr(log)
        .stdin(Stdio::null());
    let mut child = Ended(command.spawn()?);
    let outcome = configure(control).and_then(|()| drain(&mut child.0, at, ports));
    drop(child);
    let took = outcome.map_err(|error| {
        let log = fs::read_to_string(at.join("log")).unwrap_or_default();
        io::Error::other(format!("simple_switch: {error}; it says: {log}"))
    })?;
    let sent: io::Result<_> = (0..ports)
        .map(|port| {
            Ok((
                port,
                records(&fs::read(at.join(format!("p{port}_out.pcap")))?),
            ))
        })
        .collect();
    Ok((sent?, took))
}

/// A child that does not outlive its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn after(time: Duration) -> MonoInstant {
    MonoClock.now().after(time)
}

const TURN: Duration = Duration::from_millis(50);
/// Without CPU time and output for so many turns, all is done.
const QUIET_TURNS: u32 = 20;
/// Packets that come again and again have no end.
const LONGEST: Duration = Duration::from_mins(2);

/// Waits until packets have gone in, and then until nothing moves any more; how much CPU time that took.
fn drain(child: &mut Child, at: &Path, ports: u32) -> io::Result<Duration> {
    let id = child.id();
    let before = cpu_time(id)?;
    // It begins to read its files two seconds after its start.
    sleep_until(after(Duration::from_secs(3)));
    let (mut last, mut quiet) = ((0, before), 0);
    let end = after(LONGEST);
    while quiet < QUIET_TURNS {
        if MonoClock.now() > end {
            return Err(io::Error::other("has packets that never end"));
        }
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!("ended with {status}")));
        }
        sleep_until(after(TURN));
        let size =
            |port| fs::metadata(at.join(format!("p{port}_out.pcap"))).map_or(0, |file| file.len());
        let now = ((0..ports).map(size).sum::<u64>(), cpu_time(id)?);
        quiet = if now == last { quiet + 1 } else { 0 };
        last = now;
    }
    Ok(last.1.saturating_sub(before))
}

/// Of all threads, user and system; in steps of a hundredth of a second.
fn cpu_time(id: u32) -> io::Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{id}/stat"))?;
    let ticks = text
        .split(' ')
        .skip(13)
        .take(2)
        .map(|ticks| ticks.parse().unwrap_or(0));
    Ok(Duration::from_millis(10) * ticks.sum::<u32>())
}

/// Queues without an end, clone sessions and a multicast group.
fn configure(port: u16) -> io::Result<()> {
    let call = |name: &str, fields: &[u8]| call(port, name, fields);
    call(
        "simple_switch:set_all_egress_queue_depths",
        &number(1, 1 << 20),
    )?;
    for (id, port) in SESSIONS {
        let config = [&[12, 0, 2][..], &number(1, *port), &[0]].concat();
        call(
            "simple_switch:mirroring_session_add",
            &[number(1, *id), config].concat(),
        )?;
    }
    let ports: String = (0..8)
        .rev()
        .map(|port| if GROUP.contains(&port) { '1' } else { '0' })
        .collect();
    let text = |at: u8, text: &str| [&[11, 0, at][..], &string(text)].concat();
    call(
        "simple_pre_lag:bm_mc_mgrp_create",
        &[number(1, 0), number(2, 1)].concat(),
    )?;
    let node = [number(1, 0), number(2, 1), text(3, &ports), text(4, "")].concat();
    call("simple_pre_lag:bm_mc_node_create", &node)?;
    call(
        "simple_pre_lag:bm_mc_node_associate",
        &[number(1, 0), number(2, 1), number(3, 0)].concat(),
    )
}

/// Calls a function of the Thrift server, on a connection of its own; where there is no answer yet, again.
fn call(port: u16, name: &str, fields: &[u8]) -> io::Result<()> {
    let mut message = 0x8001_0001_u32.to_be_bytes().to_vec();
    message.extend(string(name));
    message.extend([0, 0, 0, 1]);
    message.extend(fields);
    message.push(0);
    let ask = || -> io::Result<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(&message)?;
        let mut head = [0; 4];
        stream.read_exact(&mut head)?;
        Ok(head[3])
    };
    let mut last = io::Error::other("never answers");
    for _ in 0..100 {
        match ask() {
            // The kind of the answer: a reply.
            Ok(2) => return Ok(()),
            // The server answers before all of its services are known to it.
            Ok(_) => last = io::Error::other(format!("refuses {name}")),
            Err(error) => last = error,
        }
        sleep_until(after(Duration::from_millis(15)));
    }
    Err(last)
}

/// A Thrift field of 32 bits.
fn number(at: u8, value: u32) -> Vec<u8> {
    [&[8, 0, at][..], &value.to_be_bytes()].concat()
}

fn string(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("short");
    [&length.to_be_bytes()[..], text.as_bytes()].concat()
}

/// A capture of the packets of one port; times rise by a microsecond a packet over all ports.
fn capture(packets: &[(u32, Vec<u8>)], port: u32) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 0xffff, 1_u32] {
        file.extend(word.to_le_bytes());
    }
    let own = packets
        .iter()
        .zip(0_u32..)
        .filter(|((own, _), _)| *own == port);
    for ((_, bytes), at) in own {
        let length = u32::try_from(bytes.len()).expect("packets are short");
        for word in [1 + at / 1_000_000, at % 1_000_000, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    }
    file
}

fn records(file: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = file.get(24..).unwrap_or_default();
    let mut packets = Vec::new();
    while let Some((head, after)) = rest.split_at_checked(16) {
        let length = u32::from_le_bytes(head[8..12].try_into().expect("four bytes")) as usize;
        let Some((packet, after)) = after.split_at_checked(length) else {
            break;
        };
        packets.push(packet.to_vec());
        rest = after;
    }
    packets
}
