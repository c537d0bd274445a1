//! The lines of a table as trials.

use super::Origin;
use super::cell::{direction, figure, transport};
use super::columns::{Column, Columns, Mapped};
use super::parts::Part;
use crate::import::delay::DelayFigures;
use crate::import::{ImportError, Result, Rounded, whole};
use csv::{ReaderBuilder, StringRecord};
use linerate_model::quantity::DelayPart;
use linerate_model::run::{
    ByteStreamResult, DatagramsResult, Packets, Statistic, Trial, TrialWork, UnitCounts,
};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, ByteCount, Quantile, Quantity, Ratio};
use std::time::Duration;

/// A line that is a test.
pub(super) struct Line {
    /// The name of its run; empty if the table has one run.
    pub(super) run: String,
    /// Its levels: `stack = lwip, ip = ipv4`.
    pub(super) cell: String,
    pub(super) trial: Trial,
}

/// A table with its headings.
pub(super) struct Sheet<'a> {
    file: &'a str,
    text: String,
    headings: Vec<String>,
    separator: u8,
    /// Lines of the table between its headings and the others.
    skipped: usize,
}

/// A line with its number.
pub(super) struct Record {
    line: usize,
    cells: StringRecord,
}

/// A cell and where it is.
#[derive(Clone, Copy)]
struct Cell<'a> {
    line: usize,
    /// Heading, or quantity if every line has the same value.
    column: &'a str,
    text: &'a str,
}

impl<'a> Sheet<'a> {
    /// Reads the headings, and sees that every column of the mapping is there.
    pub(super) fn read(file: &'a str, part: Part, columns: &Columns) -> Result<Self> {
        let Part {
            mut text, skipped, ..
        } = part;
        if text.starts_with('\u{feff}') {
            text.remove(0);
        }
        if text.trim().is_empty() {
            return Err(ImportError::Empty {
                file: file.to_owned(),
            });
        }
        let first = text.lines().next().unwrap_or_default();
        let count = |separator: u8| first.bytes().filter(|byte| *byte == separator).count();
        // The most frequent one of the headings; the comma if there is none.
        let separator = [b'\t', b';', b',']
            .into_iter()
            .max_by_key(|one| count(*one));
        let mut sheet = Self {
            file,
            headings: Vec::new(),
            separator: separator.unwrap_or(b','),
            text,
            skipped,
        };
        let headings = sheet.records().next();
        let headings = headings.map(|record| record.cells.iter().map(str::to_owned).collect());
        sheet.headings = headings.unwrap_or_default();
        columns
            .all()
            .iter()
            .try_for_each(|mapped| sheet.has(mapped))?;
        Ok(sheet)
    }

    /// The headings, as many and as much of each as a message takes.
    fn named_headings(&self) -> String {
        const MAX_NAMES: usize = 30;
        const MAX_LETTERS: usize = 40;
        let named = self.headings.iter().take(MAX_NAMES).map(|heading| {
            match heading.char_indices().nth(MAX_LETTERS) {
                Some((end, _)) => format!("{}…", &heading[..end]),
                None => heading.clone(),
            }
        });
        let mut known: Vec<String> = named.collect();
        if self.headings.len() > MAX_NAMES {
            known.push(format!("and {} more", self.headings.len() - MAX_NAMES));
        }
        known.join(", ")
    }

    fn has(&self, mapped: &Mapped) -> Result<()> {
        let Origin::Columns(names) = &mapped.origin else {
            return Ok(());
        };
        let missing = names.iter().find(|name| self.column(name).is_none());
        missing.map_or(Ok(()), |name| {
            Err(ImportError::Column {
                file: self.file.to_owned(),
                column: name.clone(),
                known: self.named_headings(),
            })
        })
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.headings.iter().position(|heading| heading == name)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The lines after the headings; before these are read, these first.
    pub(super) fn records(&self) -> impl Iterator<Item = Record> {
        let mut reader = ReaderBuilder::new()
            .delimiter(self.separator)
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(self.text.as_bytes());
        let headings = usize::from(!self.headings.is_empty());
        let records = std::iter::from_fn(move || {
            let mut cells = StringRecord::new();
            // Text in memory that is UTF-8 and may have lines of any length: nothing of it can fail.
            let is_there = reader.read_record(&mut cells).unwrap_or(false);
            is_there.then(|| Record {
                line: self.skipped + self.line_of(cells.position()),
                cells,
            })
        });
        records.skip(headings)
    }

    /// Where a record begins: its position is that of the line ends that the reader skips before it.
    fn line_of(&self, position: Option<&csv::Position>) -> usize {
        let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let (line, byte) = position.map_or((0, 0), |at| (number(at.line()), number(at.byte())));
        let skipped = self.text.as_bytes().get(byte..).unwrap_or_default().iter();
        let skipped = skipped.take_while(|byte| matches!(**byte, b'\n' | b'\r'));
        line + skipped.filter(|byte| **byte == b'\n').count()
    }

    /// What a line says; `None` if it is empty.
    pub(super) fn line(&self, record: &Record, columns: &Columns) -> Result<Option<Line>> {
        if record.cells.iter().all(str::is_empty) {
            return Ok(None);
        }
        let read = Reading {
            sheet: self,
            record,
            columns,
        };
        read.line().map(Some)
    }
}

/// A line while it is read.
struct Reading<'a> {
    sheet: &'a Sheet<'a>,
    record: &'a Record,
    columns: &'a Columns,
}

impl Reading<'_> {
    fn line(&self) -> Result<Line> {
        let transport = self
            .read(Column::Transport, transport)?
            .ok_or_else(|| self.refuse(self.place(Column::Transport), "tcp or udp is needed"))?;
        let way = self.read(Column::Direction, direction)?;
        let way = way.unwrap_or(Direction::Forward);
        let mut trial = Trial::from_log(0, transport, way, self.work(transport)?);
        self.rates(&mut trial)?;
        self.delay_figures()?.note_rounding(&mut trial);
        let has_loss = trial.loss_ratio().is_some();
        if trial.received_rate.is_none() && trial.delay().is_none() && !has_loss {
            let why = "the line has no figure: neither rate, loss nor delay";
            return Err(self.refuse(self.place(Column::Figure(Quantity::ReceivedRate)), why));
        }
        let label = self.texts(Column::Label);
        trial.label = Some(label.join(", ")).filter(|label| !label.is_empty());
        Ok(Line {
            run: self.texts(Column::Run).join(", "),
            cell: self.levels(way),
            trial,
        })
    }

    /// What only this kind of test has.
    fn work(&self, transport: Transport) -> Result<TrialWork> {
        let figures = self.delay_figures()?;
        if figures != DelayFigures::default() {
            return Ok(figures.closed_loop(None).into());
        }
        let loss = self.figure(Quantity::LossRatio)?;
        if transport == Transport::Tcp {
            if loss.is_some() {
                let why = "what TCP carries has no loss ratio: leave the cell empty";
                return Err(self.refuse(self.place(Column::Figure(Quantity::LossRatio)), why));
            }
            return Ok(ByteStreamResult::default().into());
        }
        let packets = loss.map(|loss| Packets {
            loss_ratio: Some(Ratio::clamped(loss.value)),
            ..Packets::default()
        });
        Ok(DatagramsResult {
            counts: UnitCounts {
                packets,
                ..UnitCounts::default()
            },
            ..DatagramsResult::default()
        }
        .into())
    }

    fn rates(&self, trial: &mut Trial) -> Result<()> {
        trial.received_rate = self.rate(trial, Quantity::ReceivedRate)?;
        trial.offered_load = self.rate(trial, Quantity::OfferedRate)?;
        trial.intended_load = self.rate(trial, Quantity::IntendedLoad)?;
        let count = |figure: Option<Rounded>| figure.and_then(|of| whole(of.value));
        let bytes = self.figure(Quantity::Payload)?;
        trial.payload_bytes = count(bytes).map(ByteCount::new);
        let streams = count(self.figure(Quantity::Streams)?);
        trial.streams = streams.and_then(|streams| u16::try_from(streams).ok());
        let time = self.figure(Quantity::Duration)?;
        trial.duration = time.and_then(|time| Duration::try_from_secs_f64(time.value).ok());
        Ok(())
    }

    fn rate(&self, trial: &mut Trial, of: Quantity) -> Result<Option<BitRate>> {
        let figure = self.figure(of)?;
        if let Some(figure) = figure.filter(|figure| figure.low < figure.high) {
            trial.set_rounding(of, Some(figure.interval()));
        }
        Ok(figure.map(|figure| BitRate::from_f64(figure.value)))
    }

    fn delay_figures(&self) -> Result<DelayFigures> {
        let delay = |statistic| self.figure(Quantity::Delay(DelayPart::Whole, statistic));
        let quantile = |q| delay(Statistic::Quantile(Quantile::clamped(q)));
        Ok(DelayFigures {
            min: delay(Statistic::Min)?,
            mean: delay(Statistic::Mean)?,
            p50: quantile(0.5)?,
            p90: quantile(0.9)?,
            p99: quantile(0.99)?,
            p999: quantile(0.999)?,
            max: delay(Statistic::Max)?,
            ..DelayFigures::default()
        })
    }

    /// `stack = lwip, direction = reverse`: what is a setting too is called as in plans.
    fn levels(&self, way: Direction) -> String {
        let Some(mapped) = self.columns.get(Column::Factors) else {
            return String::new();
        };
        let Origin::Columns(names) = &mapped.origin else {
            return self.texts(Column::Factors).join(", ");
        };
        let texts = self.texts(Column::Factors);
        let levels = names.iter().zip(texts).map(|(name, text)| {
            let setting = self.columns.all().iter().find(|other| {
                other.column != Column::Factors
                    && matches!(&other.origin, Origin::Columns(of) if of.contains(name))
            });
            match setting.map(|setting| setting.column) {
                Some(Column::Direction) => {
                    let way = match way {
                        Direction::Reverse => "reverse",
                        Direction::Forward | Direction::Duplex => "forward",
                    };
                    format!("direction = {way}")
                }
                Some(Column::Figure(Quantity::IntendedLoad)) => format!("rate = {text}"),
                Some(
                    column @ (Column::Figure(Quantity::Payload | Quantity::Streams)
                    | Column::Transport),
                ) => format!("{} = {text}", column.id()),
                _ => format!("{name} = {text}"),
            }
        });
        levels.collect::<Vec<_>>().join(", ")
    }

    /// The texts of the columns of a quantity, in the order of the mapping.
    fn texts(&self, column: Column) -> Vec<&str> {
        match self.columns.get(column).map(|mapped| &mapped.origin) {
            None => Vec::new(),
            Some(Origin::Fixed(text)) => vec![text],
            Some(Origin::Columns(names)) => names
                .iter()
                .map(|name| self.cell(name).unwrap_or_default())
                .collect(),
        }
    }

    fn cell(&self, name: &str) -> Option<&str> {
        self.record.cells.get(self.sheet.column(name)?)
    }

    /// Where a quantity stands, and what stands there.
    fn place(&self, column: Column) -> Cell<'_> {
        let (heading, text) = match self.columns.get(column).map(|mapped| &mapped.origin) {
            Some(Origin::Columns(names)) => {
                let name = names.first().map_or("", String::as_str);
                (name, self.cell(name).unwrap_or_default())
            }
            Some(Origin::Fixed(text)) => (column.id(), text.as_str()),
            None => (column.id(), ""),
        };
        Cell {
            line: self.record.line,
            column: heading,
            text,
        }
    }

    fn refuse(&self, cell: Cell<'_>, why: &str) -> ImportError {
        ImportError::Cell {
            file: self.sheet.file.to_owned(),
            line: cell.line,
            column: cell.column.to_owned(),
            text: cell.text.chars().take(80).collect(),
            why: why.to_owned(),
        }
    }

    fn read<T>(
        &self,
        column: Column,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>> {
        let cell = self.place(column);
        if cell.text.is_empty() {
            return Ok(None);
        }
        read(cell.text)
            .map(Some)
            .map_err(|why| self.refuse(cell, &why))
    }

    /// A figure in the base unit of its quantity; `None` where the cell is empty or there is no such column.
    fn figure(&self, quantity: Quantity) -> Result<Option<Rounded>> {
        let column = Column::Figure(quantity);
        let mapped = self.columns.get(column);
        let unit = mapped.and_then(|mapped| mapped.unit.as_deref());
        let has_decimal_commas = self.sheet.separator != b',';
        self.read(column, |text| {
            figure(quantity, text, unit, has_decimal_commas)
        })
    }
}
