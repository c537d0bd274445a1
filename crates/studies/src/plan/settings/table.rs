//! Every setting of a plan: its name, what it takes, what it applies to, and what it changes.

use super::{HOST, KIND, STACK, Setting, TestKind, duration, named, pace, read, set, switch};
use crate::run::{
    USUAL_RISING, Wrap, parse_delay_goal, parse_percentile, parse_pinning, parse_rising,
    parse_stall,
};
use linerate_client::address::{IpChoice, PeerAddress};
use linerate_model::Ratio;
use linerate_model::exit::Failure;
use linerate_model::spec::{Direction, Imitation, Observe, Stop, WorkloadId};
use std::path::PathBuf;

const BULK: &[TestKind] = &[TestKind::Tcp, TestKind::Udp, TestKind::Saturate];
const SINGLE: &[TestKind] = &[TestKind::Tcp, TestKind::Udp];
const SEARCH: &[TestKind] = &[TestKind::Saturate];
const TIMED: &[TestKind] = &[TestKind::Tcp, TestKind::Udp, TestKind::Latency];
const ASKED: &[TestKind] = &[TestKind::Latency];

/// Every setting, in the order that errors list them.
pub(in crate::plan) static ALL: &[Setting] = &[
    Setting {
        key: KIND,
        takes: "`tcp`, `udp`, `latency`, `saturate`",
        usual: "needed",
        kinds: &TestKind::ALL,
        apply: |_, _| Ok(()),
    },
    Setting {
        key: "time",
        takes: "`2s`, `500ms`",
        usual: "`10s`, latency `1s`",
        kinds: TIMED,
        apply: |d, v| set(&mut d.spec.stop, duration(v).map(Stop::After)),
    },
    Setting {
        key: "warm-up",
        takes: "time sent first without counting",
        usual: "`0s`",
        kinds: TIMED,
        apply: |d, v| set(&mut d.spec.warm_up, duration(v)),
    },
    Setting {
        key: "interval",
        takes: "reporting interval",
        usual: "`1s`",
        kinds: SINGLE,
        apply: |d, v| set(&mut d.spec.interval, duration(v)),
    },
    Setting {
        key: "rate",
        takes: "bit/s of L4 payload (`10M`) or `max`; latency: requests per second, an open loop",
        usual: "tcp `max`; udp needed; latency: one after the other",
        kinds: TIMED,
        apply: |d, v| match &mut d.asked {
            Some(asked) => set(&mut asked.rate, read(v).map(Some)),
            None => pace(v).map(|pace| d.spec.work.set_pace(pace)),
        },
    },
    Setting {
        key: "payload",
        takes: "bytes: datagram, write or message",
        usual: "1448, tcp `128K`, latency 32",
        kinds: &TestKind::ALL,
        apply: |d, v| read(v).map(|size| d.spec.work.set_payload(size)),
    },
    Setting {
        key: "direction",
        takes: "`forward`, `reverse`, `duplex` (not saturate)",
        usual: "`forward`",
        kinds: BULK,
        apply: |d, v| set(&mut d.spec.direction, named(v)),
    },
    Setting {
        key: "streams",
        takes: "1 to 128",
        usual: "1",
        kinds: SINGLE,
        apply: |d, v| set(&mut d.spec.streams, read(v)),
    },
    Setting {
        key: "workload",
        takes: "id of a [workload](workloads.md)",
        usual: "`bulk`, `datagrams`",
        kinds: SINGLE,
        apply: |d, v| set(&mut d.spec.workload, Ok(WorkloadId::new(v))),
    },
    Setting {
        key: "wait",
        takes: "`block`, `spin`, `busy-poll`; latency: any of [its modes](latency.md)",
        usual: "`block`",
        kinds: TIMED,
        apply: |d, v| match &mut d.asked {
            Some(asked) => set(&mut asked.mode, read(v).map(Some)),
            None => set(&mut d.spec.wait, named(v)),
        },
    },
    Setting {
        key: "transport",
        takes: "`udp`, `tcp`",
        usual: "`udp`",
        kinds: ASKED,
        apply: |d, v| set(&mut d.asked().transport, named(v).map(Some)),
    },
    Setting {
        key: "arrival",
        takes: "with `rate`: `constant`, `poisson`",
        usual: "`constant`",
        kinds: ASKED,
        apply: |d, v| set(&mut d.asked().arrival, named(v).map(Some)),
    },
    Setting {
        key: "answer-timeout",
        takes: "with `rate`: time",
        usual: "`1s`",
        kinds: ASKED,
        apply: |d, v| set(&mut d.asked().answer_timeout, duration(v).map(Some)),
    },
    Setting {
        key: "ip",
        takes: "`4`, `6`, `any`",
        usual: "`any`",
        kinds: &TestKind::ALL,
        apply: |d, v| {
            d.ip = match v {
                "4" => IpChoice::V4,
                "6" => IpChoice::V6,
                "any" => IpChoice::Any,
                _ => return Err("must be 4, 6 or any".to_owned()),
            };
            Ok(())
        },
    },
    Setting {
        key: HOST,
        takes: "a host as on the command line, in place of the study's",
        usual: "the study's host",
        kinds: &TestKind::ALL,
        apply: |d, v| {
            let host = PeerAddress::parse(v).map_err(|error| error.message);
            set(&mut d.host, host.map(Some))
        },
    },
    Setting {
        key: "link",
        takes: "L1 bit/s (`10M`) of the [link element](boards.md#the-link) before a `board://` host, both ways",
        usual: "the board's link as it is",
        kinds: &TestKind::ALL,
        apply: |d, v| set(&mut d.link().rate, read(v).map(Some)),
    },
    Setting {
        key: "link-delay",
        takes: "its delay, one way (`20ms`)",
        usual: "`0s`",
        kinds: &TestKind::ALL,
        apply: |d, v| set(&mut d.link().delay, duration(v)),
    },
    Setting {
        key: "link-queue",
        takes: "bytes of its queue, one way",
        usual: "`128K`",
        kinds: &TestKind::ALL,
        apply: |d, v| set(&mut d.link().queue, read(v)),
    },
    Setting {
        key: STACK,
        takes: "in place of `host`: a [stack](stacks.md) that is started for each run, with options: `lwip?tcp_wnd=5840`; or the name of a table `[stacks.NAME]`",
        usual: "the study's host",
        kinds: BULK,
        apply: |d, v| set(&mut d.stack, read(v).map(Some)),
    },
    Setting {
        key: "stack-api",
        takes: "the stack's interface to its program, where it has both: `raw`, `socket`",
        usual: "`raw`",
        kinds: BULK,
        apply: |d, v| {
            d.stack_options.push(("api", v.to_owned()));
            Ok(())
        },
    },
    Setting {
        key: "stack-buffers",
        takes: "sizes of the stack's buffers: `base`, `large-buffers`",
        usual: "`base`, the kernel its own",
        kinds: BULK,
        apply: |d, v| {
            d.stack_options.push(("buffers", v.to_owned()));
            Ok(())
        },
    },
    Setting {
        key: "stack-opt",
        takes: "level of optimisation of a stack that is compiled: `O0`, `Os`, `O2`, `O3`",
        usual: "`O2`",
        kinds: BULK,
        apply: |d, v| {
            d.stack_options.push(("opt", v.to_owned()));
            Ok(())
        },
    },
    Setting {
        key: "datapath",
        takes: "`sockets`, `sockets,gso=true,gro=true`, `io-uring`, `af-xdp`",
        usual: "`sockets`",
        kinds: BULK,
        apply: |d, v| set(&mut d.spec.datapath, read(v)),
    },
    Setting {
        key: "congestion",
        takes: "`cubic`, `reno`, `bbr`: what both hosts have",
        usual: "the system's",
        kinds: &[TestKind::Tcp],
        apply: |d, v| {
            set(
                &mut d.spec.socket.congestion_control,
                Ok(Some(v.to_owned())),
            )
        },
    },
    Setting {
        key: "send-buffer",
        takes: "bytes (`256K`)",
        usual: "the system's",
        kinds: BULK,
        apply: |d, v| set(&mut d.spec.socket.send_buffer_bytes, read(v).map(Some)),
    },
    Setting {
        key: "receive-buffer",
        takes: "bytes",
        usual: "the system's",
        kinds: BULK,
        apply: |d, v| set(&mut d.spec.socket.receive_buffer_bytes, read(v).map(Some)),
    },
    Setting {
        key: "min",
        takes: "lowest load to try",
        usual: "`1M`",
        kinds: SEARCH,
        apply: |d, v| set(&mut d.search.min_load, read(v)),
    },
    Setting {
        key: "max",
        takes: "highest load to try",
        usual: "`10G`",
        kinds: SEARCH,
        apply: |d, v| set(&mut d.search.max_load, read(v)),
    },
    Setting {
        key: "width",
        takes: "how close the bounds shall be",
        usual: "`0.5%`",
        kinds: SEARCH,
        apply: |d, v| set(&mut d.search.width, read::<Ratio>(v)),
    },
    Setting {
        key: "budget",
        takes: "most trial time",
        usual: "`60s`",
        kinds: SEARCH,
        apply: |d, v| set(&mut d.search.budget, duration(v)),
    },
    Setting {
        key: "pace",
        takes: "the same as `rate` of tcp",
        usual: "`max`",
        kinds: &[TestKind::Tcp],
        apply: |d, v| pace(v).map(|pace| d.spec.work.set_pace(pace)),
    },
    Setting {
        key: "reverse",
        takes: "`true`: the peer sends",
        usual: "`false`",
        kinds: BULK,
        apply: |d, v| d.turn(v, Direction::Reverse),
    },
    Setting {
        key: "duplex",
        takes: "`true`: both ends send at once",
        usual: "`false`",
        kinds: SINGLE,
        apply: |d, v| d.turn(v, Direction::Duplex),
    },
    Setting {
        key: "sizes",
        takes: "bytes of a message, one size per cell: make it a factor",
        usual: "32",
        kinds: ASKED,
        apply: |d, v| read(v).map(|size| d.spec.work.set_payload(size)),
    },
    Setting {
        key: "cpu",
        takes: "cores of the traffic threads: `LOCAL,REMOTE`, either may be empty",
        usual: "not pinned",
        kinds: &TestKind::ALL,
        apply: |d, v| set(&mut d.spec.pinning, parse_pinning(v)),
    },
    Setting {
        key: "receiver-pause",
        takes: "time that the receiver pauses after each read; the server must allow it",
        usual: "none",
        kinds: BULK,
        apply: |d, v| {
            let slow = duration(v).map(|pause| Some(Imitation::slow_receiver(pause)));
            set(&mut d.spec.imitation, slow)
        },
    },
    Setting {
        key: "observe",
        takes: "`counters`, `none`; tcp, udp and latency also `all`, a sampled profile",
        usual: "`counters`",
        kinds: &TestKind::ALL,
        apply: |d, v| set(&mut d.spec.observe, named(v)),
    },
    Setting {
        key: "loss-goal",
        takes: "a loss ratio (`0.1%`), or several (`0,0.1%`); the study averages the first",
        usual: "`0,0.1%,0.5%`",
        kinds: SEARCH,
        apply: |d, v| {
            let goals = v.split(',').map(|goal| read(goal.trim()));
            set(&mut d.search.loss_goals, goals.collect())
        },
    },
    Setting {
        key: "delay-goal",
        takes: "delay that every goal must also meet: `p99<2ms`",
        usual: "none",
        kinds: SEARCH,
        apply: |d, v| {
            let goal = parse_delay_goal(v).map_err(|error| error.message);
            set(&mut d.search.delay_goal, goal.map(Some))
        },
    },
    Setting {
        key: "load",
        takes: "traffic under which latency is measured again, which the study averages: `tcp`, `udp:RATE`, either with `:reverse`; `none`",
        usual: "`none`",
        kinds: ASKED,
        apply: |d, v| {
            let load = given(v).map(str::parse).transpose();
            let load = load.map_err(|error: Failure| error.message);
            set(&mut d.asked().load, load)
        },
    },
    Setting {
        key: "percentile",
        takes: "quantiles of delay to list, in percent: `99,99.9`",
        usual: "`99,99.9`",
        kinds: ASKED,
        apply: |d, v| {
            let all = v.split(',').map(|one| parse_percentile(one.trim()));
            set(
                &mut d.asked().percentiles,
                all.collect::<Result<_, _>>().map(Some),
            )
        },
    },
    Setting {
        key: "iterations",
        takes: "messages to count beside the time: `10000..`, `..100000`, `10000..100000`, `10000`",
        usual: "by time",
        kinds: ASKED,
        apply: |d, v| set(&mut d.asked().iterations, read(v)),
    },
    Setting {
        key: "warm-up-iterations",
        takes: "messages before any counts",
        usual: "by `warm-up`",
        kinds: ASKED,
        apply: |d, v| set(&mut d.asked().warm_up_iterations, read(v).map(Some)),
    },
    Setting {
        key: "rounds",
        takes: "turns that the time of a test is cut into; 1 to 1000",
        usual: "1: repetitions are turns",
        kinds: ASKED,
        apply: |d, v| match read(v)? {
            rounds @ 1..=1000 => set(&mut d.asked().rounds, Ok(Some(rounds))),
            _ => Err("must be 1 to 1000".to_owned()),
        },
    },
    Setting {
        key: "decompose",
        takes: "`true`: takes round trips apart in tests of their own",
        usual: "`false`",
        kinds: ASKED,
        apply: |d, v| set(&mut d.asked().decompose, switch(v)),
    },
    Setting {
        key: "curve",
        takes: "in place of `rate`: latency against load, `LOWEST-HIGHEST` requests per second or `true`; the study averages where it rises",
        usual: "none",
        kinds: ASKED,
        apply: |d, v| {
            let rising = match v {
                "false" => return set(&mut d.asked().curve, Ok(None)),
                "true" => parse_rising(USUAL_RISING),
                _ => parse_rising(v),
            };
            set(&mut d.asked().curve, rising.map(Some))
        },
    },
    Setting {
        key: "rpm",
        takes: "`true`: round trips per minute under load, in place of all else",
        usual: "`false`",
        kinds: ASKED,
        apply: |d, v| set(&mut d.asked().rpm, switch(v)),
    },
    Setting {
        key: "wrap",
        takes: "a command that starts this end, such as `onload --profile=latency`; measured with and without it, the study averages with it; `none`",
        usual: "`none`",
        kinds: ASKED,
        apply: |d, v| {
            // Which program it starts is known where the plan is run.
            let wrap = given(v).map(|words| Wrap::parse(words, PathBuf::new()));
            let wrap = wrap.transpose().map_err(|error| error.message);
            set(&mut d.asked().wrap, wrap)
        },
    },
    Setting {
        key: "responder-stall",
        takes: "lets the peer stand still: `EVERY,FOR` such as `1s,50ms`",
        usual: "none",
        kinds: ASKED,
        apply: |d, v| {
            let stall = parse_stall(v).map_err(|error| error.message);
            set(&mut d.asked().stall, stall.map(Some))
        },
    },
    Setting {
        key: "profile",
        takes: "`true`: samples both ends; of a search its load at saturation",
        usual: "`false`",
        kinds: &TestKind::ALL,
        apply: |d, v| {
            let is_sampled = switch(v)?;
            d.search.profile = is_sampled;
            if is_sampled {
                d.spec.observe = Observe::All;
            }
            Ok(())
        },
    },
    Setting {
        key: "diagnose",
        takes: "most time to probe what limits, after each run",
        usual: "`0s`: not at all",
        kinds: BULK,
        apply: |d, v| set(&mut d.diagnose, duration(v)),
    },
];

/// A value, unless it is the level without one.
fn given(value: &str) -> Option<&str> {
    (value != "none").then_some(value)
}
