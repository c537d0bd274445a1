//! The path from left to right, for pages as wide as a desk's.

use super::{Canvas, Drawing, count, cut, place, px, text, wrapped};
use crate::figures::float;
use crate::path::{PathStage, StageFlow, StageLoss, grouped, share};
use linerate_model::spec::Side;
use maud::{Markup, html};

/// Width of the picture.
const WIDTH: f64 = 1062.0;
/// Where the flow begins below the names.
const TOP: f64 = 104.0;
/// Space for the branches of what is lost, below the widest flow.
const BRANCHES: f64 = 60.0;
/// Length of the arrow's point.
const HEAD: f64 = 14.0;
/// Height of a figure: its name and its value.
const FIGURE: f64 = 31.0;
/// Characters in small text that fit the picture's width.
const CHARS: usize = 162;
/// Characters of a place's name that do.
const NAME_CHARS: usize = 126;

/// Width of a place.
fn column_width(canvas: &Canvas<'_>) -> f64 {
    WIDTH / float(canvas.path.stages.len() as u64)
}

/// How many places are in the sending host, and how many up to the receiving one.
fn borders(canvas: &Canvas<'_>) -> (f64, f64) {
    let of = |side| {
        let stages = canvas.path.stages.iter();
        let here = stages.filter(|flow| flow.stage.side() == side).count();
        float(here as u64)
    };
    let sender = of(Some(Side::Sender));
    (sender, sender + of(None))
}

pub(super) fn drawing(canvas: &Canvas<'_>, fill: &str) -> Drawing {
    let path = canvas.path;
    let rows = path.stages.iter().map(|flow| flow.figures.len()).max();
    let figures = FIGURE * float(rows.unwrap_or(0) as u64);
    let inner = html! {
        (limit(canvas))
        (hosts(canvas))
        @for (index, flow) in path.stages.iter().enumerate() {
            (place(flow, &column(canvas, flow, column_width(canvas) * float(index as u64))))
        }
        (never_offered(canvas))
        (without_place(canvas, fill))
        (ends(canvas))
    };
    Drawing {
        size: (WIDTH, floor(canvas) + 52.0 + figures),
        inner,
    }
}

/// The upper edge of the flow of packets whose way is known.
fn top(canvas: &Canvas<'_>) -> f64 {
    TOP + canvas.rest_width()
}

/// Where the branches end and the words on them stand.
fn floor(canvas: &Canvas<'_>) -> f64 {
    let path = canvas.path;
    let is_said = |flow: &StageFlow| flow.loss != StageLoss::Clear;
    let below = path.not_offered > Some(0) || path.stages.iter().any(is_said);
    TOP + super::RIBBON + if below { BRANCHES } else { 14.0 }
}

/// Brackets over the columns of each host.
fn hosts(canvas: &Canvas<'_>) -> Markup {
    let path = canvas.path;
    let (sender, receiver) = borders(canvas);
    let groups = [
        (0.0, sender, format!("sender: {}", path.sender)),
        (sender, receiver, "between".to_owned()),
        (
            receiver,
            float(path.stages.len() as u64),
            format!("receiver: {}", path.receiver),
        ),
    ];
    let wide = column_width(canvas);
    html! {
        @for (from, to, name) in &groups {
            path.bracket d=(format!("M{} 29 V23 H{} V29", px(from * wide + 4.0), px(to * wide - 4.0))) {}
            (text("host", from * wide + 6.0, 16.0, &cut(name, if to - from > 1.0 { 60 } else { 16 })))
        }
    }
}

/// A frame around the places that limit, with what limits.
fn limit(canvas: &Canvas<'_>) -> Markup {
    let Some(name) = &canvas.path.limit else {
        return html! {};
    };
    let y = floor(canvas) + 22.0;
    let Some((first, last)) = canvas.limiting() else {
        let (from, to) = borders(canvas);
        let middle = column_width(canvas) * f64::midpoint(from, to);
        return html! { text.limit-name x=(px(middle)) y=(px(y)) { "limit: " (name) } };
    };
    let wide = column_width(canvas);
    let (from, to) = (wide * first, wide * last);
    let middle = f64::midpoint(from, to).clamp(160.0, WIDTH - 160.0);
    html! {
        rect.limit x=(px(from + 2.0)) y="34" width=(px(to - from - 4.0)) height=(px(floor(canvas) - 28.0)) rx="6" {}
        text.limit-name x=(px(middle)) y=(px(y)) { "▲ limit: " (name) }
    }
}

/// One place: its name, its part of the ribbon, the branch of what is lost, its figures.
fn column(canvas: &Canvas<'_>, flow: &StageFlow, left: f64) -> Markup {
    let (before, after) = canvas.ribbon(flow);
    let half = column_width(canvas) / 2.0;
    let places = canvas.path.stages.len().max(1);
    let (name_chars, chars) = (NAME_CHARS / places, CHARS / places);
    let middle = left + half;
    let y = match flow.stage {
        PathStage::SenderApplication => TOP,
        _ => top(canvas),
    };
    // The last place leaves room for the point of the arrow.
    let long = match flow.stage {
        PathStage::ReceiverApplication => half - HEAD,
        _ => half,
    };
    let part = |x: f64, wide: f64, long: f64| {
        html! {
            @if wide > 0.0 {
                rect class=(canvas.class(flow)) x=(px(x)) y=(px(y)) width=(px(long)) height=(px(wide)) {}
            }
        }
    };
    html! {
        @for (line, said) in wrapped(flow.name, name_chars).iter().enumerate() {
            (text("stage", middle, 51.0 + 15.0 * float(line as u64), said))
        }
        (part(left, before, half))
        (part(middle, after, long))
        @if flow.loss.placed() > 0 { (branch(canvas, middle, y + after, canvas.width(Some(flow.loss.placed())))) }
        (lost(canvas, flow, middle))
        @for (line, figure) in flow.figures.iter().enumerate() {
            @let y = floor(canvas) + 50.0 + FIGURE * float(line as u64);
            (text("name", middle, y, &cut(figure.name, chars)))
            (text("value", middle, y + 14.0, &cut(&figure.value, chars)))
        }
    }
}

/// A quarter turn from the lower edge of the ribbon downwards.
fn branch(canvas: &Canvas<'_>, x: f64, top: f64, wide: f64) -> Markup {
    const TURN: f64 = 10.0;
    let bottom = top + wide;
    let (inner, outer) = (x + TURN, x + TURN + wide);
    let end = (floor(canvas) - 26.0).max(bottom + TURN);
    let d = format!(
        "M{x} {top} Q{outer} {top} {outer} {turned} V{end} H{inner} V{below} Q{inner} {bottom} {x} {bottom} Z",
        x = px(x),
        top = px(top),
        outer = px(outer),
        turned = px(top + TURN + wide),
        end = px(end),
        inner = px(inner),
        below = px(bottom + TURN),
        bottom = px(bottom),
    );
    html! { path.lost d=(d) {} }
}

/// How many are lost here, below the branch; or that it is not known.
fn lost(canvas: &Canvas<'_>, flow: &StageFlow, middle: f64) -> Markup {
    let y = floor(canvas) - 12.0;
    html! {
        @match &flow.loss {
            StageLoss::Counted { packets, .. } => {
                (text("lost-name", middle, y, &format!("−{}", grouped(*packets))))
                @if let Some(sent) = canvas.path.sent.filter(|sent| *sent > 0) {
                    (text("lost-name", middle, y + 14.0, &share(*packets, sent)))
                }
            }
            StageLoss::NotKnown => (text("name", middle, y, "loss not known")),
            StageLoss::Clear => {}
        }
    }
}

/// What never left the sender's application: an empty band that ends there.
fn never_offered(canvas: &Canvas<'_>) -> Markup {
    let missing = canvas.path.not_offered.unwrap_or(0);
    let wide = column_width(canvas);
    html! {
        @if missing > 0 && canvas.path.sent.is_some() {
            @let y = TOP + canvas.width(canvas.path.sent);
            rect.not-offered x="6" y=(px(y)) width=(px(wide - 12.0)) height=(px(canvas.width(Some(missing)))) {}
            (text("name", wide / 2.0, floor(canvas) - 12.0, "not offered"))
            (text("name", wide / 2.0, floor(canvas) + 2.0, &grouped(missing)))
        }
    }
}

/// The band of what has no place, along all places where it may have been lost.
fn without_place(canvas: &Canvas<'_>, fill: &str) -> Markup {
    let wide = column_width(canvas);
    // To the middle of the place before the receiver's application.
    let end = WIDTH - 1.5 * wide;
    html! {
        @if canvas.rest > 0 {
            rect.unplaced x=(px(wide)) y=(px(TOP)) width=(px(end - wide)) height=(px(canvas.rest_width())) fill=(fill) {}
            @let of = share(canvas.rest, canvas.path.sent.unwrap_or(0));
            text.lost-name.at-end x=(px(end)) y=(px(TOP - 7.0)) {
                "−" (grouped(canvas.rest)) " (" (of) "), place not known"
            }
        }
    }
}

/// What went in and what came out, and the point of the arrow.
fn ends(canvas: &Canvas<'_>) -> Markup {
    let path = canvas.path;
    let wide = canvas.width(path.received);
    let y = top(canvas);
    html! {
        text.count x="6" y=(px(TOP - 8.0)) { (count("sent", path.sent)) }
        text.count.at-end x=(px(WIDTH - 2.0)) y=(px(y - 8.0)) { (count("received", path.received)) }
        @if wide > 0.0 {
            path.head.unknown[path.received.is_none()] d=(format!("M{x} {y} l{HEAD} {half} l-{HEAD} {half} z", x = px(WIDTH - HEAD), y = px(y), half = px(wide / 2.0))) {}
        }
    }
}
