//! Moves traffic over the loopback address and prints how much: a self-test and a base for benchmarks.
//!
//! ```text
//! pump udp|tcp|ping-pong-udp|ping-pong-tcp [payload=N] [time=S] [rate=R] [streams=N] [wait=block|spin]
//!      [datapath=ID] [client-cpu=N] [server-cpu=N] [rcvbuf=N] [pause=S] [any datapath parameter, as gso=true]
//! ```
#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use linerate_engine::{EndpointPlan, EngineError, Opened, Role};
use linerate_model::sample::{DatagramSender, StreamReport};
use linerate_model::spec::{Imitation, Pace, Side, Stop, TestSpec, Transport, WaitMode};
use linerate_model::units::parse_duration;
use linerate_model::{BitRate, ByteCount, PacketCount, PacketRate};
use linerate_peers::Sent;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(5);
const QUIET: Duration = Duration::from_millis(200);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut spec = base(arguments.next().as_deref())?;
    for argument in arguments {
        let (key, value) = argument.split_once('=').ok_or("arguments are key=value")?;
        apply(&mut spec, key, value)?;
    }
    let (sent, received) = exchange(&spec)?;
    print("sender  ", &sent);
    print("receiver", &received);
    Ok(())
}

fn base(what: Option<&str>) -> Result<TestSpec, &'static str> {
    let spec = match what {
        Some("udp") => TestSpec::udp_datagrams(Pace::Unpaced),
        Some("tcp") => TestSpec::tcp_bulk(),
        Some("ping-pong-udp") => TestSpec::ping_pong(Transport::Udp),
        Some("ping-pong-tcp") => TestSpec::ping_pong(Transport::Tcp),
        _ => return Err("first argument: udp, tcp, ping-pong-udp or ping-pong-tcp"),
    };
    Ok(TestSpec {
        stop: Stop::After(Duration::from_secs(3)),
        ..spec
    })
}

fn apply(spec: &mut TestSpec, key: &str, value: &str) -> Result<(), Box<dyn Error>> {
    match key {
        "client-cpu" => spec.pinning.local = Some(value.parse()?),
        "datapath" => value.clone_into(&mut spec.datapath.id),
        "pause" => spec.imitation = Some(Imitation::slow_receiver(parse_duration(value)?)),
        "payload" => spec.work.set_payload(value.parse()?),
        "rate" => spec.work.set_pace(Pace::At(value.parse()?)),
        "rcvbuf" => spec.socket.receive_buffer_bytes = Some(value.parse()?),
        "server-cpu" => spec.pinning.remote = Some(value.parse()?),
        "streams" => spec.streams = value.parse()?,
        "time" => spec.stop = Stop::After(parse_duration(value)?),
        "wait" if value == "spin" => spec.wait = WaitMode::Spin,
        "wait" if value == "busy-poll" => spec.wait = WaitMode::BusyPoll,
        "wait" => spec.wait = WaitMode::Block,
        _ => drop(
            spec.datapath
                .params
                .insert(key.to_owned(), value.to_owned()),
        ),
    }
    Ok(())
}

/// One test between two ends of this process: what the sender and what the receiver saw.
fn exchange(spec: &TestSpec) -> Result<(Vec<StreamReport>, Vec<StreamReport>), EngineError> {
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let plan = |side, role| EndpointPlan {
        side,
        role,
        spec: spec.clone(),
        format: std::sync::Arc::new(linerate_peers::native::Streams { token: 1 }),
    };
    let mut server = Opened::listen(plan(Side::Receiver, Role::Server), local)?;
    let (ports, client) = (server.ports(), plan(Side::Sender, Role::Client));
    let client = std::thread::spawn(move || Opened::connect(client, local, &ports, LIMIT));
    server.await_peer(local.ip(), LIMIT, &|| false)?;
    let client = client
        .join()
        .expect("invariant: connecting does not panic")?;
    let receiver = server.start()?;
    let sent = client.start()?.join();
    if spec.transport() == Transport::Udp {
        let counts: Vec<_> = sent.iter().map(|report| report.packets).collect();
        receiver.finish(Sent::Packets(counts), QUIET);
    }
    Ok((sent, receiver.join()))
}

fn print(side: &str, reports: &[StreamReport]) {
    for report in reports {
        let rate = BitRate::from_bytes(report.bytes, report.duration).unwrap_or_default();
        let packets = PacketRate::from_packets(report.packets, report.duration).unwrap_or_default();
        let cpu = report.thread_cpu.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let gigabytes = report.bytes.get() as f64 / 1e9;
        println!(
            "{side} {}: {rate} (L4 payload), {packets}, {} in {:.3} s, cpu {:.3} s = {:.3} s/GB, run delay {:?}",
            report.index,
            report.bytes,
            report.duration.as_secs_f64(),
            cpu,
            cpu / gigabytes,
            report.run_delay.unwrap_or_default(),
        );
        print_details(report);
    }
}

fn print_details(report: &StreamReport) {
    let work = &report.work;
    let histograms = [
        ("rtt", work.rtt()),
        ("lateness", work.lateness()),
        ("pdv", work.times().and_then(|times| times.pdv.as_ref())),
    ];
    for (name, histogram) in histograms {
        if let Some(h) = histogram {
            let q = |q| Duration::from_nanos(h.quantile_nanos(q));
            println!(
                "  {name}: min {:?} p50 {:?} p99 {:?} p99.9 {:?} max {:?} n {}",
                Duration::from_nanos(h.min_nanos()),
                q(0.5),
                q(0.99),
                q(0.999),
                Duration::from_nanos(h.max_nanos()),
                h.len()
            );
        }
    }
    if let Some(sequence) = work.sequence() {
        println!("  {sequence:?}");
    }
    let sender = work.get::<DatagramSender>();
    let count =
        |count: Option<PacketCount>| count.map_or_else(|| "-".to_owned(), |c| c.to_string());
    let size = |size: Option<ByteCount>| size.map_or_else(|| "-".to_owned(), |s| s.to_string());
    println!(
        "  overflows {} unsent {} refused {} timeouts {} burst {} sndbuf {} rcvbuf {} errors {:?}",
        count(work.socket_overflows()),
        count(sender.map(|sender| sender.unsent)),
        count(work.refused()),
        count(work.timeouts()),
        count(sender.map(|sender| sender.burst_max)),
        size(report.path.send_buffer_bytes),
        size(report.path.receive_buffer_bytes),
        report.errors,
    );
}
