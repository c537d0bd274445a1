//! What a device forwards, as the tables and charts that readers of RFC 2544 reports know.

mod charts;
mod methods;

use crate::document::{Block, Look, PAGE, Sheet};
use crate::figures::{BigFigure, Unit, nanos};
use crate::table::{Cell, Column, Medium, column, words};
use crate::words::tried;
use linerate_model::dut::DutStage;
use linerate_model::run::{
    Confidence, CostRange, DelayOf, Forwarding, ForwardingDelay, ForwardingGoal, FrameCost,
    LengthLoss, PairLoss, Run, RunRequest, RunWork, StageDelay, Verdict,
};
use linerate_model::spec::Direction;
use linerate_model::{BitRate, Layer, PacketRate, Ratio};

/// A row of the result: a frame size, a direction, and the search that found it.
pub(crate) struct Row<'a> {
    pub(crate) found: &'a Forwarding,
    /// The search; `None` where another method was asked for alone.
    part: Option<&'a Run>,
    /// Whether other rows go the other way.
    has_ways: bool,
}

/// A row for each frame size and direction; none for runs of other kinds.
pub(crate) fn rows(run: &Run) -> Vec<Row<'_>> {
    let RunWork::Switch {
        forwarding, parts, ..
    } = &run.work
    else {
        return Vec::new();
    };
    let has_ways = forwarding
        .iter()
        .any(|row| row.direction != forwarding[0].direction);
    let rows = forwarding.iter().enumerate().map(|(at, found)| Row {
        found,
        part: parts.get(at),
        has_ways,
    });
    rows.collect()
}

/// The result of a run of `switch` in blocks; nothing of other runs.
pub(crate) fn blocks(run: &Run) -> Vec<Block<'_>> {
    let rows = rows(run);
    if rows.is_empty() {
        return Vec::new();
    }
    let unit = unit(&rows);
    let mut blocks = Vec::new();
    if let Some(RunRequest::Switch(settings)) = &run.config.asked
        && let Some(headers) = &settings.frame_headers
    {
        blocks.push(Block::fact("headers", headers.clone()));
    }
    if rows.iter().any(|row| !row.found.goals.is_empty()) {
        blocks.push(Block::Table(throughput(&rows, unit).look(Look::Open)));
    }
    let named = |row: &Row<'_>, text: &str| match rows.len() {
        1 => text.to_owned(),
        _ => format!("{}: {text}", row.name()),
    };
    // The shortest frames cost a device most; what limits them is most asked for.
    if let Some((row, verdict)) = rows.first().and_then(|row| Some((row, row.verdict()?))) {
        blocks.push(Block::fact("why", named(row, &verdict.claim)));
    }
    for row in &rows {
        let records = row.part.map_or(&[][..], |part| &part.experiments);
        let tried = records
            .iter()
            .filter_map(|record| tried(&record.experiment));
        blocks.extend(tried.map(|text| Block::fact("proof", named(row, &text))));
    }
    if let RunWork::Switch {
        frame_cost: Some(cost),
        ..
    } = &run.work
    {
        blocks.push(Block::fact("cost", cost_words(cost)));
    }
    let losses = losses(&rows);
    if !losses.is_empty() {
        blocks.push(Block::Table(loss_sheet(&losses)));
    }
    let meshed = rows.iter().filter(|row| !row.found.pairs.is_empty());
    blocks.extend(meshed.map(|row| {
        let title = named(
            row,
            "Loss from port to port, in all trials that lost frames",
        );
        Block::Table(pair_sheet(title, &row.found.pairs))
    }));
    let delays = delays(&rows);
    if !delays.is_empty() {
        blocks.push(Block::Table(delay_sheet(&delays, unit)));
    }
    blocks.extend(stage_sheet(&delays).map(Block::Table));
    blocks.extend(methods::sheets(&rows, unit).into_iter().map(Block::Table));
    let charts = charts::all(&rows, unit);
    blocks.push(Block::Only(PAGE, vec![Block::Charts(charts)]));
    blocks.push(Block::Only(PAGE, vec![Block::Remark(READING.to_owned())]));
    blocks
}

const READING: &str = "A frame is counted from its destination address to its FCS (RFC 1242); L1 counts 20 bytes more for \
    each, preamble and inter-frame gap. Throughput is bounded from both sides (RFC 9971). NDR: no frame was lost; PDR: at \
    most that share was. Delay is of every frame, not of a sample.";

/// The unit of all frame rates of a run.
fn unit(rows: &[Row<'_>]) -> Unit {
    let bounds = rows.iter().flat_map(|row| &row.found.goals);
    let known = bounds.filter_map(|goal| goal.lower_bound.or(goal.upper_bound));
    let others = rows.iter().flat_map(|row| &row.found.methods);
    let highest = |rates: &mut dyn Iterator<Item = PacketRate>| {
        rates.map(PacketRate::pps).fold(0.0, f64::max)
    };
    let found = highest(&mut { known });
    Unit::for_frames(if found > 0.0 {
        found
    } else {
        highest(&mut others.map(methods::rate))
    })
}

impl Row<'_> {
    /// `64 B`, or a mix with its mean, with the direction where there are both.
    pub(crate) fn name(&self) -> String {
        let size = match &self.found.mix {
            Some(mix) => format!("{} (mean {:.1} B)", mix.genome, mix.mean_bytes),
            None => format!("{} B", self.found.frame_bytes.get()),
        };
        match (self.has_ways, self.found.direction) {
            (_, Direction::Duplex) => format!("{size}, each way at once"),
            (false, _) => size,
            (true, Direction::Reverse) => format!("{size}, B to A"),
            (true, Direction::Forward) => format!("{size}, A to B"),
        }
    }

    fn verdict(&self) -> Option<&Verdict> {
        self.part?.verdict.as_ref()
    }

    fn limit(&self) -> String {
        match self.verdict() {
            None => "–".to_owned(),
            Some(verdict) if verdict.limit.is_unknown() => "not identified".to_owned(),
            Some(verdict) => {
                let doubt = match verdict.confidence {
                    Confidence::Weak => " (weak)",
                    Confidence::Confirmed => " (confirmed)",
                    Confidence::Supported => "",
                };
                format!("{}{doubt}", verdict.limit.name())
            }
        }
    }
}

/// `NDR` where no frame may be lost, else `PDR 0.5 %`.
pub(crate) fn goal_word(goal: Ratio) -> String {
    if goal == Ratio::ZERO {
        "NDR".to_owned()
    } else {
        format!("PDR {}", crate::figures::percent(goal))
    }
}

/// A rate in `unit`, without its symbol.
fn number(rate: PacketRate, unit: Unit) -> String {
    crate::figures::significant(unit.of(rate.pps()), 4)
}

/// Both bounds of a goal: `812.5–816.1`.
pub(crate) fn bounds(goal: &ForwardingGoal, unit: Unit) -> String {
    let number = |rate| number(rate, unit);
    let text = match (goal.lower_bound, goal.upper_bound) {
        (Some(low), Some(high)) => crate::figures::between(&number(low), &number(high)),
        (Some(low), None) => format!("≥ {}", number(low)),
        (None, Some(high)) => format!("< {}", number(high)),
        (None, None) => "–".to_owned(),
    };
    if goal.reached { text } else { text + " *" }
}

fn throughput(rows: &[Row<'_>], unit: Unit) -> Sheet {
    let mut columns: Vec<Column<'_, Row<'_>>> = vec![words("frame", Row::name)];
    let goals = rows.first().map_or(&[][..], |row| &row.found.goals);
    for (at, goal) in goals.iter().enumerate() {
        let head = format!("{}, {}", goal_word(goal.loss_goal), unit.symbol());
        columns.push(words(head, move |row: &Row<'_>| {
            let goal = row.found.goals.get(at);
            goal.map_or_else(|| "–".to_owned(), |goal| bounds(goal, unit))
        }));
    }
    let at_layer = |layer: Layer| {
        move |row: &Row<'_>| {
            let lower = row.found.strictest().and_then(|goal| goal.lower_bound);
            let rate = lower.map(|rate| row.found.bit_rate(layer, rate));
            Cell::number(rate.map(BitRate::as_f64), GIGABIT)
        }
    };
    columns.push(column("Gbit/s L1", at_layer(Layer::L1)));
    columns.push(column("Gbit/s L2", at_layer(Layer::L2)).on(Medium::Page));
    let share = |of: fn(&Forwarding) -> Option<PacketRate>| {
        move |row: &Row<'_>| {
            let lower = row.found.strictest().and_then(|goal| goal.lower_bound);
            let share = lower.zip(of(row.found));
            Cell::percent(share.map(|(rate, of)| Ratio::clamped(rate.pps() / of.pps())))
        }
    };
    if rows.iter().any(|row| row.found.line_rate.is_some()) {
        columns.push(column("of line, %", share(|found| found.line_rate)));
    }
    if rows.iter().any(|row| row.found.ceiling.is_some()) {
        columns.push(column("of ceiling, %", share(|found| found.ceiling)));
    }
    columns.push(words("limited by", Row::limit));
    Sheet::new("Throughput by frame size", rows, columns)
}

const GIGABIT: Unit = Unit::GIGABIT;

/// `618 ns (610 ns to 640 ns) for each frame and 0.48 ns (0.31 ns to 0.52 ns) for each byte of it, by 3 frame sizes`.
fn cost_words(cost: &FrameCost) -> String {
    let range = |cost: CostRange| {
        let [low, high] = [cost.interval.low, cost.interval.high].map(nanos);
        format!("{} ({low} to {high})", nanos(cost.point))
    };
    format!(
        "{} for each frame and {} for each byte of it, by {} frame sizes",
        range(cost.frame_ns),
        range(cost.byte_ns),
        cost.frame_sizes
    )
}

/// A row of the table of losses by length.
struct LossRow<'a> {
    name: String,
    loss: &'a LengthLoss,
}

fn losses<'a>(rows: &'a [Row<'_>]) -> Vec<LossRow<'a>> {
    let all = rows.iter().flat_map(|row| {
        let mix = row.found.mix.iter();
        mix.flat_map(|mix| &mix.losses).map(|loss| LossRow {
            name: row.name(),
            loss,
        })
    });
    all.collect()
}

fn loss_sheet(rows: &[LossRow<'_>]) -> Sheet {
    let columns = vec![
        words("mix", |row: &LossRow<'_>| row.name.clone()),
        words("frame", |row: &LossRow<'_>| {
            format!("{} B", row.loss.length)
        }),
        column("sent", |row: &LossRow<'_>| {
            Cell::count(Some(row.loss.sent.get()))
        }),
        column("lost", |row: &LossRow<'_>| {
            Cell::count(Some(row.loss.lost.get()))
        }),
        words("loss", |row: &LossRow<'_>| {
            crate::figures::percent(row.loss.ratio())
        }),
    ];
    Sheet::new(
        "Loss by frame length, in all trials that lost frames",
        rows,
        columns,
    )
}

/// A row for each port of a mesh that sends, a column for each that frames are for.
fn pair_sheet(title: String, pairs: &[PairLoss]) -> Sheet {
    let mut ports: Vec<&str> = Vec::new();
    for pair in pairs {
        if !ports.contains(&pair.from.as_str()) {
            ports.push(&pair.from);
        }
    }
    let mut columns = vec![words("from", |port: &&str| *port)];
    columns.extend(ports.iter().map(|to| {
        column(format!("to {to}, %"), move |from: &&str| {
            let is_it = |pair: &&PairLoss| pair.from == *from && pair.to == *to;
            let pair = pairs.iter().find(is_it);
            pair.map_or_else(|| Cell::text("–"), |pair| Cell::percent(Some(pair.ratio())))
        })
    }));
    Sheet::new(title, &ports, columns)
}

/// A row of the table of delays.
pub(crate) struct DelayRow<'a> {
    name: String,
    delay: &'a ForwardingDelay,
}

impl DelayRow<'_> {
    fn of_stage(&self, stage: DutStage) -> Option<&StageDelay> {
        self.delay.stages.iter().find(|one| one.stage == stage)
    }
}

fn delays<'a>(rows: &'a [Row<'_>]) -> Vec<DelayRow<'a>> {
    let all = rows.iter().flat_map(|row| {
        let each = row.found.delays.iter();
        each.map(|delay| DelayRow {
            name: row.name(),
            delay,
        })
    });
    all.collect()
}

fn delay_sheet(rows: &[DelayRow<'_>], unit: Unit) -> Sheet {
    let time = |head: &str, of: fn(&ForwardingDelay) -> Option<u64>| {
        words(head, move |row: &DelayRow<'_>| {
            let time = of(row.delay).map(|ns| nanos(crate::figures::float(ns)));
            time.unwrap_or_else(|| "–".to_owned())
        })
    };
    let mut columns = vec![
        words("frame", |row: &DelayRow<'_>| row.name.clone()),
        words("load", |row: &DelayRow<'_>| {
            crate::figures::percent(row.delay.load_ratio)
        }),
        words(
            format!("intended, {}", unit.symbol()),
            move |row: &DelayRow<'_>| number(row.delay.intended, unit),
        ),
        time("median", |delay| delay.p50_ns),
        time("p99", |delay| delay.p99_ns),
        time("p99.9", |delay| delay.p999_ns),
        time("max", |delay| delay.max_ns),
        column("lost", |row: &DelayRow<'_>| {
            Cell::count(row.delay.lost.map(linerate_model::PacketCount::get))
        }),
    ];
    let has_error = |row: &DelayRow<'_>| row.delay.clock_error_ns.is_some();
    let has_error = rows.iter().any(has_error);
    if has_error {
        columns.push(time("clock error, ±", |delay| delay.clock_error_ns));
    }
    let is_one_way = |row: &DelayRow<'_>| row.delay.of == Some(DelayOf::OneWay);
    let title = match rows.iter().all(is_one_way) {
        true => "One-way delay by load",
        false if has_error => {
            "Delay by load (above the smallest of its trial where the clocks' error is larger than the delay)"
        }
        false => "Delay by load (above the smallest of its trial where no clock is shared)",
    };
    Sheet::new(title, rows, columns)
}

/// Where in a device that tells its stages the delay is; `None` of all others.
fn stage_sheet(rows: &[DelayRow<'_>]) -> Option<Sheet> {
    let rows: Vec<_> = rows
        .iter()
        .filter(|row| !row.delay.stages.is_empty())
        .collect();
    let mut columns = vec![
        words("frame", |row: &&DelayRow<'_>| row.name.clone()),
        words("load", |row: &&DelayRow<'_>| {
            crate::figures::percent(row.delay.load_ratio)
        }),
    ];
    for stage in DutStage::ALL {
        let time = |head: &str, of: fn(&StageDelay) -> u64| {
            words(head, move |row: &&DelayRow<'_>| {
                let time = row.of_stage(stage).map(of);
                time.map_or_else(|| "–".to_owned(), |ns| nanos(crate::figures::float(ns)))
            })
        };
        columns.push(time(stage.as_str(), |times| times.p50_ns));
        columns.push(time("p99", |times| times.p99_ns));
        let share = move |row: &&DelayRow<'_>| {
            Cell::percent(row.of_stage(stage).and_then(|of| row.delay.stage_ratio(of)))
        };
        columns.push(column("mean, %", share).on(Medium::Page));
    }
    columns.push(column("outside, %", |row: &&DelayRow<'_>| {
        Cell::percent(row.delay.outside_ratio())
    }));
    let title = "Delay by stage of the device's program: median, p99, share of the mean delay \
        (outside of it: ports, kernel, scheduling)";
    (!rows.is_empty()).then(|| Sheet::new(title, &rows, columns))
}

/// What limits, where all rows agree on it.
fn limited_by(rows: &[Row<'_>]) -> Option<String> {
    let limits: Vec<_> = rows.iter().map(Row::limit).collect();
    let first = limits.first()?;
    let agree = limits.iter().all(|limit| limit == first);
    (agree && rows[0].verdict().is_some()).then(|| format!("limited by {first}"))
}

/// From the slowest to the fastest row.
fn caption(rows: &[Row<'_>], unit: Unit) -> String {
    let lower = rows
        .iter()
        .filter_map(|row| row.found.strictest()?.lower_bound);
    let (low, high) = lower.fold((f64::INFINITY, 0.0_f64), |(low, high), rate| {
        (low.min(rate.pps()), high.max(rate.pps()))
    });
    if high == 0.0 {
        return "No load met the goals.".to_owned();
    }
    let number = |rate| number(PacketRate::from_pps(rate), unit);
    format!(
        "From {} to {} {}.",
        number(low),
        number(high),
        unit.symbol()
    )
}

/// The throughput of each row, large.
pub(crate) fn figures(run: &Run) -> Vec<BigFigure> {
    let rows = rows(run);
    let unit = unit(&rows);
    let figure = |row: &Row<'_>| {
        let goal = row.found.strictest()?;
        let lower = number(goal.lower_bound?, unit);
        let upper = goal.upper_bound.map(|upper| {
            let upper = number(upper, unit);
            format!("below {upper} {}", unit.symbol())
        });
        Some(BigFigure {
            value: format!("{lower} {}", unit.symbol()),
            interval: upper,
            about: format!("{} of {} frames", goal_word(goal.loss_goal), row.name()),
        })
    };
    rows.iter().filter_map(figure).collect()
}

/// The result in one sentence for each direction: the first and the last frame size.
pub(crate) fn outcome(run: &Run) -> Vec<String> {
    let rows = rows(run);
    let unit = unit(&rows);
    let said = |row: &Row<'_>| {
        let goal = row.found.strictest()?;
        let lower = goal.lower_bound?;
        let word = if goal.loss_goal == Ratio::ZERO {
            "without loss".to_owned()
        } else {
            format!(
                "with at most {} lost",
                crate::figures::percent(goal.loss_goal)
            )
        };
        let rate = number(lower, unit);
        let size = row.name();
        Some(format!("{rate} {} of {size} {word}", unit.symbol()))
    };
    let ends = match rows.as_slice() {
        [] => return vec!["nothing was measured".to_owned()],
        [one] => vec![one],
        [first, .., last] => vec![first, last],
    };
    let said: Vec<_> = ends.into_iter().filter_map(said).collect();
    let mut all = Vec::new();
    if !said.is_empty() {
        all.push(format!("forwards {}", said.join(", ")));
        all.extend(limited_by(&rows));
    } else if rows.iter().any(|row| !row.found.goals.is_empty()) {
        all.push("no load was found that it forwards within the goals".to_owned());
        all.extend(limited_by(&rows));
    }
    all.extend(methods::outcome(&rows, unit));
    if all.is_empty() {
        all.push("nothing was measured".to_owned());
    }
    all
}
