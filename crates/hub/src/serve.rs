//! `serve`: the loop of a hub.
//!
//! One turn brings what was measured into the archive, which needs no database; then, if the database answers, rows are
//! made of what has none, lapsed leases end, due rounds come into the queue, and one is claimed. No step relies on the one
//! before it having been made by this process.

use crate::archive::{Archive, Round, Spooled};
use crate::configuration::{HubPlan, MeshSchedule};
use crate::database::{Claim, Database, Declared, Due, LEASE_MARGIN};
use crate::gauges::Gauges;
use crate::log::{round_name, say};
use crate::worker::{self, Job, RoundEnd};
use anyhow::{Context as _, Result, bail};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::text::spoken_time;
use linerate_model::{Clock as _, MonoInstant};
use linerate_sys::clock::MonoClock;
use linerate_sys::ending;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};

/// Between two looks of a thread that only waits for a wish to end.
const LONG: Duration = Duration::from_hours(1);
/// Between two turns; the end of a round and a wish to end come sooner.
const TURN: Duration = Duration::from_secs(1);
/// Between two looks for documents without rows that another hub or an operator put there, and for lapsed leases.
const SCAN_INTERVAL: Duration = Duration::from_secs(10);
/// Between two looks for months that are too old.
const DROP_INTERVAL: Duration = Duration::from_hours(1);
/// A database that takes longer for a turn counts as away.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(90);
/// Longest wait between two attempts to reach the database.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// What an earlier start of this hub began has ended after so long: its output is closed.
const ORPHAN_GRACE: Duration = Duration::from_secs(3);
/// From a claim to the start of the round, at most: later its lease might end before it does.
const MAX_START_DELAY: Duration = LEASE_MARGIN.checked_div(4).expect("a number");
/// At the end of the hub: for the child, then for the database. Together below what a wish to end leaves.
const END_OF_CHILD: Duration = Duration::from_millis(1100);
const END_OF_DATABASE: Duration = Duration::from_millis(400);

/// Serves until the process is asked to end.
pub(crate) async fn serve(mut plan: HubPlan) -> Result<ExitCode> {
    let schedules = std::mem::take(&mut plan.schedules);
    let plan = &plan;
    let archive = Archive::open(&plan.archive)?;
    let _lock = archive.lock(&plan.name)?;
    ending::interrupt()?;
    let gauges = Gauges::default();
    let mut hub = Hub {
        plan,
        schedules,
        archive,
        gauges,
        database: None,
        worker: None,
        wakeup: Arc::new(Notify::new()),
        times: Times::default(),
        enqueued: BTreeMap::new(),
        damaged: BTreeSet::new(),
        complaints: BTreeMap::new(),
    };
    if let Some(address) = plan.metrics {
        let at = hub.gauges.answer_at(address)?;
        say(&format!("metrics at http://{at}/metrics"));
    }
    let mut asked = pin!(asked_to_end());
    tokio::select! {
        () = &mut asked => return Ok(ExitCode::Done),
        connected = hub.connect() => connected?,
    }
    say(&format!(
        "{} serves; schedules: {}; documents in {}",
        plan.name,
        hub.schedules.len(),
        plan.archive.display()
    ));
    loop {
        // A turn may wait long for the database. What is cut short here is done again at the next start.
        tokio::select! {
            () = &mut asked => break,
            () = hub.turn_and_wait() => {}
        }
    }
    hub.end().await;
    Ok(ExitCode::Done)
}

/// Returns when this process is asked to end.
async fn asked_to_end() {
    let watch = || {
        while !ending::is_asked() {
            ending::sleep_until(MonoClock.now().after(LONG));
        }
    };
    drop(spawn_blocking(watch).await);
}

/// A round under way.
struct Worker {
    claim: Claim,
    spooled: Spooled,
    task: JoinHandle<RoundEnd>,
}

/// What became of a folder of the spool.
enum Brought {
    /// The archive has a document more.
    Document,
    /// Another hub took it.
    Elsewhere,
    /// It had none, or one that could not be moved.
    Nothing,
}

/// When something is done again.
#[derive(Default)]
struct Times {
    connect: Option<MonoInstant>,
    backoff: Duration,
    scan: Option<MonoInstant>,
    drop: Option<MonoInstant>,
}

struct Hub<'a> {
    plan: &'a HubPlan,
    schedules: Vec<MeshSchedule>,
    archive: Archive,
    gauges: Gauges,
    database: Option<Database>,
    worker: Option<Worker>,
    wakeup: Arc<Notify>,
    times: Times,
    /// The newest round of each schedule that is in the queue.
    enqueued: BTreeMap<String, u64>,
    /// Documents that no rows can be made of.
    damaged: BTreeSet<String>,
    /// What was said last of each matter: it is not said each second.
    complaints: BTreeMap<&'static str, String>,
}

fn is_due(at: Option<MonoInstant>) -> bool {
    at.is_none_or(|at| MonoClock.now() >= at)
}

impl Hub<'_> {
    fn complain(&mut self, of: &'static str, text: String) {
        if self.complaints.get(of) != Some(&text) {
            say(&text);
            self.complaints.insert(of, text);
        }
    }

    /// Connects, and says what this hub is about.
    async fn connect(&mut self) -> Result<()> {
        let mut database = Database::connect(&self.plan.database).await?;
        database.belongs_to(self.archive.id().as_deref()).await?;
        self.declare(&mut database).await?;
        if self.worker.is_none() {
            database.disown(&self.plan.name, ORPHAN_GRACE).await?;
        }
        self.database = Some(database);
        self.enqueued.clear();
        self.times.scan = None;
        self.gauges.database_up.set(1);
        Ok(())
    }

    /// Writes which schedules and hosts there are.
    async fn declare(&self, database: &mut Database) -> Result<()> {
        let declared = self.schedules.iter().map(|one| Declared {
            name: &one.name,
            period: one.schedule.period(),
            max_duration: one.max_duration,
            inventory: &one.inventory,
        });
        database.declare(&declared.collect::<Vec<_>>()).await
    }

    /// Reads the inventories of rounds that are due anew: by their hosts rounds are kept apart.
    async fn renew(&mut self, database: &mut Database, due: &[Due]) -> Result<()> {
        let (mut is_changed, mut failed) = (false, None);
        let is_due = |one: &&mut MeshSchedule| due.iter().any(|due| due.schedule == one.name);
        for schedule in self.schedules.iter_mut().filter(is_due) {
            let source = schedule.source.clone();
            let read = spawn_blocking(move || source.read()).await;
            match read.context("reading an inventory")? {
                Ok(planned) => is_changed |= schedule.take(planned),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) => self.complain(
                "inventory",
                format!("{error}; the hosts that it had before keep other rounds away"),
            ),
            None => drop(self.complaints.remove("inventory")),
        }
        if is_changed {
            self.declare(database).await?;
        }
        Ok(())
    }

    /// A turn, and the time until the next one is due.
    async fn turn_and_wait(&mut self) {
        self.turn().await;
        tokio::select! {
            () = sleep(TURN) => {}
            () = self.wakeup.notified() => {}
        }
    }

    async fn turn(&mut self) {
        let made = match self.worker.take_if(|worker| worker.task.is_finished()) {
            Some(worker) => self.collect(worker).await,
            None => None,
        };
        let Some(mut database) = self.reached().await else {
            return;
        };
        let worked = timeout(DATABASE_TIMEOUT, self.work(&mut database, made)).await;
        let failed = match worked {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("{error:#}")),
            Err(_) => Some("the database does not answer".to_owned()),
        };
        match failed {
            None => {
                self.complaints.remove("database");
                self.database = Some(database);
            }
            Some(why) => self.lost(&why),
        }
    }

    fn lost(&mut self, why: &str) {
        self.gauges.database_up.set(0);
        let backoff = self.times.backoff.max(TURN / 2) * 2;
        self.times.backoff = backoff.min(MAX_BACKOFF);
        self.times.connect = Some(MonoClock.now().after(self.times.backoff));
        self.complain(
            "database",
            format!(
                "{why}; what was measured is in the archive, rows follow when the database is back"
            ),
        );
    }

    /// The database, if it can be reached now.
    async fn reached(&mut self) -> Option<Database> {
        if self.database.as_ref().is_some_and(Database::is_closed) {
            self.database = None;
            self.times.connect = None;
        }
        if self.database.is_none() && is_due(self.times.connect) {
            match self.connect().await {
                Ok(()) => {
                    self.times.backoff = Duration::ZERO;
                    if self.complaints.remove("database").is_some() {
                        say("the database is back");
                    }
                }
                Err(error) => self.lost(&format!("{error:#}")),
            }
        }
        self.database.take()
    }

    /// Brings what a round has left into the archive; its lease and why it failed, if there is no document.
    async fn collect(&mut self, worker: Worker) -> Option<(Claim, Option<String>)> {
        let Worker {
            claim,
            spooled,
            task,
        } = worker;
        let end = task.await;
        let end = end.unwrap_or_else(|error| RoundEnd::Failed(error.to_string()));
        self.gauges.round_under_way.set(0);
        let is_ended = !matches!(end, RoundEnd::Interrupted);
        let brought = self.bring(&spooled, is_ended);
        let what = format!("{} of {}", claim.schedule, round_name(claim.number));
        match (end, brought) {
            (_, Brought::Elsewhere) => {
                let text = format!("{what}: another hub has taken it, since its lease had lapsed");
                self.complain("round", text);
                None
            }
            (RoundEnd::Interrupted, _) => Some((claim, None)),
            (RoundEnd::Ended(_) | RoundEnd::Failed(_), Brought::Document) => {
                self.gauges.rounds.inc();
                None
            }
            (RoundEnd::Ended(why) | RoundEnd::Failed(why), Brought::Nothing) => {
                self.gauges.failed_rounds.inc();
                let why = format!("no document came of it: {why}");
                self.complain("round", format!("{what} failed: {why}"));
                Some((claim, Some(why)))
            }
        }
    }

    /// Moves what is in a folder of the spool into the archive.
    fn bring(&mut self, spooled: &Spooled, ended: bool) -> Brought {
        let moved = match self.archive.collect(spooled, ended) {
            Ok(moved) => moved,
            Err(error) => {
                self.complain("archive", format!("{error:#}"));
                return Brought::Nothing;
            }
        };
        match moved.errors.first() {
            Some(error) => self.complain(
                "archive",
                format!("{error}; it stays in the spool, and no round is begun until it is in the archive"),
            ),
            None => drop(self.complaints.remove("archive")),
        }
        if moved.is_taken {
            Brought::Elsewhere
        } else if moved.runs.is_empty() {
            Brought::Nothing
        } else {
            self.times.scan = None;
            Brought::Document
        }
    }

    /// What a turn does with the database.
    async fn work(
        &mut self,
        database: &mut Database,
        made: Option<(Claim, Option<String>)>,
    ) -> Result<()> {
        let left = self.sweep(database).await?;
        if is_due(self.times.scan) {
            self.scan(database).await?;
            self.reap(database).await?;
            self.times.scan = Some(MonoClock.now().after(SCAN_INTERVAL));
        }
        if let Some((claim, failure)) = made {
            database.give_back(&claim, failure.as_deref()).await?;
        }
        self.enqueue(database).await?;
        if let Some(keep) = self.plan.keep.filter(|_| is_due(self.times.drop)) {
            for month in database.drop_old(keep).await? {
                say(&format!(
                    "dropped {month}: older than {}",
                    spoken_time(keep)
                ));
            }
            self.times.drop = Some(MonoClock.now().after(DROP_INTERVAL));
        }
        if self.worker.is_none() && left == 0 && self.has_room() {
            self.claim(database).await?;
        }
        Ok(())
    }

    /// Collects rounds of the spool that nobody holds a lease of; how many of this hub's disk are still there.
    async fn sweep(&mut self, database: &Database) -> Result<usize> {
        let mut spooled = self.archive.spooled()?;
        self.gauges.spooled_rounds.set(count(spooled.len()));
        let own = self.worker.as_ref().map(|worker| &worker.spooled.path);
        spooled.retain(|one| Some(&one.path) != own);
        if spooled.is_empty() {
            return Ok(0);
        }
        let held = database.held().await?;
        spooled.retain(|one| !held.contains(&one.fence));
        for one in &spooled {
            self.bring(one, false);
        }
        let left = self.archive.spooled()?;
        let left = left.iter().filter(|one| !held.contains(&one.fence));
        Ok(left.count())
    }

    /// Makes rows of documents that have none.
    async fn scan(&mut self, database: &mut Database) -> Result<()> {
        let known = database.acknowledged().await?;
        let mut missing = self.archive.runs()?;
        missing.retain(|run| !known.contains(run) && !self.damaged.contains(run));
        self.gauges.documents_without_rows.set(count(missing.len()));
        for run in missing {
            match self.acknowledge(database, &run).await {
                Ok(trials) => {
                    self.gauges.trials.inc_by(trials);
                }
                Err(error) if is_of_database(&error) => return Err(error),
                Err(error) => {
                    say(&format!("no rows of {run}: {error:#}"));
                    self.damaged.insert(run);
                    self.gauges.damaged_documents.set(count(self.damaged.len()));
                }
            }
            self.gauges.documents_without_rows.dec();
        }
        Ok(())
    }

    async fn acknowledge(&self, database: &mut Database, run: &str) -> Result<u64> {
        let archived = self.archive.load(run)?;
        database.acknowledge(&archived, self.plan.keep).await
    }

    /// Ends leases that have lapsed.
    async fn reap(&self, database: &Database) -> Result<()> {
        let lapsed = database.reap().await?;
        if lapsed > 0 {
            self.gauges.lapsed_leases.inc_by(lapsed);
            say(&format!(
                "leases that have lapsed: {lapsed}; their rounds are made again if they are the newest"
            ));
        }
        Ok(())
    }

    /// Puts what is due into the queue.
    async fn enqueue(&mut self, database: &mut Database) -> Result<()> {
        let now = database.now().await?;
        let newest = self.schedules.iter().map(|one| Due {
            schedule: one.name.clone(),
            begin: one.schedule.begin(one.schedule.latest(now)),
        });
        let due: Vec<_> = newest
            .filter(|due| self.enqueued.get(&due.schedule) != Some(&due.number()))
            .collect();
        if due.is_empty() {
            return Ok(());
        }
        self.renew(database, &due).await?;
        let skipped = database.enqueue(&due).await?;
        if skipped > 0 {
            self.gauges.skipped_rounds.inc_by(skipped);
            say(&format!(
                "skipped since nobody began them before the next one was due: {skipped}"
            ));
        }
        let numbers = due
            .into_iter()
            .map(|due| (due.schedule.clone(), due.number()));
        self.enqueued.extend(numbers);
        Ok(())
    }

    /// Whether the archive has room for another round.
    fn has_room(&mut self) -> bool {
        let free = match self.archive.free() {
            Ok(free) => free,
            Err(error) => {
                self.complain("room", format!("the archive cannot be looked at: {error}"));
                return false;
            }
        };
        self.gauges
            .archive_free
            .set(i64::try_from(free.get()).unwrap_or(i64::MAX));
        if free >= self.plan.reserve {
            self.complaints.remove("room");
            return true;
        }
        let text = format!(
            "the archive's file system has less than {} left: no round is begun until there is room, or a smaller --reserve",
            self.plan.reserve
        );
        self.complain("room", text);
        false
    }

    /// Takes a round and begins it.
    async fn claim(&mut self, database: &mut Database) -> Result<()> {
        let asked = MonoClock.now();
        let names = self.schedules.iter().map(|one| one.name.clone());
        let names: Vec<_> = names.collect();
        let Some(claim) = database.claim(&self.plan.name, &names).await? else {
            return Ok(());
        };
        let schedules = &mut self.schedules.iter();
        let Some(schedule) = schedules.find(|one| one.name == claim.schedule) else {
            bail!(
                "bug in linerate: a claim of {} was not asked for",
                claim.schedule
            );
        };
        let Claim { number, fence, .. } = claim;
        let round = Round::new(&schedule.name, number, fence, &self.plan.name);
        let spooled = match self.archive.spool(&round) {
            Ok(spooled) => spooled,
            Err(error) => {
                let why = format!("{error:#}");
                self.complain("archive", why.clone());
                database.give_back(&claim, Some(&why)).await?;
                return Ok(());
            }
        };
        let job = Job {
            program: self.plan.program.clone(),
            source: schedule.source.clone(),
            key: schedule.key.clone(),
            spool: spooled.path.clone(),
            max_duration: schedule.max_duration,
        };
        say(&format!(
            "{} of {} begins under lease {fence}",
            schedule.name,
            round_name(number)
        ));
        let wakeup = Arc::clone(&self.wakeup);
        let start_by = asked.after(MAX_START_DELAY);
        let task = spawn_blocking(move || {
            // A hub that was suspended meanwhile may hold nothing any more.
            let end = if MonoClock.now() < start_by {
                worker::run(&job)
            } else {
                RoundEnd::Failed("its lease was too old when it could have begun".to_owned())
            };
            wakeup.notify_one();
            end
        });
        self.gauges.round_under_way.set(1);
        self.worker = Some(Worker {
            claim,
            spooled,
            task,
        });
        Ok(())
    }

    /// Ends the round under way and keeps what it has measured. What there is no time for is done at the next start.
    async fn end(mut self) {
        let Some(mut worker) = self.worker.take() else {
            return;
        };
        let Ok(end) = timeout(END_OF_CHILD, &mut worker.task).await else {
            return;
        };
        worker.task = spawn_blocking(move || end.unwrap_or(RoundEnd::Interrupted));
        let made = self.collect(worker).await;
        if let Some(mut database) = self.database.take() {
            let rest = self.settle(&mut database, made);
            drop(timeout(END_OF_DATABASE, rest).await);
        }
    }

    async fn settle(
        &mut self,
        database: &mut Database,
        made: Option<(Claim, Option<String>)>,
    ) -> Result<()> {
        self.scan(database).await?;
        if let Some((claim, failure)) = made {
            database.give_back(&claim, failure.as_deref()).await?;
        }
        Ok(())
    }
}

fn is_of_database(error: &anyhow::Error) -> bool {
    Failure::of(error.as_ref()).is_some_and(|failure| failure.code == ExitCode::Peer)
}

fn count(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}
