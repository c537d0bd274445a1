use super::*;
use crate::document::render;
use linerate_model::WallTime;
use linerate_model::estimate::Interval;
use linerate_model::mesh::{GainRatio, MeshCoverage, MeshPlan, SCHEMA};
use std::time::Duration;

fn estimate(point: f64, interval: Option<Interval>) -> Estimate {
    Estimate {
        point,
        interval,
        confidence_ratio: 0.95,
        n: 4,
    }
}

fn link() -> SharedLink {
    let flow = |from| LinkFlow {
        from,
        to: from + 4,
        alone: Some(BitRate::from_bps(9_400_000)),
    };
    let interval = |low, high| Some(Interval { low, high });
    SharedLink {
        flows: (0..4).map(flow).collect(),
        capacity: estimate(19.1e6, interval(18.8e6, 19.4e6)),
        certainty: LinkCertainty::Proven,
        gain_ratio: Some(GainRatio {
            point: 1.9,
            interval: interval(1.7, 2.1),
            with_others: 4,
            without_others: 4,
        }),
        place: SharedPlace::Network,
    }
}

fn plan() -> MeshPlan {
    MeshPlan {
        schema: SCHEMA.to_owned(),
        title: "lab".to_owned(),
        hosts: ["a", "b", "c", "d", "e", "f", "g", "<h>"]
            .map(str::to_owned)
            .into(),
        coverage: MeshCoverage::Complete,
        seed: 0,
        rounds: Vec::new(),
        rounds_bound: 7,
        unreachable: Vec::new(),
        repetitions: 1,
        test: Duration::from_secs(5),
        time: Duration::from_secs(84),
        bytes: None,
        search: None,
    }
}

/// Eight hosts of which a, b, c and d send to the others over a link of 19.1 Mbit/s.
fn report() -> MeshReport {
    let flows = (0..8).flat_map(|from| (0..8).map(move |to| (from, to)));
    let flows = flows.filter(|(from, to)| from != to);
    let flows = flows.map(|(from, to)| MeshFlow {
        from,
        to,
        received: Some(estimate(9.4e6, None)),
        limit: Some("link".to_owned()),
        why: None,
        standing: FlowStanding::Normal,
    });
    MeshReport {
        schema: SCHEMA.to_owned(),
        run: None,
        plan: plan(),
        flows: flows.collect(),
        crowd_flows: Vec::new(),
        crowds: Vec::new(),
        links: vec![link()],
        notes: vec!["shared links: 8 of 8 flows carried less than by themselves".to_owned()],
    }
}

#[test]
fn a_shared_link_is_told_with_its_hosts_capacity_and_proof() {
    let made = WallTime::from_unix(1_790_000_000).unwrap();
    let text = render(&report(), DocumentFormat::Markdown, &made).unwrap();
    for part in [
        "1 shared link proven",
        "19.1 Mbit/s (95 %: 18.8–19.4, n = 4)",
        "proven: 4 directions from {a, b, c, d} to {e, f, g,",
        "each carries 9.4 Mbit/s alone",
        "times as much without half of the others",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = render(&report(), DocumentFormat::Html, &made).unwrap();
    assert!(page.contains("<svg") && page.contains("&lt;h&gt;") && !page.contains("<h>"));
}
