//! Frames of runs under way, at the smallest size and at a large one.

use crate::state::Panel;
use crate::{Live, MIN_HEIGHT, MIN_WIDTH, Scroll, render};
use linerate_model::run::{
    ClosedLoopResult, DatagramsResult, Host, HostRole, LedgerEntry, Packets, Place, RunKind, Trial,
};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, ByteCount, PacketCount, Ratio};
use linerate_report::LiveInterval;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::json;
use std::time::Duration;

const SIZES: [Rect; 2] = [
    Rect::new(0, 0, MIN_WIDTH, MIN_HEIGHT),
    Rect::new(0, 0, 200, 60),
];

fn frame(live: &Live, size: Rect) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.width, size.height)).unwrap();
    let drawn = terminal.draw(|frame| render(live, frame.area(), frame.buffer_mut()));
    drawn.unwrap().buffer.clone()
}

/// What stands in a frame, a line for each row.
fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let rows = buffer.content.chunks(width);
    let row = |row: &[ratatui::buffer::Cell]| -> String {
        let row: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        row.trim_end().to_owned() + "\n"
    };
    rows.map(row).collect()
}

fn at(live: &Live, size: Rect) -> String {
    text(&frame(live, size))
}

fn snapshot(name: &str, live: &Live) {
    for size in SIZES {
        let name = format!("{name}-{}x{}", size.width, size.height);
        insta::assert_snapshot!(name, at(live, size));
    }
}

fn hosts() -> [Host; 2] {
    let host = |role, name: &str| Host {
        name: Some(name.to_owned()),
        ..Host::new(role)
    };
    [
        host(HostRole::Client, "bench"),
        host(HostRole::Server, "board"),
    ]
}

fn interval(transport: Transport, second: u64) -> LiveInterval {
    let wave = [94, 60, 91, 12, 88][usize::try_from(second % 5).unwrap()];
    LiveInterval {
        transport,
        is_duplex: false,
        direction: Direction::Forward,
        start: Duration::from_secs(second),
        end: Duration::from_secs(second + 1),
        rate: BitRate::from_bps(wave * 1_000_000),
        is_sent: false,
        lost: (transport == Transport::Udp).then(|| {
            (
                PacketCount::new(100 - wave),
                Ratio::from_parts(100 - wave, 100),
            )
        }),
        retransmitted: (transport == Transport::Tcp).then(|| PacketCount::new(wave % 7)),
        srtt_ns: (transport == Transport::Tcp).then_some(wave * 100_000),
        cwnd: Some(ByteCount::new(218_828)),
        packets_sent: (transport == Transport::Udp).then(|| PacketCount::new(8_000 * (second + 1))),
        packets_received: (transport == Transport::Udp)
            .then(|| PacketCount::new(7_900 * (second + 1))),
        sender_cpu: Ratio::new(0.43),
        receiver_cpu: None,
    }
}

fn busy(shares: &[f64]) -> Vec<Ratio> {
    shares.iter().map(|share| Ratio::clamped(*share)).collect()
}

fn tcp() -> Live {
    let mut live = Live::default();
    live.began(RunKind::Tcp, "TCP to board:5301", &hosts());
    for second in 0..8 {
        live.interval(&interval(Transport::Tcp, second));
        live.interval(&LiveInterval {
            direction: Direction::Reverse,
            is_duplex: true,
            rate: BitRate::from_bps(40_000_000 + second * 1_000_000),
            ..interval(Transport::Tcp, second)
        });
    }
    live.progress(0.8, "94.12 Mbit/s", Duration::from_millis(8200));
    live.cores(&busy(&[0.43, 0.02, 0.97, 0.0]), &busy(&[1.0, 0.5]));
    live.note("the peer's build has no window scaling");
    live
}

fn udp() -> Live {
    let mut live = Live::default();
    live.began(RunKind::Udp, "UDP 100 Mbit/s to board:5301", &hosts());
    for second in 0..4 {
        live.interval(&interval(Transport::Udp, second));
    }
    live.progress(0.4, "94.12 Mbit/s", Duration::from_millis(4200));
    live
}

/// A trial with losses at three places and one that has none.
fn placed(index: u32, intended: u64) -> Trial {
    let n = PacketCount::new;
    let places = [
        (Place::SenderQdisc, 5_000, "tc: qdisc drops"),
        (Place::ReceiverSocket, 20_000, "SO_RXQ_OVFL"),
        (Place::Unknown, 3_000, "no counter moved"),
    ];
    let mut work = DatagramsResult {
        ledger: places
            .map(|(place, packets, source)| LedgerEntry {
                place,
                packets: n(packets),
                source: source.to_owned(),
            })
            .into(),
        ..DatagramsResult::default()
    };
    work.counts.packets = Some(Packets {
        sent: Some(n(100_000)),
        received: Some(n(72_000)),
        lost: Some(n(28_000)),
        loss_ratio: Ratio::new(0.28),
        ..Packets::default()
    });
    let mut trial = Trial::new(index, Transport::Udp, Direction::Forward, work);
    trial.intended_load = Some(BitRate::from_bps(intended));
    trial.offered_load = Some(BitRate::from_bps(intended));
    trial.received_rate = Some(BitRate::from_bps(intended.min(89_000_000)));
    trial
}

fn search() -> Live {
    let mut live = Live::default();
    live.began(RunKind::Saturate, "UDP saturation to board:5301", &hosts());
    for (index, megabits) in (0..).zip([1, 4, 16, 64, 256, 128, 96, 90, 88]) {
        live.trial(&placed(index, megabits * 1_000_000));
    }
    let mut broken = placed(9, 89_000_000);
    broken.valid = false;
    broken.reasons = vec!["the sender offered less than was intended".to_owned()];
    live.trial(&broken);
    live.progress(
        0.62,
        "narrowing loss ≤ 0.1 % at 89 Mbit/s",
        Duration::from_secs(1),
    );
    live
}

fn latency() -> Live {
    let mut live = Live::default();
    live.began(RunKind::Latency, "UDP latency to board:5301", &hosts());
    for (index, size) in [32, 1024, 1472].into_iter().enumerate() {
        let index = u32::try_from(index).unwrap();
        let delay =
            json!({"of": "half-round-trip", "p50_ns": 12_300 + index * 900, "p99_ns": 40_000});
        let work = ClosedLoopResult {
            delay: Some(serde_json::from_value(delay).unwrap()),
            ..ClosedLoopResult::default()
        };
        let mut trial = Trial::new(index, Transport::Udp, Direction::Forward, work);
        trial.label = Some(format!("{size} B, block"));
        live.trial(&trial);
    }
    live.progress(0.75, "1472 B, spin: 12 Mbit/s", Duration::from_millis(300));
    live
}

#[test]
fn a_tcp_test_in_both_directions() {
    snapshot("tcp", &tcp());
}

#[test]
fn a_udp_test_before_its_losses_have_a_place() {
    snapshot("udp", &udp());
}

#[test]
fn a_search_with_its_curve_and_the_newest_trial_s_ledger() {
    snapshot("search", &search());
}

#[test]
fn latency_by_trial() {
    snapshot("latency", &latency());
}

#[test]
fn before_the_peer_answers() {
    snapshot("connecting", &Live::default());
}

/// The words of a frame's rows, so that what wraps is found too.
fn words(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn all_places_and_keys_are_there_at_the_smallest_size() {
    for live in [tcp(), udp(), search()] {
        let shown = at(&live, SIZES[0]);
        for word in [
            "app", "socket", "qdisc", "NIC", "network", "backlog", "ledger", "CPU", "log", "q end",
        ] {
            assert!(shown.contains(word), "{word}: {shown}");
        }
    }
}

#[test]
fn what_does_not_fit_wraps_or_scrolls_into_view_and_nothing_is_cut() {
    let mut live = search();
    let long = "a message that is longer than its panel is wide and has AVeryLongWordThatIsWiderThanThePanelItselfAndMustBeBrokenSomewhere";
    live.note(long);
    live.cores(&busy(&[0.5; 96]), &busy(&[0.25; 128]));
    for size in SIZES {
        for panel in Panel::ALL {
            while live.focus != panel {
                live.focus(true);
            }
            let mut seen = String::new();
            live.scroll(Scroll::Begin, size);
            for _ in 0..300 {
                seen.push_str(&panel_text(&live, size));
                live.scroll(Scroll::Lines(1), size);
            }
            let end = panel_text(&live, size);
            live.scroll(Scroll::End, size);
            assert_eq!(panel_text(&live, size), end, "{panel:?} {size:?}");
            let wanted = match panel {
                Panel::Log => vec![
                    words("note: a message that is longer"),
                    "Somewhere".to_owned(),
                    "trial0:".to_owned(),
                ],
                Panel::Ledger => vec![
                    words("−20000 receiver’s socket: SO_RXQ_OVFL"),
                    words("place not known: no counter moved"),
                ],
                Panel::Cpu => vec!["95▄50%".to_owned(), "127▂25%".to_owned()],
            };
            for text in wanted {
                assert!(
                    words(&seen).contains(&text),
                    "{text} {panel:?} {size:?}: {seen}"
                );
            }
        }
    }
}

/// What stands in the panel that has the focus.
fn panel_text(live: &Live, size: Rect) -> String {
    let buffer = frame(live, size);
    let area = crate::draw::panel_area(live, size);
    let mut shown = String::new();
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            shown.push_str(buffer[(x, y)].symbol());
        }
        shown.push(' ');
    }
    shown
}

#[test]
fn a_long_title_and_long_names_are_whole() {
    let mut live = search();
    let title = "a title of two hundred characters ".repeat(6);
    let name = "a-host-with-a-name-of-sixty-three-characters-as-dns-allows-them";
    let mut hosts = hosts();
    hosts[1].name = Some(name.to_owned());
    live.began(RunKind::Saturate, title.trim(), &hosts);
    live.trial(&placed(0, 1_000_000));
    for size in SIZES {
        let shown = words(&at(&live, size));
        assert!(shown.contains(&words(&title)), "{shown}");
        assert!(
            shown.contains(&words(&format!("{name} 28\u{202f}000 of 100\u{202f}000"))),
            "{shown}"
        );
    }
}

#[test]
fn a_terminal_of_any_size_is_drawn_and_one_that_is_too_small_says_what_is_needed() {
    for live in [Live::default(), tcp(), udp(), search(), latency()] {
        for (width, height) in [
            (1, 1),
            (10, 3),
            (79, 24),
            (80, 23),
            (81, 25),
            (120, 30),
            (400, 200),
        ] {
            let shown = at(&live, Rect::new(0, 0, width, height));
            if (width, height) == (79, 24) {
                assert!(
                    shown.contains("needs 80 × 24 characters, the terminal has 79 × 24"),
                    "{shown}"
                );
            }
        }
    }
}

#[test]
fn what_peers_say_commands_no_terminal() {
    let mut live = Live::default();
    let hostile = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}";
    live.began(RunKind::Tcp, hostile, &hosts());
    live.note(hostile);
    live.progress(0.1, hostile, Duration::ZERO);
    let shown = at(&live, SIZES[0]);
    assert!(
        !shown.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']),
        "{shown:?}"
    );
}

#[test]
fn the_second_direction_joins_the_first_and_a_repeated_one_takes_its_place() {
    let mut live = tcp();
    let before = live.intervals.len();
    live.began(RunKind::Tcp, "TCP from board:5301", &hosts());
    assert_eq!(live.intervals.len(), before);
    live.interval(&LiveInterval {
        direction: Direction::Reverse,
        ..interval(Transport::Tcp, 0)
    });
    let of = |way| {
        live.intervals
            .iter()
            .filter(|one| one.direction == way)
            .count()
    };
    assert_eq!((of(Direction::Forward), of(Direction::Reverse)), (8, 1));
    assert_eq!(live.paths.len(), 2);
}

#[test]
fn probes_after_a_run_are_logged_and_no_points_of_its_curve() {
    let mut live = search();
    let points = live.points.len();
    live.follows(RunKind::Saturate, "what limits");
    let mut probe = placed(0, 1_000_000);
    probe.label = Some("what limits: halve the payload".to_owned());
    live.trial(&probe);
    assert_eq!(live.points.len(), points);
    assert!(live.log.last().unwrap().contains("halve the payload"));
}
