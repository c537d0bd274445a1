//! Logs in which the lines of several programs alternate, as Compose, `kubectl logs --prefix`, the journal and `parallel
//! --tag` write them: each program's lines are read by themselves, so that two tests at once are two tests.
//!
//! That prefixes name programs is a guess: threads of a logger may write one test in turns. So both ways are tried, and
//! the lines are read apart only where each program's are whole tests by themselves.

use super::layers::{Layers, Signs};
use super::text::{Line, Writer};
use super::{Hints, LogFormat, LogReader, ParsedTest, Result, Row, Source, layers};
use std::collections::BTreeMap;

/// Most programs that a log is told apart by; the names of more differ from line to line.
const MAX_WRITERS: usize = 64;

/// Lines that writers have at least on average.
const LEAST_LINES: usize = 2;

/// How the lines of a log are shared out among readers: by their writers, whose others' are of no test, or all for one
/// reader, that of `None`.
pub(super) struct Shares(BTreeMap<Option<Writer>, Signs>);

impl Shares {
    /// How the lines of `log` below `layers`, which have the signs `all`, are read best.
    pub(super) fn find(
        log: &dyn Source,
        layers: &Layers,
        all: Signs,
        hints: &Hints,
    ) -> Result<Self> {
        let together = Self(BTreeMap::from([(None, all)]));
        let Some(apart) = writers(log, layers)?.map(Self) else {
            return Ok(together);
        };
        let parts = apart.counts(log, layers, hints)?;
        let has_each_its_own = parts.faults == 0 && parts.whole >= apart.0.len();
        let is_better = has_each_its_own || {
            let all = together.counts(log, layers, hints)?;
            parts.whole > all.whole && parts.faults <= all.faults
        };
        Ok(if is_better { apart } else { together })
    }

    /// A reader for each share.
    pub(super) fn readers(&self, file: &str, hints: &Hints) -> Result<Readers> {
        let shares = self.0.iter();
        let readers =
            shares.map(|(writer, signs)| Ok((*writer, (signs.format()?.reader)(file, hints))));
        Ok(Readers(readers.collect::<Result<_>>()?))
    }

    /// The formats that are read.
    pub(super) fn formats(&self) -> Vec<&'static LogFormat> {
        let signs = self.0.values();
        signs.filter_map(|signs| signs.format().ok()).collect()
    }

    /// What comes out of the lines where they are read this way.
    pub(super) fn counts(
        &self,
        log: &dyn Source,
        layers: &Layers,
        hints: &Hints,
    ) -> Result<Counts> {
        let mut readers = self.readers(&log.name(), hints)?;
        let mut lines = layers.open(log)?;
        let mut counts = Counts::default();
        let mut count = |test: ParsedTest| {
            counts.figures += match &test {
                ParsedTest::Latency(test) => test.figures(),
                ParsedTest::Traffic(test) => test.figures(),
                ParsedTest::Refused(_) | ParsedTest::Skipped(_) => 0,
            };
            let is_whole = match test {
                ParsedTest::Skipped(_) | ParsedTest::Refused(_) => false,
                ParsedTest::Latency(test) => test.doubts.is_empty(),
                ParsedTest::Traffic(test) => !test.flows.is_empty() && test.doubts.is_empty(),
            };
            counts.whole += usize::from(is_whole);
            counts.faults += usize::from(!is_whole);
        };
        while let Some(line) = lines.next()? {
            readers.take(&line, &mut count);
        }
        readers.finish(&mut count);
        Ok(counts)
    }

    /// The figures that come out of the lines where they are read this way, whatever lines they stand in.
    pub(super) fn figures(
        &self,
        log: &dyn Source,
        layers: &Layers,
        hints: &Hints,
    ) -> Result<Vec<String>> {
        let mut readers = self.readers(&log.name(), hints)?;
        let mut lines = layers.open(log)?;
        let mut all = Vec::new();
        let mut add = |test: ParsedTest| all.push(figures(&test));
        while let Some(line) = lines.next()? {
            readers.take(&line, &mut add);
        }
        readers.finish(&mut add);
        Ok(all)
    }
}

/// Tests of a log.
#[derive(Default)]
pub(super) struct Counts {
    /// Those without a word against them.
    pub(super) whole: usize,
    /// Those that are cut off, failed, or contradict themselves.
    pub(super) faults: usize,
    /// What is known, in all tests.
    pub(super) figures: usize,
}

impl Counts {
    /// Whether more is known than in `other`, and nothing contradicts it. A row that was joined to another is none any
    /// more, and contradicts nothing.
    pub(super) const fn is_better_than(&self, other: &Self) -> bool {
        let is_more = self.figures > other.figures
            || self.figures == other.figures && self.whole > other.whole;
        let is_whole = self.faults == 0 && self.whole > 0 && self.whole >= other.whole;
        is_more && is_whole
    }

    /// Whether as much is known as in `other`, and nothing contradicts it.
    pub(super) const fn is_as_good_as(&self, other: &Self) -> bool {
        self.figures == other.figures && self.whole == other.whole && self.faults == 0
    }
}

fn figures(test: &ParsedTest) -> String {
    match test {
        ParsedTest::Latency(test) => format!("{:?}", test.trials),
        ParsedTest::Traffic(test) => {
            let flows = test.flows.iter().map(|flow| {
                let rows = flow.sent_rows.iter().chain(flow.received_rows.iter());
                let rows: Vec<_> = rows.map(|row| Row { line: 0, ..*row }).collect();
                format!("{:?} {:?} {rows:?}", flow.sent, flow.received)
            });
            format!("{:?} {}", test.transport, flows.collect::<String>())
        }
        ParsedTest::Refused(_) | ParsedTest::Skipped(_) => String::new(),
    }
}

/// Readers of the lines of one log, by whose lines they read; `None` is of all that have no reader of their own.
pub(super) struct Readers(BTreeMap<Option<Writer>, Box<dyn LogReader>>);

impl Readers {
    /// Takes the next piece of the log, and hands out the tests that it makes whole.
    pub(super) fn take(&mut self, line: &Line<'_>, tests: &mut dyn FnMut(ParsedTest)) {
        let has_own = self.0.contains_key(&line.writer);
        let of = line.writer.filter(|_| has_own);
        if let Some(reader) = self.0.get_mut(&of) {
            reader.take(line);
            reader.tests().drain(..).for_each(tests);
        }
    }

    /// Ends the log.
    pub(super) fn finish(&mut self, tests: &mut dyn FnMut(ParsedTest)) {
        for reader in self.0.values_mut() {
            reader.finish();
            reader.tests().drain(..).for_each(&mut *tests);
        }
    }
}

/// A writer's part of a log.
struct Part {
    signs: Signs,
    /// A line of it begins with a tool's own words.
    has_beginning: bool,
}

/// The writers of whom each has lines of a tool, if there are several.
fn writers(log: &dyn Source, layers: &Layers) -> Result<Option<BTreeMap<Option<Writer>, Signs>>> {
    if !layers.have_prefixes() {
        return Ok(None);
    }
    let mut lines = layers.open(log)?;
    let mut parts = BTreeMap::<Writer, Part>::new();
    let mut count = 0;
    while let Some(line) = lines.next()? {
        let Some(writer) = line.writer.filter(|_| !line.is_rest) else {
            continue;
        };
        if parts.len() >= MAX_WRITERS && !parts.contains_key(&writer) {
            return Ok(None);
        }
        count += usize::from(!line.text.trim().is_empty());
        let part = parts.entry(writer).or_insert_with(|| Part {
            signs: Signs::new(&log.name()),
            has_beginning: false,
        });
        part.signs.take(line.text);
        part.has_beginning |= layers::begins(line.text).is_some();
    }
    // What differs from line to line is no writer's name.
    if count < LEAST_LINES * parts.len() {
        return Ok(None);
    }
    parts.retain(|_, part| part.has_beginning && part.signs.format().is_ok());
    let writers = parts
        .into_iter()
        .map(|(writer, part)| (Some(writer), part.signs));
    Ok((writers.len() > 1).then(|| writers.collect()))
}
