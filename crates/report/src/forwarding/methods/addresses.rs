//! Addresses that a switch learns.

use super::super::Row;
use super::{Found, found};
use crate::document::Sheet;
use crate::figures::significant;
use crate::table::{Cell, column, words};
use linerate_model::PacketRate;
use linerate_model::run::{AddressTable, LearningRate};

pub(super) fn table_sheet(rows: &[Row<'_>]) -> Option<Sheet> {
    type Line<'a> = Found<'a, AddressTable>;
    let lines = found!(rows, AddressTable);
    let columns = vec![
        words("frame", |line: &Line<'_>| line.name.clone()),
        column("addresses taught", |line: &Line<'_>| {
            Cell::count(Some(line.result.taught.into()))
        }),
        column("learned", |line: &Line<'_>| {
            Cell::count(Some(line.result.learned.into()))
        }),
        words("without a gap", |line: &Line<'_>| {
            let first = line.result.first_unlearned;
            first.map_or_else(|| "all".to_owned(), |first| format!("the first {first}"))
        }),
    ];
    (!lines.is_empty()).then(|| Sheet::new("Address table (RFC 2889)", &lines, columns))
}

pub(super) fn rate_sheet(rows: &[Row<'_>]) -> Option<Sheet> {
    type Line<'a> = Found<'a, LearningRate>;
    let lines = found!(rows, LearningRate);
    let columns = vec![
        words("frame", |line: &Line<'_>| line.name.clone()),
        column("addresses", |line: &Line<'_>| {
            Cell::count(Some(line.result.addresses.into()))
        }),
        words("all learned at, per s", |line: &Line<'_>| {
            rate(line.result.learned_all)
        }),
        words("not all at, per s", |line: &Line<'_>| {
            rate(line.result.missed_some)
        }),
        column("trials", |line: &Line<'_>| {
            Cell::count(Some(line.result.trials.into()))
        }),
    ];
    (!lines.is_empty()).then(|| Sheet::new("Learning rate (RFC 2889)", &lines, columns))
}

fn rate(rate: Option<PacketRate>) -> String {
    rate.map_or_else(|| "–".to_owned(), |rate| significant(rate.pps(), 4))
}

pub(super) fn table_outcome(rows: &[Row<'_>]) -> Option<String> {
    let lines = found!(rows, AddressTable);
    let AddressTable {
        taught, learned, ..
    } = lines.first()?.result;
    Some(if learned == taught {
        format!("learns all of {taught} addresses")
    } else {
        format!("learns {learned} of {taught} addresses")
    })
}

pub(super) fn rate_outcome(rows: &[Row<'_>]) -> Option<String> {
    let lines = found!(rows, LearningRate);
    let found = lines.first()?.result;
    let count = found.addresses;
    match (found.learned_all, found.missed_some) {
        (Some(all), None) => Some(format!(
            "learns {count} addresses at {} per s, the sender's highest rate",
            rate(Some(all))
        )),
        (Some(all), Some(some)) => Some(format!(
            "learns {count} addresses at {} per s and not at {}",
            rate(Some(all)),
            rate(Some(some))
        )),
        (None, some) => Some(format!(
            "does not learn {count} addresses at {} per s",
            rate(some)
        )),
    }
}
