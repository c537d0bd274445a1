//! What the database knows, for people and for metrics.

use super::{Database, failed};
use anyhow::Result;
use std::time::Duration;

/// What the database knows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Summary {
    pub(crate) schema: i32,
    pub(crate) schedules: Vec<ScheduleSummary>,
    /// Documents of which there are rows.
    pub(crate) runs: i64,
    /// Trials in them.
    pub(crate) trials: i64,
    /// Months that have rows.
    pub(crate) months: i64,
    /// Size of all rows and their indexes, bytes.
    pub(crate) bytes: i64,
}

/// Rounds of a schedule, by their states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RoundCounts {
    pub(crate) done: i64,
    pub(crate) failed: i64,
    pub(crate) leased: i64,
    pub(crate) skipped: i64,
    pub(crate) waiting: i64,
}

/// What is known of a schedule.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ScheduleSummary {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) period: Duration,
    pub(crate) hosts: i64,
    pub(crate) rounds: RoundCounts,
    /// Since the newest document of it started.
    pub(crate) newest_age: Option<Duration>,
    /// Who holds its lease, and for how long still.
    pub(crate) lease: Option<(String, Duration)>,
    /// The newest round that failed, and why.
    pub(crate) failure: Option<(i64, String)>,
}

impl Database {
    /// What the database knows now.
    pub(crate) async fn summary(&self) -> Result<Summary> {
        let fail = |error| failed("telling its state", &error);
        let totals = self
            .client
            .query_one(
                "SELECT (SELECT max(version) FROM schema_version),
                    (SELECT count(*) FROM runs),
                    (SELECT coalesce(sum(trials), 0)::int8 FROM runs), count(c.oid),
                    coalesce(sum(pg_total_relation_size(c.oid))::int8, 0)
                 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'trials'::regclass",
                &[],
            )
            .await
            .map_err(fail)?;
        let schedules = self
            .client
            .query(
                "SELECT s.name, s.title, s.period_s,
                    (SELECT count(*) FROM hosts h WHERE h.schedule = s.name),
                    count(*) FILTER (WHERE r.state = 'done'), count(*) FILTER (WHERE r.state = 'failed'),
                    count(*) FILTER (WHERE r.state = 'leased'), count(*) FILTER (WHERE r.state = 'skipped'),
                    count(*) FILTER (WHERE r.state = 'waiting'),
                    (SELECT extract(epoch FROM clock_timestamp() - max(started))::float8 FROM runs WHERE schedule = s.name),
                    max(r.holder) FILTER (WHERE r.state = 'leased'),
                    max(extract(epoch FROM r.lease_until - clock_timestamp())::float8) FILTER (WHERE r.state = 'leased'),
                    max(r.number) FILTER (WHERE r.state = 'failed'),
                    (SELECT f.reason FROM rounds f WHERE f.schedule = s.name AND f.state = 'failed' ORDER BY f.number DESC LIMIT 1)
                 FROM schedules s LEFT JOIN rounds r ON r.schedule = s.name GROUP BY s.name ORDER BY s.name",
                &[],
            )
            .await
            .map_err(fail)?;
        let time = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let schedules = schedules.iter().map(|row| ScheduleSummary {
            name: row.get(0),
            title: row.get(1),
            period: time(row.get(2)),
            hosts: row.get(3),
            rounds: RoundCounts {
                done: row.get(4),
                failed: row.get(5),
                leased: row.get(6),
                skipped: row.get(7),
                waiting: row.get(8),
            },
            newest_age: row.get::<_, Option<f64>>(9).map(time),
            lease: row
                .get::<_, Option<String>>(10)
                .zip(row.get::<_, Option<f64>>(11).map(time)),
            failure: row.get::<_, Option<i64>>(12).zip(row.get(13)),
        });
        Ok(Summary {
            schema: totals.get(0),
            runs: totals.get(1),
            trials: totals.get(2),
            months: totals.get(3),
            bytes: totals.get(4),
            schedules: schedules.collect(),
        })
    }
}
