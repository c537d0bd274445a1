//! What each kind of run looks like as text and as chart data.

use crate::runs::{
    bare, board_receives, board_sends, board_sends_tcp, demo, incomplete, latency, report, search,
    sweep, tcp, unknown,
};
use linerate_model::run::{Run, RunKind, TrialInterval};
use linerate_model::sample::{
    ByteStreamReceiver, EndpointReport, FlowCounts, IntervalCount, StreamReport,
};
use linerate_model::spec::{Direction, Side};
use linerate_model::{BitRate, ByteCount, PacketCount};
use linerate_report::chart::Chart;
use linerate_report::charts::{self, Drawn};
use linerate_report::{Style, Whereabouts, details_text, renderers, summary_text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const KINDS: [RunKind; 5] = [
    RunKind::Demo,
    RunKind::Latency,
    RunKind::Saturate,
    RunKind::Tcp,
    RunKind::Udp,
];

fn charts_of(run: &Run) -> Vec<Chart> {
    let drawn = charts::ALL.iter().map(|kind| (kind.draw)(run));
    drawn
        .flat_map(|drawn| match drawn {
            Drawn::Charts(charts) => charts,
            Drawn::Missing(_) | Drawn::NotApplicable => Vec::new(),
        })
        .collect()
}

/// Charts as data with their tables, long series cut to their ends.
fn data_of(run: &Run) -> Value {
    let charts = charts_of(run).into_iter().map(|chart| {
        let mut data = serde_json::to_value(&chart).unwrap();
        for series in data["series"].as_array_mut().unwrap() {
            shorten(series["points"].as_array_mut().unwrap());
        }
        let rows: Vec<String> = chart
            .table
            .rows
            .iter()
            .take(4)
            .map(|row| {
                let cells: Vec<_> = row.iter().map(|cell| cell.text.as_str()).collect();
                cells.join(" | ")
            })
            .collect();
        data["table"] = json!({"columns": chart.table.columns.join(" | "), "rows": rows});
        data
    });
    Value::Array(charts.collect())
}

fn shorten(points: &mut Vec<Value>) {
    if points.len() > 12 {
        points.drain(3..points.len() - 2);
    }
}

fn captions(run: &Run) -> String {
    let all = charts_of(run);
    let lines = all
        .iter()
        .map(|c| format!("{}\n  {}\n  {}\n", c.id, c.title, c.caption));
    lines.collect()
}

#[test]
fn the_study_s_figures_say_what_the_study_found() {
    insta::assert_snapshot!("board-sends-captions", captions(&board_sends()));
    insta::assert_snapshot!("board-receives-captions", captions(&board_receives()));
    insta::assert_snapshot!("board-sends-tcp-captions", captions(&board_sends_tcp()));
}

#[test]
fn captions_of_our_own_runs() {
    insta::assert_snapshot!("search-captions", captions(&search(Direction::Forward)));
    insta::assert_snapshot!("tcp-captions", captions(&tcp(Direction::Reverse)));
    insta::assert_snapshot!("latency-captions", captions(&latency()));
    insta::assert_snapshot!("sweep-captions", captions(&sweep()));
}

#[test]
fn chart_data() {
    insta::assert_json_snapshot!("board-sends-charts", data_of(&board_sends()));
    insta::assert_json_snapshot!("sweep-charts", data_of(&sweep()));
    insta::assert_json_snapshot!("search-charts", data_of(&search(Direction::Forward)));
}

#[test]
fn text_summaries() {
    for (name, run) in every_kind() {
        let text = details_text(&run, 96, Style::Plain);
        insta::assert_snapshot!(format!("summary-{name}"), text);
    }
}

const KEPT: Whereabouts<'_> = Whereabouts {
    name: Some("20261121-050000-tcp-1f3a"),
    report: None,
};

fn every_kind() -> [(&'static str, Run); 9] {
    [
        ("board-sends", board_sends()),
        ("board-receives", board_receives()),
        ("search", search(Direction::Forward)),
        ("tcp", tcp(Direction::Forward)),
        ("latency", latency()),
        ("sweep", sweep()),
        ("demo", demo()),
        ("incomplete", incomplete()),
        ("unknown", unknown(RunKind::Udp)),
    ]
}

#[test]
fn the_end_of_a_command() {
    for (name, run) in every_kind() {
        let text = summary_text(&run, Some(&KEPT), 80, Style::Plain);
        insta::assert_snapshot!(format!("screen-{name}"), text);
    }
}

#[test]
fn a_summary_fits_one_screen_and_its_width() {
    for (name, run) in every_kind() {
        for width in [0, 60, 80, 120, 200, usize::MAX] {
            let text = summary_text(&run, Some(&KEPT), width, Style::Plain);
            assert!(width < 80 || text.lines().count() <= 23, "{name}: {text}");
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width.max(40), "{name}: {width}: {widest}\n{text}");
        }
    }
}

/// The letters of a text, without the spaces that wrapping puts between them.
fn letters(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn nothing_is_cut_whatever_the_width() {
    let claim = "a claim of many words that ".repeat(30) + "ends-with-a-word-".repeat(20).as_str();
    let mut run = tcp(Direction::Forward);
    run.title = Some("a title as long as a sentence ".repeat(5).trim().to_owned());
    run.verdict.as_mut().unwrap().claim.clone_from(&claim);
    for width in [0, 60, 80, 200, usize::MAX] {
        for text in [
            details_text(&run, width, Style::Plain),
            summary_text(&run, Some(&KEPT), width, Style::Plain),
        ] {
            let title = run.title.as_deref().unwrap();
            assert!(letters(&text).contains(&letters(title)), "{width}: {text}");
        }
        let text = details_text(&run, width, Style::Plain);
        assert!(letters(&text).contains(&letters(&claim)), "{width}: {text}");
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.max(40), "{width}: {widest}\n{text}");
    }
    // What has no room is left out whole, and the end says where it is.
    let short = summary_text(&run, Some(&KEPT), 80, Style::Plain);
    assert!(!short.contains("a claim of many words"), "{short}");
    assert!(short.contains("tcp-1f3a --verbose"), "{short}");
}

#[test]
fn latency_shows_every_row_that_was_measured() {
    let mut run = sweep();
    let one = run.trials[0].clone();
    for size in 0..200 {
        let mut trial = one.clone();
        trial.payload_bytes = Some(ByteCount::new(70_000 + size));
        run.trials.push(trial);
    }
    for text in [
        summary_text(&run, Some(&KEPT), 80, Style::Plain),
        details_text(&run, 80, Style::Plain),
    ] {
        let rows = text.lines().filter(|line| line.ends_with("  650000"));
        assert_eq!(rows.count(), run.trials.len(), "{text}");
    }
}

#[test]
fn escape_sequences_only_when_asked() {
    let run = search(Direction::Forward);
    assert!(!details_text(&run, 80, Style::Plain).contains('\u{1b}'));
    assert!(details_text(&run, 80, Style::Ansi).contains("\u{1b}[1m"));
}

#[test]
fn csv_has_a_row_for_each_trial_of_each_part() {
    let runs = [demo(), board_sends()];
    let csv = renderers::ALL.iter().find(|r| r.id == "csv").unwrap();
    let text = csv.render(&report(&runs)).unwrap();
    assert_eq!(text.lines().count(), 1 + 2 + 2 * 16 + 2 + 12);
    let fields = text.lines().next().unwrap().split(',').count();
    let sends = text.lines().last().unwrap();
    assert_eq!(
        sends.split(',').count(),
        fields + 1,
        "the title has a comma: {sends}"
    );
    assert!(sends.contains("\"UDP, the board sends\""));
}

#[test]
fn json_is_the_run_document() {
    let runs = [board_sends()];
    let json = renderers::ALL.iter().find(|r| r.id == "json").unwrap();
    let text = json.render(&report(&runs)).unwrap();
    let back: Run = serde_json::from_str(&text).unwrap();
    assert_eq!(back.schema, runs[0].schema);
    assert_eq!(back.trials.len(), runs[0].trials.len());
    assert_eq!(back.verdict, runs[0].verdict);
}

#[test]
fn every_renderer_takes_every_kind_of_poor_run() {
    let poor = KINDS.into_iter().flat_map(|kind| {
        let mut bad = unknown(kind);
        for trial in &mut bad.trials {
            trial.valid = false;
        }
        [bare(kind), unknown(kind), bad]
    });
    let runs: Vec<_> = poor.chain([incomplete()]).collect();
    for renderer in renderers::ALL {
        let text = renderer.render(&report(&runs)).unwrap();
        assert!(renderer.id == "html" || !text.contains("NaN"));
        renderer.render(&report(&[])).unwrap();
        for run in &runs {
            renderer.render(&report(std::slice::from_ref(run))).unwrap();
        }
    }
}

#[test]
fn renderers_have_unique_ids_and_summaries() {
    let ids: Vec<_> = renderers::ALL.iter().map(|r| (r.id, r.ending)).collect();
    assert_eq!(
        ids,
        [
            ("html", "html"),
            ("text", "txt"),
            ("csv", "csv"),
            ("json", "json"),
            ("junit", "xml"),
            ("sfnt", "sfnt"),
            ("hgrm", "hgrm")
        ]
    );
    assert!(renderers::ALL.iter().all(|r| r.summary.ends_with('.')));
}

#[test]
fn unknown_is_said_and_never_zero() {
    let runs = [unknown(RunKind::Udp)];
    let html = renderers::ALL[0].render(&report(&runs)).unwrap();
    assert!(html.contains("not recorded"));
    let text = details_text(&runs[0], 80, Style::Plain);
    assert!(text.contains("not recorded"));
    assert!(!text.contains("0 bit/s"));
}

#[test]
fn an_empty_message_has_a_place_in_the_sweep() {
    let mut run = sweep();
    run.trials[0].payload_bytes = Some(ByteCount::new(0));
    let chart = &charts_of(&run)[0];
    assert_eq!(chart.x.categories[0], "0");
    assert_eq!(chart.table.rows.len(), run.trials.len());
    assert_eq!(
        data_of(&run)[0]["series"][0]["points"]
            .as_array()
            .unwrap()
            .len(),
        run.trials.len()
    );
}

#[test]
fn a_log_s_last_milliseconds_are_no_rate() {
    let mut run = board_sends_tcp();
    let end = run.trials[0].intervals.last().unwrap().end;
    run.trials[0].intervals.push(TrialInterval {
        start: end,
        end: end + Duration::from_millis(10),
        offered_load: Some(BitRate::from_bps(1)),
        ..TrialInterval::default()
    });
    let caption = captions(&run);
    assert!(caption.contains("Between 124 and 129 Mbit/s"), "{caption}");
    assert!(caption.contains("under half the usual length"), "{caption}");
}

#[test]
fn long_series_are_thinned_and_say_so() {
    let mut run = board_sends_tcp();
    let one = run.trials[0].intervals[0];
    run.trials[0].intervals = vec![one; 5000];
    let charts = charts_of(&run);
    let chart = charts.iter().find(|c| c.id == "rate-over-time").unwrap();
    assert!(
        chart.caption.contains("Of every 9 readings"),
        "{}",
        chart.caption
    );
    assert!(chart.table.rows.len() <= 600);
}

#[test]
fn parallel_streams_get_a_chart_of_their_own() {
    let mut run = tcp(Direction::Forward);
    let streams = (0..2_u16).map(|index| StreamReport {
        bytes: ByteCount::new(1_250_000 * (u64::from(index) + 1)),
        duration: Duration::from_secs(1),
        intervals: vec![IntervalCount {
            start: Duration::ZERO,
            end: Duration::from_secs(1),
            bytes: ByteCount::new(1_250_000 * (u64::from(index) + 1)),
            packets: PacketCount::new(0),
            next_expected: None,
        }],
        ..StreamReport::new(index, ByteStreamReceiver::default())
    });
    run.trials[0].measured_mut().unwrap().raw = vec![EndpointReport::of_streams(
        Side::Receiver,
        streams.collect(),
    )];
    let charts = charts_of(&run);
    let chart = charts.iter().find(|c| c.id == "stream-rate-0").unwrap();
    assert_eq!(chart.series.len(), 2);
    assert_eq!(
        chart.caption,
        "2 streams; the slowest gets 10 Mbit/s, the fastest 20 Mbit/s."
    );
    // Over the trial's time, as everywhere else, where that is known.
    let rates =
        ["min", "p1", "p10", "p50", "p90", "p99", "max"].map(|at| (format!("{at}_bps"), 9_000_000));
    let rates: BTreeMap<_, _> = rates.into();
    let shares = json!({"threads": 2, "silent": 0, "rates": rates, "slowest": []});
    run.trials[0].shares = serde_json::from_value(shares).unwrap();
    let charts = charts_of(&run);
    let chart = charts.iter().find(|c| c.id == "stream-rate-0").unwrap();
    assert!(
        chart.caption.contains("slowest gets 9 Mbit/s"),
        "{}",
        chart.caption
    );
    // Those of threads that carry several are no streams.
    let threads = &mut run.trials[0].measured_mut().unwrap().raw[0].streams;
    for thread in threads {
        thread.flows = Some(FlowCounts::default());
    }
    let charts = charts_of(&run);
    let chart = charts.iter().find(|c| c.id == "stream-rate-0").unwrap();
    assert!(
        chart.caption.starts_with("2 threads; "),
        "{}",
        chart.caption
    );
    assert_eq!(chart.series[1].name, "thread 1");
}
