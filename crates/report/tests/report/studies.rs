//! Studies: one page, whatever their size.

use crate::runs::{bare, report};
use linerate_model::run::{
    CellEstimate, Confidence, DatagramsResult, LedgerEntry, Limit, Packets, Place, RepetitionLevel,
    Run, RunKind, RunRequest, RunStatus, RunWork, StudyPlace, StudySeries, StudySettings, Trial,
    Verdict,
};
use linerate_model::spec::{Direction, Side, Transport};
use linerate_model::{BitRate, ByteCount, Estimate, PacketCount, Quantity, Ratio, WallTime};
use linerate_report::{Style, details_text, renderers, summary_text};
use std::time::Duration;

/// Rates of a sweep by hand, Mbit/s.
const RATES: [u64; 11] = [10, 20, 40, 60, 80, 90, 95, 100, 120, 150, 200];

/// Datagrams of which some were lost where that way loses them.
fn datagrams(way: Direction, sent: u64, lost: u64) -> DatagramsResult {
    let place = match way {
        Direction::Forward => Place::Network,
        _ => Place::ReceiverSocket,
    };
    let entry = LedgerEntry {
        place,
        packets: PacketCount::new(lost),
        source: "what counted it".to_owned(),
    };
    let mut work = DatagramsResult {
        ledger: if lost > 0 { vec![entry] } else { Vec::new() },
        ..DatagramsResult::default()
    };
    work.counts.packets = Some(Packets {
        sent: Some(PacketCount::new(sent)),
        received: Some(PacketCount::new(sent - lost)),
        lost: Some(PacketCount::new(lost)),
        duplicated: None,
        reordered: None,
        loss_ratio: Some(Ratio::from_parts(lost, sent)),
    });
    work
}

/// A run of one cell: a link of 95.6 Mbit/s one way, a receiver that takes 55 the other way.
fn part(index: u64, mbit: u64, way: Direction, repetition: u32, payload: Option<u64>) -> Run {
    let capacity = if way == Direction::Forward {
        95.6
    } else {
        55.0
    };
    let wobble = 1.0 + 0.004 * f64::from(repetition % 5) - 0.01;
    let intended = PacketCount::new(mbit).as_f64();
    let received = intended.min(capacity * wobble);
    let sent = BitRate::from_f64(intended * 1e6 / 8.0 / 1448.0).bps();
    let lost = BitRate::from_f64((intended - received) * 1e6 / 8.0 / 1448.0).bps();
    let work = datagrams(way, sent, lost);
    let mut trial = Trial::new(0, Transport::Udp, way, work);
    trial.intended_load = Some(BitRate::from_bps(mbit * 1_000_000));
    trial.offered_load = trial.intended_load;
    trial.received_rate = Some(BitRate::from_f64(received * 1e6));
    trial.duration = Some(Duration::from_secs(1));
    trial.payload_bytes = payload.map(ByteCount::new);
    let mut run = bare(RunKind::Udp);
    run.id = format!("part-{index}");
    run.trials = vec![trial];
    let (limit, side) = match (lost, way) {
        (0, _) => (Limit::none(), None),
        (_, Direction::Forward) => (Limit::new("link", "the link's rate"), None),
        _ => (
            Limit::new("receiver-cpu", "the receiver's CPU"),
            Some(Side::Receiver),
        ),
    };
    run.verdict = Some(Verdict {
        limit,
        side,
        share_ratio: Ratio::new(1.0),
        confidence: Confidence::Supported,
        claim: "What limits.".to_owned(),
        evidence: Vec::new(),
        experiment: None,
        weighed: None,
        directions: Vec::new(),
    });
    let payload = payload.map_or_else(String::new, |payload| format!("payload = {payload}, "));
    let way = if way == Direction::Forward {
        "forward"
    } else {
        "reverse"
    };
    run.config.place = Some(StudyPlace {
        cell: format!("direction = {way}, {payload}rate = {mbit}M"),
        repetition,
    });
    run
}

/// 11 rates, both directions, so many payloads and repetitions, in the order that a plan's random order may have.
pub(crate) fn study(payloads: &[Option<u64>], repetitions: u32) -> Run {
    let mut parts = Vec::new();
    for repetition in 1..=repetitions {
        for payload in payloads {
            for step in 0..RATES.len() {
                // 7 and 11 have no common divisor: every rate comes, none in its order.
                let mbit = RATES[step * 7 % RATES.len()];
                for way in [Direction::Reverse, Direction::Forward] {
                    let index = parts.len() as u64;
                    parts.push(part(index, mbit, way, repetition, *payload));
                }
            }
        }
    }
    let mut run = bare(RunKind::Study);
    run.title = Some("received against intended rate".to_owned());
    run.started = WallTime::from_unix(1_795_237_200);
    run.status = RunStatus::Complete;
    run.config.command = Some("linerate run plan.toml".to_owned());
    run.work = RunWork::Study {
        estimates: Vec::new(),
        findings: None,
        parts,
    };
    run
}

pub(crate) fn page(run: Run) -> String {
    let html = renderers::ALL.iter().find(|r| r.id == "html").unwrap();
    html.render(&report(&[run])).unwrap()
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

/// The mean of each cell of a study as its document has it.
fn with_estimates(mut run: Run) -> Run {
    if let RunWork::Study {
        estimates, parts, ..
    } = &mut run.work
    {
        let cell = |part: &Run| part.config.place.clone().map(|place| place.cell);
        let mut names: Vec<String> = parts.iter().filter_map(cell).collect();
        names.sort();
        names.dedup();
        *estimates = names
            .into_iter()
            .map(|cell| CellEstimate {
                cell,
                quantity: Quantity::ReceivedRate,
                direction: Direction::Forward,
                estimate: Estimate {
                    point: 50e6,
                    interval: None,
                    confidence_ratio: 0.95,
                    n: 4,
                },
                level: RepetitionLevel::Run,
            })
            .collect();
    }
    run
}

#[test]
fn the_terminal_says_what_limits_each_cell_of_a_study() {
    let mut run = study(&[None], 4);
    // One run of a cell says something else than the three others.
    let RunWork::Study { parts, .. } = &mut run.work else {
        unreachable!("it is a study")
    };
    let mut all = parts.iter_mut();
    let odd = all.find(|part| part.is_of_cell("direction = reverse, rate = 80M"));
    odd.unwrap().verdict.as_mut().unwrap().limit = Limit::unknown();
    for part in parts.iter_mut() {
        if part.is_of_cell("direction = reverse, rate = 90M") {
            part.verdict.as_mut().unwrap().confidence = Confidence::Weak;
        }
    }
    let run = with_estimates(run);
    let text = summary_text(&run, None, usize::MAX, Style::Plain);
    assert!(
        text.contains(
            "limits         the receiver's CPU in 8 cells, the link's rate in 4, none in 10"
        ),
        "{text}"
    );
    let line = |cell: &str| text.lines().find(|line| line.contains(cell)).unwrap();
    assert!(
        line("reverse, rate = 80M").ends_with("limit: the receiver's CPU (3 of 4)"),
        "{text}"
    );
    assert!(
        line("reverse, rate = 90M").ends_with("limit: the receiver's CPU (weak)"),
        "{text}"
    );
    assert!(!line("reverse, rate = 20M").contains("limit"), "{text}");
    let whole = details_text(&run, usize::MAX, Style::Plain);
    assert_eq!(count(&whole, "limit: the link's rate"), 4, "{whole}");
}

#[test]
fn a_study_of_44_cells_is_one_page_with_the_curve_of_each_direction() {
    let page = page(study(&[None], 4));
    assert_eq!(count(&page, "<figure class=\"chart\""), 2);
    assert!(page.contains("Saturation between 95 and 100 Mbit/s intended"));
    assert!(page.contains("Saturation between 40 and 60 Mbit/s intended"));
    assert!(page.contains("Every run (88)"));
    // The matrix: a row for each rate, a column for each direction.
    let matrix = page.split("<table class=\"matrix\"").nth(1).unwrap();
    let matrix = matrix.split("</table>").next().unwrap();
    assert_eq!(count(matrix, "<tr>"), 1 + RATES.len());
    let first = matrix.find("rate 10M").unwrap();
    assert!(
        first < matrix.find("rate 200M").unwrap(),
        "in order of the rate"
    );
    assert!(matrix.contains("the link's rate") && matrix.contains("the receiver's CPU"));
    assert!(page.contains("Direction explains most of the variation"));
    assert!(page.contains("the link's rate limits (16 of 16 runs that saturate agree)"));
    assert!(page.contains("data-stage=\"receiver-socket\""));
}

#[test]
fn four_thousand_runs_are_the_same_page_and_not_a_heavy_one() {
    const SIZES: [Option<u64>; 18] = [
        Some(64),
        Some(128),
        Some(192),
        Some(256),
        Some(320),
        Some(384),
        Some(448),
        Some(512),
        Some(640),
        Some(768),
        Some(896),
        Some(1024),
        Some(1152),
        Some(1280),
        Some(1344),
        Some(1408),
        Some(1432),
        Some(1448),
    ];
    let run = study(&SIZES, 10);
    assert_eq!(run.parts().len(), 3960);
    let page = page(run);
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    assert!(count(&page, "<figure class=\"chart\"") <= 8);
    assert!(page.contains("Every run (3960)"));
    assert!(page.contains("more rows are not listed here"));
}

/// The run in two series of three.
fn in_series(mut run: Run) -> Run {
    let series = |name: &str, title: Option<&str>| StudySeries {
        name: name.to_owned(),
        title: title.map(str::to_owned),
    };
    run.config.asked = Some(RunRequest::Study(StudySettings {
        host: "10.0.0.2".to_owned(),
        repetitions: 2,
        seed: 1,
        cells: Vec::new(),
        order: Vec::new(),
        control: None,
        budget: None,
        prove: false,
        restart: false,
        series: vec![
            series("sends", Some("What the board sends")),
            series("receives", None),
            series("not-measured", Some("Nothing yet")),
        ],
    }));
    let RunWork::Study { parts, .. } = &mut run.work else {
        panic!("a study");
    };
    for place in parts
        .iter_mut()
        .filter_map(|part| part.config.place.as_mut())
    {
        let series = if place.cell.contains("reverse") {
            "sends"
        } else {
            "receives"
        };
        place.cell = format!("series = {series}, {}", place.cell);
    }
    run
}

#[test]
fn each_series_has_its_own_section_and_all_share_one_list_of_runs() {
    let page = page(in_series(study(&[None], 2)));
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(at("What the board sends</h3>") < at(">receives</h3>"));
    assert!(!page.contains("Nothing yet</h3>"));
    assert_eq!(count(&page, "<table class=\"matrix\""), 2);
    assert_eq!(count(&page, "<figure class=\"chart\""), 2);
    assert_eq!(count(&page, "Every run (44)"), 1);
    // A series is no factor.
    assert!(!page.contains("Series explains") && !page.contains("series sends"));
}

#[test]
fn of_several_series_the_terminal_says_first_what_limits_and_what_was_not_measured() {
    let mut run = with_estimates(in_series(study(&[None], 4)));
    let limits = "22 cells in 88 runs; limits: the receiver's CPU in 8 cells, the link's rate in 4, none in 10.";
    let text = summary_text(&run, None, usize::MAX, Style::Plain);
    assert!(text.lines().next().unwrap().ends_with(limits), "{text}");
    assert!(!text.contains("  limits "), "{text}");
    let RunWork::Study {
        estimates, parts, ..
    } = &mut run.work
    else {
        panic!("a study");
    };
    let cell = "series = sends, direction = reverse, rate = 80M";
    estimates.retain(|mean| mean.cell != cell);
    for part in parts.iter_mut().filter(|part| part.is_of_cell(cell)) {
        part.trials[0].valid = false;
        part.trials[0].reasons = vec!["what arrived is not known".to_owned()];
    }
    let said = format!("{cell}: not measured: what arrived is not known");
    let text = summary_text(&run, None, usize::MAX, Style::Plain);
    assert_eq!(count(&text, &said), 1, "{text}");
    let whole = details_text(&run, usize::MAX, Style::Plain);
    assert_eq!(count(&whole, &said), 1, "{whole}");
}

#[test]
fn below_a_control_that_fails_the_terminal_still_says_what_limits() {
    let mut run = with_estimates(in_series(study(&[None], 4)));
    let RunWork::Study { findings, .. } = &mut run.work else {
        panic!("a study");
    };
    let difference = serde_json::json!({
        "quantity": "received_bps", "direction": "forward",
        "effect": {
            "scale": "ratio", "p": 0.001, "p_adjusted": 0.001, "verdict": "shown", "detectable_ratio": 0.01,
            "estimate": {
                "point": 1.04, "interval": {"low": 1.02, "high": 1.06}, "confidence_ratio": 0.95, "n": 8
            },
        },
    });
    *findings = serde_json::from_value(serde_json::json!({
        "tests": 0, "control": {"cell": "rate = 80M", "differences": [difference]},
    }))
    .unwrap();
    let text = summary_text(&run, None, usize::MAX, Style::Plain);
    assert!(
        text.lines().next().unwrap().contains("differs from itself"),
        "{text}"
    );
    let limits = "  limits         the receiver's CPU in 8 cells, the link's rate in 4, none in 10";
    assert_eq!(count(&text, limits), 1, "{text}");
}

#[test]
fn the_path_is_of_a_run_that_agrees_with_what_is_said_to_limit() {
    let mut run = study(&[None], 4);
    let RunWork::Study { parts, .. } = &mut run.work else {
        panic!("a study");
    };
    // The run that carries most is the only one of its opinion.
    let most = parts.iter_mut().max_by_key(|part| {
        let trial = &part.trials[0];
        let is_lossy = trial.loss_ratio().is_some_and(|loss| loss.get() > 0.0);
        is_lossy.then_some(trial.received_rate)
    });
    let odd = most.unwrap().verdict.as_mut().unwrap();
    odd.limit = Limit::new("sender-cpu", "the sender's CPU");
    odd.side = Some(Side::Sender);
    let page = page(run);
    assert!(page.contains("the link's rate limits (15 of 16 runs that saturate agree)"));
    assert_eq!(count(&page, "limit: the sender's CPU"), 0);
    assert!(count(&page, "limit: the link's rate") > 0);
}
