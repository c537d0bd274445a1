//! The path from top to bottom, for pages as narrow as a phone's.

use super::{Canvas, Drawing, count, place, px, text, wrapped};
use crate::figures::float;
use crate::path::{PathStage, StageFlow, StageLoss, grouped, share};
use maud::{Markup, html};

const WIDTH: f64 = 360.0;
/// Left edge of the flow.
const LEFT: f64 = 10.0;
/// Where the words beside the flow begin.
const WORDS: f64 = 104.0;
/// Where the first place begins, below one line of what limits and what was sent.
const TOP: f64 = 46.0;
/// Height of a place without its figures, and of a figure.
const PLACE: f64 = 48.0;
const LINE: f64 = 17.0;
/// Characters that fit beside the flow.
const WORD_CHARS: usize = 36;
/// Characters of what limits that fit the whole width, in bold.
const LIMIT_CHARS: usize = 44;

pub(super) fn drawing(canvas: &Canvas<'_>, fill: &str) -> Drawing {
    let stages = &canvas.path.stages;
    let more_lines = limit_lines(canvas).len().saturating_sub(1);
    let top = TOP + LINE * float(more_lines as u64);
    let mut tops = vec![top];
    for flow in stages {
        let last = tops.last().copied().unwrap_or(top);
        tops.push(last + height(flow));
    }
    let end = tops.last().copied().unwrap_or(top);
    let inner = html! {
        (text("count", LEFT, top - 8.0, &count("sent", canvas.path.sent)))
        (limit(canvas, &tops))
        @for (flow, y) in stages.iter().zip(&tops) { (place(flow, &row(canvas, flow, *y))) }
        (without_place(canvas, fill, &tops))
        (text("count", LEFT, end + 18.0, &count("received", canvas.path.received)))
    };
    Drawing {
        size: (WIDTH, end + 50.0),
        inner,
    }
}

fn height(flow: &StageFlow) -> f64 {
    PLACE + LINE * float(figure_lines(flow).len() as u64)
}

fn figure_lines(flow: &StageFlow) -> Vec<String> {
    let figures = flow.figures.iter();
    figures
        .flat_map(|figure| wrapped(&format!("{}: {}", figure.name, figure.value), WORD_CHARS))
        .collect()
}

fn limit_lines(canvas: &Canvas<'_>) -> Vec<String> {
    let limit = canvas.path.limit.as_ref();
    limit.map_or_else(Vec::new, |name| {
        wrapped(&format!("limit: {name}"), LIMIT_CHARS)
    })
}

/// One place: its part of the ribbon, and beside it what it is, what is lost there, its figures.
fn row(canvas: &Canvas<'_>, flow: &StageFlow, y: f64) -> Markup {
    let (before, after) = canvas.ribbon(flow);
    let (whole, half) = (height(flow), height(flow) / 2.0);
    let x = match flow.stage {
        PathStage::SenderApplication => LEFT,
        _ => LEFT + canvas.rest_width(),
    };
    let part = |y: f64, wide: f64| {
        html! {
            @if wide > 0.0 {
                rect class=(canvas.class(flow)) x=(px(x)) y=(px(y)) width=(px(wide)) height=(px(half)) {}
            }
        }
    };
    let lost = flow.loss.placed();
    let host = match flow.stage.side() {
        None => "",
        Some(linerate_model::spec::Side::Sender) => "sender’s ",
        Some(linerate_model::spec::Side::Receiver) => "receiver’s ",
    };
    html! {
        (part(y, before))
        (part(y + half, after))
        @if lost > 0 { (branch(x + after, y + half, canvas.width(Some(lost)))) }
        path.bracket d=(format!("M{} {} H{}", px(WORDS), px(y + whole - 4.0), px(WIDTH))) {}
        (text("stage at-start", WORDS, y + 15.0, &format!("{host}{}", flow.name)))
        @for (line, said) in figure_lines(flow).iter().enumerate() {
            (text("value at-start", WORDS, y + 33.0 + LINE * float(line as u64), said))
        }
        (said_lost(canvas, flow, y + whole - 12.0))
        @if flow.stage == PathStage::SenderApplication { (never_offered(canvas, y, half)) }
    }
}

/// A band from the right edge of the ribbon to the words.
fn branch(x: f64, y: f64, wide: f64) -> Markup {
    let d = format!(
        "M{x} {y} H{right} L{end} {down} H{back} L{x} {low} Z",
        x = px(x),
        y = px(y),
        right = px(x + wide),
        end = px((x + wide + 14.0).min(WORDS - 4.0)),
        down = px(y + 14.0),
        back = px((x + 8.0).min(WORDS - 12.0)),
        low = px(y + 6.0),
    );
    html! { path.lost d=(d) {} }
}

fn said_lost(canvas: &Canvas<'_>, flow: &StageFlow, y: f64) -> Markup {
    html! {
        @match &flow.loss {
            StageLoss::Counted { packets, .. } => {
                @let of = canvas.path.sent.filter(|sent| *sent > 0).map(|sent| share(*packets, sent));
                text.lost-name.at-start x=(px(WORDS)) y=(px(y)) {
                    "−" (grouped(*packets)) " lost here" @if let Some(of) = of { " (" (of) ")" }
                }
            }
            StageLoss::NotKnown => (text("name at-start", WORDS, y, "loss here not known")),
            StageLoss::Clear => {}
        }
    }
}

fn never_offered(canvas: &Canvas<'_>, y: f64, half: f64) -> Markup {
    let missing = canvas.path.not_offered.unwrap_or(0);
    html! {
        @if missing > 0 && canvas.path.sent.is_some() {
            @let x = LEFT + canvas.width(canvas.path.sent);
            rect.not-offered x=(px(x)) y=(px(y)) width=(px(canvas.width(Some(missing)))) height=(px(half * 2.0 - 6.0)) {}
            (text("name at-start", WORDS, y + half * 2.0 - 12.0, &format!("{} not offered", grouped(missing))))
        }
    }
}

fn without_place(canvas: &Canvas<'_>, fill: &str, tops: &[f64]) -> Markup {
    // From the second place to where the last begins; after that comes its end.
    let last = canvas.path.stages.len().saturating_sub(1);
    let (Some(from), Some(to)) = (tops.get(1), tops.get(last)) else {
        return html! {};
    };
    html! {
        @if canvas.rest > 0 {
            rect.unplaced x=(px(LEFT)) y=(px(*from)) width=(px(canvas.rest_width())) height=(px(to - from - 12.0)) fill=(fill) {}
            @let of = share(canvas.rest, canvas.path.sent.unwrap_or(0));
            text.lost-name.at-start x=(px(LEFT)) y=(px(tops.last().copied().unwrap_or(*to) + 38.0)) {
                "−" (grouped(canvas.rest)) " (" (of) ") lost, place not known"
            }
        }
    }
}

fn limit(canvas: &Canvas<'_>, tops: &[f64]) -> Markup {
    let at = |flows: &dyn Fn(&StageFlow) -> bool| canvas.path.stages.iter().position(flows);
    let first = at(&|flow| flow.limits);
    let last = canvas.path.stages.iter().rposition(|flow| flow.limits);
    html! {
        @if let (Some((first, last)), Some(_)) = (first.zip(last), &canvas.path.limit) {
            rect.limit x="2" y=(px(tops[first])) width=(px(WIDTH - 4.0)) height=(px(tops[last + 1] - tops[first] - 3.0)) rx="6" {}
        }
        @for (line, said) in limit_lines(canvas).iter().enumerate() {
            (text("limit-name at-start", LEFT, 16.0 + LINE * float(line as u64), said))
        }
    }
}
