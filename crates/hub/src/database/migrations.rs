//! The schema in numbered steps, each applied once, by one of any number of programs that start at once.

use super::failed;
use anyhow::Result;
use linerate_model::exit::{ExitCode, Failure};
use tokio_postgres::Client;

/// A step from one version of the schema to the next. Never changed once released.
struct Migration {
    version: i32,
    sql: &'static str,
}

/// Every step, in order. A new one: its file in `migrations/`, its entry here.
static ALL: &[Migration] = &[Migration {
    version: 1,
    sql: include_str!("../../migrations/0001-first.sql"),
}];

/// Lock of everything that changes the schema: "linerate" in ASCII.
pub(super) const SCHEMA_LOCK: i64 = 0x6c69_6e65_7261_7465;

/// Brings the schema to the newest version that this program knows.
pub(super) async fn apply(client: &mut Client) -> Result<()> {
    let fail = |error: tokio_postgres::Error| failed("bringing its schema to this version", &error);
    // One transaction: whoever is killed leaves the schema as it was, and the lock ends with it.
    let step = client.transaction().await.map_err(fail)?;
    step.execute("SELECT pg_advisory_xact_lock($1)", &[&SCHEMA_LOCK])
        .await
        .map_err(fail)?;
    // To create a schema takes a right that who only uses it need not have.
    let there = "SELECT to_regclass('linerate.schema_version') IS NOT NULL";
    let is_there: bool = step.query_one(there, &[]).await.map_err(fail)?.get(0);
    if !is_there {
        step.batch_execute(
            "CREATE SCHEMA IF NOT EXISTS linerate;
             CREATE TABLE linerate.schema_version (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now());",
        )
        .await
        .map_err(fail)?;
    }
    let newest = "SELECT coalesce(max(version), 0) FROM linerate.schema_version";
    let found: i32 = step.query_one(newest, &[]).await.map_err(fail)?.get(0);
    let known = ALL.last().map_or(0, |last| last.version);
    if found > known {
        let message = format!(
            "the database has schema {found}, this linerate-hub knows schemas up to {known}: use the version that made it, or a newer one"
        );
        return Err(Failure::new(ExitCode::Peer, message).into());
    }
    for migration in ALL.iter().filter(|step| step.version > found) {
        step.batch_execute(migration.sql).await.map_err(fail)?;
        step.execute(
            "INSERT INTO linerate.schema_version (version) VALUES ($1)",
            &[&migration.version],
        )
        .await
        .map_err(fail)?;
    }
    step.commit().await.map_err(fail)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbered_from_one_without_a_gap() {
        for (place, migration) in (1..).zip(ALL) {
            assert_eq!(migration.version, place);
            assert!(!migration.sql.is_empty());
        }
    }
}
