//! The way of a packet as a drawing (SVG): a column for each pass through a pipeline, a box for each step, and below them
//! the tables and parser states that it did not come to.

use crate::exec::Event;
use crate::program::{Program, Table};
use crate::trace::words;
use std::collections::BTreeSet;
use std::fmt::Write as _;

linerate_model::named_enum! {
    /// What a box stands for, by which it is coloured.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Kind {
        Condition = "condition",
        Copy = "copy",
        Dropped = "dropped",
        Hit = "hit",
        Miss = "miss",
        Parser = "parser",
        Sent = "sent",
        Statement = "statement",
        Unvisited = "unvisited",
    }
}

#[derive(Debug)]
struct Step {
    kind: Kind,
    lines: Vec<String>,
    /// Lines that there was no room for.
    more: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Egress,
    Ingress,
}

#[derive(Debug)]
struct Pass {
    title: String,
    stage: Stage,
    steps: Vec<Step>,
}

/// Collects what happens; `|event| drawing.add(&event)` is an observer.
#[derive(Debug, Default)]
pub struct Drawing {
    passes: Vec<Pass>,
    /// Tables and parser states that some pass came to.
    visited: BTreeSet<String>,
    steps: usize,
}

/// The most boxes of one drawing: a packet that goes round and round fills no memory.
const MAX_STEPS: usize = 500;
/// The most lines of a box.
const MAX_LINES: usize = 8;
/// Characters that a line of a box has room for.
const MAX_CHARACTERS: usize = 54;
/// Names of what was not visited, below a column.
const MAX_NAMES: usize = 12;

/// Sizes in pixels.
const COLUMN: usize = 420;
const BOX: usize = 400;
const LINE: usize = 16;
const GAP: usize = 14;
const HEAD: usize = 40;

const STYLE: &str = "text{font:12px ui-monospace,monospace;fill:#1b1f24}.title{font-weight:bold;font-size:14px}\
    rect{stroke:#57606a;fill:#f6f8fa}.hit rect{fill:#d2f4d9;stroke:#1a7f37}.miss rect{fill:#fff3c4;stroke:#9a6700}\
    .parser rect{fill:#ddf0ff;stroke:#0969da}.condition rect{fill:#efe6ff;stroke:#6639ba}.sent rect{fill:#1a7f37}\
    .sent text{fill:#fff}.dropped rect{fill:#cf222e}.dropped text{fill:#fff}.copy rect{fill:#ffe8d6;stroke:#bc4c00}\
    .unvisited rect{stroke-dasharray:4 3;fill:none}.unvisited text{fill:#6e7781}path{stroke:#57606a;fill:none}";

impl Drawing {
    /// Adds a step.
    pub fn add(&mut self, event: &Event<'_>) {
        let Some(text) = words(event) else {
            return;
        };
        let text = text.trim_start().to_owned();
        match event {
            Event::Ingress { .. } => self.pass(text, Stage::Ingress),
            Event::Egress { .. } => self.pass(text, Stage::Egress),
            Event::State(name) => {
                self.visited.insert((*name).to_owned());
                match self.last() {
                    Some(step) if step.kind == Kind::Parser => self.detail(&text),
                    _ => self.step(Kind::Parser, text),
                }
            }
            Event::Table { table, entry, .. } => {
                self.visited.insert(table.name.clone());
                let kind = match (table.key.is_empty(), entry) {
                    (true, _) => Kind::Statement,
                    (false, Some(_)) => Kind::Hit,
                    (false, None) => Kind::Miss,
                };
                // The key and what is done stand on lines of their own.
                let (name, rest) = text.split_once(" [").unwrap_or((&text, ""));
                let (key, done) = rest.split_once("]: ").unwrap_or((rest, ""));
                self.step(kind, name.to_owned());
                self.detail(key);
                self.detail(done);
            }
            Event::Condition { .. } => self.step(Kind::Condition, text),
            Event::Copied(_) | Event::Queued { .. } => self.step(Kind::Copy, text),
            Event::Dropped(_) => self.step(Kind::Dropped, text),
            Event::Sent { .. } => self.step(Kind::Sent, text),
            Event::Extracted { .. }
            | Event::ParserError(_)
            | Event::ChecksumWrong(_)
            | Event::ChecksumSet { .. }
            | Event::Primitive { .. }
            | Event::Log(_) => self.detail(&text),
        }
    }

    fn pass(&mut self, title: String, stage: Stage) {
        if self.steps < MAX_STEPS {
            self.passes.push(Pass {
                title,
                stage,
                steps: Vec::new(),
            });
        }
    }

    fn last(&mut self) -> Option<&mut Step> {
        self.passes.last_mut()?.steps.last_mut()
    }

    fn step(&mut self, kind: Kind, line: String) {
        if let Some(pass) = self.passes.last_mut().filter(|_| self.steps < MAX_STEPS) {
            self.steps += 1;
            pass.steps.push(Step {
                kind,
                lines: vec![line],
                more: 0,
            });
        }
    }

    /// A further line of the last box.
    fn detail(&mut self, text: &str) {
        let Some(step) = self.last().filter(|_| !text.is_empty()) else {
            return;
        };
        if step.lines.len() < MAX_LINES {
            step.lines.push(text.to_owned());
        } else {
            step.more += 1;
        }
    }

    /// The drawing of what was added, with what the program has beside.
    pub fn svg(&self, program: &Program) -> String {
        let columns: Vec<Vec<Step>> = self
            .passes
            .iter()
            .map(|pass| self.column(pass, program))
            .collect();
        let height = |column: &Vec<Step>| column.iter().map(|step| size(step) + GAP).sum::<usize>();
        let (width, tall) = (
            columns.len() * COLUMN + GAP,
            HEAD + columns.iter().map(height).max().unwrap_or(0) + GAP,
        );
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {tall}\" width=\"{width}\" height=\"{tall}\">\n\
             <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" style=\"fill:#fff;stroke:none\"/>\n"
        );
        for (at, (pass, column)) in self.passes.iter().zip(&columns).enumerate() {
            let left = at * COLUMN + GAP;
            let title = escape_xml(&pass.title);
            let _ = writeln!(
                svg,
                "<text class=\"title\" x=\"{left}\" y=\"24\">{} {title}</text>",
                at + 1
            );
            let mut top = HEAD;
            for (place, step) in column.iter().enumerate() {
                // The way goes from box to box; what was not visited hangs on nothing.
                if place > 0 && step.kind != Kind::Unvisited {
                    let (middle, from) = (left + BOX / 2, top - GAP);
                    let _ = writeln!(svg, "<path d=\"M{middle} {from}V{top}\"/>");
                }
                draw(&mut svg, step, left, top);
                top += size(step) + GAP;
            }
        }
        svg + "</svg>\n"
    }

    /// The boxes of a pass, and one of what it could have come to.
    fn column(&self, pass: &Pass, program: &Program) -> Vec<Step> {
        let mut column: Vec<Step> = pass
            .steps
            .iter()
            .map(|step| {
                let mut lines = step.lines.clone();
                if step.more > 0 {
                    lines.push(format!("… {} more", step.more));
                }
                Step { lines, ..*step }
            })
            .collect();
        let (ingress, egress) = program
            .tables
            .split_at(program.ingress_tables.min(program.tables.len()));
        let tables: &[Table] = if pass.stage == Stage::Ingress {
            ingress
        } else {
            egress
        };
        let tables = tables
            .iter()
            .filter(|table| !table.key.is_empty())
            .map(|table| &table.name);
        let states = program
            .states
            .iter()
            .filter(|_| pass.stage == Stage::Ingress)
            .map(|state| &state.name);
        for (word, names) in [
            ("tables", self.not_visited(tables)),
            ("parser states", self.not_visited(states)),
        ] {
            if !names.is_empty() {
                let mut lines = vec![format!("not visited: {} {word}", names.len())];
                lines.extend(names.iter().take(MAX_NAMES).map(|name| (*name).clone()));
                column.push(Step {
                    kind: Kind::Unvisited,
                    lines,
                    more: 0,
                });
            }
        }
        column
    }

    fn not_visited<'a>(&self, names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
        names.filter(|name| !self.visited.contains(*name)).collect()
    }
}

fn size(step: &Step) -> usize {
    step.lines.len() * LINE + 10
}

fn draw(svg: &mut String, step: &Step, left: usize, top: usize) {
    let _ = writeln!(
        svg,
        "<g class=\"{}\"><rect x=\"{left}\" y=\"{top}\" width=\"{BOX}\" height=\"{}\" rx=\"6\"/>",
        step.kind.as_str(),
        size(step)
    );
    for (at, line) in step.lines.iter().enumerate() {
        let (x, y) = (left + 8, top + (at + 1) * LINE);
        let whole = escape_xml(line);
        if line.chars().count() <= MAX_CHARACTERS {
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\">{whole}</text>");
        } else {
            // The whole line shows when one points at it.
            let cut: String = line.chars().take(MAX_CHARACTERS - 1).collect();
            let cut = escape_xml(&cut);
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y}\">{cut}…<title>{whole}</title></text>"
            );
        }
    }
    svg.push_str("</g>\n");
}

/// Text for elements and attributes of XML; what XML 1.0 cannot hold is left out.
pub fn escape_xml(text: &str) -> String {
    let mut escaped = String::new();
    for one in text.chars() {
        match one {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(one),
            one if one < ' ' || matches!(one, '\u{fffe}' | '\u{ffff}') => {}
            one => escaped.push(one),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Family;

    /// A packet through a generated program.
    fn drawn(family: &str, level: u32) -> String {
        let generated = Family::find(family).unwrap().generate(level);
        let mut switch = generated.switch().unwrap();
        let mut drawing = Drawing::default();
        let packet = &generated.traffic.packet;
        switch.process_observed(0, packet, 0, &mut |_, _| {}, &mut |event: Event<'_>| {
            drawing.add(&event);
        });
        drawing.svg(switch.program())
    }

    fn count(svg: &str, of: &str) -> usize {
        svg.matches(of).count()
    }

    #[test]
    fn every_step_has_its_box_and_every_pass_its_column() {
        let svg = drawn("pipeline-lpm", 4);
        assert_eq!(
            (
                count(&svg, "<g class=\"hit\""),
                count(&svg, "<g class=\"sent\"")
            ),
            (4, 1)
        );
        assert_eq!(count(&svg, "class=\"title\""), 2, "ingress and egress");
        assert!(
            svg.contains("1 ingress from port 0") && svg.contains("2 egress to port 1"),
            "{svg}"
        );
        assert_eq!(count(&svg, "<g class"), count(&svg, "</g>"));
        assert_eq!(count(&drawn("masks-none", 4), "<g class=\"miss\""), 1);
        assert_eq!(count(&drawn("recirculate", 2), "class=\"title\""), 6);
    }

    #[test]
    fn what_was_not_visited_is_named() {
        let svg = drawn("parse-complex", 4);
        assert!(
            svg.contains("not visited: 12 parser states") && svg.contains(">other_0_1<"),
            "{svg}"
        );
        assert!(!drawn("pipeline-exact", 2).contains("not visited"));
    }

    #[test]
    fn markup_in_names_and_packets_without_end_do_no_harm() {
        assert_eq!(escape_xml("a<b>&\"\u{1}c\n"), "a&lt;b&gt;&amp;&quot;c\n");
        let mut drawing = Drawing::default();
        for _ in 0..2 * MAX_STEPS {
            drawing.add(&Event::Ingress { port: 0 });
            drawing.add(&Event::Log("<script>"));
            drawing.add(&Event::State("start"));
            drawing.add(&Event::Log("<script>"));
        }
        assert_eq!(drawing.passes.len(), MAX_STEPS);
    }
}
