//! Which column of a table is what: `rate=mbit_per_s:Mbit/s,transport==tcp,factors=stack+ip`.

use linerate_model::quantity::DelayPart;
use linerate_model::run::Statistic;
use linerate_model::{Quantile, Quantity};
use std::str::FromStr;

/// What a column can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Direction,
    Factors,
    /// A number.
    Figure(Quantity),
    Label,
    Run,
    Transport,
}

impl Column {
    /// A statistic of a round trip.
    pub(super) const fn delay(statistic: Statistic) -> Self {
        Self::Figure(Quantity::Delay(DelayPart::Whole, statistic))
    }

    /// Its name in `--columns`.
    pub(super) fn id(self) -> &'static str {
        let found = ALL.iter().find(|kind| kind.column == self);
        found.map_or("", |kind| kind.id)
    }
}

/// A column, its name on the command line, and what its cells hold.
#[derive(Debug)]
pub struct ColumnKind {
    pub(super) column: Column,
    /// Its name in `--columns`.
    pub id: &'static str,
    /// What its cells hold, in a sentence.
    pub holds: &'static str,
}

const fn kind(column: Column, id: &'static str, holds: &'static str) -> ColumnKind {
    ColumnKind { column, id, holds }
}

const fn figure(quantity: Quantity, id: &'static str, holds: &'static str) -> ColumnKind {
    kind(Column::Figure(quantity), id, holds)
}

const fn delay(of: Statistic, id: &'static str, holds: &'static str) -> ColumnKind {
    kind(Column::delay(of), id, holds)
}

const fn quantile(q: f64) -> Statistic {
    Statistic::Quantile(Quantile::clamped(q))
}

/// Every kind of column, in the order that help and documents list them.
#[rustfmt::skip]
pub static ALL: &[ColumnKind] = &[
    figure(Quantity::ReceivedRate, "rate", "received rate, L4 payload, with a unit of bits (`Mbit/s`)"),
    figure(Quantity::IntendedLoad, "intended", "intended load, L4 payload, likewise"),
    figure(Quantity::OfferedRate, "offered", "offered load, L4 payload, likewise"),
    figure(Quantity::LossRatio, "loss", "loss ratio: `%` or `ratio` (0 to 1)"),
    delay(Statistic::Min, "min", "smallest round trip, with a unit of time (`us`)"),
    delay(Statistic::Mean, "mean", "mean round trip, likewise"),
    delay(Statistic::MEDIAN, "p50", "median round trip, likewise"),
    delay(quantile(0.9), "p90", "90 % quantile, likewise"),
    delay(Statistic::P99, "p99", "99 % quantile, likewise"),
    delay(quantile(0.999), "p99.9", "99.9 % quantile, likewise"),
    delay(Statistic::Max, "max", "largest round trip, likewise"),
    kind(Column::Transport, "transport", "`tcp` or `udp`; needed, and `transport==tcp` if no column has it"),
    kind(Column::Direction, "direction", "`forward` (also upload, tx, up) or `reverse` (download, rx, down), seen from the client; without it forward"),
    figure(Quantity::Payload, "payload", "bytes of a datagram, write or message"),
    figure(Quantity::Streams, "streams", "parallel streams"),
    figure(Quantity::Duration, "time", "length of the test, in seconds or with a unit"),
    kind(Column::Label, "label", "what a row is called"),
    kind(Column::Factors, "factors", "what was varied: rows become the cells of a study, equal ones its repetitions"),
    kind(Column::Run, "run", "rows with the same text are one run; runs can be compared"),
];

/// Where the values of a kind are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// In these columns; several only for texts.
    Columns(Vec<String>),
    /// This value in every row.
    Fixed(String),
}

/// One part of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) column: Column,
    pub(super) origin: Origin,
    pub(super) unit: Option<String>,
}

/// Which column of a table is what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns(Vec<Mapped>);

impl Columns {
    pub(super) fn get(&self, column: Column) -> Option<&Mapped> {
        self.0.iter().find(|mapped| mapped.column == column)
    }

    pub(super) fn all(&self) -> &[Mapped] {
        &self.0
    }
}

impl FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all: Vec<Mapped> = Vec::new();
        for part in text.split(',') {
            let mapped = mapped(part.trim())?;
            if all.iter().any(|other| other.column == mapped.column) {
                return Err(format!("\"{}\" is given twice", mapped.column.id()));
            }
            all.push(mapped);
        }
        let columns = Self(all);
        if columns.get(Column::Transport).is_none() {
            return Err(
                "no column says the transport: add transport=COLUMN, or transport==tcp if all rows are of TCP"
                    .to_owned(),
            );
        }
        Ok(columns)
    }
}

/// `rate=mbit_per_s:Mbit/s`, `transport==tcp`, `factors=stack+ip`.
fn mapped(part: &str) -> Result<Mapped, String> {
    let Some((name, from)) = part.split_once('=') else {
        return Err(format!(
            "\"{part}\" is not QUANTITY=COLUMN such as rate=mbit_per_s:Mbit/s"
        ));
    };
    let kind = ALL
        .iter()
        .find(|kind| kind.id == name.trim())
        .ok_or_else(|| {
            let known: Vec<_> = ALL.iter().map(|kind| kind.id).collect();
            format!(
                "there is no quantity \"{}\"; known are {}",
                name.trim(),
                known.join(", ")
            )
        })?;
    let missing = || format!("{}: name a column after the =", kind.id);
    if let Some(value) = from.strip_prefix('=') {
        let value = value.trim().to_owned();
        return if value.is_empty() {
            Err(missing())
        } else {
            Ok(Mapped {
                column: kind.column,
                origin: Origin::Fixed(value),
                unit: None,
            })
        };
    }
    let (names, unit) = match from.rsplit_once(':') {
        Some((names, unit)) => (names, Some(unit.trim().to_owned())),
        None => (from, None),
    };
    let is_text = matches!(kind.column, Column::Factors | Column::Label | Column::Run);
    let names: Vec<String> = if is_text {
        names
            .split('+')
            .map(|name| name.trim().to_owned())
            .collect()
    } else {
        vec![names.trim().to_owned()]
    };
    if names.iter().any(String::is_empty) || unit.as_deref() == Some("") {
        return Err(missing());
    }
    Ok(Mapped {
        column: kind.column,
        origin: Origin::Columns(names),
        unit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_names_columns_units_and_what_all_rows_have() {
        let columns: Columns = "rate=Mbit per s:Mbit/s, transport==tcp,factors=stack+ip"
            .parse()
            .unwrap();
        let rate = columns.get(Column::Figure(Quantity::ReceivedRate)).unwrap();
        assert_eq!(rate.origin, Origin::Columns(vec!["Mbit per s".to_owned()]));
        assert_eq!(rate.unit.as_deref(), Some("Mbit/s"));
        let transport = columns.get(Column::Transport).unwrap();
        assert_eq!(transport.origin, Origin::Fixed("tcp".to_owned()));
        let factors = columns.get(Column::Factors).unwrap();
        let names = ["stack", "ip"].map(str::to_owned).to_vec();
        assert_eq!(factors.origin, Origin::Columns(names));
    }

    #[test]
    fn what_is_no_mapping_is_said() {
        let why = |text: &str| text.parse::<Columns>().unwrap_err();
        assert!(why("").contains("is not QUANTITY=COLUMN"));
        assert!(why("speed=a").contains("no quantity \"speed\"; known are rate, intended"));
        assert!(why("rate=a").contains("transport==tcp"));
        assert!(why("rate=a,rate=b,transport==tcp").contains("\"rate\" is given twice"));
        for text in ["rate=", "rate=a:", "transport==", "factors=a+"] {
            assert!(why(text).contains("name a column"), "{text}");
        }
    }

    #[test]
    fn every_quantity_has_a_name_of_its_own() {
        let mut ids: Vec<_> = ALL.iter().map(|kind| kind.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ALL.len());
    }
}
