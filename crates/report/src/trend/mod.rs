//! One figure over many runs: its course, where its level changes, and what else changed there.
//!
//! Draws no conclusion: changes come with the trend.

mod chart;

use crate::document::{Block, Document, DocumentFormat, Head, Sheet};
use crate::figures::{Unit, digits, middle, significant};
use crate::table::{Cell, Column, column, words};
use crate::words::counted;
use linerate_model::Estimate;
use linerate_model::comparison::Difference;
use serde::Serialize;

/// A figure over many runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trend {
    /// Which runs, in words.
    pub title: String,
    /// Tests that were followed, drawn or not.
    pub followed: usize,
    /// Those of them whose level changed.
    pub changed: usize,
    /// What is drawn, each test by itself.
    pub series: Vec<TrendSeries>,
    /// What was left out, and what else is to be known.
    pub notes: Vec<String>,
}

/// Runs of one test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendSeries {
    /// Which test, in words.
    pub title: String,
    /// What is followed.
    pub figure: TrendFigure,
    /// The runs, oldest first.
    pub points: Vec<TrendPoint>,
    /// Where the level changes, in order.
    pub changes: Vec<TrendChange>,
}

linerate_model::named_enum! {
    /// The figure of each run that is followed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum TrendFigure {
        /// Lower bound of a device's search at the first frame size, frames per second.
        Frames = "forwarded frames, lower bound",
        /// Lower bound of a search, bit/s of L4 payload.
        LowerBound = "lower bound of the search, L4 payload",
        /// Median of what was timed, nanoseconds.
        Median = "median",
        /// Median over the tests of a study or mesh, of the received rate of each, bit/s of L4 payload.
        MedianReceived = "median over the tests of the received rate, L4 payload",
        /// Received rate, bit/s of L4 payload.
        Received = "received rate, L4 payload",
    }
}

/// A run's value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendPoint {
    /// Id of the run.
    pub id: String,
    /// When it started, as a label.
    pub started: Option<String>,
    /// In the base unit of the figure; finite.
    pub value: f64,
}

/// A change of the level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendChange {
    /// Place of the first run of the new level.
    pub at: usize,
    /// Mean since the change before it.
    pub before: Estimate,
    /// Mean up to the next change.
    pub after: Estimate,
    /// Two-sided probability of such a difference if the level were the same.
    pub p: f64,
    /// What differs between the run before it and the first of the new level.
    pub differences: Vec<Difference>,
}

impl TrendFigure {
    fn unit(self, typical: f64) -> Unit {
        match self {
            Self::Frames => Unit::for_frames(typical),
            Self::LowerBound | Self::MedianReceived | Self::Received => Unit::for_rate(typical),
            Self::Median => Unit::for_nanos(typical),
        }
    }
}

/// Most tests that the conclusion names.
const NAMED_TESTS: usize = 3;

impl Trend {
    fn conclusion(&self) -> String {
        match (self.followed, &self.series[..]) {
            (0, _) => return "No runs to follow.".to_owned(),
            (1, [one]) => return one.conclusion(),
            _ => {}
        }
        let tests = counted(self.followed, "test");
        if self.changed == 0 {
            return format!("No change of level shown in {tests}.");
        }
        let changed = self.series.iter().filter(|one| !one.changes.is_empty());
        let named = changed.take(NAMED_TESTS);
        let mut named: Vec<_> = named
            .map(|series| format!("{}: {}", series.title, series.conclusion()))
            .collect();
        if self.changed > named.len() {
            named.push(format!("{} more below.", self.changed - named.len()));
        }
        format!(
            "The level of {} of {tests} changed. {}",
            self.changed,
            named.join(" ")
        )
    }

    fn table(&self) -> Option<Sheet> {
        type Row<'a> = (&'a TrendSeries, &'a TrendChange);
        let all = self.series.iter();
        let rows: Vec<_> = all
            .flat_map(|series| series.changes.iter().map(move |change| (series, change)))
            .collect();
        let mut columns: Vec<Column<'_, Row<'_>>> = vec![
            words("since run", |(series, change): &Row<'_>| {
                series.first_run(change).to_owned()
            }),
            words("change", |(_, change): &Row<'_>| relative(change)),
            words("level before", |(series, change): &Row<'_>| {
                series.level(&change.before)
            }),
            words("level after", |(series, change): &Row<'_>| {
                series.level(&change.after)
            }),
            column("p", |(_, change): &Row<'_>| {
                Cell::text(probability(change.p))
            }),
            words("what else changed there", |(_, change): &Row<'_>| {
                let all: Vec<_> = change.differences.iter().map(changed).collect();
                if all.is_empty() {
                    "nothing that both runs record".to_owned()
                } else {
                    all.join("; ")
                }
            }),
        ];
        if self.series.len() > 1 {
            columns.insert(
                0,
                words("test", |(series, _): &Row<'_>| series.title.clone()),
            );
        }
        (!rows.is_empty()).then(|| Sheet::new("Changes of level", &rows, columns))
    }
}

impl TrendSeries {
    fn unit(&self) -> Unit {
        let values = self.points.iter().map(|point| point.value);
        self.figure.unit(middle(values))
    }

    /// Id of the first run of a level.
    fn first_run(&self, change: &TrendChange) -> &str {
        self.points.get(change.at).map_or("", |point| &*point.id)
    }

    fn conclusion(&self) -> String {
        let runs = counted(self.points.len(), "run");
        let Some(last) = self.changes.last() else {
            return format!("No change of level shown in {runs}.");
        };
        let changes = match self.changes.len() {
            1 => "One change of level".to_owned(),
            many => format!("{many} changes of level, the last"),
        };
        let since = self.first_run(last);
        format!("{changes} in {runs}: {} since {since}.", relative(last))
    }

    fn level(&self, level: &Estimate) -> String {
        let unit = self.unit();
        let interval = level.interval.map_or_else(String::new, |interval| {
            format!(
                " [{}, {}]",
                unit.number(interval.low),
                unit.number(interval.high)
            )
        });
        format!(
            "{}{interval} {}, n = {}",
            unit.number(level.point),
            unit.symbol(),
            level.n
        )
    }
}

/// `−5.1 %`.
fn relative(change: &TrendChange) -> String {
    if change.before.point == 0.0 {
        return "from zero".to_owned();
    }
    let share = change.after.point / change.before.point - 1.0;
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{} %", significant(share.abs() * 100.0, 2))
}

/// `kernel (server): 6.1 → 6.12`.
fn changed(difference: &Difference) -> String {
    let recorded =
        |value: &Option<String>| value.clone().unwrap_or_else(|| "not recorded".to_owned());
    let whose = difference
        .role
        .map_or_else(String::new, |role| format!(" ({})", role.as_str()));
    format!(
        "{}{whose}: {} → {}",
        difference.what,
        recorded(&difference.a),
        recorded(&difference.b)
    )
}

impl Document for Trend {
    const FORMATS: &'static [DocumentFormat] = &[
        DocumentFormat::Html,
        DocumentFormat::Markdown,
        DocumentFormat::Text,
        DocumentFormat::Json,
    ];
    const NAME: &'static str = "trend";

    fn head(&self) -> Head {
        Head {
            heading: self.title.clone(),
            made_what: "Trend",
            reading: "A level is the mean of the runs between two changes with its 95 % confidence interval. A change is where \
                E-divisive splits the series and Student's t-test gives p ≤ 0.0001; each level has at least 5 runs. What differs \
                at a change may be its cause, and need not be.",
        }
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks = vec![Block::title(self.conclusion())];
        blocks.extend(self.table().map(Block::Table));
        let charts = self.series.iter().enumerate();
        blocks.extend(charts.map(|(nth, series)| Block::Charts(vec![chart::course(nth, series)])));
        if !self.notes.is_empty() {
            blocks.push(Block::Notes(self.notes.clone()));
        }
        blocks
    }

    fn json(&self) -> impl Serialize {
        self
    }
}

/// With a smallest value that is written out.
fn probability(p: f64) -> String {
    const SMALLEST: f64 = 1e-6;
    if p < SMALLEST {
        "< 0.000001".to_owned()
    } else {
        digits(p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::render;
    use linerate_model::WallTime;
    use linerate_model::run::HostRole;

    fn estimate(point: f64) -> Estimate {
        Estimate {
            point,
            interval: None,
            confidence_ratio: 0.95,
            n: 5,
        }
    }

    fn trend() -> Trend {
        let value = |n: u32| if n < 5 { 100e6 } else { 90e6 };
        let point = |n: u32| TrendPoint {
            id: format!("run-{n}"),
            started: None,
            value: value(n),
        };
        let change = TrendChange {
            at: 5,
            before: estimate(100e6),
            after: estimate(90e6),
            p: 1e-9,
            differences: vec![Difference {
                role: Some(HostRole::Server),
                what: "kernel".to_owned(),
                a: Some("6.1".to_owned()),
                b: Some("</script><b>6.12".to_owned()),
            }],
        };
        Trend {
            title: "tagged nightly*".to_owned(),
            followed: 1,
            changed: 1,
            series: vec![TrendSeries {
                title: "TCP to a.example".to_owned(),
                figure: TrendFigure::Received,
                points: (0..10).map(point).collect(),
                changes: vec![change],
            }],
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_change_is_told_with_both_levels_and_what_else_changed() {
        let made = WallTime::from_unix(1_790_000_000).unwrap();
        let text = render(&trend(), DocumentFormat::Markdown, &made).unwrap();
        for part in [
            "−10 %",
            "since run-5",
            "100 Mbit/s",
            "90 Mbit/s",
            "kernel (server): 6.1 →",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let html = render(&trend(), DocumentFormat::Html, &made).unwrap();
        assert!(html.contains("&lt;/script&gt;") && !html.contains("</script><b>"));
        let mut flat = trend();
        flat.series[0].changes.clear();
        let text = render(&flat, DocumentFormat::Text, &made).unwrap();
        assert!(
            text.contains("No change of level shown in 10 runs"),
            "{text}"
        );
    }

    #[test]
    fn tests_are_followed_each_by_itself() {
        let made = WallTime::from_unix(1_790_000_000).unwrap();
        let mut two = trend();
        let mut other = two.series[0].clone();
        other.title = "TCP to b.example".to_owned();
        other.changes.clear();
        two.series.push(other);
        two.followed = 2;
        let text = render(&two, DocumentFormat::Text, &made).unwrap();
        let changed = "TCP to a.example: One change of level in 10 runs: −10 % since run-5.";
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains(&format!("The level of 1 of 2 tests changed. {changed}")),
            "{text}"
        );
        two.series[0].changes.clear();
        two.changed = 0;
        let text = render(&two, DocumentFormat::Text, &made).unwrap();
        assert!(
            text.contains("No change of level shown in 2 tests."),
            "{text}"
        );
    }
}
