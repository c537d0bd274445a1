//! Completion times of flows of given sizes.

use crate::document::{Block, Look, Sheet};
use crate::figures::{Headline, UNKNOWN, float, nanos, significant};
use crate::table::{Cell, Column, column, words as text};
use linerate_model::run::{Delay, FlowClassResult, FlowsResult, Slowdown};

/// The slowdown of the smallest flows, which a full queue hurts most; how many finished, where its p99 did not.
pub(super) fn headline(flows: &FlowsResult) -> Option<Headline> {
    let class = flows.classes.first()?;
    let slowdown = class.slowdown?;
    let (scheduled, finished) = (class.scheduled.get(), class.finished.get());
    let (name, unfinished) = (class.class.as_str(), scheduled.saturating_sub(finished));
    let median = slowdown.p50.map(times);
    Some(match slowdown.p99 {
        Some(p99) => {
            let median = median.unwrap_or_else(|| UNKNOWN.to_owned());
            let unfinished = match unfinished {
                0 => String::new(),
                some => format!(", {some} unfinished"),
            };
            Headline {
                figure: times(p99),
                what: format!("p99 slowdown of {name} flows"),
                rest: format!("median {median}{unfinished}, n = {scheduled}"),
            }
        }
        None => Headline {
            figure: format!("{finished} of {scheduled}"),
            what: format!("{name} flows finished"),
            rest: match median {
                Some(median) => format!("median slowdown {median}, p99 among the unfinished"),
                None => "median slowdown among the unfinished".to_owned(),
            },
        },
    })
}

fn times(ratio: f64) -> String {
    format!("{}×", significant(ratio, 3))
}

/// A table of classes, and what the ideal is.
pub(super) fn blocks(flows: &FlowsResult) -> Vec<Block<'static>> {
    let base = flows
        .base_rtt_ns
        .map_or_else(|| UNKNOWN.to_owned(), |base| nanos(float(base)));
    let late = flows.lateness.as_ref().and_then(|late| late.p99_ns);
    let late = late.map_or_else(|| UNKNOWN.to_owned(), |late| nanos(float(late)));
    let mut blocks = vec![Block::fact(
        "flows",
        format!(
            "completion from when each was meant to begin; ideal: two round trips of {base}, and its bytes at the path's rate; p99 lateness of the sender {late}"
        ),
    )];
    if flows.miscounted.get() > 0 {
        blocks.push(Block::fact(
            "bytes",
            format!(
                "{} flows arrived with another number of bytes",
                flows.miscounted.get()
            ),
        ));
    }
    let columns = vec![
        text("flows", |class: &FlowClassResult| class.class.as_str()),
        column("n", |class: &FlowClassResult| {
            Cell::count(Some(class.scheduled.get()))
        }),
        column("finished", |class: &FlowClassResult| {
            Cell::count(Some(class.finished.get()))
        }),
        time("FCT p50", |delay| delay.p50_ns),
        time("p90", |delay| delay.p90_ns),
        time("p99", |delay| delay.p99_ns),
        time("p99.9", |delay| delay.p999_ns),
        slowdown("slowdown p50", |slowdown| slowdown.p50),
        slowdown("p90", |slowdown| slowdown.p90),
        slowdown("p99", |slowdown| slowdown.p99),
        slowdown("p99.9", |slowdown| slowdown.p999),
    ];
    let sheet = Sheet::new("Flow completion times", &flows.classes, columns);
    blocks.push(Block::Table(sheet.look(Look::Open)));
    blocks
}

fn time<'a>(head: &'static str, get: fn(&Delay) -> Option<u64>) -> Column<'a, FlowClassResult> {
    column(head, move |class: &FlowClassResult| {
        match class.completion.as_ref().and_then(get) {
            Some(ns) => Cell {
                text: nanos(float(ns)),
                value: Some(float(ns)),
            },
            None => Cell::text("–"),
        }
    })
}

fn slowdown<'a>(
    head: &'static str,
    get: fn(&Slowdown) -> Option<f64>,
) -> Column<'a, FlowClassResult> {
    column(head, move |class: &FlowClassResult| {
        match class.slowdown.as_ref().and_then(get) {
            Some(ratio) => Cell {
                text: times(ratio),
                value: Some(ratio),
            },
            None => Cell::text("–"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_quantile_among_unfinished_flows_is_said_as_one() {
        let said = |slowdown| {
            let flows: FlowsResult = serde_json::from_value(json!({
                "classes": [{"class": "small", "scheduled": 100, "finished": 60, "bytes": 6000, "slowdown": slowdown}],
                "miscounted": 0
            }))
            .unwrap();
            let headline = headline(&flows).unwrap();
            format!("{} {}, {}", headline.figure, headline.what, headline.rest)
        };
        assert_eq!(
            said(json!({"mean": 2.0, "p50": 1.5})),
            "60 of 100 small (< 100 kB) flows finished, median slowdown 1.5×, p99 among the unfinished"
        );
        assert!(said(json!({"mean": 2.0})).ends_with("median slowdown among the unfinished"));
        assert!(said(json!({"mean": 2.0, "p50": 1.5, "p99": 9.0})).starts_with("9× p99 slowdown"));
    }
}
