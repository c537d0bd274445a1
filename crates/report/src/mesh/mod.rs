//! A mesh of hosts: what is planned, and what was found.

mod graph;
mod plan;
#[cfg(test)]
mod tests;

use crate::csv::{kebab, table, text};
use crate::document::{Block, Document, DocumentFormat, Head, Most, PAGE, Sheet, Tone};
use crate::figures::{Unit, Value, percent};
use crate::table::{Cell, column, words};
use crate::words::counted;
use linerate_model::estimate::Estimate;
use linerate_model::mesh::{
    FlowStanding, LinkCertainty, LinkFlow, MeshFlow, MeshReport, SharedLink, SharedPlace,
};
use linerate_model::{BitRate, Ratio};
use serde::Serialize;
use std::collections::BTreeSet;

/// Hosts of which a terminal or page shows every pair.
const MATRIX: usize = 16;
/// Flows that a terminal and a page list as the slowest.
const WORST: Most = Most {
    on_page: 100,
    on_terminal: 10,
};
/// Notes that a terminal shows; the document has all.
const NOTES: usize = 12;

/// Hosts of a link that are named.
const NAMES: usize = 12;

const READING: &str = "Rates are receiver-side L4 payload with no other test on the interfaces and declared links of a \
    pair. A shared link is proven if its flows got more while half of them were left out, with a 95 % interval that \
    excludes no gain; suspected if the interval does not. A link that is not listed was not seen at this load.";

impl Document for MeshReport {
    const FORMATS: &'static [DocumentFormat] = &[
        DocumentFormat::Html,
        DocumentFormat::Markdown,
        DocumentFormat::Text,
        DocumentFormat::Json,
        DocumentFormat::Csv,
    ];
    const NAME: &'static str = "mesh";

    fn head(&self) -> Head {
        Head {
            heading: self.plan.title.clone(),
            made_what: "Mesh",
            reading: READING,
        }
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let unit = self.unit();
        let mut blocks = vec![Block::title(self.answer(unit))];
        if self.plan.hosts.len() <= MATRIX && !self.flows.is_empty() {
            blocks.push(Block::Table(self.matrix(unit)));
        }
        blocks.extend(self.worst(unit).map(Block::Table));
        blocks.extend(self.links.iter().map(|link| self.link(link, unit)));
        if !self.links.is_empty() {
            blocks.push(Block::Only(
                PAGE,
                vec![Block::Drawn(Box::new(|_| graph::draw(self)))],
            ));
        }
        if !self.notes.is_empty() {
            blocks.push(Block::List {
                label: "note",
                items: self.notes.clone(),
                most: NOTES,
            });
        }
        blocks.extend(self.run.iter().map(|run| {
            let text = format!("{run}: a part for each test (linerate show {run})");
            Block::fact("run", text)
        }));
        blocks
    }

    fn json(&self) -> impl Serialize {
        self
    }

    fn csv(&self) -> String {
        let headings = [
            "from",
            "to",
            "received_bps",
            "low_bps",
            "high_bps",
            "n",
            "limit",
            "standing",
        ];
        let rows = self.flows.iter().map(|flow| {
            let received = flow.received.as_ref();
            let interval = received.and_then(|received| received.interval);
            [
                text(Some(self.host(flow.from))),
                text(Some(self.host(flow.to))),
                text(received.map(|received| received.point)),
                text(interval.map(|interval| interval.low)),
                text(interval.map(|interval| interval.high)),
                text(received.map(|received| received.n)),
                flow.limit.clone(),
                kebab(&flow.standing),
            ]
            .into_iter()
        });
        table(headings.into_iter(), rows)
    }
}

/// Places of a mesh's documents may come from anywhere.
trait Named {
    fn host(&self, place: usize) -> &str;

    /// Names of the senders, and of the receivers, of a link's flows.
    fn ends(&self, link: &SharedLink) -> [String; 2];
}

impl Named for MeshReport {
    fn host(&self, place: usize) -> &str {
        self.plan.hosts.get(place).map_or("?", String::as_str)
    }

    fn ends(&self, link: &SharedLink) -> [String; 2] {
        let names = |host: fn(&LinkFlow) -> usize| {
            let hosts: BTreeSet<usize> = link.flows.iter().map(host).collect();
            let shown: Vec<&str> = hosts
                .iter()
                .take(NAMES)
                .map(|host| self.host(*host))
                .collect();
            let mut names = shown.join(", ");
            if let Some(more) = hosts.len().checked_sub(NAMES).filter(|more| *more > 0) {
                names = format!("{names} and {more} more");
            }
            names
        };
        [names(|flow| flow.from), names(|flow| flow.to)]
    }
}

/// The figures of a mesh in words and tables.
trait Figures {
    fn unit(&self) -> Unit;
    fn answer(&self, unit: Unit) -> String;
    fn matrix(&self, unit: Unit) -> Sheet;
    fn worst(&self, unit: Unit) -> Option<Sheet>;
    fn link(&self, link: &SharedLink, unit: Unit) -> Block<'static>;
}

impl Figures for MeshReport {
    fn unit(&self) -> Unit {
        Unit::for_rate(points(&self.flows).fold(0.0, f64::max))
    }

    fn answer(&self, unit: Unit) -> String {
        let measured = points(&self.flows).count();
        let count = |wanted: FlowStanding| {
            let all = self.flows.iter();
            all.filter(|flow| flow.standing == wanted).count()
        };
        let mut parts = vec![format!(
            "{measured} of {} measured",
            counted(self.flows.len(), "direction")
        )];
        if measured > 0 {
            let middle = crate::figures::middle(points(&self.flows));
            parts.push(format!("median {}", unit.show(middle)));
        }
        let (slow, failed) = (count(FlowStanding::Slow), count(FlowStanding::Failed));
        if slow > 0 {
            parts.push(format!("{slow} slow"));
        }
        if failed > 0 {
            parts.push(format!("{failed} failed"));
        }
        let proven = self.links.iter();
        let proven = proven
            .filter(|link| link.certainty == LinkCertainty::Proven)
            .count();
        let suspected = self.links.len() - proven;
        if proven > 0 {
            parts.push(format!("{} proven", counted(proven, "shared link")));
        }
        if suspected > 0 {
            parts.push(format!("{} suspected", counted(suspected, "shared link")));
        }
        format!("{}: {}", self.plan.title, parts.join(", "))
    }

    fn matrix(&self, unit: Unit) -> Sheet {
        let rows: Vec<usize> = (0..self.plan.hosts.len()).collect();
        let mut columns = vec![words("from \\ to", |row: &usize| self.host(*row))];
        for to in 0..self.plan.hosts.len() {
            columns.push(column(self.host(to), move |row: &usize| {
                if *row == to {
                    return Cell::text("");
                }
                let flow = self
                    .flows
                    .iter()
                    .find(|flow| (flow.from, flow.to) == (*row, to));
                match flow {
                    None => Cell::unknown(),
                    Some(flow) if flow.standing == FlowStanding::Failed => Cell::text("failed"),
                    Some(flow) => Cell::value(value(flow.received.as_ref()).as_ref(), unit),
                }
            }));
        }
        Sheet::new(format!("received, {}", unit.symbol()), &rows, columns)
    }

    fn worst(&self, unit: Unit) -> Option<Sheet> {
        let mut rows: Vec<&MeshFlow> = self
            .flows
            .iter()
            .filter(|flow| flow.standing != FlowStanding::Normal)
            .collect();
        rows.sort_by(|a, b| point(a).total_cmp(&point(b)));
        let columns = vec![
            words("pair", |flow: &&MeshFlow| {
                format!("{} → {}", self.host(flow.from), self.host(flow.to))
            }),
            column(
                format!("received, {}", unit.symbol()),
                move |flow: &&MeshFlow| Cell::value(value(flow.received.as_ref()).as_ref(), unit),
            ),
            words("limit", |flow: &&MeshFlow| {
                flow.limit.clone().unwrap_or_else(|| "–".to_owned())
            }),
            words("why", |flow: &&MeshFlow| match (flow.standing, &flow.why) {
                (FlowStanding::SlowOnce, _) => "not slow when tested again".to_owned(),
                (_, Some(why)) => why.clone(),
                (_, None) => "–".to_owned(),
            }),
        ];
        (!rows.is_empty()).then(|| Sheet::new("slow or failed", &rows, columns).at_most(WORST))
    }

    fn link(&self, link: &SharedLink, unit: Unit) -> Block<'static> {
        let certainty = link.certainty;
        let place = match link.place {
            SharedPlace::Hosts => ", and the hosts' own limit rather than the network's",
            SharedPlace::Network => "",
        };
        let capacity = value(Some(&link.capacity)).map_or_else(|| "?".to_owned(), |v| v.show(unit));
        let [from, to] = self.ends(link);
        let count = counted(link.flows.len(), "direction");
        let mut text =
            format!("{capacity}, {certainty}{place}: {count} from {{{from}}} to {{{to}}} share it");
        let alone: Option<Vec<f64>> = link
            .flows
            .iter()
            .map(|flow| flow.alone.map(BitRate::as_f64))
            .collect();
        if let Some(alone) = alone {
            let middle = crate::figures::middle(alone.into_iter());
            text = format!("{text}, each carries {} alone", unit.show(middle));
        }
        if let Some(gain) = link.gain_ratio {
            let interval = gain.interval.map_or_else(String::new, |interval| {
                format!(" [{:.2}, {:.2}]", interval.low, interval.high)
            });
            text = format!(
                "{text}, and {:.2}{interval} times as much without half of the others as with all",
                gain.point
            );
        }
        Block::toned(Tone::Strong, "shared link", text)
    }
}

fn points(flows: &[MeshFlow]) -> impl Iterator<Item = f64> {
    let received = flows.iter().filter_map(|flow| flow.received.as_ref());
    received.map(|received| received.point)
}

fn point(flow: &MeshFlow) -> f64 {
    flow.received
        .as_ref()
        .map_or(-1.0, |received| received.point)
}

fn value(estimate: Option<&Estimate>) -> Option<Value> {
    let estimate = *estimate?;
    Some(Value { estimate })
}

/// What a flow of a link loses while all are active: its fair share of the capacity against its rate alone.
fn lost(link: &SharedLink, flow: &LinkFlow) -> Option<String> {
    let alone = flow.alone?.as_f64();
    let all: f64 = link
        .flows
        .iter()
        .map(|flow| flow.alone.map(BitRate::as_f64))
        .sum::<Option<f64>>()?;
    let kept = (link.capacity.point / all).min(1.0);
    (alone > 0.0).then(|| percent(Ratio::clamped(1.0 - kept)))
}
