//! Which cells of two runs are comparable: the same in all that both tell.

use super::cells::Cell;
use linerate_model::comparison::ComparedCell;

/// Two cells, by their positions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Paired {
    pub(super) a: usize,
    pub(super) b: usize,
    /// What one of them does not tell.
    pub(super) assumed: Vec<String>,
}

/// A cell without a partner.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnpairedCell {
    pub(super) cell: usize,
    pub(super) why: String,
}

/// The outcome of pairing.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    pub(super) pairs: Vec<Paired>,
    pub(super) left_a: Vec<UnpairedCell>,
    pub(super) left_b: Vec<UnpairedCell>,
}

/// Most cells of the other side that one cell with unknown settings is compared with.
const MAX_PARTNERS: usize = 16;

/// A setting of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Setting {
    /// Its value, as tables show it.
    Known(String),
    /// Not set, as a source that tells all says.
    None,
    /// The source does not tell.
    Untold,
}

/// How two cells stand to each other.
enum Relation {
    /// Comparable, with what one of them does not tell.
    Alike(Vec<String>),
    /// What differs, in words, beginning with what weighs most.
    Unlike(Vec<String>),
}

/// Pairs equal cells first; a cell that does not tell everything then goes with each cell of the other
/// side that agrees in all it tells, unless that has an equal partner already.
pub(super) fn pair(a: &[Cell<'_>], b: &[Cell<'_>]) -> Pairing {
    let mut pairing = Pairing::default();
    let equal = |first: &Cell<'_>, second: &Cell<'_>| first.key == second.key;
    let (mut done_a, mut done_b) = (vec![false; a.len()], vec![false; b.len()]);
    for (at, first) in a.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
        let partner = (0..b.len()).find(|other| {
            let second = &b[*other];
            !done_b[*other] && !second.is_empty() && equal(first, second)
        });
        if let Some(other) = partner {
            (done_a[at], done_b[other]) = (true, true);
            let assumed = Vec::new();
            pairing.pairs.push(Paired {
                a: at,
                b: other,
                assumed,
            });
        }
    }
    let loose = loose_pairs(a, b, &done_a, &done_b);
    for pair in loose {
        (done_a[pair.a], done_b[pair.b]) = (true, true);
        pairing.pairs.push(pair);
    }
    pairing.pairs.sort_by_key(|pair| (pair.a, pair.b));
    pairing.left_a = left(a, b, &done_a, "B");
    pairing.left_b = left(b, a, &done_b, "A");
    pairing
}

fn loose_pairs(a: &[Cell<'_>], b: &[Cell<'_>], done_a: &[bool], done_b: &[bool]) -> Vec<Paired> {
    let open = |cells: &[Cell<'_>], done: &[bool]| -> Vec<usize> {
        let free = |at: &usize| !done[*at] && !cells[*at].is_empty();
        (0..cells.len()).filter(free).collect()
    };
    let (open_a, open_b) = (open(a, done_a), open(b, done_b));
    let mut pairs = Vec::new();
    for &at in &open_a {
        for &other in &open_b {
            if let Relation::Alike(assumed) = relation(&a[at], &b[other]) {
                pairs.push(Paired {
                    a: at,
                    b: other,
                    assumed,
                });
            }
        }
    }
    let count = |of: &dyn Fn(&Paired) -> bool| pairs.iter().filter(|pair| of(pair)).count();
    let crowded: Vec<bool> = pairs
        .iter()
        .map(|pair| {
            let (of_a, of_b) = (|p: &Paired| p.a == pair.a, |p: &Paired| p.b == pair.b);
            count(&of_a) > MAX_PARTNERS || count(&of_b) > MAX_PARTNERS
        })
        .collect();
    let kept = pairs.into_iter().zip(crowded);
    kept.filter_map(|(pair, crowded)| (!crowded).then_some(pair))
        .collect()
}

/// Cells without a partner, each with the reason.
fn left(cells: &[Cell<'_>], others: &[Cell<'_>], done: &[bool], other: &str) -> Vec<UnpairedCell> {
    let free = (0..cells.len()).filter(|at| !done[*at]);
    free.map(|at| UnpairedCell {
        cell: at,
        why: why(&cells[at], others, other),
    })
    .collect()
}

fn why(cell: &Cell<'_>, others: &[Cell<'_>], other: &str) -> String {
    if cell.is_empty() {
        return format!("not one of its {} trials is valid", cell.invalid);
    }
    let unlike = others.iter().filter_map(|one| match relation(cell, one) {
        Relation::Unlike(differences) => Some(differences),
        Relation::Alike(_) => None,
    });
    if let Some(nearest) = unlike.min_by_key(Vec::len) {
        return format!("the nearest of {other} has {}", nearest.join(", "));
    }
    match others {
        [] => format!("{other} measured nothing"),
        _ => format!("{other} leaves open which of its cells it is, or has no valid trial of it"),
    }
}

fn relation(a: &Cell<'_>, b: &Cell<'_>) -> Relation {
    let (mut assumed, mut unlike) = (Vec::new(), Vec::new());
    for ((name, first), (_, second)) in settings(a).into_iter().zip(settings(b)) {
        match (first, second) {
            (first, second) if first == second => {}
            (Setting::Untold, Setting::Known(value)) => {
                assumed.push(format!("{name} {value} (A does not tell)"));
            }
            (Setting::Known(value), Setting::Untold) => {
                assumed.push(format!("{name} {value} (B does not tell)"));
            }
            (Setting::Untold, _) | (_, Setting::Untold) => {}
            (_, Setting::Known(value)) => unlike.push(format!("{name} {value}")),
            (_, Setting::None) => unlike.push(format!("no {name}")),
        }
    }
    if unlike.is_empty() {
        Relation::Alike(assumed)
    } else {
        Relation::Unlike(unlike)
    }
}

/// What tells cells apart, by name.
fn settings(cell: &Cell<'_>) -> [(&'static str, Setting); 9] {
    let ComparedCell {
        name: _,
        kind,
        part,
        transport,
        direction,
        payload_bytes,
        streams,
        mode,
        intended_load,
        goal,
    } = &cell.key;
    let known = |value: Option<String>| value.map_or(Setting::Untold, Setting::Known);
    // A source that tells all its settings and not this one has it not set.
    let set = |value: Option<String>| match value {
        Some(value) => Setting::Known(value),
        None if cell.is_own => Setting::None,
        None => Setting::Untold,
    };
    [
        ("kind", Setting::Known(kind.as_str().to_owned())),
        ("transport", known(transport.map(|t| t.to_string()))),
        ("goal", set(goal.clone())),
        (
            "direction",
            known(direction.map(|d| format!("{d:?}").to_lowercase())),
        ),
        (
            "payload",
            known(payload_bytes.map(|size| format!("{} B", size.get()))),
        ),
        ("mode", known(mode.clone())),
        (
            "intended load",
            set(intended_load.map(|load| load.to_string())),
        ),
        ("streams", known(streams.map(|streams| streams.to_string()))),
        ("cell", known(part.clone())),
    ]
}
