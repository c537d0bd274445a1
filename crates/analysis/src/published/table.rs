//! The CSV file of a published table, read.
//!
//! ```csv
//! # title: TCP throughput
//! # source: A. Author, "A study", table 3
//! # unit: Mbit/s
//! # n: 10
//! # link: 100M
//! # rule: [metric=total] = [metric=text] + [metric=data] + [metric=bss]
//! # claim: [ip=ipv4] > [ip=ipv6] -- IPv4 is faster
//! # question: [direction=upload] > [direction=download] -- is the upload faster?
//! ip,direction,value,sd
//! ipv4,upload,61.7,0.4
//! ```
//!
//! Columns with a reserved name are figures of the cell; every other column is a factor. A line of the head gives a
//! reserved column for all rows that leave it empty.

use super::figure::Figure;
use super::levels::{Levels, label, quantile};
use super::statement::{Cells, Statement};
use super::unit::TableUnit;
use linerate_model::quantity::QuantityUnit;
use linerate_model::{BitRate, Interval};
use std::collections::{BTreeMap, BTreeSet};

/// Largest table that is read.
pub(super) const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Most cells of a table.
const MAX_CELLS: usize = 20_000;
/// Most rules and claims of a table.
const MAX_STATEMENTS: usize = 200;
/// MTU where the head says none: Ethernet's.
const USUAL_MTU: u32 = 1500;

/// A table as it was published.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedTable {
    /// What it is about.
    pub title: Option<String>,
    /// What published it.
    pub source: Option<String>,
    /// Rate of the link that the figures crossed, at L1.
    pub link: Option<BitRate>,
    /// Largest IP packet of the link.
    pub mtu: u32,
    /// Identities of its figures: sums, ratios, percentages.
    pub rules: Vec<Statement>,
    /// What its text says of its figures.
    pub claims: Vec<Statement>,
    /// What is asked of the figures, published and measured, and was not said of them.
    pub questions: Vec<Statement>,
    /// Facts of the published set-up: `cpu = i5-8500`.
    pub setup: BTreeMap<String, String>,
    /// The factors, in the order of their columns.
    pub factors: Vec<String>,
    /// The cells, in the order of the rows.
    pub cells: Vec<PublishedCell>,
}

/// One cell: a value under one combination of levels.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedCell {
    /// Its levels.
    pub levels: Levels,
    /// Its value, and the other figures of the same readings, in this unit.
    pub unit: TableUnit,
    /// The value: what `statistic` makes of the readings.
    pub value: Figure,
    /// How many readings the value is made of.
    pub n: Option<u32>,
    /// How many independent runs: `n`, unless the readings are of fewer.
    pub runs: Option<u32>,
    /// Standard deviation of the readings.
    pub sd: Option<Figure>,
    /// Smallest reading.
    pub min: Option<Figure>,
    /// Largest reading.
    pub max: Option<Figure>,
    /// Quantiles of the readings: percent and value, in rising order of percent.
    pub quantiles: Vec<(f64, Figure)>,
    /// The step of one reading.
    pub resolution: Option<f64>,
    /// What the value is.
    pub statistic: Statistic,
}

/// What a value is made of readings by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// The middle reading.
    Median,
    /// Anything else: no rule of a mean applies.
    Other,
}

/// Why a table cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// More bytes, cells or statements than are read.
    #[error("{found} {what}; at most {most} are read")]
    TooLarge {
        /// Of what there are too many.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many are read.
        most: usize,
    },
    /// A line that is not as it must be.
    #[error("line {line}: {why}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// The file as a whole.
    #[error("{0}")]
    Whole(String),
}

/// Columns that are figures of a cell.
const RESERVED: &[&str] = &[
    "value",
    "unit",
    "n",
    "runs",
    "sd",
    "min",
    "max",
    "resolution",
    "statistic",
    "source",
];

impl PublishedTable {
    /// Reads the text of a table.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        bounded("bytes", text.len(), MAX_BYTES)?;
        let mut table = Self {
            title: None,
            source: None,
            link: None,
            mtu: USUAL_MTU,
            rules: Vec::new(),
            claims: Vec::new(),
            questions: Vec::new(),
            setup: BTreeMap::new(),
            factors: Vec::new(),
            cells: Vec::new(),
        };
        let mut defaults = BTreeMap::new();
        for (line, text) in (1..).zip(text.lines()) {
            let Some(text) = text.strip_prefix('#') else {
                continue;
            };
            let wrong = |why| TableError::Line { line, why };
            if let Some((key, value)) = text.split_once(':') {
                table
                    .head(key.trim(), value.trim(), &mut defaults)
                    .map_err(wrong)?;
            }
        }
        bounded(
            "rules, claims and questions",
            table.rules.len() + table.claims.len() + table.questions.len(),
            MAX_STATEMENTS,
        )?;
        table.rows(text, &defaults)?;
        table.check_statements()?;
        Ok(table)
    }

    fn head(
        &mut self,
        key: &str,
        value: &str,
        defaults: &mut BTreeMap<String, String>,
    ) -> Result<(), String> {
        match key {
            "title" => self.title = Some(value.to_owned()),
            "source" => self.source = Some(value.to_owned()),
            "link" => self.link = Some(value.parse().map_err(|error| format!("link: {error}"))?),
            "mtu" => {
                let mtu = value.parse().ok().filter(|mtu| (68..=65_535).contains(mtu));
                self.mtu = mtu.ok_or("mtu: give bytes of the largest IP packet, 68 to 65535")?;
            }
            "rule" => self.rules.push(Statement::parse(value)?),
            "claim" => self.claims.push(Statement::parse(value)?),
            "question" => self.questions.push(Statement::parse(value)?),
            _ if is_reserved(key) => {
                defaults.insert(key.to_owned(), value.to_owned());
            }
            _ => match key.strip_prefix("setup ") {
                Some(fact) => {
                    self.setup.insert(fact.trim().to_owned(), value.to_owned());
                }
                None => {
                    return Err(format!(
                        "the head has no key \"{key}\"; known are title, source, link, mtu, rule, claim, question, setup FACT and the \
                     columns {}",
                        RESERVED.join(", ")
                    ));
                }
            },
        }
        Ok(())
    }

    fn rows(&mut self, text: &str, defaults: &BTreeMap<String, String>) -> Result<(), TableError> {
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let headers = reader.headers().map_err(|error| csv_error(&error))?.clone();
        let mut seen = BTreeSet::new();
        for name in &headers {
            if name.is_empty() || !seen.insert(name) {
                let why = format!("the column \"{name}\" has no name, or the name of another");
                return Err(TableError::Whole(why));
            }
        }
        if !seen.contains("value") {
            let why = "no column \"value\"; the first line that is not a comment names the columns";
            return Err(TableError::Whole(why.to_owned()));
        }
        let factors = headers.iter().filter(|name| !is_reserved(name));
        self.factors = factors.map(str::to_owned).collect();
        let mut known = BTreeSet::new();
        for record in reader.records() {
            let record = record.map_err(|error| csv_error(&error))?;
            let line = record.position().map_or(0, csv::Position::line);
            let wrong = |why| TableError::Line { line, why };
            bounded("cells", self.cells.len() + 1, MAX_CELLS)?;
            let row = Row {
                headers: &headers,
                record: &record,
                defaults,
            };
            let cell = row.cell(&self.factors).map_err(wrong)?;
            if !known.insert(cell.levels.clone()) {
                return Err(wrong(format!(
                    "the cell {} is given twice",
                    label(&cell.levels)
                )));
            }
            self.cells.push(cell);
        }
        if self.cells.is_empty() {
            return Err(TableError::Whole("the table has no cell".to_owned()));
        }
        Ok(())
    }

    /// Whether the factors that statements name are there.
    fn check_statements(&self) -> Result<(), TableError> {
        for statement in self.rules.iter().chain(&self.claims).chain(&self.questions) {
            for (factor, level) in statement.named() {
                let is_factor = self.factors.iter().any(|known| known == factor);
                let has_level = self
                    .cells
                    .iter()
                    .any(|cell| cell.levels.get(factor).is_some_and(|known| known == level));
                if !is_factor || !has_level {
                    let why = format!(
                        "{}: no cell has {factor} = {level}; factors are {}",
                        statement.text,
                        self.factors.join(", ")
                    );
                    return Err(TableError::Whole(why));
                }
            }
        }
        Ok(())
    }
}

/// A row, with what the head gives for all.
struct Row<'a> {
    headers: &'a csv::StringRecord,
    record: &'a csv::StringRecord,
    defaults: &'a BTreeMap<String, String>,
}

impl<'a> Row<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        let column = self.headers.iter().position(|header| header == name);
        let own = column.and_then(|column| self.record.get(column));
        own.filter(|text| !text.is_empty())
            .or_else(|| self.defaults.get(name).map(String::as_str))
    }

    fn figure(&self, name: &str) -> Result<Option<Figure>, String> {
        let text = self.text(name);
        text.map(|text| {
            Figure::parse(text).ok_or_else(|| format!("{name} = {text}: must be a number"))
        })
        .transpose()
    }

    fn count(&self, name: &str) -> Result<Option<u32>, String> {
        let text = self.text(name);
        text.map(|text| {
            let count = text.parse().ok().filter(|count| *count > 0);
            count.ok_or_else(|| format!("{name} = {text}: must be a whole number from 1"))
        })
        .transpose()
    }

    fn positive(&self, name: &str) -> Result<Option<f64>, String> {
        let figure = self.figure(name)?;
        figure
            .map(|figure| {
                let value = Some(figure.value).filter(|value| *value > 0.0);
                value.ok_or_else(|| format!("{name} = {}: must be above 0", figure.text))
            })
            .transpose()
    }

    fn cell(&self, factors: &[String]) -> Result<PublishedCell, String> {
        let mut levels = Levels::new();
        for factor in factors {
            levels.insert(
                factor.clone(),
                self.text(factor).unwrap_or_default().to_owned(),
            );
        }
        let n = self.count("n")?;
        let mut quantiles = Vec::new();
        for name in self.headers {
            if let Some(percent) = quantile(name) {
                quantiles.extend(self.figure(name)?.map(|figure| (percent, figure)));
            }
        }
        quantiles.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(PublishedCell {
            levels,
            unit: TableUnit::new(self.text("unit").unwrap_or_default()),
            value: self.figure("value")?.ok_or("the cell has no value")?,
            n,
            runs: self.count("runs")?.or(n),
            sd: self.figure("sd")?,
            min: self.figure("min")?,
            max: self.figure("max")?,
            quantiles,
            resolution: self.positive("resolution")?,
            statistic: match self.text("statistic") {
                None | Some("mean") => Statistic::Mean,
                Some("median") => Statistic::Median,
                Some(_) => Statistic::Other,
            },
        })
    }
}

impl PublishedCell {
    /// A figure of the cell by its name in statements.
    pub(super) fn named(&self, name: &str) -> Option<&Figure> {
        match name {
            "value" => Some(&self.value),
            "sd" => self.sd.as_ref(),
            "min" => self.min.as_ref(),
            "max" => self.max.as_ref(),
            _ => {
                let wanted = quantile(name)?;
                let mut known = self.quantiles.iter();
                known
                    .find(|(percent, _)| (percent - wanted).abs() < 1e-9)
                    .map(|(_, figure)| figure)
            }
        }
    }

    /// The value in the base unit of its quantity.
    pub fn base_value(&self) -> f64 {
        self.value.value * self.unit.base
    }
}

/// Whether a column is no factor.
fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name) || quantile(name).is_some()
}

fn bounded(what: &'static str, found: usize, most: usize) -> Result<(), TableError> {
    if found > most {
        return Err(TableError::TooLarge { what, found, most });
    }
    Ok(())
}

fn csv_error(error: &csv::Error) -> TableError {
    let line = error.position().map_or(0, csv::Position::line);
    TableError::Line {
        line,
        why: error.to_string(),
    }
}

impl Cells for PublishedTable {
    fn levels(&self) -> Vec<&Levels> {
        self.cells.iter().map(|cell| &cell.levels).collect()
    }

    fn figure(&self, index: usize, name: &str) -> Option<Interval> {
        let cell = self.cells.get(index)?;
        let figure = cell.named(name)?;
        if cell.unit.of == QuantityUnit::Bytes && (cell.unit.base - 1.0).abs() < f64::EPSILON {
            // Bytes are counted, not rounded.
            return Some(Interval::new(figure.value, figure.value));
        }
        Some(figure.rounded_from())
    }

    fn shown(&self, index: usize, name: &str) -> String {
        let figure = self.cells.get(index).and_then(|cell| cell.named(name));
        figure.map_or_else(String::new, |figure| figure.text.clone())
    }
}
