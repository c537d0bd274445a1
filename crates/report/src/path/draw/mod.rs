//! The path as a picture: a ribbon whose width is packets, once across for wide pages and once down for narrow ones.
//!
//! ```text
//!   sender                                  receiver
//!   app  socket  qdisc  interface  network  interface  backlog  socket  app
//!        ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  lost, place not known
//!   ████████████████████████████████████▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▶
//!                                       ╲
//!                                        lost in the network
//! ```
//!
//! The style sheet shows the one that fits the page; both hold the same numbers as attributes.

mod across;
mod down;

use super::{PathPicture, StageFlow, StageLoss, grouped};
use crate::figures::{UNKNOWN, float};
use maud::{Markup, html};

/// Widest ribbon.
const RIBBON: f64 = 60.0;
/// Thinnest band that can be seen; narrower ones are drawn like this and are not to scale.
const THIN: f64 = 1.5;
/// Width of the ribbon where the number of packets is not known.
const UNKNOWN_WIDTH: f64 = 30.0;

/// Both pictures. `id` is unique on the page.
pub(crate) fn picture(path: &PathPicture, id: &str) -> Markup {
    let canvas = Canvas::from_path(path);
    html! {
        (frame(&canvas, "across", &format!("{id}-across"), &across::drawing))
        (frame(&canvas, "down", &format!("{id}-down"), &down::drawing))
    }
}

/// A picture's size and what is in it, for the id of its pattern of what is not known.
struct Drawing {
    size: (f64, f64),
    inner: Markup,
}

/// A path with the width of each part of its flow.
struct Canvas<'a> {
    path: &'a PathPicture,
    /// Packets at the widest place; `None` where nobody counted what was sent.
    whole: Option<f64>,
    /// Packets that no source places.
    rest: u64,
}

impl<'a> Canvas<'a> {
    fn from_path(path: &'a PathPicture) -> Self {
        let sent = path.sent.filter(|sent| *sent > 0);
        let missing = path.not_offered.unwrap_or(0);
        Self {
            path,
            whole: sent.map(|sent| float(sent.saturating_add(missing))),
            rest: sent
                .and(path.unplaced.as_ref())
                .map_or(0, |rest| rest.packets),
        }
    }

    /// The width of some packets; none for none.
    fn width(&self, packets: Option<u64>) -> f64 {
        match (packets, self.whole) {
            (Some(0), Some(_)) => 0.0,
            (Some(packets), Some(whole)) => (float(packets) / whole * RIBBON).max(THIN),
            (None, _) | (_, None) => UNKNOWN_WIDTH,
        }
    }

    /// The width of the band of what has no place.
    fn rest_width(&self) -> f64 {
        self.width(Some(self.rest)) * if self.rest > 0 { 1.0 } else { 0.0 }
    }

    /// The ribbon's width before and after a place, without what has no place beside it.
    fn ribbon(&self, flow: &StageFlow) -> (f64, f64) {
        let beside = match flow.stage.place() {
            Some(_) => self.rest,
            None => 0,
        };
        let before = flow.entered.map(|entered| entered.saturating_sub(beside));
        let after = before.map(|packets| packets.saturating_sub(flow.loss.placed()));
        (self.width(before), self.width(after))
    }

    fn class(&self, flow: &StageFlow) -> &'static str {
        match (flow.entered, self.whole) {
            (Some(_), Some(_)) => "flow",
            _ => "flow unknown",
        }
    }

    /// Positions of the first and after the last place that limits.
    fn limiting(&self) -> Option<(f64, f64)> {
        let stages = &self.path.stages;
        let first = stages.iter().position(|flow| flow.limits)?;
        let last = stages.iter().rposition(|flow| flow.limits)?;
        Some((float(first as u64), float(last as u64 + 1)))
    }
}

/// A number with one digit after the point, which is a tenth of a pixel.
fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// What tests and scripts read: the numbers of a place as they are drawn.
fn place(flow: &StageFlow, inner: &Markup) -> Markup {
    let lost = match flow.loss {
        StageLoss::NotKnown => None,
        StageLoss::Counted { .. } | StageLoss::Clear => Some(flow.loss.placed()),
    };
    html! {
        g data-stage=(flow.stage.as_str()) data-entered=[flow.entered] data-lost=[lost]
            data-limit=[flow.limits.then_some("yes")] { (inner) }
    }
}

/// The `svg` element with what a test reads of the whole.
fn frame(
    canvas: &Canvas<'_>,
    class: &str,
    id: &str,
    draw: &dyn Fn(&Canvas<'_>, &str) -> Drawing,
) -> Markup {
    let path = canvas.path;
    let fill = format!("url(#{id}-hatch)");
    let Drawing {
        size: (w, h),
        inner,
    } = draw(canvas, &fill);
    html! {
        svg.{ "path " (class) } viewBox=(format!("0 0 {} {}", px(w), px(h))) role="img" aria-label=(alternative(path))
            data-direction=(path.direction.as_str()) data-unit=(path.unit.as_str())
            data-sent=[path.sent] data-received=[path.received] data-all-lost=[path.lost]
            data-unplaced=(canvas.rest) data-not-offered=[path.not_offered] {
            defs {
                pattern id=(format!("{id}-hatch")) width="6" height="6" patternUnits="userSpaceOnUse"
                    patternTransform="rotate(45)" {
                    rect.hatch-ground width="6" height="6" {}
                    rect.hatch-line width="2.5" height="6" {}
                }
            }
            (inner)
        }
    }
}

/// What the picture says, for those who do not see it.
fn alternative(path: &PathPicture) -> String {
    let limit = path
        .limit
        .as_ref()
        .map_or_else(String::new, |limit| format!(" Limit: {limit}."));
    format!(
        "Path from {} to {}: {}.{limit} The table below has the same numbers.",
        path.sender,
        path.receiver,
        path.account()
    )
}

fn text(class: &str, x: f64, y: f64, said: &str) -> Markup {
    html! { text class=(class) x=(px(x)) y=(px(y)) { (said) } }
}

/// A count as people read it: `220 980 sent`.
fn count(what: &str, packets: Option<u64>) -> String {
    packets.map_or_else(
        || format!("{what}: {UNKNOWN}"),
        |packets| format!("{} {what}", grouped(packets)),
    )
}

/// A line of text in lines of at most `most` characters, broken between words.
fn wrapped(said: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in said.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Text that must fit its column; the table has it whole.
fn cut(said: &str, most: usize) -> String {
    if said.chars().count() <= most {
        return said.to_owned();
    }
    let kept: String = said.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}
