use super::*;
use crate::run::{DeviceChoice, PayloadChoice, parse_pinning};
use linerate_client::address::PeerAddress;
use linerate_model::spec::{ConnectionClose, Pace, Pinning};
use std::path::Path;
use std::time::Duration;

/// Options of the command line by their names.
fn given(kind: TestKind, words: &[(&str, &str)]) -> Vec<OptionValue> {
    let of = |(name, value): &(&str, &str)| {
        let mut known = of_command(kind).map(|(_, option)| option);
        let option = known.find(|option| option.name == *name);
        // The ports stand before all options.
        let option = option.or_else(|| find(kind, name));
        (
            option.unwrap_or_else(|| panic!("{name}")),
            (*value).to_owned(),
        )
    };
    words.iter().map(of).collect()
}

fn asked(kind: TestKind, words: &[(&str, &str)]) -> Result<Request, String> {
    let request = request(kind, Source::CommandLine, &given(kind, words));
    let request = request.map_err(|refused| refused.message)?;
    request.check(kind, Source::CommandLine).map(|()| request)
}

#[test]
fn every_usual_value_is_one_and_every_name_is_known() {
    for kind in TestKind::ALL {
        let of_this = || {
            let all = all().map(|(_, option)| option);
            all.filter(|option| option.kinds.contains(&kind))
        };
        let names: Vec<_> = of_this().map(|option| option.name).collect();
        let mut distinct = names.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), names.len(), "{kind:?}: {names:?}");
        for option in of_this() {
            for source in [Source::CommandLine, Source::Plan] {
                if let Usual::Value(usual) = option.usual_in(source) {
                    option.check(kind, usual).unwrap();
                }
            }
            for other in option.excludes.iter().chain(option.needs) {
                assert!(all().any(|(_, known)| known.name == *other), "{other}");
            }
            assert!(!option.help.ends_with('.'), "{}", option.name);
        }
    }
}

#[test]
fn a_test_takes_the_same_on_the_command_line_and_in_a_plan() {
    for kind in TestKind::ALL {
        let words: &[(&str, &str)] = match kind {
            TestKind::Udp => &[("rate", "max")],
            // A cell of a plan has one frame size.
            TestKind::Switch => &[("ports", "eth1,eth2"), ("frame-size", "64")],
            _ => &[],
        };
        let of = |source| {
            let mut request = request(kind, source, &given(kind, words)).unwrap();
            if let Test::Latency(plan) = &mut request.test {
                plan.measure_at(&PeerAddress::parse("10.0.0.2").unwrap());
            }
            request
        };
        let (line, plan) = (of(Source::CommandLine), of(Source::Plan));
        assert_eq!(line.test.time(), plan.test.time(), "{kind:?}");
        assert_eq!(plan.after.diagnose, Duration::ZERO);
    }
}

#[test]
fn the_second_port_may_be_of_another_host() {
    let device = |words: &[(&str, &str)]| match asked(TestKind::Switch, words)?.test {
        Test::Switch(plan) => Ok::<_, String>(plan.device),
        other => panic!("{other:?}"),
    };
    let ports = ("ports", "eth1,eth1");
    let both = device(&[ports, ("port-b", "ssh://root@lab2")]).unwrap();
    assert_eq!(both.name(), "eth1 to eth1 of ssh://root@lab2");
    let DeviceChoice::Ports { host_b, .. } = both else {
        panic!("{both:?}");
    };
    assert_eq!(host_b.unwrap().to_string(), "ssh://root@lab2");
    for (words, named) in [
        (&[ports][..], "both ports are eth1"),
        (&[("port-b", "10.0.0.2")], "two interfaces"),
        (&[("dut", "bridge"), ("port-b", "10.0.0.2")], "--port-b"),
        (&[ports, ("port-b", "iperf3://10.0.0.2")], "linerate serve"),
        (&[ports, ("port-b", "stack://lwip")], "linerate serve"),
        (&[ports, ("port-b", "a b")], "10.0.0.2"),
    ] {
        let why = device(words).unwrap_err();
        assert!(why.contains(named), "{why}");
    }
}

#[test]
fn more_ports_than_two_are_a_mesh() {
    let device = |words: &[(&str, &str)]| match asked(TestKind::Switch, words)?.test {
        Test::Switch(plan) => Ok::<_, String>((plan.device.name(), plan.specs()?[0].streams)),
        other => panic!("{other:?}"),
    };
    let mesh = ("ports", "eth1,eth2,eth3");
    let named = "eth1, eth2, eth3, fully meshed".to_owned();
    assert_eq!(device(&[mesh]).unwrap(), (named, 3));
    for (words, named) in [
        (&[("ports", "eth1,eth2,eth1")][..], "eth1 is given twice"),
        (&[mesh, ("duplex", "true")], "leave reverse, duplex"),
        (&[mesh, ("neighbours", "resolve")], "one Ethernet"),
        (&[mesh, ("a-to", "02:00:00:00:00:01")], "a-to says"),
        (&[mesh, ("generator", "af-packet")], "generator out"),
        (&[mesh, ("method", "back-to-back")], "back-to-back"),
        (&[mesh, ("port-b", "10.0.0.2")], "this host"),
        (&[mesh, ("dut", "bridge")], "between two ports"),
        (&[("ports", "eth1")], "two interfaces or more"),
    ] {
        let why = device(words).unwrap_err();
        assert!(why.contains(named), "{why}");
    }
}

#[test]
fn the_load_of_each_stream_is_a_part_of_the_whole() {
    let pace = |words: &[(&str, &str)]| match asked(TestKind::Udp, words).unwrap().test {
        Test::Single(spec) => spec.pace(),
        other => panic!("{other:?}"),
    };
    let whole = Pace::At("30M".parse().unwrap());
    assert_eq!(pace(&[("bitrate", "10M"), ("streams", "3")]), whole);
    assert_eq!(pace(&[("rate", "30M"), ("streams", "3")]), whole);
    assert_eq!(pace(&[("bitrate", "0")]), Pace::Unpaced);
    let none = asked(TestKind::Udp, &[]).unwrap_err();
    assert!(none.contains("udp needs --rate"), "{none}");
}

#[test]
fn connections_are_many_at_once_on_few_threads() {
    let spec = |words: &[(&str, &str)]| match asked(TestKind::Tcp, words).unwrap().test {
        Test::Single(spec) => spec,
        other => panic!("{other:?}"),
    };
    let crr = spec(&[
        ("connections", "true"),
        ("streams", "1000"),
        ("threads", "2"),
        ("response", "2K"),
        ("close", "reset"),
    ]);
    let work = crr.work.connections().unwrap();
    assert_eq!(
        (crr.workload.as_str(), crr.streams, crr.threads),
        ("tcp-crr", 2, None)
    );
    assert_eq!(
        (work.concurrent, work.close),
        (1000, ConnectionClose::Reset)
    );
    assert_eq!((work.request.get(), work.response.get()), (1, 2048));
    assert!(crr.socket.no_delay);
    let held = spec(&[("open", "50000"), ("threads", "3")]);
    let work = held.work.connections().unwrap();
    assert_eq!(
        (work.concurrent, work.close),
        (50_000, ConnectionClose::Hold)
    );
    assert_eq!(spec(&[("connections", "true")]).streams, 1);
    for (words, named) in [
        (&[("request", "64")][..], "--connections"),
        (&[("connections", "true"), ("reverse", "true")], "--reverse"),
        (&[("open", "9"), ("streams", "2")], "--streams"),
        (
            &[("connections", "true"), ("threads", "3"), ("streams", "2")],
            "--threads",
        ),
        (&[("open", "100001")], "100000"),
    ] {
        let why = asked(TestKind::Tcp, words).unwrap_err();
        assert!(why.contains(named), "{words:?}: {why}");
    }
}

#[test]
fn a_rate_of_zero_is_told_apart_from_max() {
    let zero = asked(TestKind::Udp, &[("rate", "0")]).unwrap_err();
    assert!(
        zero.starts_with("--rate 0: ") && zero.contains("max"),
        "{zero}"
    );
    let unknown = asked(TestKind::Tcp, &[("pace", "10X")]).unwrap_err();
    assert!(unknown.contains("10X"), "{unknown}");
}

#[test]
fn what_is_out_of_bounds_is_called_as_it_was_written() {
    for (kind, words, expected) in [
        (
            TestKind::Tcp,
            ("payload", "0"),
            "--payload 0: must be from 1",
        ),
        (
            TestKind::Latency,
            ("sizes", "1M"),
            "--sizes 1048576: must be",
        ),
        (
            TestKind::Tcp,
            ("streams", "10001"),
            "--streams 10001: must be from 1 to 10000",
        ),
        (
            TestKind::Saturate,
            ("duplex", "true"),
            "one direction at a time",
        ),
        (
            TestKind::Latency,
            ("arrival", "poisson"),
            "--arrival requires --rate or --curve",
        ),
    ] {
        let mut asked = request(kind, Source::CommandLine, &given(kind, &[words]));
        if let Ok(Request {
            test: Test::Latency(plan),
            ..
        }) = &mut asked
        {
            plan.measure_at(&PeerAddress::parse("10.0.0.2").unwrap());
        }
        let refused = match asked {
            Ok(request) => request.check(kind, Source::CommandLine).unwrap_err(),
            Err(refused) => refused.message,
        };
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn the_guide_has_the_tables() {
    const PLANS: &str = include_str!("../../../../docs/guide/plans.md");
    const COMMANDS: &str = include_str!("../../../../docs/guide/commands.md");
    for (page, text, table) in [
        ("plans.md", PLANS, plan_table()),
        ("plans.md", PLANS, plan_defaults()),
        ("commands.md", COMMANDS, option_index()),
    ] {
        assert!(text.contains(&table), "docs/guide/{page} needs:\n{table}");
    }
}

#[test]
fn the_page_of_an_option_names_it() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    for option in ALL.iter().flat_map(|group| group.options) {
        let Some(page) = option.page else { continue };
        let file = page.split('#').next().unwrap();
        let text = std::fs::read_to_string(guide.join(file)).unwrap();
        let is_named = option.keys().any(|key| text.contains(key));
        assert!(is_named, "docs/guide/{page} has no word of {}", option.name);
    }
}

#[test]
fn cores_may_be_left_out() {
    let pinned = |local, remote| Ok(Pinning { local, remote });
    assert_eq!(parse_pinning("0,1"), pinned(Some(0), Some(1)));
    assert_eq!(parse_pinning(",3"), pinned(None, Some(3)));
    assert!(parse_pinning("3").is_err());
    assert!(parse_pinning("a,b").is_err());
}

#[test]
fn the_payload_of_datagrams_may_be_made_to_fit_the_path() {
    let asked = |kind, value| {
        let mut words = vec![("payload", value)];
        if kind == TestKind::Udp {
            words.push(("rate", "max"));
        }
        let request = request(kind, Source::CommandLine, &given(kind, &words));
        request.map(|request| request.after.payload)
    };
    for kind in [TestKind::Udp, TestKind::Saturate] {
        assert_eq!(asked(kind, "fit").ok(), Some(PayloadChoice::Fit));
        assert_eq!(asked(kind, "1000").ok(), Some(PayloadChoice::AsGiven));
    }
    let refused = asked(TestKind::Tcp, "fit").unwrap_err();
    assert!(refused.message.contains("fit"), "{}", refused.message);
}
