//! What documents say of runs of imported logs, which tell less than linerate measures.

use crate::runs::report;
use linerate_model::run::Run;
use linerate_report::{Style, details_text, explanation_text, renderers, summary_text};
use serde_json::{Value, json};

/// A run of one trial of a log, with the verdict `limit`.
fn log(kind: &str, limit: &str, mut trial: Value) -> Run {
    for (key, value) in [
        ("index", json!(0)),
        ("origin", json!("imported")),
        ("direction", json!("forward")),
        ("valid", json!(true)),
        ("duration_s", json!(10.0)),
    ] {
        trial[key] = value;
    }
    serde_json::from_value(json!({
        "schema": linerate_model::run::SCHEMA, "id": "run", "kind": kind, "status": "complete",
        "tool": {"name": "a tool"}, "source": {"format": "a-log", "files": ["a.log"]}, "config": {},
        "trials": [trial],
        "verdict": {"limit": limit, "limit_name": format!("name of {limit}"), "side": null, "share_ratio": 1.0,
            "confidence": "weak", "claim": "A claim.", "evidence": []}
    }))
    .unwrap()
}

fn datagrams(limit: &str) -> Run {
    log(
        "udp",
        limit,
        json!({
            "work": "datagrams", "transport": "udp", "received_bps": 210_000_000,
            "packets": {"sent": 130_540, "received": 90_644, "lost": 39_896, "duplicated": null, "reordered": null,
                "loss_ratio": 0.305_6},
            "intervals": (0..4).map(|at| json!({"start_s": at, "end_s": at + 1, "received_bps": 210_000_000,
                "lost_packets": 7770, "total_packets": 25_900})).collect::<Vec<_>>(),
            "rounding": {"loss_ratio": {"low": 0.297_4, "high": 0.305_6}}
        }),
    )
}

fn ping_pong(delay: &Value) -> Run {
    let trial = json!({"work": "closed-loop", "transport": "tcp", "label": "64 B", "delay": delay, "rounding": {}});
    log("latency", "round-trip", trial)
}

/// The page without the document at its end.
fn page(run: &Run) -> String {
    let html = renderers::ALL.iter().find(|renderer| renderer.id == "html");
    let whole = html
        .unwrap()
        .render(&report(std::slice::from_ref(run)))
        .unwrap();
    let page = whole.split("<script type=\"application/json\"").next();
    page.unwrap_or_default().to_owned()
}

#[test]
fn only_a_verdict_that_names_a_limit_is_sure_of_it() {
    let texts = |run: &Run| {
        [
            explanation_text(run, 500),
            details_text(run, 500, Style::Plain),
        ]
    };
    for run in [
        datagrams("unknown"),
        ping_pong(&json!({"of": "round-trip", "p50_ns": 9000, "count": 10})),
    ] {
        let page = page(&run);
        assert!(!page.contains("<dt>Confidence"), "{page}");
        assert!(!page.contains("<dt>Limit"), "{page}");
        for text in texts(&run) {
            assert!(!text.contains("hints only"), "{text}");
        }
    }
    let named = datagrams("link");
    assert!(page(&named).contains("<dd>name of link</dd>"));
    for text in texts(&named) {
        assert!(text.contains("name of link · weak: hints only"), "{text}");
        // A guess explains nothing.
        assert!(!text.contains("explains"), "{text}");
    }
}

#[test]
fn a_loss_that_a_log_leaves_open_is_an_interval() {
    let run = datagrams("unknown");
    let text = summary_text(&run, None, 500, Style::Plain);
    assert!(text.contains("loss 29.7–30.6 %"), "{text}");
    let details = details_text(&run, 500, Style::Plain);
    assert!(
        details.contains("packets        sent 130 540, received 90 644, lost 39 896"),
        "{details}"
    );
    let page = page(&run);
    assert!(
        page.contains("Datagrams were lost in 4 of 4 intervals"),
        "{page}"
    );
    assert!(page.contains("210 Mbit/s received in each of 4 intervals."));
}

#[test]
fn quantiles_that_make_no_chart_are_a_table() {
    let page = page(&ping_pong(&json!({
        "of": "half-round-trip", "mean_ns": 9112.0, "p50_ns": 8900, "p90_ns": 10_400, "p99_ns": 15_220,
        "p999_ns": 30_330, "max_ns": 812_345, "count": 454_989
    })));
    for figure in ["10.4", "30.33", "812.3"] {
        assert!(page.contains(&format!(">{figure}<")), "{figure}: {page}");
    }
}

#[test]
fn connections_without_a_delay_have_their_rate() {
    let run = log(
        "latency",
        "round-trip",
        json!({"work": "connections", "transport": "tcp", "label": "1 B", "received_pps": 4810.82, "rounding": {}}),
    );
    let text = summary_text(&run, None, 500, Style::Plain);
    assert!(
        text.contains("4811/s TCP connections opened, answered and closed"),
        "{text}"
    );
}

#[test]
fn what_holds_for_all_trials_names_none_of_them() {
    let mut run = datagrams("unknown");
    run.trials.push(run.trials[0].clone());
    run.trials[1].index = 1;
    for trial in &mut run.trials {
        trial.reasons = vec!["of the log".to_owned()];
    }
    run.trials[1].reasons.push("of one".to_owned());
    let text = summary_text(&run, None, 500, Style::Plain);
    assert!(text.contains("trial 1: of one"), "{text}");
    assert!(!text.contains("trial 0: "), "{text}");
}
