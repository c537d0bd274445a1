//! Options of kind latency: which messages, when each is asked, and what is shown of their delay.

use super::choice::{arrivals, modes, transports};
use super::draft::{duration, named, read, set};
use super::{Group, HelpLevel, LATENCY, Takes, Usual, flag, list, option};
use crate::run::{
    Iterations, Mode, RequestRate, Sending, USUAL_RISING, Wrap, parse_percentile, parse_rising,
    parse_stall, sizes,
};
use linerate_model::spec::TransactionBounds;
use std::path::PathBuf;

pub(super) static MESSAGES: Group = Group {
    heading: "Messages",
    options: &[
        option("transport", LATENCY, "TRANSPORT", "Transport of the messages")
            .choices(transports)
            .shown(HelpLevel::Short)
            .usual("udp")
            .sets(|d, v| set(&mut d.messages.transport, named(v))),
        list("sizes", LATENCY, "SIZES", "Message sizes in bytes, each alone (`64`), with a step (`64-256+64`) or a factor (`1-1Kx2`), or `sfnt`: the list of sfnt-pingpong for the transport")
            .also("payload")
            .shown(HelpLevel::Short)
            .otherwise(Usual::Words("32; with sfnt:// that list"))
            .usual_in_plans("32")
            .sets(|d, v| {
                let texts: Vec<_> = v.split(',').map(str::to_owned).collect();
                let all = sizes(&texts, d.messages.transport);
                set(&mut d.messages.sizes, all.map_err(|error| error.message))
            }),
        list("wait", LATENCY, "WAIT", "How both ends wait; several are measured in turns, in random order")
            .choices(modes)
            .shown(HelpLevel::Short)
            .usual("block")
            .page("latency.md")
            .sets(|d, v| set(&mut d.messages.modes, v.split(',').map(read::<Mode>).collect())),
        option("time", LATENCY, "TIME", "Time per size and wait mode")
            .short('t')
            .shown(HelpLevel::Short)
            .usual("2s")
            .sets(|d, v| set(&mut d.time, duration(v))),
        option("warm-up", LATENCY, "WARM_UP", "Ping-pong for this long first without counting")
            .usual("100ms")
            .sets(|d, v| set(&mut d.spec.warm_up, duration(v))),
        option("load", LATENCY, "LOAD", "Measure again while traffic runs: `tcp`, `udp:RATE`, or either with `:reverse` or `:duplex` at its end")
            .shown(HelpLevel::Short)
            .off("none")
            .is_beside(true)
            .sets(|d, v| set(&mut d.messages.load, read(v).map(Some))),
        flag("decompose", LATENCY, "Measure everything once more with the kernel's timestamps, and say where the time goes: applications, stacks, queues, wire, wake-up. The cost of the stamps is reported")
            .is_beside(true)
            .sets(|d, _| set(&mut d.messages.decompose, Ok(true))),
        option("rounds", LATENCY, "N", "Turns that each size and wait mode is measured in, 1 to 1000, in random order; they share its time")
            .otherwise(Usual::Words("5 where there is more than one, but none below 200 ms"))
            .usual_in_plans("1")
            .sets(|d, v| match read(v)? {
                rounds @ 1..=1000 => set(&mut d.messages.rounds, Ok(Some(rounds))),
                _ => Err("must be 1 to 1000".to_owned()),
            }),
        option("wrap", LATENCY, "COMMAND", "Measure every wait mode also with this end started by a wrapper, such as \"onload --profile=latency\"; the run records what it loads")
            .off("none")
            // Which program it starts is known where the test is made.
            .sets(|d, v| {
                let wrap = Wrap::parse(v, PathBuf::new()).map_err(|error| error.message);
                set(&mut d.messages.wrap, wrap.map(Some))
            }),
    ],
};

pub(super) static OPEN_LOOP: Group = Group {
    heading: "Open loop: requests at a rate, timed from when each was meant to be sent",
    options: &[
        option("rate", LATENCY, "RATE", "Ask at this rate (requests per second: `500`, `20k`) instead of one message after the other")
            .shown(HelpLevel::Short)
            .sets(|d, v| set(&mut d.rate, read(v).map(|rate| Some(RequestRate::At(rate))))),
        option("curve", LATENCY, "", "Ask at rates that rise until they are not answered in full, and mark where delay leaves its level at the lowest: latency against load")
            .takes(Takes::Optional("LOWEST-HIGHEST"))
            .off("false")
            .shown(HelpLevel::Short)
            .excludes(&["rate"])
            .is_beside(true)
            .sets(|d, v| {
                let rates = if v == "true" { USUAL_RISING } else { v };
                set(&mut d.rate, parse_rising(rates).map(Some))
            }),
        flag("rpm", LATENCY, "Round trips per minute while TCP streams fill the path, in each direction, in place of everything else (responsiveness, without TLS and HTTP)")
            .shown(HelpLevel::Short)
            .excludes(&["rate", "curve", "load", "transport", "sizes", "wait"])
            .is_beside(true)
            .sets(|d, _| set(&mut d.messages.sending, Ok(Sending::Responsiveness))),
        option("arrival", LATENCY, "ARRIVAL", "Distances between requests: all the same, or random and independent")
            .choices(arrivals)
            .usual("constant")
            .needs(&["rate", "curve"])
            .sets(|d, v| set(&mut d.arrival, named(v))),
        option("answer-timeout", LATENCY, "ANSWER_TIMEOUT", "Count a request as unanswered after this long")
            .usual("1s")
            .needs(&["rate", "curve"])
            .sets(|d, v| set(&mut d.answer_timeout, duration(v))),
        option("responder-stall", LATENCY, "EVERY,FOR", "Let the peer stand still regularly, to see what a stall does to the figures: EVERY,FOR (`1s,50ms`). Works with and without a rate, where the server allows it")
            .is_beside(true)
            .sets(|d, v| {
                let stall = parse_stall(v).map_err(|error| error.message);
                set(&mut d.messages.stall, stall.map(Some))
            }),
    ],
};

pub(super) static CLOSED_LOOP: Group = Group {
    heading: "Closed loop",
    options: &[
        list("percentile", LATENCY, "PERCENT", "Quantiles of delay to show beside minimum, median and maximum, in percent")
            .usual("99,99.9")
            .sets(|d, v| {
                let all = v.split(',').map(|one| parse_percentile(one.trim()));
                set(&mut d.messages.percentiles, all.collect())
            }),
        option("iterations", LATENCY, "MIN..MAX", "Messages to count per size and wait mode, beside the time: at most so many (`..100000`), at least so many even if the time is over (`10000..`, for up to 25 s more), both (`10000..100000`), or exactly so many (`10000`)")
            .otherwise(Usual::Words("by time"))
            .sets(|d, v| {
                let bounds = &mut d.messages.transactions;
                set(bounds, read::<Iterations>(v).map(|all| all.bounds(bounds.warm_up)))
            }),
        option("warm-up-iterations", LATENCY, "N", "Count only what comes after so many messages, and after the warm-up")
            .sets(|d, v| {
                let warm_up = Some(read(v)?);
                let TransactionBounds { at_least, at_most, .. } = d.messages.transactions;
                set(&mut d.messages.transactions, Ok(TransactionBounds { at_least, at_most, warm_up }))
            }),
    ],
};
