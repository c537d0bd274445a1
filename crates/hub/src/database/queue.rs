//! The queue of rounds: due, leased for a bounded time under a fencing number, done.
//!
//! ```text
//!            claim              document with rows
//!  waiting ────────► leased ───────────────────────► done
//!     ▲                │ lapsed: reap
//!     └────────────────┴──────► failed, after MAX_ATTEMPTS
//!  waiting ──► skipped, once the next round is due
//! ```
//!
//! A claim is short: it is committed before anything is measured. Rounds of schedules that share a host are never leased
//! at once.

use super::{Database, failed};
use anyhow::Result;
use linerate_mesh::Inventory;
use linerate_model::BitRate;
use std::time::Duration;
use tokio_postgres::Transaction;

/// A lease is longer than what the round may take by this: for its end, and for what clocks run apart in it.
pub(crate) const LEASE_MARGIN: Duration = Duration::from_secs(10);
/// Leases of one round that lapse before it counts as failed.
const MAX_ATTEMPTS: i32 = 3;
/// Lock of claims: which hosts are busy is looked at by one hub at a time.
const CLAIM_LOCK: i64 = 0x6c69_6e65_636c_616d;

/// A round that is due.
#[derive(Debug, Clone)]
pub(crate) struct Due {
    pub(crate) schedule: String,
    /// When it began to be, from the Unix epoch on.
    pub(crate) begin: Duration,
}

impl Due {
    /// Milliseconds from the Unix epoch to its begin: its number among the rounds of its schedule. A count of periods would
    /// come again once the period changes.
    pub(crate) fn number(&self) -> u64 {
        u64::try_from(self.begin.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A schedule, as its hub has it.
#[derive(Debug)]
pub(crate) struct Declared<'a> {
    pub(crate) name: &'a str,
    pub(crate) period: Duration,
    pub(crate) max_duration: Duration,
    pub(crate) inventory: &'a Inventory,
}

/// A round that this hub holds the lease of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) schedule: String,
    pub(crate) number: u64,
    /// Of all leases ever granted the newest has the highest.
    pub(crate) fence: i64,
}

const CLAIM: &str = include_str!("claim.sql");

impl Database {
    /// Time since the Unix epoch, by the database's clock.
    pub(crate) async fn now(&self) -> Result<Duration> {
        let fail = |error| failed("telling the time", &error);
        let row = self
            .client
            .query_one("SELECT extract(epoch FROM clock_timestamp())::float8", &[])
            .await
            .map_err(fail)?;
        Ok(Duration::try_from_secs_f64(row.get(0)).unwrap_or_default())
    }

    /// Puts these rounds into the queue, unless they are there, and skips older ones that nobody began; how many.
    pub(crate) async fn enqueue(&mut self, due: &[Due]) -> Result<u64> {
        let fail = |error| failed("putting rounds into the queue", &error);
        let step = self.client.transaction().await.map_err(fail)?;
        let mut skipped = 0;
        for round in due {
            let number = signed(round.number());
            step.execute(
                "INSERT INTO rounds (schedule, number, begin_at) VALUES ($1, $2, to_timestamp($3)) ON CONFLICT DO NOTHING",
                &[&round.schedule, &number, &round.begin.as_secs_f64()],
            )
            .await
            .map_err(fail)?;
            skipped += step
                .execute(
                    "UPDATE rounds SET state = 'skipped', reason = coalesce(reason, 'nobody could run it before the next one was due')
                     WHERE schedule = $1 AND number < $2 AND state = 'waiting'",
                    &[&round.schedule, &number],
                )
                .await
                .map_err(fail)?;
        }
        step.commit().await.map_err(fail)?;
        Ok(skipped)
    }

    /// Takes the oldest round that waits, of these schedules, whose hosts are in no other lease; with a lease for as long as
    /// its schedule says.
    pub(crate) async fn claim(&mut self, holder: &str, of: &[String]) -> Result<Option<Claim>> {
        let fail = |error| failed("claiming a round", &error);
        let step = self.client.transaction().await.map_err(fail)?;
        step.execute("SELECT pg_advisory_xact_lock($1)", &[&CLAIM_LOCK])
            .await
            .map_err(fail)?;
        let taken = step
            .query_opt(CLAIM, &[&holder, &of, &LEASE_MARGIN.as_secs_f64()])
            .await
            .map_err(fail)?;
        step.commit().await.map_err(fail)?;
        Ok(taken.map(|row| Claim {
            schedule: row.get(0),
            number: row.get::<_, i64>(1).unsigned_abs(),
            fence: row.get(2),
        }))
    }

    /// Gives rounds whose lease has lapsed back to the queue, or gives them up; how many.
    pub(crate) async fn reap(&self) -> Result<u64> {
        let fail = |error| failed("looking for lapsed leases", &error);
        let reaped = "UPDATE rounds SET
                state = CASE WHEN attempts >= $1 THEN 'failed'::round_state
                    WHEN EXISTS (SELECT 1 FROM rounds later WHERE later.schedule = rounds.schedule AND later.number > rounds.number) THEN 'skipped'
                    ELSE 'waiting' END,
                reason = 'its lease lapsed: ' || holder || ' did not come back'
             WHERE state = 'leased' AND lease_until <= clock_timestamp()";
        self.client
            .execute(reaped, &[&MAX_ATTEMPTS])
            .await
            .map_err(|error| fail(error).into())
    }

    /// Ends a lease without a document: the round failed, or, by the wish of its operator, is to be made by another. A newer
    /// lease is not touched.
    pub(crate) async fn give_back(&mut self, claim: &Claim, failure: Option<&str>) -> Result<bool> {
        let fail = |error| failed("giving a lease back", &error);
        let step = self.client.transaction().await.map_err(fail)?;
        let state = "UPDATE rounds SET state = CASE WHEN $2::text IS NULL THEN 'waiting'::round_state ELSE 'failed' END, reason = $2
             WHERE fence = $1 AND state = 'leased'";
        let changed = step
            .execute(state, &[&claim.fence, &failure])
            .await
            .map_err(fail)?;
        end_lease(&step, claim.fence).await.map_err(fail)?;
        step.commit().await.map_err(fail)?;
        Ok(changed > 0)
    }

    /// Lets leases of this holder lapse after `grace`: it has started anew, and what it started before ends by then.
    pub(crate) async fn disown(&self, holder: &str, grace: Duration) -> Result<u64> {
        let fail = |error| failed("ending leases of an earlier start", &error);
        let shorter = "WITH own AS (
                UPDATE rounds SET lease_until = least(lease_until, clock_timestamp() + make_interval(secs => $2))
                WHERE state = 'leased' AND holder = $1 RETURNING fence, lease_until)
             UPDATE leases SET lease_until = own.lease_until FROM own WHERE leases.fence = own.fence";
        self.client
            .execute(shorter, &[&holder, &grace.as_secs_f64()])
            .await
            .map_err(|error| fail(error).into())
    }

    /// The leases that hold.
    pub(crate) async fn held(&self) -> Result<Vec<i64>> {
        let fail = |error| failed("listing leases", &error);
        let held =
            "SELECT fence FROM rounds WHERE state = 'leased' AND lease_until > clock_timestamp()";
        let rows = self.client.query(held, &[]).await.map_err(fail)?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Says which schedules there are, in place of what was known of them.
    pub(crate) async fn declare(&mut self, schedules: &[Declared<'_>]) -> Result<()> {
        let fail = |error| failed("writing schedules", &error);
        let step = self.client.transaction().await.map_err(fail)?;
        for schedule in schedules {
            step.execute(
                "INSERT INTO schedules (name, title, period_s, max_duration_s) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (name) DO UPDATE SET title = excluded.title, period_s = excluded.period_s, max_duration_s = excluded.max_duration_s",
                &[
                    &schedule.name,
                    &schedule.inventory.title,
                    &schedule.period.as_secs_f64(),
                    &schedule.max_duration.as_secs_f64(),
                ],
            )
            .await
            .map_err(fail)?;
            step.execute("DELETE FROM hosts WHERE schedule = $1", &[&schedule.name])
                .await
                .map_err(fail)?;
            let hosts = &schedule.inventory.hosts;
            let names: Vec<_> = hosts.iter().map(|host| host.name.as_str()).collect();
            let addresses: Vec<_> = hosts.iter().map(|host| host.address.as_str()).collect();
            let racks: Vec<_> = hosts.iter().map(|host| host.rack.as_deref()).collect();
            let nics: Vec<_> = hosts.iter().map(|host| host.nic.as_deref()).collect();
            let rates = hosts.iter().map(|host| host.rate.map(BitRate::as_f64));
            let rates: Vec<_> = rates.collect();
            step.execute(
                "INSERT INTO hosts (schedule, name, address, rack, nic, rate_bps)
                 SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::float8[])",
                &[&schedule.name, &names, &addresses, &racks, &nics, &rates],
            )
            .await
            .map_err(fail)?;
        }
        step.commit().await.map_err(fail)?;
        Ok(())
    }
}

/// Says that a lease is over before its time.
pub(super) async fn end_lease(
    step: &Transaction<'_>,
    fence: i64,
) -> Result<(), tokio_postgres::Error> {
    let ended =
        "UPDATE leases SET ended_at = clock_timestamp() WHERE fence = $1 AND ended_at IS NULL";
    step.execute(ended, &[&fence]).await?;
    Ok(())
}

/// PostgreSQL has no unsigned numbers; milliseconds since 1970 have no bit to lose.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
