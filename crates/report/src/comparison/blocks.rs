//! What a comparison says: the conclusion, what was compared, a table for each metric.

use super::{
    Row, by_metric, charts, conclusion, effect, effect_interval, rule, side, tally, value, verdict,
};
use crate::document::{Block, Look, MARKDOWN, PAGE, SCREENS, Sheet, TERMINAL};
use crate::figures::{Unit, clean, digits, middle, range};
use crate::table::{Cell, Column, column, words};
use linerate_model::Estimate;
use linerate_model::comparison::{
    Basis, CompareAnswer, ComparedSide, Comparison, Difference, MetricComparison, SameMachines,
    Unpaired,
};
use linerate_model::run::HostRole;

/// Differences of the machines or settings that a terminal shows.
const MAX_DIFFERENCES: usize = 12;
/// Cells without partner that a terminal shows.
const MAX_UNPAIRED: usize = 10;

pub(super) fn all(comparison: &Comparison) -> Vec<Block<'_>> {
    let mut blocks = vec![
        Block::Title {
            text: conclusion(comparison),
            mark: match comparison.answer {
                CompareAnswer::NoRegression => "✅",
                CompareAnswer::Regression => "❌",
                CompareAnswer::CannotTell => "❔",
            },
        },
        Block::Sentence(tally(comparison)),
        Block::fact("A", side(&comparison.a)),
        Block::fact("B", side(&comparison.b)),
        Block::fact("counts as", rule(comparison)),
    ];
    blocks.extend(control(comparison));
    blocks.push(Block::Only(MARKDOWN, vec![worst_first(comparison)]));
    blocks.push(Block::Notes(comparison.notes.clone()));
    blocks.push(Block::Only(SCREENS, in_full(comparison)));
    blocks
}

/// What A against A showed.
fn control(comparison: &Comparison) -> Option<Block<'_>> {
    let control = comparison.control.as_ref()?;
    let seen = if control.false_alarms.is_empty() {
        "no difference".to_owned()
    } else {
        format!("a difference: {}", control.false_alarms.join("; "))
    };
    let times = control.repetitions;
    let text = format!("A against A, {times} times in random turns: {seen}");
    Some(Block::fact("control", text))
}

/// What has room on a screen, and not in a pull request.
fn in_full(comparison: &Comparison) -> Vec<Block<'_>> {
    let machines = match comparison.machines.same {
        SameMachines::Same => "the same",
        SameMachines::Different => "different",
        SameMachines::Unknown => "not known to be the same",
    };
    let mut blocks = vec![Block::fact("machines", machines)];
    let of_machines = &comparison.machines.differences;
    blocks.extend(differences(
        "",
        "What differs between the machines",
        of_machines,
    ));
    let settings = &comparison.settings;
    blocks.extend(differences(
        "settings",
        "What was set differently",
        settings,
    ));
    let charts = charts::all(comparison);
    blocks.extend((!charts.is_empty()).then_some(Block::Heading("Charts")));
    blocks.extend([Block::Charts(charts), Block::Heading("Every metric")]);
    for (metric, rows) in by_metric(comparison) {
        blocks.push(Block::Gap);
        blocks.push(metric_table(metric, &rows));
        blocks.extend(remark(&rows));
    }
    blocks.push(Block::Gap);
    blocks.push(Block::List {
        label: "taken as equal",
        items: assumed(comparison),
        most: MAX_UNPAIRED,
    });
    blocks.extend(unpaired(&comparison.unpaired));
    blocks
}

/// What is not the same on both sides: line by line on a terminal, as a table on a page.
fn differences<'a>(label: &'static str, title: &str, all: &[Difference]) -> [Block<'a>; 2] {
    let said = |difference: &Difference| {
        let shown = |value: &Option<String>| clean(value.as_deref().unwrap_or("not recorded"));
        let role = difference.role.map(|role| format!("{} ", role.as_str()));
        let (role, what) = (role.unwrap_or_default(), &difference.what);
        let (a, b) = (shown(&difference.a), shown(&difference.b));
        format!("{role}{what}: A {a}, B {b}")
    };
    let shown = |value: &Option<String>| value.as_deref().map_or_else(Cell::unknown, Cell::text);
    let columns = vec![
        words("end", |one: &Difference| {
            one.role.map_or("–", HostRole::as_str)
        }),
        words("what", |one: &Difference| one.what.clone()),
        column("A", move |one: &Difference| shown(&one.a)),
        column("B", move |one: &Difference| shown(&one.b)),
    ];
    listed(
        label,
        all.iter().map(said),
        MAX_DIFFERENCES,
        Sheet::new(title, all, columns),
    )
}

/// What is a list on a terminal, and a table on a page.
fn listed<'a>(
    label: &'static str,
    items: impl Iterator<Item = String>,
    most: usize,
    table: Sheet,
) -> [Block<'a>; 2] {
    let items = items.collect();
    let list = Block::List { label, items, most };
    let look = Look::Folded {
        open_up_to: MAX_DIFFERENCES,
    };
    [
        Block::Only(TERMINAL, vec![list]),
        Block::Only(PAGE, vec![Block::Table(table.look(look))]),
    ]
}

fn unpaired<'a>(all: &[Unpaired]) -> [Block<'a>; 2] {
    let of = |one: &Unpaired| match one.side {
        ComparedSide::A => "A",
        ComparedSide::B => "B",
    };
    let said = move |one: &Unpaired| format!("{}: {}: {}", of(one), one.cell.name, one.why);
    let columns = vec![
        words("of", of),
        words("cell", |one: &Unpaired| one.cell.name.clone()),
        words("why it is not compared", |one: &Unpaired| one.why.clone()),
    ];
    let table = Sheet::new("What has no partner", all, columns);
    listed("not compared", all.iter().map(said), MAX_UNPAIRED, table)
}

/// A metric of every pair. A page has the units in its headings, so that columns of numbers can be compared.
fn metric_table<'a>(metric: &MetricComparison, rows: &[Row<'_>]) -> Block<'a> {
    let values = rows.iter().map(|(_, one)| one.a.point.max(one.b.point));
    let unit = Unit::for_quantity(metric.metric, middle(values));
    let title = match rows {
        [(_, one)] => {
            let shown = |side| value(one.metric, side);
            format!("{}: {} against {}", one.words, shown(&one.b), shown(&one.a))
        }
        _ => crate::charts::capital(&metric.words),
    };
    let mut on_page = vec![words("pair", |row: &Row<'_>| row.0.cell.name.clone())];
    on_page.extend(side_columns("A", unit, |row| &row.1.a));
    on_page.extend(side_columns("B", unit, |row| &row.1.b));
    on_page.extend([
        words("effect", |row: &Row<'_>| effect(row.1)),
        words("95 %", |row: &Row<'_>| effect_interval(row.1)),
        words("covers", |row: &Row<'_>| row.1.basis.as_str()),
        words("p, corrected", |row: &Row<'_>| {
            row.1.p_adjusted.map_or_else(|| "–".to_owned(), digits)
        }),
        words("B is", |row: &Row<'_>| verdict(row.1)),
        words("why", |row: &Row<'_>| row.1.why.clone().unwrap_or_default()),
    ]);
    let effect_head = if metric.ratio.is_some() {
        "B / A"
    } else {
        "B − A"
    };
    let name = |row: &Row<'_>| row.0.cell.name.clone();
    let page = Sheet::new(title, rows, on_page).look(Look::Folded {
        open_up_to: usize::MAX,
    });
    let terminal = Sheet::new("", rows, compared_columns(&metric.words, effect_head, name));
    Block::Only(
        SCREENS,
        vec![
            Block::Only(PAGE, vec![Block::Table(page)]),
            Block::Only(TERMINAL, vec![Block::Table(terminal)]),
        ],
    )
}

/// A value of one side with its interval and the readings behind it.
fn side_columns<'a, 'r>(
    side: &str,
    unit: Unit,
    of: fn(&Row<'r>) -> &'r Estimate,
) -> [Column<'a, Row<'r>>; 3]
where
    'r: 'a,
{
    [
        column(format!("{side} ({})", unit.symbol()), move |row| {
            Cell::number(Some(of(row).point), unit)
        }),
        words("95 %", move |row| {
            let interval = of(row).interval.map(|interval| range(interval, unit));
            interval.unwrap_or_else(|| "–".to_owned())
        }),
        column("n", move |row| Cell::count(Some(of(row).n))),
    ]
}

/// Both sides in their own units, and what came of it.
fn compared_columns<'a, 'r>(
    head: &str,
    effect_head: &str,
    name: impl Fn(&Row<'r>) -> String + 'a,
) -> Vec<Column<'a, Row<'r>>>
where
    'r: 'a,
{
    vec![
        words(head, name),
        words("A", |row: &Row<'r>| value(row.1.metric, &row.1.a)),
        words("B", |row: &Row<'r>| value(row.1.metric, &row.1.b)),
        words(effect_head, |row: &Row<'r>| effect(row.1)),
        words("95 % interval", |row: &Row<'r>| effect_interval(row.1)),
        words("n", |row: &Row<'r>| format!("{}, {}", row.1.a.n, row.1.b.n)),
        words("B is", |row: &Row<'r>| verdict(row.1)),
    ]
}

/// Every metric in one table: what is worse first, then what decides.
fn worst_first<'a>(comparison: &Comparison) -> Block<'a> {
    let pairs = comparison.pairs.iter();
    let rows = pairs.flat_map(|pair| pair.metrics.iter().map(move |metric| (pair, metric)));
    let mut rows: Vec<Row<'_>> = rows.collect();
    rows.sort_by_key(|(_, metric)| (metric.answer != CompareAnswer::Regression, !metric.decides));
    let name = |row: &Row<'_>| format!("{}: {}", row.0.cell.name, row.1.words);
    Block::Table(Sheet::new(
        "",
        &rows,
        compared_columns("", "B against A", name),
    ))
}

/// What the intervals of a metric cover and why nothing is shown, each once.
fn remark<'a>(rows: &[Row<'_>]) -> Option<Block<'a>> {
    let mut said: Vec<String> = Vec::new();
    for (_, metric) in rows {
        let is_usual = matches!(metric.basis, Basis::BetweenTrials | Basis::None);
        let covers = (!is_usual).then(|| format!("intervals: {}", metric.basis));
        for text in covers.into_iter().chain(metric.why.clone()) {
            if !said.contains(&text) {
                said.push(text);
            }
        }
    }
    let remark = Block::Remark(format!("({})", said.join("; ")));
    (!said.is_empty()).then(|| Block::Only(TERMINAL, vec![remark]))
}

/// What was taken to be the same, each once.
fn assumed(comparison: &Comparison) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in comparison.pairs.iter().flat_map(|pair| &pair.assumed) {
        if !all.contains(text) {
            all.push(text.clone());
        }
    }
    all
}
