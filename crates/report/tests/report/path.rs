//! The path picture holds the ledger's numbers, in the page and as it is drawn.

use crate::runs::{bare, report, tcp};
use linerate_model::run::{
    Confidence, DatagramsResult, Host, HostRole, LedgerEntry, Limit, Packets, Place, Run, RunKind,
    RunRequest, RunStatus, Trial, TrialWork, Verdict,
};
use linerate_model::spec::{DatapathChoice, Direction, Pace, Side, TestSpec, Transport};
use linerate_model::{BitRate, PacketCount, Ratio};
use linerate_report::{Style, renderers, summary_text};
use linerate_testkit::browser::Page;
use serde_json::Value;

const SENT: u64 = 100_000;
const LEDGER: [(Place, u64); 4] = [
    (Place::SenderQdisc, 5_000),
    (Place::Network, 10_000),
    (Place::ReceiverSocket, 20_000),
    (Place::Unknown, 3_000),
];

/// Datagrams that were lost at three places and at one that nobody knows.
pub(crate) fn placed() -> Run {
    let lost: u64 = LEDGER.iter().map(|(_, packets)| packets).sum();
    let n = PacketCount::new;
    let mut work = DatagramsResult {
        ledger: LEDGER
            .map(|(place, packets)| LedgerEntry {
                place,
                packets: n(packets),
                source: format!("what counted it at {place:?}"),
            })
            .into(),
        ..DatagramsResult::default()
    };
    work.counts.packets = Some(Packets {
        sent: Some(n(SENT)),
        received: Some(n(SENT - lost)),
        lost: Some(n(lost)),
        duplicated: None,
        reordered: None,
        loss_ratio: Some(Ratio::from_parts(lost, SENT)),
    });
    let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
    trial.intended_load = Some(BitRate::from_bps(125_000_000));
    trial.offered_load = Some(BitRate::from_bps(100_000_000));
    trial.received_rate = Some(BitRate::from_bps(62_000_000));
    let mut run = bare(RunKind::Udp);
    run.trials = vec![trial];
    run.verdict = Some(Verdict {
        limit: Limit::new("receiver-cpu", "the receiver's CPU"),
        side: Some(Side::Receiver),
        share_ratio: Ratio::new(0.5),
        confidence: Confidence::Supported,
        claim: "The receiver's CPU limits.".to_owned(),
        evidence: Vec::new(),
        experiment: None,
        weighed: None,
        directions: Vec::new(),
    });
    run
}

fn page(run: Run) -> String {
    let html = renderers::ALL.iter().find(|r| r.id == "html").unwrap();
    html.render(&report(&[run])).unwrap()
}

#[test]
fn a_run_without_a_count_is_drawn_as_not_known() {
    let mut run = placed();
    let counts = run.trials[0].counts_mut().unwrap();
    counts.packets = None;
    run.trials[0].work = DatagramsResult::default().into();
    let page = page(run);
    assert!(page.contains("sent: not recorded"));
    assert!(page.contains("class=\"flow unknown\""));
    assert!(page.contains("loss not known"));
    assert!(!page.contains("data-sent="));
}

#[test]
fn frames_pass_the_ports_and_the_inside_of_a_device() {
    let mut test = TestSpec::udp_datagrams(Pace::Unpaced);
    test.datapath.id = DatapathChoice::PORTS.to_owned();
    let mut run = placed();
    run.config.asked = Some(RunRequest::Test { test });
    let TrialWork::Datagrams(work) = &mut run.trials[0].work else {
        unreachable!("invariant: made of datagrams");
    };
    work.ledger
        .retain(|entry| entry.place == Place::ReceiverSocket);
    work.ledger.insert(
        0,
        LedgerEntry {
            place: Place::Device,
            packets: PacketCount::new(18_000),
            source: "rule set forward of nft".to_owned(),
        },
    );
    let page = page(run);
    for part in [
        "data-unit=\"frames\"",
        "38\u{202f}000 of 100\u{202f}000 frames lost",
        "18\u{202f}000 at rule set forward of nft",
        "port B",
        "pps",
        // A place that frames do not usually pass, at which some were lost.
        "data-stage=\"receiver-socket\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for absent in ["sender-socket", "sender-qdisc", "receiver-backlog"] {
        assert!(
            !page.contains(&format!("data-stage=\"{absent}\"")),
            "{absent}"
        );
    }
}

#[test]
fn what_tcp_sent_again_has_no_place() {
    let page = page(tcp(Direction::Reverse));
    assert!(page.contains("data-unit=\"segments\""));
    assert!(page.contains("data-unplaced=\"12\""));
    assert!(page.contains("12 of 40\u{202f}000 segments sent again"));
}

/// Reads every picture back: the numbers that it says, and the widths that it draws them with.
const READ: &str = r#"
  const seen = [];
  for (const svg of document.querySelectorAll("svg.path.across")) {
    const stages = [...svg.querySelectorAll("[data-stage]")].map((place) => ({
      stage: place.dataset.stage,
      entered: Number(place.dataset.entered),
      lost: place.dataset.lost === undefined ? null : Number(place.dataset.lost),
      limits: place.dataset.limit === "yes",
      widths: [...place.querySelectorAll("rect.flow")].map((part) => part.getBBox().height),
      said: [...place.querySelectorAll("text")].map((text) => text.textContent),
    }));
    const all = svg.dataset;
    const shown = getComputedStyle(svg).display;
    const rest = svg.querySelector("rect.unplaced");
    const ends = [...svg.querySelectorAll("text.count")].map((text) => text.textContent);
    const rows = [...svg.closest("figure").querySelectorAll("table tbody tr")].map((row) => (
      [...row.cells].map((cell) => cell.dataset.value ?? cell.textContent)));
    seen.push({ stages, sent: Number(all.sent), received: Number(all.received), unplaced: Number(all.unplaced),
      notOffered: Number(all.notOffered), shown, ends, rows, rest: rest ? rest.getBBox().height : 0 });
  }
  document.documentElement.dataset.seen = JSON.stringify(seen);
"#;

fn read_back(run: Run) -> Value {
    seen(run, READ, "--window-size=1280,900")
}

/// What a script finds in the page of a run, in a window of some size.
fn seen(run: Run, script: &str, size: &str) -> Value {
    let page = Page::from_html(&page(run));
    page.add_script(script);
    let dom = page.dom(&[size]);
    let seen = dom.split("data-seen=\"").nth(1).unwrap();
    let seen = seen.split('"').next().unwrap().replace("&quot;", "\"");
    serde_json::from_str(&seen).unwrap()
}

#[test]
#[ignore = "needs chromium"]
fn the_picture_that_is_drawn_has_the_ledger_s_numbers() {
    let seen = read_back(placed());
    let picture = &seen[0];
    assert_eq!(picture["shown"], "block");
    assert_eq!(picture["sent"], SENT);
    assert_eq!(picture["received"], 62_000);
    assert_eq!(picture["unplaced"], 3_000);
    assert_eq!(picture["notOffered"], 25_000);
    assert_eq!(
        picture["ends"],
        serde_json::json!(["100\u{202f}000 sent", "62\u{202f}000 received"])
    );
    // All that was meant to be sent is 60 user units wide.
    let width = |packets: u64| PacketCount::new(packets).as_f64() / 125_000.0 * 60.0;
    let near = |drawn: &Value, packets: u64| {
        let drawn = drawn.as_f64().unwrap();
        assert!(
            (drawn - width(packets)).abs() < 0.11,
            "{drawn} for {packets}"
        );
    };
    near(&picture["rest"], 3_000);
    let stages = picture["stages"].as_array().unwrap();
    let expected = [
        ("sender-application", 100_000, Some(0), [100_000, 100_000]),
        ("sender-socket", 100_000, None, [97_000, 97_000]),
        ("sender-qdisc", 100_000, Some(5_000), [97_000, 92_000]),
        ("sender-nic", 95_000, None, [92_000, 92_000]),
        ("network", 95_000, Some(10_000), [92_000, 82_000]),
        ("receiver-nic", 85_000, None, [82_000, 82_000]),
        ("receiver-backlog", 85_000, None, [82_000, 82_000]),
        ("receiver-socket", 85_000, Some(20_000), [82_000, 62_000]),
        ("receiver-application", 62_000, Some(0), [62_000, 62_000]),
    ];
    assert_eq!(stages.len(), expected.len());
    for ((place, (name, entered, lost, widths)), row) in stages
        .iter()
        .zip(expected)
        .zip(picture["rows"].as_array().unwrap())
    {
        assert_eq!(place["stage"], name);
        assert_eq!(place["entered"], entered, "{name}");
        assert_eq!(place["lost"].as_u64(), lost, "{name}");
        for (drawn, packets) in place["widths"].as_array().unwrap().iter().zip(widths) {
            near(drawn, packets);
        }
        let said = place["said"].to_string();
        match lost {
            Some(0) => assert!(!said.contains('−') && !said.contains("not known"), "{said}"),
            Some(lost) => assert!(
                said.contains(&format!("−{}\u{202f}000", lost / 1000)),
                "{said}"
            ),
            None => assert!(said.contains("loss not known"), "{said}"),
        }
        assert_eq!(row[2], entered.to_string(), "the table, {name}");
        let told = lost.map_or_else(|| "not known".to_owned(), |lost| lost.to_string());
        assert_eq!(row[3], told, "the table, {name}");
        // The verdict's side is the receiver, and there the ledger has most losses at the socket.
        assert_eq!(place["limits"], name == "receiver-socket", "{name}");
    }
}

/// The words of the picture that is shown, each with the room that the picture leaves around it.
const ROOM: &str = r#"
  const seen = [];
  for (const svg of document.querySelectorAll("svg.path")) {
    if (getComputedStyle(svg).display === "none") continue;
    const whole = svg.viewBox.baseVal;
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBBox();
      seen.push({ said: text.textContent, left: box.x - whole.x, right: whole.width - box.x - box.width,
        below: whole.height - box.y - box.height, y: box.y - whole.y });
    }
  }
  document.documentElement.dataset.seen = JSON.stringify(seen);
"#;

#[test]
#[ignore = "needs chromium"]
fn a_phone_shows_every_label_whole_within_the_picture() {
    let mut run = placed();
    let long = "a cgroup quota of the receiver's container and the receiver's softnet backlog";
    run.verdict.as_mut().unwrap().limit = Limit::new("receiver-cpu", long);
    let mut host = Host::new(HostRole::Client);
    host.facts.queueing_discipline =
        Some("fq_codel behind mq, a qdisc for each of eight queues".to_owned());
    host.facts.interface = Some("enp0s31f6.4094".to_owned());
    run.hosts.push(host);
    let seen = seen(run, ROOM, "--window-size=390,844");
    let labels = seen.as_array().unwrap();
    let said: Vec<_> = labels
        .iter()
        .map(|label| label["said"].as_str().unwrap())
        .collect();
    let all = said.join(" ");
    assert!(all.contains(long) && all.contains("eight queues"), "{all}");
    assert!(!all.contains('…'), "{all}");
    for label in labels {
        for edge in ["left", "right", "below", "y"] {
            assert!(label[edge].as_f64().unwrap() >= 0.0, "{edge}: {label}");
        }
    }
}

#[test]
fn a_run_without_a_valid_trial_says_why_and_names_no_limit() {
    let mut run = placed();
    run.status = RunStatus::Invalid;
    for trial in &mut run.trials {
        trial.valid = false;
        trial.reasons = vec!["the sender sent too much".to_owned()];
    }
    let text = summary_text(&run, None, 200, Style::Plain);
    let first = text.lines().next().unwrap();
    assert!(
        first.ends_with("invalid: its result cannot be trusted; the sender sent too much."),
        "{first}"
    );
    let html = renderers::ALL.iter().find(|r| r.id == "html").unwrap();
    let page = html.render(&report(&[run])).unwrap();
    assert!(page.contains("No result: the sender sent too much."));
}
