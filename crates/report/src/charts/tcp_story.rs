//! One TCP transfer over time: rate, congestion window, round trip and retransmissions on one time axis.

use super::rate_over_time::rate_points;
use super::tcp_window::of_trial;
use super::{ChartKind, Drawn, Topic, trial_name};
use crate::chart::{Axis, Chart, Point, Role, Scale, Series, Shape, rank};
use crate::figures::{Unit, float};
use crate::table::{Cell, Table};
use linerate_model::run::{Run, RunKind, Trial};
use linerate_model::{ByteCount, Interval};

pub(super) const KIND: ChartKind = ChartKind {
    id: "tcp-story",
    summary: "Rate, congestion window, round trip and retransmissions of one TCP transfer over time.",
    topic: Topic::Tcp,
    answers: true,
    draw,
};

fn draw(run: &Run) -> Drawn {
    if run.kind() != RunKind::Tcp {
        return Drawn::NotApplicable;
    }
    let valid = run.trials.iter().filter(|trial| trial.valid);
    let mut charts: Vec<Chart> = valid.filter_map(|trial| chart(run, trial)).collect();
    // The others are drawn together, quantity by quantity.
    charts.truncate(MAX_TRIALS);
    Drawn::any(charts)
}

/// Transfers that are drawn one by one: those of both directions.
const MAX_TRIALS: usize = 2;

/// More points than this on one line cannot be seen.
const MAX_POINTS: usize = 600;

/// A quantity over time in its unit.
struct Panel {
    quantity: &'static str,
    unit: Unit,
    role: Role,
    points: Vec<(f64, f64)>,
}

fn chart(run: &Run, trial: &Trial) -> Option<Chart> {
    let panels = panels(run, trial);
    let (first, further) = panels.split_first()?;
    if further.is_empty() {
        return None;
    }
    let axis = |panel: &Panel| Axis::new(panel.quantity, panel.unit.symbol(), Scale::Linear);
    let series = panels.iter().zip(0_u8..).map(|(panel, place)| {
        let line = line(panel);
        if place == 0 {
            line
        } else {
            line.in_panel(place)
        }
    });
    let several = run.trials.len() > 1;
    let of = if several {
        format!(", {}", trial_name(run, trial))
    } else {
        String::new()
    };
    Some(Chart {
        id: format!("tcp-story-{}", trial.index),
        title: format!("The transfer over time{of}"),
        caption: caption(trial, &panels),
        x: Axis::new("Time since the trial began", "s", Scale::Linear),
        y: axis(first),
        panels: further.iter().map(axis).collect(),
        series: series.collect(),
        table: table(&panels),
        ..Chart::default()
    })
}

/// What is known over time, in the order of the panels; the rate or nothing.
fn panels(run: &Run, trial: &Trial) -> Vec<Panel> {
    let (quantity, rates) = rate_points(trial);
    if rates.len() < 2 {
        return Vec::new();
    }
    let largest = |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
    let first = |lines: Vec<super::timeline::Line>| {
        lines
            .into_iter()
            .next()
            .map_or_else(Vec::new, |line| line.points)
    };
    let windows = first(of_trial(
        run,
        trial,
        |s| s.cwnd_bytes,
        |i| i.cwnd_bytes.map(ByteCount::get),
    ));
    let times = first(of_trial(run, trial, |s| s.srtt_ns, |i| i.srtt_ns));
    let again = trial.intervals.iter().filter_map(|interval| {
        let count = float(interval.retransmitted_segments?);
        Some((interval.end.as_secs_f64(), count))
    });
    let again: Vec<_> = again.collect();
    let all = vec![
        Panel {
            quantity,
            unit: Unit::for_rate(largest(&rates)),
            role: Role::Received,
            points: rates,
        },
        Panel {
            quantity: "Congestion window",
            unit: Unit::for_bytes(largest(&windows)),
            role: rank(2),
            points: windows,
        },
        Panel {
            quantity: "Smoothed RTT",
            unit: Unit::for_nanos(largest(&times)),
            role: rank(3),
            points: times,
        },
        Panel {
            quantity: "Segments sent again",
            unit: Unit::PLAIN,
            role: Role::Lost,
            points: again,
        },
    ];
    // Nothing sent again over the whole transfer is a word, not a picture.
    let says = |panel: &Panel| panel.points.len() > 1 && largest(&panel.points) > 0.0;
    all.into_iter().filter(says).collect()
}

fn line(panel: &Panel) -> Series {
    let step = panel.points.len().div_ceil(MAX_POINTS).max(1);
    let points = panel.points.chunks(step).filter_map(|chunk| {
        let highest = chunk.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let note = panel.unit.show(highest.1);
        Some(Point::new(highest.0, panel.unit.of(highest.1))?.note(note.trim_end()))
    });
    Series::new(panel.quantity, panel.role, Shape::Plain, points)
}

fn caption(trial: &Trial, panels: &[Panel]) -> String {
    let said = panels.iter().filter_map(|panel| {
        let values = || panel.points.iter().map(|point| point.1);
        let (low, high) = (
            values().min_by(f64::total_cmp)?,
            values().max_by(f64::total_cmp)?,
        );
        let name = panel.quantity.split(',').next().unwrap_or(panel.quantity);
        let range = crate::figures::range(Interval { low, high }, panel.unit);
        let range = format!("{range} {}", panel.unit.symbol());
        Some(format!("{name} {}", range.trim_end()))
    });
    let said: Vec<String> = said.collect();
    let again = trial.tcp().and_then(|tcp| tcp.retransmitted_segments);
    let again = match again {
        Some(0) => " Nothing was sent again.".to_owned(),
        Some(1) => " One segment was sent again.".to_owned(),
        Some(count) => format!(" {count} segments were sent again."),
        None => String::new(),
    };
    format!("{}.{again}", said.join("; "))
}

fn table(panels: &[Panel]) -> Table {
    let mut table = Table::new(["Quantity", "Time (s)", "Value", "Unit"]);
    for panel in panels {
        for (at, value) in panel.points.iter().take(MAX_POINTS) {
            table.push(vec![
                Cell::text(panel.quantity),
                Cell::number(Some(*at), Unit::SECONDS),
                Cell::number(Some(*value), panel.unit),
                Cell::text(panel.unit.symbol()),
            ]);
        }
    }
    table
}
