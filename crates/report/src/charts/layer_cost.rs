//! CPU time per packet of both ends, by layer.

use super::{ChartKind, Drawn, Topic, trial_name};
use crate::chart::{Axis, Chart, Point, Scale, Series, Shape, rank};
use crate::figures::{Unit, float};
use crate::table::{Cell, Table};
use linerate_model::cost::{CostLayer, ProfileCost, ProfileSide};
use linerate_model::run::{Run, Trial};

/// Layers with a colour of their own; the others are summed, which keeps colours apart.
const MAX_LAYERS: usize = 7;
/// Ends that fit beside each other.
const MAX_BARS: usize = 12;

pub(super) const KIND: ChartKind = ChartKind {
    id: "layer-cost",
    summary: "CPU time per packet of both ends, by layer of the network stack.",
    topic: Topic::Cpu,
    answers: false,
    draw,
};

fn draw(run: &Run) -> Drawn {
    let bars = bars(run);
    if !run.trials.iter().any(|trial| trial.profile().is_some()) {
        return Drawn::NotApplicable;
    }
    let chart = (!bars.is_empty()).then(|| chart(&bars));
    Drawn::or_missing(
        chart.into_iter().collect(),
        "CPU time by layer needs a sampled end",
    )
}

struct Bar<'a> {
    name: String,
    cost: &'a ProfileCost,
}

fn bars(run: &Run) -> Vec<Bar<'_>> {
    let sampled = run.trials.iter().filter(|trial| trial.profile().is_some());
    let count = sampled.clone().count();
    let bars = sampled.flat_map(|trial| {
        ends(trial).map(move |(side, cost)| Bar {
            name: match count {
                1 => side.to_owned(),
                _ => format!("{side}, {}", trial_name(run, trial)),
            },
            cost,
        })
    });
    bars.take(MAX_BARS).collect()
}

fn ends(trial: &Trial) -> impl Iterator<Item = (&'static str, &ProfileCost)> {
    let summary = trial.profile();
    let sender = summary.and_then(|summary| summary.sender.as_ref());
    let receiver = summary.and_then(|summary| summary.receiver.as_ref());
    let both = [("Sender", sender), ("Receiver", receiver)];
    both.into_iter().filter_map(|(name, side)| match side? {
        ProfileSide::Sampled(cost) if cost.busy_samples > 0 => Some((name, cost)),
        _ => None,
    })
}

/// Per packet where every end counted packets, else shares.
#[derive(Clone, Copy)]
struct Measure {
    per_packet: bool,
}

impl Measure {
    /// The value of `layers` of one end, in nanoseconds or as a share.
    fn of(self, cost: &ProfileCost, is_of: impl Fn(CostLayer) -> bool) -> f64 {
        let layers = cost.layers.iter().filter(|layer| is_of(layer.layer));
        layers
            .map(|layer| {
                let each = layer.ns_per_packet.filter(|_| self.per_packet);
                each.unwrap_or_else(|| layer.share_ratio.get())
            })
            .sum()
    }

    const fn unit(self) -> Unit {
        if self.per_packet {
            Unit::NANOS
        } else {
            Unit::PERCENT
        }
    }
}

fn chart(bars: &[Bar<'_>]) -> Chart {
    let measure = Measure {
        per_packet: bars.iter().all(|bar| bar.cost.ns_per_packet.is_some()),
    };
    let unit = measure.unit();
    let heaviest = heaviest(bars, measure);
    let points = |is_of: &dyn Fn(CostLayer) -> bool| -> Vec<Point> {
        let values = bars.iter().zip(0_u64..).filter_map(|(bar, index)| {
            let value = measure.of(bar.cost, is_of);
            Some(Point::new(float(index), unit.of(value))?.note(unit.show(value)))
        });
        values.collect()
    };
    let named = heaviest.iter().enumerate().map(|(index, layer)| {
        let points = points(&|other| other == *layer);
        Series::new(layer.as_str(), rank(index), Shape::Bar, points)
    });
    let mut series: Vec<Series> = named.collect();
    let rest = points(&|layer| !heaviest.contains(&layer));
    series.push(Series::new(
        "all other layers",
        rank(MAX_LAYERS),
        Shape::Bar,
        rest,
    ));
    let quantity = if measure.per_packet {
        "CPU time per packet"
    } else {
        "Share of CPU time"
    };
    let ends = bars.iter().map(|bar| bar.name.clone()).collect();
    Chart {
        id: "layer-cost".to_owned(),
        title: format!("{quantity} by layer"),
        caption: caption(bars),
        x: Axis::categories("End", "", ends),
        y: Axis::new(quantity, unit.symbol(), Scale::Linear),
        series,
        table: table(bars),
        ..Chart::default()
    }
}

/// The layers that cost most over all bars, in the order from the application to the wire.
fn heaviest(bars: &[Bar<'_>], measure: Measure) -> Vec<CostLayer> {
    let total = |layer: CostLayer| -> f64 {
        let values = bars
            .iter()
            .map(|bar| measure.of(bar.cost, |other| other == layer));
        values.sum()
    };
    let mut layers = CostLayer::ALL.to_vec();
    layers.sort_by(|a, b| total(*b).total_cmp(&total(*a)));
    layers.truncate(MAX_LAYERS);
    layers.retain(|layer| total(*layer) > 0.0);
    layers.sort_unstable();
    layers
}

fn caption(bars: &[Bar<'_>]) -> String {
    let said = bars.iter().take(2).map(|bar| {
        let line = crate::words::cost_line(bar.cost);
        format!("{}: {line}", bar.name)
    });
    said.collect::<Vec<_>>().join(" ")
}

fn table(bars: &[Bar<'_>]) -> Table {
    let mut table = Table::new(["End", "Layer", "Share (%)", "Per packet (ns)", "Samples"]);
    for bar in bars {
        for layer in &bar.cost.layers {
            table.push(vec![
                Cell::text(bar.name.clone()),
                Cell::text(layer.layer.as_str()),
                Cell::number(Some(layer.share_ratio.get()), Unit::PERCENT),
                Cell::number(layer.ns_per_packet, Unit::NANOS),
                Cell::count(Some(layer.samples)),
            ]);
        }
    }
    table
}
