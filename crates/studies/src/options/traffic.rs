//! Options of how traffic moves, for how long, and what is observed meanwhile.

use super::choice::{directions, extents, waits};
use super::draft::{duration, named, pace, read, set};
use super::{
    ANY, BULK, DATAGRAMS, Group, HelpLevel, ONE_WAY, SINGLE, Source, TCP, UDP, Usual, flag, option,
};
use crate::run::{PayloadChoice, parse_pinning};
use linerate_model::spec::{Direction, Imitation, Observe, WorkloadId};

const THE_SYSTEMS: Usual = Usual::Words("the system's");

pub(super) static TRAFFIC: Group = Group {
    heading: "Traffic",
    options: &[
        option("rate", UDP, "RATE", "Intended load over all streams in bit/s of L4 payload (`10M`, `1G`), or `max` for unpaced")
            .also("pace")
            .shown(HelpLevel::Short)
            .otherwise(Usual::Needed)
            .excludes(&["bitrate"])
            .sets(|d, v| pace(v).map(|pace| d.spec.work.set_pace(pace))),
        option("bitrate", SINGLE, "RATE", "Intended load of each stream; 0 is unpaced")
            .short('b')
            .aliases(&["bandwidth"])
            .shown(HelpLevel::Never)
            .only(Source::CommandLine)
            .sets(|d, v| set(&mut d.each, read(v).map(Some))),
        flag("udp", UDP, "For those who are used to it; this is UDP")
            .short('u')
            .shown(HelpLevel::Never)
            .only(Source::CommandLine),
        option("workload", TCP, "ID", "Workload in place of the usual one, by its id")
            .usual("bulk")
            .page("workloads.md")
            .sets(|d, v| set(&mut d.spec.workload, Ok(WorkloadId::new(v)))),
        option("workload", UDP, "ID", "Workload in place of the usual one, by its id")
            .usual("datagrams")
            .page("workloads.md")
            .sets(|d, v| set(&mut d.spec.workload, Ok(WorkloadId::new(v)))),
        option("time", SINGLE, "TIME", "Length of the test")
            .short('t')
            .shown(HelpLevel::Short)
            .usual("10s")
            .sets(|d, v| set(&mut d.time, duration(v))),
        option("streams", SINGLE, "STREAMS", "Parallel streams, 1 to 10000; more than 128 share threads")
            .short('P')
            .aliases(&["parallel"])
            .shown(HelpLevel::Short)
            .usual("1")
            .page("flows.md")
            .sets(|d, v| set(&mut d.spec.streams, read(v))),
        option("threads", SINGLE, "THREADS", "Traffic threads of each end that share the streams, 1 to 128")
            .otherwise(Usual::Words("one per stream; above 128 streams one per core of this host"))
            .page("flows.md")
            .sets(|d, v| set(&mut d.spec.threads, read(v).map(Some))),
        option("payload", TCP, "PAYLOAD", "Size of each write")
            .aliases(&["length", "len"])
            .short_alias('l')
            .shown(HelpLevel::Short)
            .usual("128K")
            .sets(|d, v| read(v).map(|size| d.spec.work.set_payload(size))),
        option("payload", DATAGRAMS, "PAYLOAD", "Payload of each datagram, or `fit`: 1448 B or what the path's MTU takes in one packet, if that is less")
            .aliases(&["length", "len"])
            .short_alias('l')
            .shown(HelpLevel::Short)
            .usual("1448")
            .sets(|d, v| match v {
                "fit" => set(&mut d.after.payload, Ok(PayloadChoice::Fit)),
                _ => read(v).map(|size| d.spec.work.set_payload(size)),
            }),
        option("pace", TCP, "RATE", "Intended load over all streams in bit/s of L4 payload, or `max` for unpaced")
            .also("rate")
            .shown(HelpLevel::Short)
            .usual("max")
            .excludes(&["bitrate"])
            .sets(|d, v| pace(v).map(|pace| d.spec.work.set_pace(pace))),
        option("congestion", TCP, "CONGESTION", "Congestion control algorithm: `cubic`, `reno`, `bbr`, what both hosts have")
            .short('C')
            .shown(HelpLevel::Short)
            .otherwise(THE_SYSTEMS)
            .sets(|d, v| set(&mut d.spec.socket.congestion_control, Ok(Some(v.to_owned())))),
        flag("no-delay", TCP, "Send the rest of each write at once (`TCP_NODELAY`), in place of keeping it for the next one: without a network card that cuts segments, up to twice the rate")
            .short('N')
            .sets(|d, _| set(&mut d.spec.socket.no_delay, Ok(true))),
        option("warm-up", SINGLE, "WARM_UP", "Send for this long first without counting")
            .aliases(&["omit"])
            .short_alias('O')
            .usual("0s")
            .sets(|d, v| set(&mut d.spec.warm_up, duration(v))),
        option("interval", SINGLE, "INTERVAL", "Length of a reporting interval")
            .short('i')
            .shown(HelpLevel::Short)
            .otherwise(Usual::Words("1s, longer where a test would have too many"))
            .sets(|d, v| set(&mut d.interval, duration(v).map(Some))),
        option("wait", SINGLE, "WAIT", "How traffic threads wait")
            .choices(waits)
            .usual("block")
            .sets(|d, v| set(&mut d.spec.wait, named(v))),
        flag("reverse", BULK, "The peer sends")
            .short('R')
            .shown(HelpLevel::Short)
            .excludes(&["duplex"])
            .sets(|d, _| set(&mut d.spec.direction, Ok(Direction::Reverse))),
        flag("duplex", BULK, "Both ends send at once")
            .aliases(&["bidir", "full-duplex"])
            .shown(HelpLevel::Short)
            .sets(|d, _| set(&mut d.spec.direction, Ok(Direction::Duplex))),
        flag("both", BULK, "One direction after the other, a run for each: first this end sends, then the peer")
            .shown(HelpLevel::Short)
            .excludes(&["reverse", "duplex"])
            .only(Source::CommandLine)
            .sets(|d, _| set(&mut d.both, Ok(true))),
        option("direction", ONE_WAY, "WAY", "Who sends; a search goes one way at a time")
            .choices(directions)
            .usual("forward")
            .excludes(&["reverse", "duplex"])
            .only(Source::Plan)
            .sets(|d, v| set(&mut d.spec.direction, named(v))),
        option("datapath", BULK, "DATAPATH", "Datapath, with its parameters: `sockets,gso=true,gro=true`, `io-uring`, `af-xdp`, `ports,a=eth1,b=eth2`")
            .usual("sockets")
            .page("af-xdp.md")
            .sets(|d, v| set(&mut d.spec.datapath, read(v))),
        option("send-buffer", BULK, "SEND_BUFFER", "Ask for this send buffer (`SO_SNDBUF`)")
            .otherwise(THE_SYSTEMS)
            .sets(|d, v| set(&mut d.spec.socket.send_buffer_bytes, read(v).map(Some))),
        option("receive-buffer", BULK, "RECEIVE_BUFFER", "Ask for this receive buffer (`SO_RCVBUF`)")
            .otherwise(THE_SYSTEMS)
            .sets(|d, v| set(&mut d.spec.socket.receive_buffer_bytes, read(v).map(Some))),
        option("receiver-pause", BULK, "RECEIVER_PAUSE", "Let the receiver pause this long after each read, to imitate a slow application, where the server allows it")
            .sets(|d, v| {
                let slow = duration(v).map(|pause| Some(Imitation::slow_receiver(pause)));
                set(&mut d.spec.imitation, slow)
            }),
    ],
};

pub(super) static HOSTS: Group = Group {
    heading: "Both hosts",
    options: &[
        option("cpu", ANY, "LOCAL,REMOTE", "Pin the traffic threads to these cores: LOCAL,REMOTE (either may be empty)")
            .otherwise(Usual::Words("not pinned"))
            .sets(|d, v| set(&mut d.spec.pinning, parse_pinning(v))),
        option("seed", ANY, "SEED", "Seed of everything random")
            .usual("1")
            .only(Source::CommandLine)
            .sets(|d, v| set(&mut d.spec.seed, read(v))),
        flag("profile", ANY, "Sample where the CPU time of both ends goes, and show its cost by layer. `saturate` does so in a trial of its own, after the search")
            .page("profile.md")
            .sets(|d, _| set(&mut d.spec.observe, Ok(Observe::All))),
        option("observe", ANY, "WHAT", "What both ends observe beside moving traffic: less costs less, and explains less")
            .choices(extents)
            .usual("counters")
            .excludes(&["profile"])
            .sets(|d, v| set(&mut d.spec.observe, named(v))),
    ],
};
