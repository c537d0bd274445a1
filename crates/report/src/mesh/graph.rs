//! Hosts and the links that they share, drawn.

use super::{Named as _, lost};
use crate::figures::Unit;
use linerate_model::mesh::{LinkCertainty, MeshReport, SharedLink};
use maud::{Markup, html};

/// Height of a host's line, and width of the columns, in user units of the drawing.
const LINE: usize = 22;
const COLUMN: usize = 240;
const BOX: usize = 200;
/// Flows drawn of one link.
const MOST: usize = 40;

/// Each link as a bar between its senders and its receivers.
pub(super) fn draw(report: &MeshReport) -> Markup {
    html! {
        @for link in &report.links {
            (one(report, link))
        }
    }
}

fn one(report: &MeshReport, link: &SharedLink) -> Markup {
    let flows: Vec<_> = link.flows.iter().take(MOST).collect();
    let height = (flows.len().max(2) + 1) * LINE;
    let unit = Unit::for_rate(link.capacity.point);
    let capacity = unit.show(link.capacity.point);
    let dashes = match link.certainty {
        LinkCertainty::Proven => "",
        LinkCertainty::Suspected => "6 4",
    };
    let middle = height / 2;
    let width = COLUMN * 2 + BOX;
    let label = format!("{} flows share a link of {capacity}", link.flows.len());
    html! {
        figure {
            svg viewBox=(format!("0 0 {width} {height}")) width=(width) role="img" aria-label=(label) {
                rect x=(COLUMN) y="4" width=(BOX) height=(height - 8) rx="6" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray=(dashes) {}
                text x=(COLUMN + BOX / 2) y=(middle) text-anchor="middle" fill="currentColor" font-size="14" { (capacity) }
                @for (at, flow) in flows.iter().enumerate() {
                    @let y = (at + 1) * LINE;
                    @let loses = lost(link, flow).map_or_else(String::new, |share| format!(" −{share}"));
                    line x1="120" y1=(y) x2=(COLUMN) y2=(y) stroke="currentColor" {}
                    line x1=(COLUMN + BOX) y1=(y) x2=(COLUMN + BOX + 60) y2=(y) stroke="currentColor" {}
                    text x="114" y=(y + 4) text-anchor="end" fill="currentColor" font-size="12" { (report.host(flow.from)) }
                    text x=(COLUMN + BOX + 66) y=(y + 4) fill="currentColor" font-size="12" { (report.host(flow.to)) (loses) }
                }
            }
            figcaption { (label) "; behind each receiver, what the flow loses while all are active." }
        }
    }
}
