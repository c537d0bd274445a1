//! An examination of a host in words: findings first, worst first.

use super::Style;
use super::paper::Paper;
use crate::figures::{float, nanos, percent};
use crate::words;
use linerate_model::doctor::{
    ChangeMade, ChangeResult, CheckOutcome, Checked, CoreJitter, Examination, Finding, Jitter,
    Severity,
};

/// Changes and cores that are shown one by one; the document has all.
const ROWS: usize = 40;

/// What `doctor` prints: findings with what each costs and what to set, what could not be checked,
/// what is well, changes, jitter.
pub fn examination_text(examination: &Examination, width: usize, style: Style) -> String {
    let mut paper = Paper::new(width, style);
    paper.title(&title(examination));
    changes(&mut paper, &examination.changes);
    if let Some(file) = &examination.undo_file {
        paper.row(
            "undo file",
            &format!("{file} (linerate doctor --restore takes back what it holds)"),
        );
    }
    for note in &examination.notes {
        paper.row("note", note);
    }
    for check in &examination.checks {
        if let CheckOutcome::Found { finding } = &check.outcome {
            found(&mut paper, check, finding);
        }
    }
    rest(&mut paper, &examination.checks);
    if let Some(jitter) = &examination.jitter {
        interruptions(&mut paper, jitter);
    }
    paper.finish()
}

fn title(examination: &Examination) -> String {
    let count = |wanted: fn(&CheckOutcome) -> bool| {
        let outcomes = examination.checks.iter().map(|check| &check.outcome);
        outcomes.filter(|outcome| wanted(outcome)).count()
    };
    let host = examination.host.as_deref().unwrap_or("this host");
    let interface = match &examination.interface {
        Some(interface) => format!(", interface {interface}"),
        None => ", interface not known (--interface)".to_owned(),
    };
    format!(
        "{host}{interface}: {} found, {} fine, {} not checked",
        count(|outcome| matches!(outcome, CheckOutcome::Found { .. })),
        count(|outcome| matches!(outcome, CheckOutcome::Fine { .. })),
        count(|outcome| matches!(outcome, CheckOutcome::NotChecked { .. })),
    )
}

fn found(paper: &mut Paper, check: &Checked, finding: &Finding) {
    let severity = match finding.severity {
        Severity::High => "high",
        Severity::Medium => "medium",
        Severity::Low => "low",
    };
    paper.strong(&check.id, &format!("{severity}: {}", finding.now));
    paper.row("costs", &finding.cost);
    if let Some(source) = &finding.source {
        paper.row("source", source);
    }
    paper.row("set", &finding.set);
    if !finding.settings.is_empty() {
        let changes = words::counted(finding.settings.len(), "change");
        let knob = &finding.settings[0];
        paper.row(
            "",
            &format!(
                "{changes} by linerate, such as {} = {}",
                knob.knob, knob.value
            ),
        );
    }
}

fn rest(paper: &mut Paper, checks: &[Checked]) {
    for check in checks {
        if let CheckOutcome::NotChecked { missing } = &check.outcome {
            paper.row(&check.id, &format!("not checked: {missing}"));
        }
    }
    for check in checks {
        if let CheckOutcome::Fine { now } = &check.outcome {
            paper.row(&check.id, &format!("fine: {now}"));
        }
    }
}

fn changes(paper: &mut Paper, changes: &[ChangeMade]) {
    for change in changes.iter().take(ROWS) {
        let (label, said) = match change.result {
            ChangeResult::Already => ("already", format!("{} is {}", change.knob, change.wanted)),
            ChangeResult::Changed => ("changed", moved(change)),
            ChangeResult::Restored => ("restored", moved(change)),
            ChangeResult::Kept => (
                "kept",
                format!("{} is {}", change.knob, known(change.after.as_ref())),
            ),
            ChangeResult::Refused => ("refused", format!("{} = {}", change.knob, change.wanted)),
        };
        let why = change
            .why
            .as_ref()
            .map_or_else(String::new, |why| format!(": {why}"));
        let text = format!("{said}{why}");
        match change.result {
            ChangeResult::Kept | ChangeResult::Refused => paper.alarm(label, &text),
            _ => paper.row(label, &text),
        }
    }
    if let Some(more) = changes.len().checked_sub(ROWS).filter(|more| *more > 0) {
        paper.row("", &format!("and {more} more; --json tells all"));
    }
}

fn moved(change: &ChangeMade) -> String {
    format!(
        "{}: {} → {}",
        change.knob,
        known(change.before.as_ref()),
        known(change.after.as_ref())
    )
}

fn known(value: Option<&String>) -> &str {
    value.map_or("not known", String::as_str)
}

fn interruptions(paper: &mut Paper, jitter: &Jitter) {
    let heading = ["", "count", "lost", "p50", "p99", "p99.9", "max", "stolen"];
    let mut rows = vec![heading.map(str::to_owned)];
    let measured = jitter.cores.iter().filter(|core| core.missing.is_none());
    rows.extend(measured.clone().take(ROWS).map(row));
    paper.row(
        "interruptions",
        &format!(
            "of a spinning thread, {} s, all cores at once",
            jitter.asked.as_secs_f64()
        ),
    );
    paper.columns(&rows);
    for core in jitter.cores.iter().take(ROWS) {
        if let Some(why) = &core.missing {
            paper.row("not measured", &format!("core {}: {why}", core.core));
        }
    }
    if let Some(worst) = measured.max_by_key(|core| core.max_ns) {
        because(paper, worst);
    }
}

fn row(core: &CoreJitter) -> [String; 8] {
    let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), |ns| nanos(float(ns)));
    [
        format!("core {}", core.core),
        core.interruptions.to_string(),
        percent(core.lost_ratio),
        time(core.p50_ns),
        time(core.p99_ns),
        time(core.p999_ns),
        time(core.max_ns),
        time(core.stolen_ns),
    ]
}

/// What the worst figure means, and what the kernel counted on that core meanwhile.
fn because(paper: &mut Paper, worst: &CoreJitter) {
    let Some(max) = worst.max_ns else {
        let threshold = nanos(float(worst.threshold_ns));
        paper.row("means", &format!("no gap above {threshold}: what is slower than that in a measurement is not this host's standing still"));
        return;
    };
    let max = nanos(float(max));
    paper.row(
        "means",
        &format!(
            "core {} stood still for {max} at once: a maximum of that size in a latency test that runs there need not come from the network",
            worst.core
        ));
    let mut counted: Vec<_> = worst.interrupts.iter().collect();
    counted.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
    let mut said: Vec<String> = counted
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    if let Some(times) = worst.preemptions {
        said.insert(0, format!("{times} times another thread ran"));
    }
    if !said.is_empty() {
        paper.row("meanwhile", &said.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::doctor::SCHEMA;
    use linerate_model::facts::Facts;
    use linerate_model::knob::{Consent, Knob, Setting};
    use linerate_model::run::Tool;
    use linerate_model::{Histogram, Ratio, WallTime};
    use std::collections::BTreeMap;
    use std::time::Duration;

    fn examination() -> Examination {
        let check = |id: &str, outcome| Checked {
            id: id.to_owned(),
            summary: "What it looks at.".to_owned(),
            outcome,
        };
        let knob = Knob::Governor { policy: 0 };
        let finding = Finding {
            severity: Severity::Medium,
            now: "schedutil\u{1b}[2J on policy 0".to_owned(),
            cost: "a slow core ".repeat(40),
            source: Some("cpufreq.rst".to_owned()),
            set: "performance".to_owned(),
            settings: vec![Setting {
                knob: knob.clone(),
                value: "performance".to_owned(),
                consent: Consent::Safe,
            }],
        };
        Examination {
            schema: SCHEMA.to_owned(),
            tool: Tool {
                name: "linerate".to_owned(),
                version: None,
            },
            made: WallTime::from_unix(0).unwrap(),
            host: Some("bench".to_owned()),
            facts: Facts::default(),
            interface: None,
            core: None,
            checks: vec![
                check("governor", CheckOutcome::Found { finding }),
                check(
                    "rings",
                    CheckOutcome::NotChecked {
                        missing: "no root".to_owned(),
                    },
                ),
                check(
                    "mtu",
                    CheckOutcome::Fine {
                        now: "1500".to_owned(),
                    },
                ),
            ],
            changes: vec![ChangeMade {
                knob,
                before: Some("schedutil".to_owned()),
                wanted: "performance".to_owned(),
                after: None,
                result: ChangeResult::Refused,
                why: Some("it takes root".to_owned()),
            }],
            undo_file: None,
            jitter: Some(jitter()),
            notes: Vec::new(),
        }
    }

    fn jitter() -> Jitter {
        let mut histogram = Histogram::new();
        histogram.record(300_000);
        let core = CoreJitter {
            core: 1,
            missing: None,
            elapsed: Duration::from_secs(1),
            readings: 1_000,
            reading_ns: 25,
            threshold_ns: 1_000,
            interruptions: 1,
            lost_ns: 299_975,
            lost_ratio: Ratio::from_parts(299_975, 1_000_000_000),
            p50_ns: Some(300_000),
            p99_ns: Some(300_000),
            p999_ns: Some(300_000),
            max_ns: Some(300_000),
            histogram,
            stolen_ns: Some(0),
            interrupts: BTreeMap::from([("LOC timer".to_owned(), 250)]),
            preemptions: Some(3),
        };
        let missing = CoreJitter {
            core: 2,
            missing: Some("not allowed".to_owned()),
            ..core.clone()
        };
        Jitter {
            asked: Duration::from_secs(1),
            cores: vec![core, missing],
        }
    }

    #[test]
    fn findings_changes_and_what_was_not_checked_are_said_and_no_cursor_moves() {
        let text = examination_text(&examination(), 100, Style::Plain);
        for words in [
            "bench, interface not known (--interface): 1 found, 1 fine, 1 not checked",
            "medium: schedutil",
            "performance: it takes root",
            "1 change by linerate",
            "not checked: no root",
            "fine: 1500",
            "core 1 stood still for 300 µs at once",
            "3 times another thread ran, 250 LOC timer",
            "core 2: not allowed",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains('\u{1b}'));
        assert!(
            text.lines().all(|line| line.chars().count() <= 102),
            "{text}"
        );
    }

    #[test]
    fn an_examination_survives_its_document() {
        let examination = examination();
        let text = serde_json::to_string(&examination).unwrap();
        let back: Examination = serde_json::from_str(&text).unwrap();
        assert_eq!(back, examination);
    }
}
