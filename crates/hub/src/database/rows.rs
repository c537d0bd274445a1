//! Rows of runs and trials: derived from documents, each once however often a document comes.

use super::migrations::SCHEMA_LOCK;
use super::queue::{end_lease, signed};
use super::{Database, failed};
use crate::archive::Archived;
use crate::records::{self, TrialRow};
use anyhow::{Result, anyhow};
use linerate_model::exit::{ExitCode, Failure};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Transaction};

/// Rows of one statement: beyond some thousands the time per row falls no more, and memory grows.
const ROWS_AT_ONCE: usize = 4000;

const INSERT_TRIALS: &str = "INSERT INTO trials (started, run, schedule, tool, part, trial, kind, direction, sender, receiver, repetition,
        valid, duration_s, intended_bps, offered_bps, received_bps, loss_ratio, delay_p50_ns, delay_p99_ns, limit_id)
    SELECT to_timestamp(r.started), $1, $2, $3, r.part, r.trial, r.kind, r.direction, r.sender, r.receiver, r.repetition,
        r.valid, r.duration_s, r.intended_bps, r.offered_bps, r.received_bps, r.loss_ratio, r.delay_p50_ns, r.delay_p99_ns, r.limit_id
    FROM unnest($4::int8[], $5::int4[], $6::int4[], $7::text[], $8::text[], $9::text[], $10::text[], $11::int4[],
        $12::bool[], $13::float8[], $14::float8[], $15::float8[], $16::float8[], $17::float8[], $18::float8[], $19::float8[], $20::text[])
      AS r (started, part, trial, kind, direction, sender, receiver, repetition,
        valid, duration_s, intended_bps, offered_bps, received_bps, loss_ratio, delay_p50_ns, delay_p99_ns, limit_id)
    ON CONFLICT DO NOTHING";

/// Tells who listens of a round that is done, by the id of its run.
const NOTIFY: &str = "SELECT pg_notify('linerate_rounds', $1)";

impl Database {
    /// Makes sure that the rows are those of this archive, and that they will be.
    ///
    /// # Errors
    ///
    /// They are another archive's, as [`ExitCode::HostLacks`].
    pub(crate) async fn belongs_to(&self, archive: Option<&str>) -> Result<()> {
        let fail = |error| failed("looking whose rows it has", &error);
        let insert = "INSERT INTO archive (id) SELECT $1::text WHERE $1::text IS NOT NULL ON CONFLICT DO NOTHING";
        self.client
            .execute(insert, &[&archive])
            .await
            .map_err(fail)?;
        let found = self.client.query_opt("SELECT id FROM archive", &[]);
        let found = found.await.map_err(fail)?;
        let found: Option<String> = found.map(|row| row.get(0));
        if found.as_deref() == archive {
            return Ok(());
        }
        let message = "the rows in this database are of another archive: hubs on one database share one archive; name it with --archive, or another database with --database";
        Err(Failure::new(ExitCode::HostLacks, message).into())
    }

    /// The runs of which all rows are there.
    pub(crate) async fn acknowledged(&self) -> Result<BTreeSet<String>> {
        let fail = |error| failed("listing runs", &error);
        let rows = self.client.query("SELECT run FROM runs", &[]);
        let rows = rows.await.map_err(fail)?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Makes the rows of a document, then says that its round is done, also to who listens: all or nothing, and nothing the
    /// second time. Rows that are older than `keep` are not made. How many are new.
    ///
    /// # Errors
    ///
    /// A document that no row can be made of, and what the database says.
    pub(crate) async fn acknowledge(
        &mut self,
        archived: &Archived,
        keep: Option<Duration>,
    ) -> Result<u64> {
        let fail = |error| failed("writing rows", &error);
        let step = self.client.transaction().await.map_err(fail)?;
        let trials = insert(&step, archived, keep).await?;
        if let Some(round) = &archived.round
            && archived.ends_round()
        {
            // Also of a round whose lease lapsed meanwhile: it was made. Not while a newer lease makes it again.
            let done = "INSERT INTO rounds (schedule, number, begin_at, state, fence, holder)
                 VALUES ($1, $2, clock_timestamp(), 'done', $3, $4)
                 ON CONFLICT (schedule, number) DO UPDATE SET state = 'done', fence = excluded.fence, reason = NULL
                 WHERE rounds.state <> 'done' AND (rounds.state <> 'leased' OR rounds.fence = excluded.fence)";
            let number = signed(round.number);
            let holder = &round.holder;
            let ended = step
                .execute(done, &[&round.schedule, &number, &round.fence, holder])
                .await
                .map_err(fail)?;
            end_lease(&step, round.fence).await.map_err(fail)?;
            if ended > 0 {
                // Once for each round: commits with notifications wait for each other.
                step.execute(NOTIFY, &[&archived.run.id])
                    .await
                    .map_err(fail)?;
            }
        }
        step.commit().await.map_err(fail)?;
        Ok(trials)
    }

    /// Drops the months of which every row is older than `keep`; their names.
    pub(crate) async fn drop_old(&mut self, keep: Duration) -> Result<Vec<String>> {
        let fail = |error| failed("dropping old rows", &error);
        let step = self.client.transaction().await.map_err(fail)?;
        step.execute("SELECT pg_advisory_xact_lock($1)", &[&SCHEMA_LOCK])
            .await
            .map_err(fail)?;
        // A partition is named by its month.
        let old = "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
             WHERE i.inhparent = 'trials'::regclass AND c.relname ~ '^trials_[0-9]{4}_[0-9]{2}$'
               AND to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= clock_timestamp() - make_interval(secs => $1)
             ORDER BY 1";
        let seconds = keep.as_secs_f64();
        let rows = step.query(old, &[&seconds]).await.map_err(fail)?;
        let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        for name in &names {
            // The query lets nothing through that would have to be quoted.
            step.batch_execute(&format!("DROP TABLE {name}"))
                .await
                .map_err(fail)?;
        }
        step.commit().await.map_err(fail)?;
        Ok(names)
    }

    /// Takes all rows of runs and trials away, and lets no hub make others until the returned value is gone.
    pub(crate) async fn begin_rebuild(&mut self) -> Result<Rebuild<'_>> {
        let fail = |error| failed("beginning to rebuild", &error);
        let step = self.client.transaction().await.map_err(fail)?;
        // Nothing bounds how many documents there are.
        step.batch_execute(
            "SET LOCAL idle_in_transaction_session_timeout = 0; TRUNCATE runs, trials",
        )
        .await
        .map_err(fail)?;
        Ok(Rebuild { step })
    }
}

/// Rows that are being made again.
pub(crate) struct Rebuild<'a> {
    step: Transaction<'a>,
}

impl Rebuild<'_> {
    /// Makes the rows of a document.
    pub(crate) async fn insert(&self, archived: &Archived, keep: Option<Duration>) -> Result<u64> {
        insert(&self.step, archived, keep).await
    }

    /// Lets everybody see them.
    pub(crate) async fn commit(self) -> Result<()> {
        let fail = |error| failed("ending to rebuild", &error);
        self.step.commit().await.map_err(|error| fail(error).into())
    }
}

async fn insert(
    step: &Transaction<'_>,
    archived: &Archived,
    keep: Option<Duration>,
) -> Result<u64> {
    let run = &archived.run;
    let fail = |error: Error| failed(&format!("writing the rows of {}", run.id), &error);
    let started = records::started(run).map_err(|why| anyhow!(why))?;
    let mut rows = records::rows(run).map_err(|why| anyhow!(why))?;
    let trials = i32::try_from(rows.len()).unwrap_or(i32::MAX);
    let round = archived.round.as_ref();
    let schedule = round.map(|round| round.schedule.as_str());
    if let Some(keep) = keep {
        // Months are dropped as a whole, and made again as a whole.
        let oldest = "SELECT extract(epoch FROM date_trunc('month', clock_timestamp() - make_interval(secs => $1)))::int8";
        let seconds = keep.as_secs_f64();
        let found = step.query_one(oldest, &[&seconds]).await.map_err(fail)?;
        let oldest: i64 = found.get(0);
        rows.retain(|row| row.started >= oldest);
    }
    let tool = records::tool(run);
    make_months(step, &rows).await?;
    let mut made = 0;
    for some in rows.chunks(ROWS_AT_ONCE) {
        made += insert_some(step, &[&run.id, &schedule, &tool], some)
            .await
            .map_err(fail)?;
    }
    step.execute(
        "INSERT INTO runs (run, started, title, status, schedule, round, fence, tool, trials)
         VALUES ($1, to_timestamp($2), $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
        &[
            &run.id,
            #[expect(clippy::cast_precision_loss, reason = "seconds are far below 2⁵³")]
            &(started as f64),
            &run.title,
            &records::status(run),
            &schedule,
            &round.map(|round| signed(round.number)),
            &round.map(|round| round.fence),
            &tool,
            &trials,
        ],
    )
    .await
    .map_err(fail)?;
    Ok(made)
}

async fn insert_some(
    step: &Transaction<'_>,
    of_run: &[&(dyn ToSql + Sync)],
    rows: &[TrialRow],
) -> Result<u64, Error> {
    fn column<'a, T>(rows: &'a [TrialRow], of: impl Fn(&'a TrialRow) -> T) -> Vec<T> {
        rows.iter().map(of).collect()
    }
    let started = column(rows, |row| row.started);
    let (part, trial) = (column(rows, |row| row.part), column(rows, |row| row.trial));
    let kind = column(rows, |row| row.kind);
    let direction = column(rows, |row| row.direction);
    let sender = column(rows, |row| row.sender.as_deref());
    let receiver = column(rows, |row| row.receiver.as_deref());
    let repetition = column(rows, |row| row.repetition);
    let valid = column(rows, |row| row.valid);
    let limit = column(rows, |row| row.limit_id.as_deref());
    let figures: [fn(&TrialRow) -> Option<f64>; 7] = [
        |row| row.duration_s,
        |row| row.intended_bps,
        |row| row.offered_bps,
        |row| row.received_bps,
        |row| row.loss_ratio,
        |row| row.delay_p50_ns,
        |row| row.delay_p99_ns,
    ];
    let figures = figures.map(|of| column(rows, of));
    let mut values = of_run.to_vec();
    values.extend([
        &started as &(dyn ToSql + Sync),
        &part,
        &trial,
        &kind,
        &direction,
    ]);
    values.extend([
        &sender as &(dyn ToSql + Sync),
        &receiver,
        &repetition,
        &valid,
    ]);
    values.extend(figures.iter().map(|one| one as &(dyn ToSql + Sync)));
    values.push(&limit);
    step.execute(INSERT_TRIALS, &values).await
}

/// Makes the partitions that these rows need, if they are not there.
async fn make_months(step: &Transaction<'_>, rows: &[TrialRow]) -> Result<(), Failure> {
    let fail = |error: Error| failed("making the partition of a month", &error);
    let times: Vec<i64> = rows.iter().map(|row| row.started).collect();
    let missing = "SELECT DISTINCT to_char(month, 'YYYY_MM'), to_char(month, 'YYYY-MM-DD'), to_char(month + interval '1 month', 'YYYY-MM-DD')
         FROM (SELECT date_trunc('month', to_timestamp(at)) AS month FROM unnest($1::int8[]) AS at) AS months
         WHERE to_regclass('trials_' || to_char(month, 'YYYY_MM')) IS NULL";
    let found = step.query(missing, &[&times]).await.map_err(fail)?;
    if found.is_empty() {
        return Ok(());
    }
    // Two hubs may make the same month.
    step.execute("SELECT pg_advisory_xact_lock($1)", &[&SCHEMA_LOCK])
        .await
        .map_err(fail)?;
    for row in &found {
        let [name, from, to] = [0, 1, 2].map(|column| row.get::<_, String>(column));
        // Digits, '-' and '_', as the database wrote them.
        let make = format!(
            "CREATE TABLE IF NOT EXISTS trials_{name} PARTITION OF trials FOR VALUES FROM ('{from}') TO ('{to}')"
        );
        step.batch_execute(&make).await.map_err(fail)?;
    }
    Ok(())
}
