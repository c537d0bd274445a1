//! Tables with known errors, tables as they are measured, and the published ones.

use super::{PublishedTable, TableError, audit};
use crate::statistics::Moments;
use linerate_model::audit::{Audit, TableOutcome};
use linerate_model::random::Random;
use linerate_model::run::Tool;
use std::fmt::Write as _;

fn audited(text: &str) -> Audit {
    let table = PublishedTable::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    audit(&table, "table.csv", Tool::linerate("0"))
}

/// The names of the checks that found something, each once.
fn found(text: &str) -> Vec<String> {
    let mut found: Vec<_> = audited(text)
        .findings
        .into_iter()
        .map(|one| one.check)
        .collect();
    found.dedup();
    found
}

fn outcome(audit: &Audit, check: &str) -> TableOutcome {
    let mut checks = audit.checks.iter();
    checks
        .find(|one| one.check == check)
        .unwrap()
        .outcome
        .clone()
}

/// A check, a table that it finds, and one beside it that it does not.
const CASES: &[(&str, &str, &str)] = &[
    (
        "grim",
        "# n: 10\n# resolution: 0.1\nip,value\nipv4,3.456\n",
        "# n: 10\n# resolution: 0.1\nip,value\nipv4,3.460\n",
    ),
    (
        // Ten whole readings with the sum 35: their sum of squares is odd, so the variance is (odd − 122.5) / 9.
        "grimmer",
        "# n: 10\n# resolution: 1\nip,value,sd\nipv4,3.50,0.624\n",
        "# n: 10\n# resolution: 1\nip,value,sd\nipv4,3.50,0.527\n",
    ),
    (
        "parts",
        "# unit: B\n# rule: [metric=total] = [metric=text] + [metric=data]\nmetric,value\ntext,100\ndata,20\ntotal,121\n",
        "# unit: B\n# rule: [metric=total] = [metric=text] + [metric=data]\nmetric,value\ntext,100\ndata,20\ntotal,120\n",
    ),
    (
        "parts",
        "# rule: [m=gain] = ([m=b] / [m=a] - 1) * 100\nm,value\na,31.4\nb,45.5\ngain,43.5\n",
        "# rule: [m=gain] = ([m=b] / [m=a] - 1) * 100\nm,value\na,31.4\nb,45.5\ngain,44.9\n",
    ),
    (
        "quantile-order",
        "size,value,min,median,max,p99\n64,7.1,6.0,7.0,9.0,9.5\n",
        "size,value,min,median,max,p99\n64,7.1,6.0,7.0,9.6,9.5\n",
    ),
    (
        "quantile-order",
        "size,value,min,max\n64,5.1,6.0,9.0\n",
        "size,value,min,max\n64,6.1,6.0,9.0\n",
    ),
    (
        "spread",
        "# n: 10\nsize,value,min,max,sd\n64,7.0,6.0,9.0,2.1\n",
        "# n: 10\nsize,value,min,max,sd\n64,7.0,6.0,9.0,1.0\n",
    ),
    (
        "spread",
        "# n: 10\nsize,value,min,max,sd\n64,7.0,6.0,9.0,0.5\n",
        "# n: 10\nsize,value,min,max,sd\n64,7.0,6.0,9.0,0.8\n",
    ),
    (
        "ceiling",
        "# unit: Mbit/s\n# link: 100M\ntransport,ip,value\nudp,ipv6,95.0\n",
        "# unit: Mbit/s\n# link: 100M\ntransport,ip,value\nudp,ipv4,95.0\n",
    ),
    (
        "ceiling",
        "# unit: Mbit/s\n# link: 100M\ntransport,payload,value\nudp,64,60\n",
        "# unit: Mbit/s\n# link: 100M\ntransport,payload,value\nudp,64,49\n",
    ),
    (
        "instrument",
        "# n: 10\n# resolution: 0.1\nip,value,min\nipv4,3.46,3.25\n",
        "# n: 10\n# resolution: 0.1\nip,value,min\nipv4,3.46,3.2\n",
    ),
    (
        "instrument",
        "# n: 2\n# resolution: 1\nip,value\nipv4,3.500\n",
        "# n: 2\n# resolution: 1\nip,value\nipv4,3.50\n",
    ),
    (
        "claims",
        "# claim: [ip=ipv4] > [ip=ipv6] -- IPv4 is faster\nip,way,value\nipv4,up,5\nipv6,up,7\nipv4,down,3\nipv6,down,1\n",
        "# claim: [ip=ipv4] > [ip=ipv6] -- IPv4 is faster\nip,way,value\nipv4,up,5\nipv6,up,4\nipv4,down,3\nipv6,down,1\n",
    ),
];

#[test]
fn each_kind_of_error_is_found_and_its_neighbour_is_not() {
    for (check, wrong, right) in CASES {
        assert_eq!(found(wrong), [*check], "{wrong}");
        assert_eq!(found(right), [""; 0], "{right}");
        assert_eq!(
            outcome(&audited(right), check),
            TableOutcome::Clear,
            "{right}"
        );
    }
}

/// Rates of eight sizes each way; the upload's are those given, the download's differ by some percent.
fn two_ways(upload: &[&str; 8], sd: &str) -> String {
    let download = [
        "31.45", "42.18", "55.03", "61.68", "70.92", "77.51", "81.36", "88.87",
    ];
    let mut text = String::from("# n: 10\n# unit: Mbit/s\nway,size,value,sd\n");
    for (index, (up, down)) in upload.iter().zip(download).enumerate() {
        let _ = writeln!(text, "up,{index},{up},{sd}\ndown,{index},{down},{sd}");
    }
    text
}

#[test]
fn copied_values_are_found_with_and_without_deviations_and_one_chance_hit_is_not() {
    let copied = [
        "33.45", "42.18", "55.03", "61.68", "73.92", "79.51", "85.36", "92.87",
    ];
    let apart = [
        "33.45", "44.18", "55.03", "64.68", "73.92", "79.51", "85.36", "92.87",
    ];
    for sd in ["", "0.90"] {
        let audit = audited(&two_ways(&copied, sd));
        let finding = &audit.findings[0];
        assert_eq!(finding.check, "identical");
        assert!(finding.p.unwrap() < 0.002, "{finding:?}");
        assert_eq!(finding.cells.len(), 6);
        assert!(
            finding.arithmetic.contains("42.18, 55.03, 61.68"),
            "{finding:?}"
        );
        assert_eq!(found(&two_ways(&apart, sd)), [""; 0]);
    }
}

#[test]
fn a_link_that_all_reach_memory_and_coarse_figures_are_no_copies() {
    let at_link = ["94.93"; 8];
    let mut text = two_ways(&at_link, "");
    text = text.replace("# n: 10", "# n: 10\n# link: 100M");
    assert_eq!(found(&text), [""; 0]);
    let copied = [
        "33.45", "42.18", "55.03", "61.68", "73.92", "79.51", "85.36", "92.87",
    ];
    let memory = two_ways(&copied, "").replace("Mbit/s", "B");
    assert!(matches!(
        outcome(&audited(&memory), "identical"),
        TableOutcome::NotEvaluated { .. }
    ));
    let coarse = copied.map(|value| &value[..2]);
    let coarse = two_ways(&coarse, "")
        .lines()
        .map(|line| {
            line.split_once('.')
                .filter(|_| line.starts_with("down"))
                .map_or_else(|| line.to_owned(), |(whole, _)| format!("{whole},"))
        })
        .collect::<Vec<_>>()
        .join("\n");
    assert!(matches!(
        outcome(&audited(&coarse), "identical"),
        TableOutcome::NotEvaluated { .. }
    ));
}

#[test]
fn what_a_table_does_not_tell_is_not_clear() {
    let audit = audited("ip,value\nipv4,3\n");
    for check in &audit.checks {
        assert!(
            matches!(check.outcome, TableOutcome::NotEvaluated { .. }),
            "{check:?}"
        );
    }
    assert!(audit.expected_false_findings.abs() < f64::EPSILON);
}

#[test]
fn rounding_leaves_a_claim_open_that_equal_figures_neither_hold_nor_break() {
    let text = "# claim: [ip=ipv4] > [ip=ipv6]\nip,value\nipv4,12.1\nipv6,12.1\n";
    assert_eq!(found(text), [""; 0]);
    let table = PublishedTable::parse(text).unwrap();
    assert_eq!(table.claims[0].ask(&table)[0].holds, None);
}

#[test]
fn a_statement_is_asked_of_every_combination_that_it_does_not_name() {
    let text = "# claim: [ip=a] > 2 * [ip=b] where way=up\n# claim: mean[ip=a] = 4 +- 0.1\nip,way,size,value\n\
        a,up,1,5.0\nb,up,1,2.0\na,up,2,3.0\nb,up,2,2.0\na,down,1,4.0\n";
    let table = PublishedTable::parse(text).unwrap();
    let held = table.claims[0].ask(&table);
    assert_eq!(
        held.iter().map(|held| held.holds).collect::<Vec<_>>(),
        [Some(true), Some(false)]
    );
    assert_eq!(held[1].levels["size"], "2");
    assert_eq!(table.claims[1].ask(&table)[0].holds, Some(true));
}

#[test]
fn a_table_that_cannot_be_read_says_the_line_and_what_is_possible() {
    for (text, wanted) in [
        ("", "no column \"value\""),
        ("ip,value\n", "has no cell"),
        ("ip\nipv4\n", "no column \"value\""),
        ("ip,value\nipv4,x\n", "line 2: value = x: must be a number"),
        ("ip,value\nipv4,\n", "the cell has no value"),
        (
            "ip,value\nipv4,1\nipv4,2\n",
            "line 3: the cell ip = ipv4 is given twice",
        ),
        ("ip,ip,value\na,b,1\n", "the name of another"),
        ("ip,value,n\na,1,0\n", "whole number from 1"),
        (
            "# speed: 3\nip,value\na,1\n",
            "line 1: the head has no key \"speed\"",
        ),
        ("# link: fast\nip,value\na,1\n", "line 1: link: "),
        ("# mtu: 20\nip,value\na,1\n", "68 to 65535"),
        (
            "# claim: [ip=a] is fast\nip,value\na,1\n",
            "must stand =, <",
        ),
        (
            "# claim: [ip=a] > [ip=c]\nip,value\na,1\n",
            "no cell has ip = c",
        ),
        ("# claim: [ip=a].x > 1\nip,value\na,1\n", ".x: must be"),
        ("# claim: [ip=a > 1\nip,value\na,1\n", "a [ without ]"),
        ("ip,value\na,1,2\n", "line 2"),
    ] {
        let error = PublishedTable::parse(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text:?}: {error}");
    }
    let deep = format!("# claim: {}1 > 0\nip,value\na,1\n", "(".repeat(100));
    assert!(PublishedTable::parse(&deep).is_err());
    let many = format!("ip,value\n{}", "a,1\n".repeat(2_000_000));
    assert!(matches!(
        PublishedTable::parse(&many),
        Err(TableError::TooLarge { .. })
    ));
}

/// How the figures of a table come about.
struct Honest {
    random: Random,
    n: u32,
    scatter: f64,
    resolution: f64,
    digits: usize,
    has_deviation: bool,
    has_quantiles: bool,
    /// Some links are reached, and hold their rate.
    link: Option<f64>,
}

impl Honest {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let n = [3, 5, 10, 10, 20, 30][random.below(6)];
        let scatter = [0.0005, 0.003, 0.01, 0.03, 0.1][random.below(5)];
        let resolution = [0.01, 0.1, 0.001][random.below(3)];
        // Nobody prints more digits than the mean's steps have.
        let finest = -(resolution / f64::from(n)).log10().floor();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 5"
        )]
        let digits = (1 + random.below(3)).min(finest as usize);
        Self {
            n,
            scatter,
            resolution,
            digits,
            has_deviation: random.below(2) == 0,
            has_quantiles: random.below(2) == 0,
            link: (random.below(3) == 0).then_some(100.0),
            random,
        }
    }

    /// True values by effects of the factors: readings that scatter and that an instrument rounds, printed as mean,
    /// deviation and quantiles.
    fn table(mut self) -> String {
        let factors = 2 + self.random.below(3);
        let levels: Vec<usize> = (0..factors).map(|_| 2 + self.random.below(3)).collect();
        let mut effect = |count: &usize| -> Vec<f64> {
            // A third of the factors has none at all.
            let size = if self.random.below(3) > 0 { 0.5 } else { 0.0 };
            (0..*count).map(|_| self.random.normal() * size).collect()
        };
        let effects: Vec<Vec<f64>> = levels.iter().map(&mut effect).collect();
        let base = [12.0, 40.0, 300.0][self.random.below(3)];
        let names: Vec<_> = (0..factors).map(|factor| format!("f{factor}")).collect();
        let mut text = format!(
            "# unit: Mbit/s\n# n: {}\n# resolution: {}\n",
            self.n, self.resolution
        );
        text.push_str(self.link.map_or("", |_| "# link: 100M\n"));
        let _ = write!(text, "{},value", names.join(","));
        text.push_str(if self.has_deviation { ",sd" } else { "" });
        text.push_str(if self.has_quantiles {
            ",min,median,max\n"
        } else {
            "\n"
        });
        for cell in 0..levels.iter().product::<usize>() {
            let (mut rest, mut truth) = (cell, base);
            for (count, effects) in levels.iter().zip(&effects) {
                let level = rest % count;
                rest /= count;
                let _ = write!(text, "l{level},");
                truth *= effects[level].exp();
            }
            text.push_str(&self.figures(truth));
        }
        text
    }

    /// The figures of a row.
    fn figures(&mut self, truth: f64) -> String {
        let (digits, resolution) = (self.digits, self.resolution);
        let mut readings: Vec<f64> = (0..self.n)
            .map(|_| {
                let mut reading = truth * (1.0 + self.random.normal() * self.scatter);
                if let Some(link) = self.link {
                    reading = reading.min(link * 0.9493 * (1.0 - 0.0002 * self.random.unit()));
                }
                (reading.max(resolution) / resolution).floor() * resolution
            })
            .collect();
        readings.sort_by(f64::total_cmp);
        let moments = Moments::from_samples(&readings).unwrap();
        let mut text = format!("{:.digits$}", moments.mean);
        if self.has_deviation {
            let _ = write!(text, ",{:.digits$}", moments.variance.unwrap().sqrt());
        }
        if self.has_quantiles {
            let middle = readings.len() / 2;
            let below = readings[(readings.len() - 1) / 2];
            let median = f64::midpoint(below, readings[middle]);
            let (min, max) = (readings[0], readings[readings.len() - 1]);
            let _ = write!(text, ",{min:.3},{median:.4},{max:.3}");
        }
        text + "\n"
    }
}

#[test]
fn of_200_honest_tables_at_most_2_are_flagged() {
    let audits: Vec<_> = (0..200)
        .map(|seed| audited(&Honest::new(seed).table()))
        .collect();
    let flagged: Vec<_> = audits
        .iter()
        .filter_map(|audit| audit.findings.first())
        .collect();
    assert!(
        flagged.len() <= 2,
        "{} flagged: {flagged:#?}",
        flagged.len()
    );
    // They are examined, not let through.
    for (check, least) in [
        ("ceiling", 20),
        ("grim", 20),
        ("grimmer", 10),
        ("identical", 20),
        ("instrument", 20),
        ("quantile-order", 20),
        ("spread", 20),
    ] {
        let clear = audits
            .iter()
            .filter(|audit| outcome(audit, check) == TableOutcome::Clear);
        let clear = clear.count();
        assert!(clear >= least, "{check}: {clear}");
    }
}
