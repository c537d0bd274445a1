//! `status`: what the database knows, in words.

use crate::configuration::DatabaseAddress;
use crate::database::{Database, ScheduleSummary, Summary};
use crate::log::round_name;
use anyhow::Result;
use linerate_model::ByteCount;
use linerate_model::exit::ExitCode;
use linerate_model::text::spoken_time;
use std::io::{self, Write as _};

/// Prints what the database knows.
pub(crate) async fn show(address: &DatabaseAddress) -> Result<ExitCode> {
    let database = Database::connect(address).await?;
    let text = words(&database.summary().await?);
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitCode::Done)
}

fn words(summary: &Summary) -> String {
    let mut lines = vec![format!(
        "documents: {}; tests in them: {}; months with rows: {}, {}",
        summary.runs,
        summary.trials,
        summary.months,
        ByteCount::new(summary.bytes.unsigned_abs())
    )];
    if summary.schedules.is_empty() {
        lines.push("no schedule: no hub has served with this database yet".to_owned());
    }
    for schedule in &summary.schedules {
        lines.extend(of_schedule(schedule));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn of_schedule(schedule: &ScheduleSummary) -> Vec<String> {
    let rounds = &schedule.rounds;
    let mut lines = vec![
        String::new(),
        format!(
            "{}: {}, every {}, {} hosts",
            schedule.name,
            schedule.title,
            spoken_time(schedule.period),
            schedule.hosts
        ),
        format!(
            "  rounds: {} done, {} failed, {} skipped, {} waiting",
            rounds.done, rounds.failed, rounds.skipped, rounds.waiting
        ),
    ];
    lines.push(match schedule.newest_age {
        Some(age) => format!("  newest document: started {} ago", spoken_time(age)),
        None => "  newest document: none yet".to_owned(),
    });
    if let Some((holder, left)) = &schedule.lease {
        let left = spoken_time(*left);
        lines.push(format!(
            "  under way: by {holder}, whose lease ends in {left}"
        ));
    }
    if let Some((number, reason)) = &schedule.failure {
        let name = round_name(number.unsigned_abs());
        lines.push(format!("  newest failure: {name}: {reason}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::RoundCounts;
    use std::time::Duration;

    #[test]
    fn every_state_is_told() {
        let schedule = ScheduleSummary {
            name: "lab".to_owned(),
            title: "mesh of 4 hosts".to_owned(),
            period: Duration::from_hours(1),
            hosts: 4,
            rounds: RoundCounts {
                done: 7,
                failed: 1,
                leased: 1,
                skipped: 2,
                waiting: 0,
            },
            newest_age: Some(Duration::from_secs(125)),
            lease: Some(("north".to_owned(), Duration::from_secs(61))),
            failure: Some((1_795_868_232_000, "no key".to_owned())),
        };
        let text = words(&Summary {
            schema: 1,
            schedules: vec![schedule],
            runs: 8,
            trials: 96,
            months: 1,
            bytes: 81_920,
        });
        for part in [
            "documents: 8; tests in them: 96; months with rows: 1, 80",
            "lab: mesh of 4 hosts, every 1 h 0 min, 4 hosts",
            "7 done, 1 failed, 2 skipped, 0 waiting",
            "started 2 min 5 s ago",
            "by north, whose lease ends in 1 min 1 s",
            "2026-11-28T12:17:12Z: no key",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(words(&Summary::default()).contains("no schedule"));
    }
}
