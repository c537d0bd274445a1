//! A run whose ends were sampled: its chart, its graphs and its line of text.

use crate::runs::{bare, report};
use linerate_model::cost::{
    CostLayer, LayerCost, PacketKind, ProfileCost, ProfileSide, ProfileSummary,
};
use linerate_model::profile::{Profile, ProfileEvent, ProfileScope, ProfileStack};
use linerate_model::run::{DatagramsResult, Run, RunKind, Trial};
use linerate_model::sample::{EndpointReport, Snapshot};
use linerate_model::spec::{Direction, Side, Transport};
use linerate_model::{PacketCount, Ratio};
use linerate_report::{Style, details_text, renderers};

/// A function's name that tries to be a script.
const HOSTILE: &str = "</title></svg><script>document.documentElement.dataset.owned=1</script>";

/// The sender sampled, the receiver not allowed to be.
pub(crate) fn sampled() -> Run {
    let work = DatagramsResult::default();
    let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
    let measured = trial.measured_mut().unwrap();
    measured.profile = Some(ProfileSummary {
        sender: Some(ProfileSide::Sampled(cost())),
        receiver: Some(ProfileSide::Missing {
            missing: "perf_event_open: Permission denied; set it".to_owned(),
        }),
    });
    measured.raw = vec![EndpointReport {
        side: Side::Sender,
        streams: Vec::new(),
        before: Snapshot::default(),
        after: Snapshot::default(),
        profile: Some(profile()),
        clock: None,
    }];
    let mut run = bare(RunKind::Udp);
    run.trials = vec![trial];
    run
}

fn profile() -> Profile {
    let names = [
        "stream-0",
        "do_syscall_64",
        "udp_sendmsg",
        "_copy_from_iter",
        HOSTILE,
        "swapper",
    ];
    let stack = |frames: &[u32], samples, user| ProfileStack {
        frames: frames.to_vec(),
        samples,
        user,
    };
    Profile {
        event: ProfileEvent::CpuClock,
        scope: ProfileScope::Host,
        kernel: true,
        rate_hz: 997,
        duration_ns: 1_000_000_000,
        samples: 1000,
        lost: 0,
        rest_samples: 0,
        names: names.map(str::to_owned).to_vec(),
        stacks: vec![
            stack(&[0, 1, 2, 3], 500, false),
            stack(&[0, 1, 2], 200, false),
            stack(&[0, 4], 100, true),
            stack(&[5], 200, false),
        ],
        remarks: Vec::new(),
    }
}

fn cost() -> ProfileCost {
    let layer = |layer, samples: u64, functions: &[&str]| LayerCost {
        layer,
        samples,
        share_ratio: Ratio::from_parts(samples, 800),
        ns_per_packet: Some(PacketCount::new(samples).as_f64() * 2.5),
        functions: functions.iter().map(|name| (*name).to_owned()).collect(),
    };
    ProfileCost {
        event: ProfileEvent::CpuClock,
        scope: ProfileScope::Host,
        kernel: true,
        busy_samples: 800,
        idle_samples: 200,
        other_samples: 0,
        unplaced_samples: 0,
        packets: Some(PacketCount::new(400_000)),
        packet_kind: Some(PacketKind::Datagrams),
        ns_per_packet: Some(2000.0),
        ns_per_byte: None,
        layers: vec![
            layer(CostLayer::Copy, 500, &["_copy_from_iter"]),
            layer(CostLayer::Transport, 200, &["udp_sendmsg"]),
            layer(CostLayer::Application, 100, &[]),
        ],
        stack_layers: vec![
            Some(CostLayer::Copy),
            Some(CostLayer::Transport),
            Some(CostLayer::Application),
            None,
        ],
        remarks: Vec::new(),
    }
}

#[test]
fn the_summary_says_the_cost_of_a_packet_in_one_line() {
    let text = details_text(&sampled(), 100, Style::Plain);
    let cost = text.lines().find(|line| line.contains("cost, sender"));
    let cost = cost.unwrap().trim();
    assert_eq!(
        cost,
        "cost, sender   2 µs per packet: copy 63 %, TCP/UDP 25 %, application 13 %."
    );
    assert!(text.contains("not sampled: perf_event_open"), "{text}");
}

#[test]
fn the_page_draws_what_is_a_cost_and_says_what_is_missing() {
    let html = renderers::ALL.iter().find(|r| r.id == "html").unwrap();
    let runs = [sampled()];
    let page = html.render(&report(&runs)).unwrap();
    assert_eq!(page.matches("<svg class=\"box ").count(), 5);
    let box_of = |class: &str| page.contains(&format!("<svg class=\"box {class}\""));
    assert!(box_of("lt") && box_of("l0") && box_of("l3") && box_of("l9"));
    assert!(!page.contains(">swapper<"), "idle is no cost");
    assert!(page.contains("_copy_from_iter · copy · 62.5 %, 1.25 µs per packet"));
    assert!(page.contains("Not sampled: perf_event_open"));
    assert!(!page.contains("<script>document"));
}

#[test]
fn functions_of_a_started_program_have_a_table_of_their_own() {
    let mut run = sampled();
    let measured = run.trials[0].measured_mut().unwrap();
    let profile = measured.raw[0].profile.as_mut().unwrap();
    let first = u32::try_from(profile.names.len()).unwrap();
    let names = ["[started program] pmd-c01", "rx_burst", "packet_rcv"];
    profile.names.extend(names.map(str::to_owned));
    for (frames, samples, user) in [
        (vec![first, first + 1], 60, true),
        (vec![first, first + 2], 20, false),
    ] {
        profile.samples += samples;
        profile.stacks.push(ProfileStack {
            frames,
            samples,
            user,
        });
    }
    let summary = measured.profile.as_mut().unwrap();
    let Some(ProfileSide::Sampled(cost)) = &mut summary.sender else {
        panic!("{summary:?}");
    };
    cost.stack_layers.extend([None, None]);
    let html = renderers::ALL.iter().find(|r| r.id == "html").unwrap();
    let page = html.render(&report(&[run])).unwrap();
    let (_, table) = page.split_once("programs that linerate started").unwrap();
    let (_, row) = table.split_once("rx_burst").unwrap();
    let (row, rest) = row.split_once("</tr>").unwrap();
    // 60 of 80 samples; a busy sample is 2000 / 800 ns of a packet.
    assert!(
        row.contains("pmd-c01") && row.contains(">75<") && row.contains(">150<"),
        "{row}"
    );
    assert!(rest.contains("packet_rcv"));
    assert!(
        !page.contains("[started program]"),
        "its thread is named alone"
    );
}
