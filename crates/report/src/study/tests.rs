use super::*;
use linerate_model::BitRate;
use linerate_model::run::{DatagramsResult, RunKind, StudyPlace, Tool};
use linerate_model::spec::Transport;

/// One run of a cell; the rate stops at 50 Mbit/s one way and at 90 the other.
fn part(load: u64, way: Direction, repetition: u32) -> Run {
    let limit = if way == Direction::Forward { 90 } else { 50 };
    let mut trial = Trial::new(0, Transport::Udp, way, DatagramsResult::default());
    let rate = |mbit: u64| Some(BitRate::from_bps(mbit * 1_000_000));
    trial.intended_load = rate(load);
    trial.offered_load = rate(load);
    trial.received_rate = rate(load.min(limit) + u64::from(repetition) % 2);
    let mut run = Run::new("part", RunKind::Udp, Tool::unversioned("linerate"));
    run.trials = vec![trial];
    run.config.place = Some(StudyPlace {
        cell: format!("direction = {way}, rate = {load}M"),
        repetition,
    });
    run
}

fn study() -> Vec<Run> {
    let mut parts = Vec::new();
    // The order of measuring is of no account.
    for load in [80, 10, 120, 40, 100] {
        for way in [Direction::Reverse, Direction::Forward] {
            parts.extend((1..=4).map(|repetition| part(load, way, repetition)));
        }
    }
    parts
}

#[test]
fn factors_are_in_order_whatever_the_order_of_measuring() {
    let parts = study();
    let view = StudyView::from_parts(&parts).unwrap();
    let names: Vec<_> = view
        .factors
        .iter()
        .map(|factor| factor.name.as_str())
        .collect();
    assert_eq!(names, ["direction", "rate"]);
    let rates: Vec<_> = view.factors[1]
        .levels
        .iter()
        .map(|level| level.text.as_str())
        .collect();
    assert_eq!(rates, ["10M", "40M", "80M", "100M", "120M"]);
    assert_eq!(view.axis(), Some(1));
    assert_eq!(view.cells().len(), 10);
    assert!(view.cells().values().all(|runs| runs.len() == 4));
}

#[test]
fn each_direction_has_a_chart_with_the_same_axes_and_its_saturation() {
    let parts = study();
    let view = StudyView::from_parts(&parts).unwrap();
    let Multiples { charts, left_out } = multiples(&view);
    assert_eq!((charts.len(), left_out), (2, 0));
    assert_eq!((&charts[0].x, &charts[0].y), (&charts[1].x, &charts[1].y));
    let forward = &charts[0];
    assert_eq!(forward.title, "Client → server");
    assert!(
        forward
            .caption
            .starts_with("Saturation between 80 and 100 Mbit/s intended"),
        "{}",
        forward.caption
    );
    assert!(
        charts[1]
            .caption
            .starts_with("Saturation between 40 and 80 Mbit/s intended"),
        "{}",
        charts[1].caption
    );
    let dots = forward
        .series
        .iter()
        .find(|series| series.shape == crate::chart::Shape::Single);
    assert_eq!(dots.unwrap().points.len(), 20);
}

#[test]
fn the_factor_that_explains_most_comes_first() {
    let parts = study();
    let view = StudyView::from_parts(&parts).unwrap();
    let said = conclusions(&view);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("Direction explains"), "{said:?}");
    assert!(said[0].contains("without the load’s"), "{said:?}");
    assert!(
        said[1].starts_with("Repetitions of the same cell account for"),
        "{said:?}"
    );
}

#[test]
fn a_value_with_a_comma_is_one_value() {
    let mut one = part(10, Direction::Forward, 1);
    let mut other = part(10, Direction::Forward, 1);
    let cell = |text: &str| {
        Some(StudyPlace {
            cell: format!("datapath = {text}, payload = 64"),
            repetition: 1,
        })
    };
    one.config.place = cell("sockets,gso=true");
    other.config.place = cell("io-uring, polled");
    let parts = [one, other];
    let view = StudyView::from_parts(&parts).unwrap();
    let levels: Vec<_> = view.factors[0]
        .levels
        .iter()
        .map(|level| level.text.as_str())
        .collect();
    assert_eq!(levels, ["io-uring, polled", "sockets,gso=true"]);
    assert_eq!(view.axis(), None);
}

/// One run of a stack: as many Mbit/s as said, in the way of the trial; of a duplex test the other way is half of it.
fn on_stack(cell: &str, repetition: u32, ways: &[(Direction, u64)]) -> Run {
    let mut run = Run::new("part", RunKind::Udp, Tool::unversioned("linerate"));
    let trials = ways.iter().map(|(way, mbit)| {
        let mut trial = Trial::new(0, Transport::Udp, *way, DatagramsResult::default());
        let bps = (mbit + u64::from(repetition) % 2) * 1_000_000;
        trial.received_rate = Some(BitRate::from_bps(bps));
        trial
    });
    run.trials = trials.collect();
    run.config.place = Some(StudyPlace {
        cell: cell.to_owned(),
        repetition,
    });
    run
}

fn stacks() -> Vec<Run> {
    let mut parts = Vec::new();
    for (stack, mbit) in [("kernel", 400), ("lwip", 100), ("smoltcp", 200)] {
        for buffers in ["base", "large-buffers"] {
            for repetition in 1..=4 {
                let cell = |direction: &str| {
                    format!(
                        "direction = {direction}, kind = udp, stack = {stack}, stack-buffers = {buffers}"
                    )
                };
                let (forward, reverse) = (Direction::Forward, Direction::Reverse);
                parts.extend([
                    on_stack(&cell("forward"), repetition, &[(forward, mbit)]),
                    on_stack(&cell("reverse"), repetition, &[(reverse, 300)]),
                    on_stack(
                        &cell("duplex"),
                        repetition,
                        &[(forward, mbit / 2), (reverse, 20)],
                    ),
                ]);
            }
        }
    }
    parts
}

#[test]
fn each_way_of_a_duplex_test_is_a_test_of_its_own() {
    let parts = stacks();
    let view = StudyView::from_parts(&parts).unwrap();
    let direction = &view.factors[0];
    let said: Vec<_> = (0..direction.levels.len())
        .map(|level| direction.said(level))
        .collect();
    assert_eq!(
        said,
        [
            "client → server",
            "server → client",
            "client → server, both ways at once",
            "server → client, both ways at once"
        ]
    );
    assert!(view.cells().values().all(|runs| runs.len() == 4));
}

#[test]
fn things_with_names_share_a_row_for_each_test() {
    let parts = stacks();
    let view = StudyView::from_parts(&parts).unwrap();
    assert!(multiples(&view).charts.is_empty());
    let Multiples { charts, left_out } = groups(&view);
    let titles: Vec<_> = charts.iter().map(|chart| chart.title.as_str()).collect();
    assert_eq!(
        titles,
        ["Stack-buffers base", "Stack-buffers large-buffers"]
    );
    assert_eq!(left_out, 0);
    let first = &charts[0];
    assert_eq!((&first.x, &first.y), (&charts[1].x, &charts[1].y));
    // From below, so that the first stands on top.
    assert_eq!(first.y.categories.last().unwrap(), "client → server");
    let names: Vec<_> = first
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "95 % interval",
            "Single runs",
            "stack kernel",
            "stack lwip",
            "stack smoltcp"
        ]
    );
    let points = first.series.iter().map(|series| series.points.len());
    // Four rows of three stacks, each with both ends of an interval, and four runs.
    assert_eq!(points.collect::<Vec<_>>(), [24, 48, 4, 4, 4]);
    assert_eq!(first.table.rows.len(), 12);
    // Two tests are the same for all of them.
    assert_eq!(
        first.caption,
        "Highest mean, its 95 % interval above all others: stack kernel in 2 of 4 tests; in the other 2 intervals overlap."
    );
}

#[test]
fn a_numeric_axis_has_curves_and_no_rows() {
    let parts = study();
    let view = StudyView::from_parts(&parts).unwrap();
    assert!(groups(&view).charts.is_empty());
}
