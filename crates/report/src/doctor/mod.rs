//! An examination of a host: findings first, worst first.

use crate::document::{Block, Document, DocumentFormat, Head, Look, Most, Sheet, Tone};
use crate::figures::{float, nanos, percent};
use crate::table::words;
use crate::words::counted;
use linerate_model::doctor::{
    ChangeMade, ChangeResult, CheckOutcome, Checked, CoreJitter, Examination, Finding, Jitter,
};
use serde::Serialize;

/// Changes and cores that are shown one by one; the JSON has all.
const ROWS: usize = 40;
const ROWS_SHOWN: Most = Most {
    on_page: ROWS,
    on_terminal: ROWS,
};

impl Document for Examination {
    const FORMATS: &'static [DocumentFormat] = &[];
    const NAME: &'static str = "examination";

    fn head(&self) -> Head {
        Head {
            heading: title(self),
            made_what: "Examination",
            reading: "",
        }
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks = vec![Block::title(title(self))];
        blocks.extend(changes(&self.changes));
        blocks.extend(self.undo_file.iter().map(|file| {
            let text = format!("{file} (linerate doctor --restore takes back what it holds)");
            Block::fact("undo file", text)
        }));
        blocks.extend(self.notes.iter().map(|note| Block::fact("note", note)));
        blocks.extend(self.checks.iter().flat_map(found));
        blocks.extend(self.checks.iter().filter_map(not_checked));
        blocks.extend(self.checks.iter().filter_map(fine));
        blocks.extend(self.jitter.iter().flat_map(interruptions));
        blocks
    }

    fn json(&self) -> impl Serialize {
        self
    }
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

fn found(check: &Checked) -> Vec<Block<'_>> {
    let CheckOutcome::Found { finding } = &check.outcome else {
        return Vec::new();
    };
    let now = format!("{}: {}", finding.severity, finding.now);
    let mut blocks = vec![
        Block::toned(Tone::Strong, &check.id, now),
        Block::fact("costs", &finding.cost),
    ];
    let source = finding.source.iter();
    blocks.extend(source.map(|source| Block::fact("source", source)));
    blocks.push(Block::fact("set", &finding.set));
    blocks.extend(proposed(finding));
    blocks
}

/// What linerate would change.
fn proposed(finding: &Finding) -> Option<Block<'_>> {
    let first = finding.settings.first()?;
    let changes = counted(finding.settings.len(), "change");
    let (knob, value) = (&first.knob, &first.value);
    let text = format!("{changes} by linerate, such as {knob} = {value}");
    Some(Block::Sentence(text))
}

fn not_checked(check: &Checked) -> Option<Block<'_>> {
    let CheckOutcome::NotChecked { missing } = &check.outcome else {
        return None;
    };
    Some(Block::fact(&check.id, format!("not checked: {missing}")))
}

fn fine(check: &Checked) -> Option<Block<'_>> {
    let CheckOutcome::Fine { now } = &check.outcome else {
        return None;
    };
    Some(Block::fact(&check.id, format!("fine: {now}")))
}

fn changes(changes: &[ChangeMade]) -> impl Iterator<Item = Block<'_>> {
    let left = changes.len().saturating_sub(ROWS);
    let more = (left > 0).then(|| Block::Sentence(format!("and {left} more; --json tells all")));
    changes.iter().take(ROWS).map(change).chain(more)
}

fn change(change: &ChangeMade) -> Block<'_> {
    let (knob, wanted) = (&change.knob, &change.wanted);
    let (before, after) = (known(change.before.as_ref()), known(change.after.as_ref()));
    let moved = || format!("{knob}: {before} → {after}");
    let (tone, label, said) = match change.result {
        ChangeResult::Already => (Tone::Plain, "already", format!("{knob} is {wanted}")),
        ChangeResult::Changed => (Tone::Plain, "changed", moved()),
        ChangeResult::Restored => (Tone::Plain, "restored", moved()),
        ChangeResult::Kept => (Tone::Alarm, "kept", format!("{knob} is {after}")),
        ChangeResult::Refused => (Tone::Alarm, "refused", format!("{knob} = {wanted}")),
    };
    let why = change.why.iter().map(|why| format!(": {why}"));
    Block::toned(tone, label, said + &why.collect::<String>())
}

fn known(value: Option<&String>) -> &str {
    value.map_or("not known", String::as_str)
}

fn interruptions(jitter: &Jitter) -> Vec<Block<'_>> {
    let asked = jitter.asked;
    let cores = jitter.cores.iter();
    let shortest = cores.clone().filter(|core| core.missing.is_none());
    let shortest = shortest.map(|core| core.elapsed).min().unwrap_or(asked);
    let time = if shortest < asked {
        format!("{:.1} of {} s", shortest.as_secs_f64(), asked.as_secs_f64())
    } else {
        format!("{} s", asked.as_secs_f64())
    };
    let about = format!("of a spinning thread, {time}, all cores at once");
    let measured: Vec<_> = cores.filter(|core| core.missing.is_none()).collect();
    let mut blocks = vec![Block::fact("interruptions", about), table(&measured)];
    for core in jitter.cores.iter().take(ROWS) {
        let missing = core.missing.iter();
        blocks.extend(
            missing.map(|why| Block::fact("not measured", format!("core {}: {why}", core.core))),
        );
    }
    let worst = measured.into_iter().max_by_key(|core| core.max_ns);
    blocks.extend(worst.into_iter().flat_map(meaning));
    blocks
}

fn table<'a>(cores: &[&CoreJitter]) -> Block<'a> {
    let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), |ns| nanos(float(ns)));
    let columns = vec![
        words("", |core: &&CoreJitter| format!("core {}", core.core)),
        words("count", |core: &&CoreJitter| core.interruptions.to_string()),
        words("lost", |core: &&CoreJitter| percent(core.lost_ratio)),
        words("p50", move |core: &&CoreJitter| time(core.p50_ns)),
        words("p99", move |core: &&CoreJitter| time(core.p99_ns)),
        words("p99.9", move |core: &&CoreJitter| time(core.p999_ns)),
        words("max", move |core: &&CoreJitter| time(core.max_ns)),
        words("stolen", move |core: &&CoreJitter| time(core.stolen_ns)),
    ];
    let table = Sheet::new("Interruptions of each core", cores, columns);
    Block::Table(table.look(Look::Beside).at_most(ROWS_SHOWN))
}

/// What the worst figure means, and what the kernel counted on that core meanwhile.
fn meaning(worst: &CoreJitter) -> Vec<Block<'_>> {
    let Some(max) = worst.max_ns else {
        let threshold = nanos(float(worst.threshold_ns));
        let text = format!(
            "no gap above {threshold}: what is slower than that in a measurement is not this host's standing still"
        );
        return vec![Block::fact("means", text)];
    };
    let text = format!(
        "core {} stood still for {} at once: a maximum of that size in a latency test that runs there need not come from the network",
        worst.core,
        nanos(float(max))
    );
    let mut counted: Vec<_> = worst.interrupts.iter().collect();
    counted.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
    let interrupts = counted
        .iter()
        .map(|(name, count)| format!("{count} {name}"));
    let preempted = worst.preemptions.iter();
    let preempted = preempted.map(|times| format!("{times} times another thread ran"));
    let said: Vec<String> = preempted.chain(interrupts).collect();
    let mut blocks = vec![Block::fact("means", text)];
    blocks.extend((!said.is_empty()).then(|| Block::fact("meanwhile", said.join(", "))));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::as_text;
    use crate::paper::Style;
    use linerate_model::doctor::{SCHEMA, Severity};
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
        let text = as_text(&examination(), 100, Style::Plain);
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
