//! Where the CPU time of both ends went: a flame graph per end, and the functions behind it.

use crate::charts::trial_name;
use crate::figures::{Unit, clean, float, nanos, percent};
use crate::flame::{self, FlameBox};
use crate::page::{self, heading};
use crate::table::{Cell, Table};
use crate::words;
use linerate_model::Ratio;
use linerate_model::cost::{CostLayer, ProfileCost, ProfileSide};
use linerate_model::profile::{Profile, ProfileEvent, ProfileScope};
use linerate_model::run::{Run, Trial};
use linerate_model::spec::Side;
use maud::{Markup, html};

/// Sampled trials that are drawn; each has two graphs.
const MAX_TRIALS: usize = 4;
/// Functions in the table beside a graph.
const MAX_FUNCTIONS: usize = 15;
/// Height of a box, in CSS pixels: a line of small text.
const ROW: usize = 18;

/// The graphs of a run's sampled trials; nothing if none was sampled.
pub(super) fn all(run: &Run, anchor: &str, level: u8) -> Markup {
    let sampled = || run.trials.iter().filter(|trial| trial.profile().is_some());
    let left = sampled().count().saturating_sub(MAX_TRIALS);
    html! {
        @if sampled().next().is_some() {
            (heading(level, None, "Where the CPU time went"))
            @if same_machine(run) {
                p.muted { "Both ends are one machine, so each graph shows the same cores; the other end is a program beside it." }
            }
            div.charts {
                @for trial in sampled().take(MAX_TRIALS) {
                    @for side in [Side::Sender, Side::Receiver] {
                        (end(run, trial, side, anchor, level + 1))
                    }
                    (started(run, trial, level + 1))
                }
            }
            @if left > 0 { p.muted { (left) " more sampled trials are in the run, not drawn." } }
        }
    }
}

/// Whether both hosts tell the same boot of the same kernel.
fn same_machine(run: &Run) -> bool {
    let boots: Vec<_> = run
        .hosts
        .iter()
        .map(|host| host.facts.boot_id.as_ref())
        .collect();
    matches!(boots[..], [Some(a), Some(b)] if a == b)
}

fn title(what: &str, run: &Run, trial: &Trial) -> String {
    match run.trials.len() {
        1 => format!("CPU time of the {what}"),
        _ => format!("CPU time of the {what}, {}", trial_name(run, trial)),
    }
}

/// Functions of programs that linerate started, as the first end saw them: both see the same ones.
fn started(run: &Run, trial: &Trial, level: u8) -> Markup {
    let Some((cost, times)) = trial.started_times() else {
        return html! {};
    };
    let all: u64 = times.iter().map(|time| time.samples).sum();
    let mut table = Table::new(["Function", "Thread", "Share (%)", "Per packet (ns)"]);
    for time in times.into_iter().take(MAX_FUNCTIONS) {
        let samples = float(time.samples);
        let each = cost
            .ns_per_packet
            .map(|ns| ns / float(cost.busy_samples.max(1)));
        table.push(vec![
            Cell::text(clean(time.function)),
            Cell::text(clean(time.thread)),
            Cell::number(Some(samples / float(all)), Unit::PERCENT),
            Cell::number(each.map(|each| each * samples), Unit::NANOS),
        ]);
    }
    let title = title("programs that linerate started", run, trial);
    html! {
        figure {
            figcaption {
                (heading(level, None, &title))
                p { "A device under test, for one: " (all) " samples, which are no cost of either end." }
            }
            (page::folded(&table, &format!("Functions: {title}"), "Functions with the most time of their own", true))
        }
    }
}

fn end(run: &Run, trial: &Trial, side: Side, anchor: &str, level: u8) -> Markup {
    let name = words::side(Some(side));
    let title = title(name, run, trial);
    let (of, profile) = trial.sampled(side);
    html! {
        @match (of, profile) {
            (Some(ProfileSide::Sampled(cost)), Some(profile)) => {
                (graph(&title, profile, cost, &format!("{anchor}-flame-{}-{}", trial.index, name), level))
            }
            (Some(ProfileSide::Sampled(_)), None) => p.muted { (title) ": the stacks are not kept in this run." },
            (Some(ProfileSide::Missing { missing }), _) => {
                div { (heading(level, None, &title)) p.alarm role="note" { "Not sampled: " (missing) "." } }
            }
            (None, _) => {}
        }
    }
}

fn graph(title: &str, profile: &Profile, cost: &ProfileCost, id: &str, level: u8) -> Markup {
    let boxes = flame::boxes(profile, cost);
    let rows = boxes.iter().map(|b| b.depth + 1).max().unwrap_or(0);
    let caption = caption(cost);
    let table = functions(profile, cost);
    html! {
        figure.flame id=(id) data-flame {
            figcaption {
                (heading(level, None, title))
                p { (caption) }
                @for remark in &cost.remarks { p.muted { (remark) "." } }
            }
            @if boxes.is_empty() {
                p.muted { "No sample fell on work of this end." }
            } @else {
                (legend(&boxes))
                svg.flames role="img" aria-label=(format!("{title}. {caption}")) width="100%" height=(rows * ROW) {
                    @for flame in &boxes { (flame_box(flame, cost)) }
                }
                p.muted.flame-said aria-live="polite" { (READING) }
                div.tools { button type="button" data-does="unzoom" { "Whole graph" } }
            }
            (page::folded(&table, &format!("Functions: {title}"), "Functions with the most time of their own", false))
        }
    }
}

const READING: &str = "Each box is a function, as wide as its share of the CPU time, below the one that called it. \
    Choose a box to widen it.";

/// A box; places are in percent so that the graph fits any width, and a script widens it by them.
fn flame_box(flame: &FlameBox, cost: &ProfileCost) -> Markup {
    let percentage = |share: f64| format!("{:.4}%", share * 100.0);
    let layer = flame.layer.map_or("thread", CostLayer::as_str);
    let share = Ratio::clamped(flame.share);
    let each = cost.ns_per_packet.map_or_else(String::new, |ns| {
        format!(", {} per packet", nanos(ns * flame.share))
    });
    let said = format!("{} · {layer} · {}{each}", flame.name, percent(share));
    html! {
        svg.box.(class(flame.layer)) x=(percentage(flame.start)) width=(percentage(flame.share))
            y=(flame.depth * ROW) height=(ROW - 1) data-x=(format!("{:.6}", flame.start))
            data-w=(format!("{:.6}", flame.share)) data-row=(flame.depth) {
            title { (said) }
            rect width="100%" height="100%" {}
            @if flame.share > TEXT { text x="3" y=(ROW - 6) { (flame.name) } }
        }
    }
}

/// Boxes narrower than this have no room for a letter on any page, and get their name when widened.
const TEXT: f64 = 0.004;

/// `l0` to `l13` by the layer's place, `lt` for threads.
fn class(layer: Option<CostLayer>) -> String {
    let place = layer.and_then(|layer| CostLayer::ALL.iter().position(|known| *known == layer));
    place.map_or_else(|| "lt".to_owned(), |place| format!("l{place}"))
}

fn legend(boxes: &[FlameBox]) -> Markup {
    let seen = |layer: &CostLayer| boxes.iter().any(|flame| flame.layer == Some(*layer));
    html! {
        ul.layers {
            @for layer in CostLayer::ALL.into_iter().filter(seen) {
                li { span.swatch.(class(Some(layer))) {} (layer.as_str()) }
            }
        }
    }
}

fn caption(cost: &ProfileCost) -> String {
    let by = match cost.event {
        ProfileEvent::CpuClock => "a clock",
        ProfileEvent::Cycles => "hardware cycles",
    };
    let of = match (cost.scope, cost.kernel) {
        (ProfileScope::Host, _) => "whole host",
        (ProfileScope::Process, true) => "the test's own threads",
        (ProfileScope::Process, false) => "the test's own user code",
    };
    let cost_said = words::cost_line(cost);
    format!(
        "{cost_said} From {} samples by {by}, {of}; not in it: {} samples of idle cores, {} of other programs, {} lost or not kept.",
        cost.busy_samples, cost.idle_samples, cost.other_samples, cost.unplaced_samples
    )
}

fn functions(profile: &Profile, cost: &ProfileCost) -> Table {
    let mut table = Table::new(["Function", "Layer", "Share (%)", "Per packet (ns)"]);
    for own in flame::own_times(profile, cost, MAX_FUNCTIONS) {
        let share = float(own.samples) / float(cost.busy_samples.max(1));
        table.push(vec![
            Cell::text(own.name),
            Cell::text(own.layer.as_str()),
            Cell::number(Some(share), Unit::PERCENT),
            Cell::number(cost.ns_per_packet.map(|ns| ns * share), Unit::NANOS),
        ]);
    }
    table
}
