//! What a command says at its end, on one screen: the conclusion, the figures, what limits, what to do next, and where
//! the run and its report are.
//!
//! Nothing is cut: what does not fit is left out whole, and the last lines say where it is.

use super::{body_results, cautions, costs, invalid, tcp};
use super::{conclusion, cost, cpu, curve, delays, far_output, latency, loops, one_way};
use crate::connections;
use crate::paper::{Paper, Style};
use crate::words;
use linerate_model::run::{Experiment, Host, Run, RunKind, RunStatus, RunWork, Verdict};

/// Rows of the smallest terminal in use, less one for the prompt.
const SCREEN: usize = 23;

/// Where a run can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whereabouts<'a> {
    /// What commands call it: its id in the store, or a path; none if it is not kept.
    pub name: Option<&'a str>,
    /// The files of its report.
    pub report: Option<&'a str>,
}

/// Several runs: the conclusion of each, and what it is called.
pub fn summaries_text(runs: &[Run], width: usize, style: Style) -> String {
    let mut paper = Paper::new(width, style);
    for run in runs {
        paper.item(&words::title(run), &conclusion::outcome(run));
        paper.row("run", &run.id);
        emulated(&mut paper, hosts(run));
    }
    paper.finish()
}

/// What the terminal prints after a command. At 80 columns and more at most 23 lines, unless more was asked for by
/// itself: a row for each condition of `latency`, what the peer printed. Lines wrap at `width`; `usize::MAX` leaves each
/// whole. `at` is `None` where no command says where the run is.
pub fn summary_text(run: &Run, at: Option<&Whereabouts<'_>>, width: usize, style: Style) -> String {
    let mut paper = Paper::new(width, style);
    paper.title(&conclusion::sentence(run));
    let mut end = paper.blank();
    // Where no command says where the rest is, nothing is left out.
    let mut rows = usize::MAX;
    if let Some(at) = at {
        whereabouts(&mut end, run, at);
        rows = SCREEN;
    }
    let sections = sections(&paper, run);
    let chosen = choose(
        &sections,
        rows.saturating_sub(paper.height() + end.height()),
    );
    for (section, is_shown) in sections.into_iter().zip(chosen) {
        if is_shown {
            paper.append(&section.paper);
        }
    }
    paper.append(&end);
    paper.finish()
}

/// Lines that belong together.
struct Section {
    /// What goes first when there is no room for all; 0 is always shown.
    rank: u8,
    paper: Paper,
}

/// Which sections are shown in `room` lines: by rank, then in order.
fn choose(sections: &[Section], room: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..sections.len()).collect();
    order.sort_by_key(|at| sections[*at].rank);
    let mut chosen = vec![false; sections.len()];
    let mut taken = 0;
    for at in order {
        let height = sections[at].paper.height();
        if sections[at].rank == 0 || taken + height <= room {
            chosen[at] = true;
            taken += height;
        }
    }
    chosen
}

/// The sections of a run, in the order they are shown.
fn sections(like: &Paper, run: &Run) -> Vec<Section> {
    let mut all = Vec::new();
    let mut add = |rank: u8, write: &dyn Fn(&mut Paper)| {
        let mut paper = like.blank();
        write(&mut paper);
        all.push(Section { rank, paper });
    };
    match &run.work {
        RunWork::Study {
            estimates,
            findings,
            parts,
        } => {
            if let Some(findings) = findings {
                add(1, &|paper| super::study::effects(paper, findings));
                add(5, &|paper| super::study::scatter(paper, findings));
            }
            add(2, &|paper| {
                super::study::limits(paper, run, estimates, findings.as_deref());
            });
            for cell in super::study::cells(estimates) {
                add(4, &|paper| super::study::line(paper, cell, parts));
            }
            add(2, &|paper| {
                super::study::unmeasured(paper, estimates, parts);
            });
            add(0, &|paper| {
                super::study::count(paper, estimates, parts.len());
            });
            add(3, &|paper| notes(paper, run));
            add(0, &|paper| emulated(paper, hosts(run)));
        }
        RunWork::Switch { .. } => {
            add(0, &|paper| {
                crate::document::write_text(paper, &crate::forwarding::blocks(run));
            });
            add(3, &|paper| notes(paper, run));
            add(0, &|paper| emulated(paper, hosts(run)));
        }
        _ if !run.parts().is_empty() => {
            add(0, &|paper| super::outcomes(paper, run.parts()));
            add(0, &|paper| emulated(paper, hosts(run)));
        }
        _ => of_one(&mut add, run),
    }
    all
}

/// Takes a piece of a screen: how soon it is left out, and what writes it.
type Add<'a> = dyn FnMut(u8, &dyn Fn(&mut Paper)) + 'a;

/// Of a run that has no parts.
fn of_one(add: &mut Add<'_>, run: &Run) {
    add(0, &|paper| body_results(paper, run));
    add(0, &|paper| emulated(paper, &run.hosts));
    add(0, &|paper| super::link(paper, run));
    add(3, &|paper| notes(paper, run));
    add(4, &|paper| super::stack(paper, run));
    if latency::is_of(run) {
        add(0, &|paper| latency::table(paper, run));
    }
    let verdict = run.verdict.as_ref();
    if let Some(verdict) = verdict.filter(|verdict| !verdict.limit.is_round_trip()) {
        add(0, &|paper| super::limit(paper, verdict));
        add(1, &|paper| paper.row("", &verdict.claim));
    }
    add(0, &|paper| invalid(paper, run));
    add(3, &|paper| cautions(paper, run));
    if let Some(verdict) = verdict {
        add(2, &|paper| advice(paper, run, verdict));
        for (index, evidence) in verdict.evidence.iter().enumerate() {
            let rank = if index == 0 { 5 } else { 8 };
            add(rank, &|paper| {
                paper.row(
                    if index == 0 { "evidence" } else { "" },
                    &format!("· {evidence}"),
                );
            });
        }
    }
    add(4, &|paper| curve(paper, run));
    add(4, &|paper| loops(paper, run));
    // A search has them of each of its trials: more than a screen.
    if run.trials.len() <= 2 {
        add(2, &|paper| super::shares(paper, run));
    }
    add(6, &|paper| tcp(paper, run));
    if connections::is_of(run) {
        add(1, &|paper| {
            crate::document::write_text(paper, &connections::blocks(run));
        });
    } else if !latency::is_of(run) {
        add(9, &|paper| delays(paper, run));
    }
    add(7, &|paper| one_way::one_way(paper, run));
    add(3, &|paper| one_way::parts(paper, run));
    add(7, &|paper| {
        let is_known = run.trials.iter().any(|trial| trial.cpu.is_some());
        if !cost::of_waiting(paper, run) && is_known {
            cpu(paper, run);
        }
    });
    add(3, &|paper| costs(paper, run));
    add(0, &|paper| far_output(paper, run));
}

/// The hosts of a run; of one that is made of others, those of the first.
fn hosts(run: &Run) -> &[Host] {
    match run.parts().first() {
        Some(part) if run.hosts.is_empty() => &part.hosts,
        _ => &run.hosts,
    }
}

/// Which hosts are emulated: none of their figures may be taken for a board's.
fn emulated(paper: &mut Paper, hosts: &[Host]) {
    for host in hosts {
        if let Some(what) = &host.facts.emulated {
            let text = format!(
                "{}: {what}; its figures are the emulator's",
                host.role.as_str()
            );
            paper.row("emulated", &text);
        }
    }
}

fn notes(paper: &mut Paper, run: &Run) {
    super::doubts(paper, run);
    let is_told = matches!(run.kind(), RunKind::Study | RunKind::Switch);
    if run.status != RunStatus::Complete || is_told {
        paper.rows("note", &run.notes);
    }
}

/// What would confirm the verdict, or what an experiment showed.
fn advice(paper: &mut Paper, run: &Run, verdict: &Verdict) {
    let Some(experiment) = &verdict.experiment else {
        return;
    };
    if verdict.limit.is_round_trip() {
        let text = format!("{}: {}", experiment.change, experiment.expect);
        paper.row("next", &text);
        return;
    }
    // Nobody can repeat a log.
    let hint = if is_open(experiment) && run.source.is_none() {
        " (`--prove` runs this experiment)"
    } else {
        ""
    };
    super::experiment(paper, experiment, hint);
}

/// Whether linerate can run it and has not.
fn is_open(experiment: &Experiment) -> bool {
    experiment.result.is_none() && experiment.not_run.is_none() && experiment.test.is_some()
}

fn whereabouts(paper: &mut Paper, run: &Run, at: &Whereabouts<'_>) {
    paper.row("run", at.name.unwrap_or(&run.id));
    let (more, report) = match at.name {
        Some(name) => (
            format!("linerate show {name} --verbose"),
            format!("linerate report {name} -o report.html"),
        ),
        None => (
            "not kept: the same command with --verbose shows all".to_owned(),
            "not kept: the same command with -o report.html writes it".to_owned(),
        ),
    };
    paper.row("more", &more);
    paper.row("report", at.report.unwrap_or(&report));
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::BitRate;
    use linerate_model::link::EmulatedLink;
    use linerate_model::run::{HostRole, IpChoice, TargetConfig, Tool};
    use std::time::Duration;

    fn section(rank: u8, lines: usize) -> Section {
        let mut paper = Paper::new(80, Style::Plain);
        for _ in 0..lines {
            paper.row("", "a line");
        }
        Section { rank, paper }
    }

    #[test]
    fn an_emulated_host_and_its_link_are_on_every_screen_however_small() {
        let mut run = Run::new("r", RunKind::Udp, Tool::unversioned("linerate"));
        let mut board = Host::new(HostRole::Server);
        board.facts.emulated = Some("sifive_u on QEMU 7.2.22".to_owned());
        run.hosts = vec![Host::new(HostRole::Client), board];
        run.config.target = Some(TargetConfig {
            peer: "board://unleashed".to_owned(),
            ip: IpChoice::Any,
            timeout: Duration::from_mins(1),
            interface: None,
            link: Some(EmulatedLink {
                rate: Some(BitRate::from_bps(10_000_000)),
                ..EmulatedLink::default()
            }),
        });
        let like = Paper::new(80, Style::Plain);
        let sections = sections(&like, &run);
        let chosen = choose(&sections, 0);
        let shown = sections
            .into_iter()
            .zip(chosen)
            .filter(|(_, is_shown)| *is_shown);
        let mut text = String::new();
        for (section, _) in shown {
            text.push_str(&section.paper.finish());
        }
        assert!(text.contains("server: sifive_u on QEMU 7.2.22"), "{text}");
        assert!(text.contains("link           10 Mbit/s (L1)"), "{text}");
        let both = summaries_text(&[run.clone(), run], 80, Style::Plain);
        assert_eq!(both.matches("the emulator's").count(), 2, "{both}");
    }

    #[test]
    fn what_matters_most_comes_in_first() {
        let sections = [section(5, 2), section(0, 3), section(1, 4), section(2, 1)];
        assert_eq!(choose(&sections, 100), [true; 4]);
        assert_eq!(choose(&sections, 8), [false, true, true, true]);
        assert_eq!(choose(&sections, 6), [true, true, false, true]);
        assert_eq!(choose(&sections, 0), [false, true, false, false]);
    }
}
