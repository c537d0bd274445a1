//! Smoothed round-trip time over time, sending side.

use super::tcp_window::lines;
use super::timeline::{About, Line, chart, largest, left_out};
use super::{ChartKind, Drawn, Topic};
use crate::figures::{Unit, nanos};
use linerate_model::run::{Run, RunKind};

pub(super) const KIND: ChartKind = ChartKind {
    id: "tcp-rtt",
    summary: "TCP smoothed round-trip time over time, sending side.",
    topic: Topic::Tcp,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    if run.kind() != RunKind::Tcp || run.trials.is_empty() {
        return Drawn::NotApplicable;
    }
    let (lines, total) = lines(run, |s| s.srtt_ns, |i| i.srtt_ns);
    if lines.is_empty() {
        return Drawn::Missing("TCP round-trip time");
    }
    let about = About {
        id: "tcp-rtt",
        title: "TCP round-trip time over time".to_owned(),
        caption: caption(run, &lines) + &left_out(total.0, total.1),
        quantity: "Smoothed RTT, sender",
        unit: Unit::for_nanos(largest(&lines)),
    };
    Drawn::Charts(vec![chart(about, &lines)])
}

fn caption(run: &Run, lines: &[Line]) -> String {
    let each = lines.iter().take(4).filter_map(|line| {
        let (low, high) = line.extent()?;
        let words = format!("between {} and {}", nanos(low), nanos(high));
        Some(if lines.len() == 1 {
            words
        } else {
            format!("{}: {words}", line.name)
        })
    });
    let each: Vec<_> = each.collect();
    let mins = run.trials.iter().filter_map(|t| t.tcp()?.min_rtt_ns);
    let least = mins.min().map_or_else(String::new, |min| {
        format!(
            " The smallest RTT of any segment is {}.",
            nanos(crate::figures::float(min))
        )
    });
    format!("Smoothed RTT is {}.{least}", each.join("; "))
}
