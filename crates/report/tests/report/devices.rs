//! What devices between ports showed.

use crate::runs::{bare, report};
use linerate_model::dut::DutStage;
use linerate_model::run::{
    CacheReplacement, DelayOf, FlowCache, FlowCost, FlowPoint, Forwarding, ForwardingDelay,
    MethodResult, PairLoss, Run, RunKind, RunWork, StageDelay,
};
use linerate_model::spec::Direction;
use linerate_model::{ByteCount, Estimate, Interval, PacketCount, PacketRate, Ratio};
use linerate_report::renderers;

/// A device with one row of results.
fn device(row: Forwarding) -> Run {
    let mut run = bare(RunKind::Switch);
    let RunWork::Switch { forwarding, .. } = &mut run.work else {
        panic!("a run of a device has rows");
    };
    forwarding.push(row);
    run
}

fn rendered(run: &Run, format: &str) -> String {
    let renderer = renderers::ALL.iter().find(|one| one.id == format).unwrap();
    renderer.render(&report(std::slice::from_ref(run))).unwrap()
}

fn row() -> Forwarding {
    Forwarding::new(ByteCount::new(64), Direction::Forward)
}

/// A method that needs no search has its table and its chart in the page, and nothing of a search.
#[test]
fn a_method_alone_is_shown_whole() {
    let point = |(flows, mpps): (u32, f64)| FlowPoint {
        flows,
        received: PacketRate::from_pps(mpps * 1e6),
        turns: 5,
    };
    let cache = FlowCache {
        entries: Estimate {
            point: 500.0,
            interval: Some(Interval::new(450.0, 560.0)),
            confidence_ratio: 0.95,
            n: 3,
        },
        hit_ns: 250.0,
        miss_ns: 2000.0,
        replacement: CacheReplacement::LeastRecentlyUsed,
    };
    let found = FlowCost {
        points: [(2, 4.0), (200, 2.0), (20_000, 0.5)].map(point).to_vec(),
        cache: Some(cache),
    };
    let run = device(Forwarding {
        methods: vec![MethodResult::FlowCost(found)],
        ..row()
    });
    let page = rendered(&run, "html");
    for part in [
        "Cost of a frame by flows, at the highest load",
        "A cache of 500 flows [450, 560] (least recently used): a frame takes 250 ns",
        "forwarding-flow-cost",
        "port A",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for part in ["Throughput by frame size", "No verdict", "client ↔ server"] {
        assert!(!page.contains(part), "{part}");
    }
}

/// From port to port, with nothing where a port would send to itself.
#[test]
fn what_a_mesh_lost_is_a_matrix() {
    let pair = |(from, to, lost): (&str, &str, u64)| PairLoss {
        from: from.to_owned(),
        to: to.to_owned(),
        sent: PacketCount::new(1000),
        lost: PacketCount::new(lost),
    };
    let pairs = [
        ("eth1", "eth2", 0),
        ("eth1", "eth3", 20),
        ("eth2", "eth1", 0),
        ("eth2", "eth3", 0),
        ("eth3", "eth1", 0),
        ("eth3", "eth2", 1),
    ];
    let run = device(Forwarding {
        pairs: pairs.map(pair).to_vec(),
        ..row()
    });
    let text = rendered(&run, "text");
    let matrix = "from  to eth1, %  to eth2, %  to eth3, %";
    let (_, rows) = text.split_once(matrix).unwrap_or_else(|| panic!("{text}"));
    let rows = rows.lines().skip(1).take(3).map(|line| {
        let cells: Vec<_> = line.split_whitespace().collect();
        cells.join(" ")
    });
    let wanted = ["eth1 – 0 2", "eth2 0 – 0", "eth3 0 0.1 –"];
    assert_eq!(rows.collect::<Vec<_>>(), wanted, "{text}");
}

/// Beside the whole delay, on the screen and in the page; a load whose stages are not known has no line.
#[test]
fn stages_of_a_delay_are_beside_the_whole() {
    let delay = |load: f64, stages: &[(DutStage, u64)]| ForwardingDelay {
        load_ratio: Ratio::clamped(load),
        intended: PacketRate::from_pps(load * 1e6),
        of: Some(DelayOf::OneWay),
        clock_error_ns: None,
        p50_ns: Some(10_000),
        p99_ns: Some(30_000),
        p999_ns: None,
        max_ns: None,
        lost: None,
        mean_ns: Some(10_000.0),
        stages: stages
            .iter()
            .map(|(stage, took)| StageDelay {
                stage: *stage,
                p50_ns: *took,
                p99_ns: 2 * took,
                mean_ns: f64::from(u32::try_from(*took).unwrap()),
            })
            .collect(),
    };
    let stages = [
        (DutStage::Ingress, 400),
        (DutStage::Queue, 2500),
        (DutStage::Egress, 100),
    ];
    let run = device(Forwarding {
        delays: vec![delay(0.1, &stages), delay(0.9, &[])],
        ..row()
    });
    let wanted = "400 ns 800 ns 2.5 µs 5 µs 100 ns 200 ns 70";
    let text = rendered(&run, "text");
    let rows = text.lines().map(|line| {
        let cells: Vec<_> = line.split_whitespace().collect();
        cells.join(" ")
    });
    let rows: Vec<_> = rows.filter(|line| line.ends_with(wanted)).collect();
    assert_eq!(rows, [format!("64 B 10 % {wanted}")], "{text}");
    let page = rendered(&run, "html");
    assert!(page.contains("Delay by stage of the device's program"));
    for cell in ["2.5 µs", ">25<", ">70<"] {
        assert!(page.contains(cell), "{cell}");
    }
    let without = device(Forwarding {
        delays: vec![delay(0.9, &[])],
        ..row()
    });
    assert!(!rendered(&without, "text").contains("Delay by stage"));
}
