use super::*;
use crate::options;
use crate::run::{LatencyPlan, RequestRate, Sending, Test};
use linerate_client::address::IpChoice;
use linerate_model::ByteCount;
use linerate_model::run::{RunRequest, StudyPlace};
use linerate_model::spec::{Arrival, Direction, Pace, TestSpec, TestWork};
use std::time::Duration;

pub(super) const HEAD: &str = "[study]\nhost = \"10.0.0.2\"\n";

pub(super) fn plan(rest: &str) -> StudyPlan {
    StudyPlan::parse(&format!("{HEAD}{rest}")).unwrap()
}

#[track_caller]
pub(super) fn refused(text: &str, words: &[&str]) {
    let error = StudyPlan::parse(text).unwrap_err();
    assert_eq!(error.code, ExitCode::Plan);
    for word in words {
        assert!(error.message.contains(word), "{word:?} is not in {error}");
    }
    assert_eq!(error.message.lines().count(), 1, "{error}");
}

#[test]
fn every_combination_of_levels_is_a_cell_over_the_defaults() {
    let plan = plan(
        "[defaults]\nkind = \"udp\"\nrate = \"10M\"\npayload = 100\n\
         [factors]\npayload = [64, 1448]\ndirection = [\"forward\", \"reverse\"]",
    );
    let labels: Vec<_> = plan.cells.iter().map(|cell| cell.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "direction = forward, payload = 64",
            "direction = forward, payload = 1448",
            "direction = reverse, payload = 64",
            "direction = reverse, payload = 1448",
        ]
    );
    let Test::Single(spec) = &plan.cells[3].test else {
        panic!("{:?}", plan.cells[3]);
    };
    assert_eq!(spec.payload(), ByteCount::new(1448));
    assert_eq!(spec.direction, Direction::Reverse);
    assert_eq!(spec.pace(), Pace::At("10M".parse().unwrap()));
}

#[test]
fn kinds_are_a_factor_like_any_other() {
    let plan = plan("[factors]\nkind = [\"tcp\", \"latency\", \"saturate\"]");
    let kinds: Vec<_> = plan.cells.iter().map(|cell| cell.test.asked()).collect();
    assert!(
        matches!(
            kinds[..],
            [
                RunRequest::Test { .. },
                RunRequest::Latency { .. },
                RunRequest::Search { .. }
            ]
        ),
        "{kinds:?}"
    );
}

#[test]
fn a_cell_may_name_its_own_host() {
    let text =
        "[defaults]\nkind = \"tcp\"\n[factors]\nhost = [\"10.0.0.3\", \"iperf3://10.0.0.3\"]";
    let mut plan = plan(text);
    let hosts: Vec<_> = plan.cells.iter().map(|cell| cell.far.to_string()).collect();
    assert_eq!(hosts, ["10.0.0.3:5301", "iperf3://10.0.0.3:5201"]);
    assert_eq!(plan.peers(), "10.0.0.3:5301, iperf3://10.0.0.3:5201");
    // The study needs none then, and no option overrules one.
    StudyPlan::parse(&format!("[study]\n{text}")).unwrap();
    let error = plan.set_peer(&PeerAddress::parse("10.0.0.4").unwrap());
    let error = error.unwrap_err();
    assert_eq!(error.code, ExitCode::Usage);
    assert!(error.message.contains("host = 10.0.0.3"), "{error}");
    refused(
        &format!("{HEAD}[defaults]\nkind = \"tcp\"\nhost = \"\"\n"),
        &["line 5", "host"],
    );
}

#[test]
fn messages_are_asked_at_a_rate_and_awaited_in_any_mode() {
    let plan = plan(
        "[defaults]\nkind = \"latency\"\ntransport = \"tcp\"\narrival = \"poisson\"\nanswer-timeout = \"2s\"\n\
         [factors]\nrate = [500, \"20k\"]\nwait = [\"spin\", \"io-uring\"]",
    );
    let asked = plan.cells.iter().map(|cell| match &cell.test {
        Test::Latency(plan) => (plan.specs().remove(0), plan.modes[0].label().to_owned()),
        other => panic!("{other:?}"),
    });
    let asked = asked.collect::<Vec<_>>();
    let open = |spec: &TestSpec| match &spec.work {
        TestWork::OpenLoop(open) => open.clone(),
        other => panic!("{other:?}"),
    };
    let rates: Vec<_> = asked
        .iter()
        .map(|(spec, mode)| (open(spec).rate.pps(), mode.as_str()))
        .collect();
    assert_eq!(
        rates,
        [
            (500.0, "spin"),
            (500.0, "io-uring"),
            (20e3, "spin"),
            (20e3, "io-uring"),
        ]
    );
    for (spec, _) in asked {
        assert_eq!(open(&spec).arrival, Arrival::Poisson);
        assert_eq!(open(&spec).answer_timeout, Duration::from_secs(2));
    }
}

#[test]
fn each_repetition_measures_every_cell_once_in_an_order_of_its_own() {
    let text = "repetitions = 20\nseed = 7\n[defaults]\nkind = \"tcp\"\n[factors]\nstreams = [1, 2, 3, 4, 5, 6]";
    let order = plan(text).order();
    assert_eq!(order, plan(text).order(), "the seed decides");
    let rounds: Vec<Vec<usize>> = order
        .chunks(7)
        .map(|round| round.iter().map(|run| run.1).collect())
        .collect();
    for round in &rounds {
        let mut cells = round.clone();
        cells.sort_unstable();
        // The seventh is the control.
        assert_eq!(cells, [0, 1, 2, 3, 4, 5, 6]);
    }
    assert!(rounds.iter().any(|round| *round != rounds[0]));
    assert_ne!(order, plan(&text.replace("seed = 7", "seed = 8")).order());
}

#[test]
fn only_what_linerate_starts_can_be_started_anew() {
    let rest = "restart = true\n[defaults]\nkind = \"tcp\"\n";
    let error = plan(rest).check_restart().unwrap_err();
    assert_eq!(error.code, ExitCode::Plan);
    assert!(error.message.contains("10.0.0.2"), "{error}");
    let by_ssh = format!("[study]\nhost = \"ssh://root@board\"\n{rest}");
    let by_ssh = StudyPlan::parse(&by_ssh).unwrap();
    assert!(by_ssh.check_restart().is_ok());
    assert!(by_ssh.settings().restart);
    let again = by_ssh.cells[0].far.restarted().unwrap();
    assert_eq!(again.to_string(), "ssh://root@board");
    let stack = StudyPlan::parse(
        "[study]\nrestart = true\n[factors]\nkind = [\"tcp\"]\nstack = [\"lwip\"]",
    );
    assert!(stack.unwrap().check_restart().is_ok());
    assert!(plan("[defaults]\nkind = \"tcp\"").check_restart().is_ok());
}

#[test]
fn unknown_keys_are_named_with_their_line_and_the_valid_ones() {
    refused(
        &format!("{HEAD}[defaults]\nkind = \"udp\"\npaylod = 64\n"),
        &["line 5", "\"paylod\"", "payload"],
    );
    refused(
        &format!("{HEAD}[factors]\nflavour = [1]\n"),
        &["line 4", "\"flavour\"", "streams"],
    );
    refused(
        &format!("{HEAD}repetition = 3\n"),
        &["line 3", "repetition", "repetitions"],
    );
    refused(
        &format!("{HEAD}[default]\nkind = \"udp\"\n"),
        &["line 3", "default", "defaults"],
    );
}

#[test]
fn values_that_cannot_be_are_named_with_their_key() {
    for (settings, words) in [
        ("kind = \"quic\"", ["line 4", "kind = quic", "tcp, udp"]),
        (
            "kind = \"udp\"\nrate = \"10X\"",
            ["line 5", "rate = 10X", "10M"],
        ),
        ("kind = \"tcp\"\npayload = 0", ["payload", "0", "from 1"]),
        (
            "kind = \"tcp\"\nstreams = 10001",
            ["streams", "10001", "from 1 to 10000"],
        ),
        (
            "kind = \"tcp\"\nstreams = true",
            ["line 5", "streams = true", "invalid digit"],
        ),
        (
            "kind = \"tcp\"\ndirection = \"up\"",
            ["line 5", "direction = up", "reverse"],
        ),
        (
            "kind = \"latency\"\nrate = \"max\"",
            ["line 5", "rate = max", "per second"],
        ),
        (
            "kind = \"saturate\"\nrate = \"1M\"",
            ["line 5", "rate", "only to tcp, udp, latency"],
        ),
        (
            "kind = \"latency\"\nwait = \"doze\"",
            ["line 5", "wait = doze", "io-uring"],
        ),
        (
            "kind = \"tcp\"\narrival = \"poisson\"",
            ["line 5", "arrival", "only to latency"],
        ),
        (
            "kind = \"saturate\"\ndirection = \"duplex\"",
            ["direction", "one direction", "factor"],
        ),
        ("kind = \"udp\"", ["cell", "needs rate", "max"]),
        (
            "kind = \"latency\"\narrival = \"poisson\"",
            ["cell", "arrival", "requires rate or curve"],
        ),
        ("time = \"1s\"", ["kind", "tcp", "saturate"]),
    ] {
        refused(&format!("{HEAD}[defaults]\n{settings}\n"), &words);
    }
}

#[test]
fn studies_without_a_host_a_level_or_a_run_are_refused() {
    refused("", &["study"]);
    refused(
        "[study]\n[defaults]\nkind = \"tcp\"\n",
        &["cell \"all\"", "give a host in [study], or a stack"],
    );
    refused(
        "[study]\nhost = \"http://x\"\n",
        &["line 2", "host", "10.0.0.2"],
    );
    let tcp = "[defaults]\nkind = \"tcp\"\n";
    refused(
        &format!("{HEAD}{tcp}[factors]\nstreams = []\n"),
        &["line 6", "streams", "at least one"],
    );
    refused(
        &format!("{HEAD}{tcp}[factors]\nstreams = [1, 1]\n"),
        &["streams = 1", "two cells"],
    );
    refused(
        &format!("{HEAD}repetitions = 0\n{tcp}"),
        &["line 3", "repetitions = 0"],
    );
    refused(
        &format!("{HEAD}repetitions = 100001\n{tcp}"),
        &["line 3", "100000"],
    );
    refused(&format!("{HEAD}{tcp}[factors\n"), &["line 5"]);
}

#[test]
fn a_plan_that_measures_something_else_has_other_values() {
    let tcp = plan("[defaults]\nkind = \"tcp\"\n").settings();
    assert_eq!(
        tcp,
        plan("[defaults]\nkind = \"tcp\" # the same\n").settings()
    );
    assert_ne!(
        tcp,
        plan("[defaults]\nkind = \"tcp\"\nwarm-up = \"1s\"\n").settings()
    );
    assert_ne!(
        tcp,
        plan("seed = 2\nrepetitions = 2\n[defaults]\nkind = \"tcp\"\n").settings()
    );
}

/// The page on plans.
const GUIDE: &str = include_str!("../../../../docs/guide/plans.md");

#[test]
fn the_control_is_a_cell_of_the_plan_that_is_stored_under_a_name_of_its_own() {
    let factors = "[defaults]\nkind = \"tcp\"\n[factors]\nstreams = [1, 2]";
    let control = |study: &str| {
        let plan = plan(&format!("{study}{factors}"));
        let last = plan
            .place(plan.places() - 1)
            .map(|(cell, name)| (cell.label.clone(), name.to_owned()));
        (plan.settings().control, last.unwrap())
    };
    let named = |label: &str| (label.to_owned(), StudyPlace::CONTROL.to_owned());
    let first = Some("streams = 1".to_owned());
    assert_eq!(
        control("repetitions = 2\n"),
        (first.clone(), named("streams = 1"))
    );
    assert_eq!(control("repetitions = 1\n").0, None);
    assert_eq!(control("budget = \"1h\"\n").0, first);
    let second = control("repetitions = 2\ncontrol = \"streams = 2\"\n");
    assert_eq!(
        second,
        (Some("streams = 2".to_owned()), named("streams = 2"))
    );
    let (none, last) = control("repetitions = 2\ncontrol = false\n");
    assert_eq!((none, last.1.as_str()), (None, "streams = 2"));
    refused(
        &format!("{HEAD}control = \"streams = 3\"\n{factors}"),
        &["line 3", "control", "streams = 3", "plan check"],
    );
    refused(
        &format!("{HEAD}control = 3\n{factors}"),
        &["line 3", "control"],
    );
}

#[test]
fn a_budget_must_be_long_enough_and_a_precision_needs_one() {
    let cells = "[defaults]\nkind = \"tcp\"\ntime = \"9s\"\n[factors]\nstreams = [1, 2]";
    // Two cells and the control, five times, 10 s each.
    let whole = plan(&format!("budget = \"150s\"\nprecision = \"1%\"\n{cells}"));
    assert!(whole.check_budget().is_ok());
    assert_eq!((whole.runs(), whole.time()), (15, Duration::from_secs(150)));
    assert_eq!(whole.order(), []);
    let budget = whole.settings().budget.unwrap();
    assert_eq!(budget.precision, Some(Ratio::clamped(0.01)));
    let short = plan(&format!("budget = \"149s\"\n{cells}")).check_budget();
    let short = short.unwrap_err();
    assert_eq!(short.code, ExitCode::Plan);
    assert!(
        short
            .message
            .contains("5 runs of each of 3 cells take up to 150 s"),
        "{short}"
    );
    let open = plan(&format!("precision = \"1%\"\n{cells}")).check_budget();
    assert!(open.unwrap_err().message.contains("requires a budget"));
    refused(
        &format!("{HEAD}budget = \"soon\"\n{cells}"),
        &["line 3", "budget", "soon"],
    );
    refused(
        &format!("{HEAD}precision = \"x\"\n{cells}"),
        &["line 3", "precision"],
    );
}

#[test]
fn every_example_to_begin_with_is_a_plan_of_its_purpose_with_comments() {
    let purposes: Vec<_> = EXAMPLES.iter().map(|example| example.purpose).collect();
    assert_eq!(purposes, ["udp", "tcp", "latency", "saturate", "switch"]);
    for example in EXAMPLES {
        let plan = StudyPlan::parse(example.text).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            plan.cells.len() > 1 && plan.repetitions > 1,
            "{}",
            example.purpose
        );
        assert!(
            example
                .text
                .contains(&format!("kind = \"{}\"", example.purpose))
        );
        assert!(
            example.text.matches('#').count() >= 4,
            "{}",
            example.purpose
        );
    }
}

#[test]
fn what_a_plan_costs_is_known_before_it_runs() {
    let plan = plan(
        "[defaults]\nkind='udp'\nrate='1M'\ntime='5s'\nwarm-up='1s'\n[factors]\npayload=[64,512]\nreverse=[false,true]",
    );
    assert_eq!(plan.cells.len(), 4);
    assert_eq!(plan.runs(), 4 * plan.repetitions as usize);
    assert_eq!(plan.time(), Duration::from_secs(4 * 7) * plan.repetitions);
}

#[test]
fn directions_cores_and_goals_are_called_as_on_the_command_line() {
    let one = |rest: &str| plan(rest).cells.remove(0).test;
    let Test::Single(spec) =
        one("[defaults]\nkind='tcp'\npace='5M'\nreverse=true\ncpu='1,'\nobserve='none'")
    else {
        panic!("no single test");
    };
    assert_eq!(spec.direction, Direction::Reverse);
    assert_eq!(spec.pinning.local, Some(1));
    let Test::Saturate(search) =
        one("[defaults]\nkind='saturate'\nloss-goal='0.1%, 1%'\ndelay-goal='p99<2ms'")
    else {
        panic!("no search");
    };
    assert_eq!(search.loss_goals.len(), 2);
    assert!(search.delay_goal.is_some());
    let Test::Latency(latency) = one("[defaults]\nkind='latency'\nsizes=64\ncpu=',2'") else {
        panic!("no latency");
    };
    assert_eq!(
        (latency.sizes[0].get(), latency.pinning.remote),
        (64, Some(2))
    );
    for (wrong, words) in [
        (
            "kind='tcp'\nreverse=true\nduplex=true",
            &["reverse", "duplex", "exclude each other"][..],
        ),
        (
            "kind='tcp'\nreverse='maybe'",
            &["reverse = maybe", "true or false"],
        ),
        ("kind='latency'\nsizes='32,64'", &["sizes = 32,64"]),
        ("kind='tcp'\ncpu='x'", &["LOCAL,REMOTE"]),
        ("kind='saturate'\nloss-goal='lots'", &["loss-goal = lots"]),
    ] {
        refused(&format!("[study]\nhost='h'\n[defaults]\n{wrong}"), words);
    }
}

#[test]
fn the_schema_for_editors_knows_every_setting() {
    let schema = json_schema();
    for part in ["defaults", "factors"] {
        let known = schema["properties"][part]["properties"]
            .as_object()
            .unwrap();
        for key in options::keys() {
            assert!(known.contains_key(key), "{part}: {key}");
        }
        assert_eq!(known.len(), options::keys().len());
    }
}

#[test]
fn every_example_of_the_guide_is_a_plan() {
    let examples: Vec<_> = GUIDE.split("```toml\n").skip(1).collect();
    assert!(examples.len() > 2);
    for example in examples {
        let text = example.split("```").next().unwrap();
        StudyPlan::parse(text).unwrap_or_else(|error| panic!("{error} in:\n{text}"));
    }
}

#[test]
fn messages_are_asked_as_on_the_command_line() {
    let cell = |settings: &str| {
        let text = format!("[defaults]\nkind='latency'\n{settings}\n");
        plan(&text).cells.remove(0)
    };
    let latency = |settings: &str| match cell(settings).test {
        Test::Latency(plan) => plan,
        other => panic!("{other:?}"),
    };
    let closed = latency(
        "load='udp:10M:reverse'\npercentile='90, 99.99'\niterations='1000..2000'\nwarm-up-iterations=10\nrounds=3\ndecompose=true\nwrap='onload --profile=latency'\nresponder-stall='1s,50ms'",
    );
    assert_eq!(closed.load.unwrap().direction, Direction::Reverse);
    let percentiles: Vec<_> = closed.percentiles.iter().map(ToString::to_string).collect();
    assert_eq!(percentiles, ["p90", "p99.99"]);
    let bounds = closed.transactions;
    assert_eq!(
        (bounds.at_least, bounds.at_most, bounds.warm_up),
        (Some(1000), Some(2000), Some(10))
    );
    assert_eq!((closed.rounds, closed.decompose), (Some(3), true));
    assert_eq!(closed.wrap.unwrap().text(), "onload --profile=latency");
    assert!(closed.stall.is_some());
    let none = latency("load='none'\nwrap='none'\ncurve=false\nrpm=false\ndecompose=false");
    assert!(none.load.is_none() && none.wrap.is_none() && none.sending == Sending::InTurn);
    let is_rising = |plan: LatencyPlan| matches!(plan.sending, Sending::AtRate(open) if matches!(open.rate, RequestRate::Rising { .. }));
    assert!(is_rising(latency("curve='100-1k'\narrival='poisson'")));
    assert!(is_rising(latency("curve=true")));
    assert!(latency("rpm=true").sending == Sending::Responsiveness);
}

#[test]
fn what_excludes_each_other_does_so_in_plans_too() {
    for (settings, words) in [
        ("rate=1000\ncurve=true", ["rate", "curve"]),
        ("rpm=true\nload='tcp'", ["rpm", "load"]),
        ("rpm=true\nsizes=64", ["rpm", "sizes"]),
        ("rate=1000\nrounds=2", ["rounds", "leave out"]),
        ("curve=true\nwrap='onload'", ["wrap", "leave out"]),
        ("rounds=0", ["rounds = 0", "1 to 1000"]),
        ("load='sctp'", ["load = sctp", "udp:100M"]),
        ("percentile='100'", ["percentile = 100", "99.9"]),
        ("iterations='2..1'", ["iterations = 2..1", "1000..100000"]),
        ("curve='2k-1k'", ["curve = 2k-1k", "100-1M"]),
        ("decompose='yes'", ["decompose = yes", "true or false"]),
        (
            "diagnose='5s'",
            ["diagnose", "does not apply to kind latency"],
        ),
    ] {
        refused(
            &format!("{HEAD}[defaults]\nkind='latency'\n{settings}\n"),
            &words,
        );
    }
}

#[test]
fn probes_are_part_of_what_a_study_is_and_takes() {
    let bare = plan("[defaults]\nkind='tcp'\ntime='1s'\n");
    let probed = plan("[defaults]\nkind='tcp'\ntime='1s'\ndiagnose='5s'\n");
    assert_eq!(probed.cells[0].diagnose, Duration::from_secs(5));
    assert_eq!(
        probed.time(),
        bare.time() + Duration::from_secs(5) * probed.repetitions
    );
    assert_ne!(probed.settings(), bare.settings());
}

#[test]
fn a_stack_with_all_that_it_is_built_with_takes_the_place_of_the_host() {
    let text = "[study]\n[defaults]\nkind='tcp'\n[factors]\nstack=['kernel','lwip?tcp_wnd=2920']\nstack-buffers=['base','large-buffers']\nip=[4,6]\n";
    let plan = StudyPlan::parse(text).unwrap();
    assert_eq!(plan.cells.len(), 8);
    let first = &plan.cells[0];
    assert_eq!(first.far.to_string(), "stack://kernel?buffers=base");
    assert!(first.ip == IpChoice::V4 && first.far.is_stack());
    let label = "ip = 6, stack = lwip?tcp_wnd=2920, stack-buffers = large-buffers";
    let last = plan.cells.iter().find(|cell| cell.label == label).unwrap();
    let far = "stack://lwip?buffers=large-buffers&tcp_wnd=2920";
    assert_eq!(last.far.to_string(), far);
    // Who resumes another plan is told so.
    let other = text.replace("[4,6]", "[6,4]").replace("2920", "5840");
    assert_ne!(
        StudyPlan::parse(&other).unwrap().settings(),
        plan.settings()
    );
}

#[test]
fn a_program_has_a_table_and_its_name_is_a_level() {
    let text = "[study]\n[stacks.own]\nrun='./own --tap {device}'\nlink='tap'\n[defaults]\nkind='tcp'\n[factors]\nstack=['kernel','own']\n";
    let plan = StudyPlan::parse(text).unwrap();
    let own = &plan.cells[1];
    assert_eq!(own.label, "stack = own");
    assert_eq!(
        own.far.to_string(),
        "stack://command?link=tap&run=./own --tap {device}"
    );
    // Who resumes it with another program is told so.
    let other = StudyPlan::parse(&text.replace("--tap", "-t")).unwrap();
    assert_ne!(other.settings(), plan.settings());
}

#[test]
fn tables_of_programs_that_cannot_be_are_refused_with_their_line() {
    for (table, words) in [
        (
            "[stacks.own]\nlink='tap'",
            &["line 2", "run= is needed"][..],
        ),
        (
            "[stacks.own]\nrun='x'\nopt='O2'",
            &["line 2", "not an option"],
        ),
        ("[stacks.lwip]\nrun='x'", &["line 2", "built in"]),
        ("[stacks.own]\nrun='a && b'", &["line 3", "script"]),
        ("[stacks.own]\nrun=5", &["line 3"]),
    ] {
        let text = format!("[study]\n{table}\n[defaults]\nkind='tcp'\nstack='own'\n");
        refused(&text, words);
    }
}

#[test]
fn stacks_that_cannot_be_are_refused_with_their_cell_or_line() {
    let stack = |settings: &str| format!("[study]\n[defaults]\nkind='tcp'\n{settings}\n");
    for (settings, words) in [
        (
            "stack='bsd'",
            &["line 4", "known are kernel, lwip, smoltcp"][..],
        ),
        ("stack='kernel'\nstack-opt='O2'", &["cell", "sysctls"]),
        (
            "stack='lwip?opt=O2'\nstack-opt='O3'",
            &["opt is given twice"],
        ),
        ("stack-opt='O3'", &["stack-opt requires stack"]),
        ("stack='lwip'\nip=5", &["line 5", "4, 6 or any"]),
    ] {
        refused(&stack(settings), words);
    }
    let both = format!("{HEAD}[defaults]\nkind='tcp'\nstack='lwip'\n");
    refused(&both, &["leave out host"]);
    let latency = "[study]\n[defaults]\nkind='latency'\nstack='lwip'\n";
    refused(latency, &["does not apply to kind latency"]);
}
