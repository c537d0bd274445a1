//! The engine's loop, its threads, and the handle for their owner.

use crate::control::{Ending, StreamControl};
use crate::endpoint::Opened;
use crate::error::{EngineError, Result};
use crate::tally::StreamProgress;
use crate::task::StreamTask;
use crate::workloads::{Step, Work};
use linerate_model::sample::{ErrorCount, StreamReport, StreamWork, TcpSample};
use linerate_model::spec::WaitMode;
use linerate_model::{Clock, MonoInstant};
use linerate_peers::{Grant, Sent};
use linerate_sys::clock::{MonoClock, thread_cpu_time};
use linerate_sys::wake::Waker;
use linerate_sys::{affinity, process, thread};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Counts of all streams of one side so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Counted time so far on this side's clock; zero during the warm-up.
    pub elapsed: Duration,
    /// L4 payload bytes over all streams, duplicates excluded at a receiver.
    pub bytes: u64,
    /// Datagrams or transactions over all streams, duplicates excluded at a receiver.
    pub packets: u64,
    /// Datagrams that a receiver has skipped so far: lost, or late. `None` where they have no sequence number.
    pub missing: Option<u64>,
    /// Latest reading of TCP; `None` for UDP.
    pub tcp: Option<TcpNow>,
}

/// Latest TCP readings of all streams of one side, combined. What the kernel does not report is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpNow {
    /// Sum of the congestion windows.
    pub cwnd_bytes: Option<u64>,
    /// Longest smoothed round-trip time.
    pub srtt_ns: Option<u64>,
    /// Segments retransmitted since the streams were opened.
    pub retransmitted: Option<u64>,
}

impl TcpNow {
    /// Adds one more stream.
    fn add(self, stream: &TcpSample) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a.unwrap_or(0) + b?).or(a);
        Self {
            cwnd_bytes: sum(self.cwnd_bytes, stream.cwnd_bytes),
            srtt_ns: self.srtt_ns.max(stream.srtt_ns),
            retransmitted: sum(self.retransmitted, stream.retrans_segments),
        }
    }
}

/// Running streams. Dropping it stops them.
pub struct Running {
    threads: Vec<JoinHandle<StreamReport>>,
    control: Arc<StreamControl>,
    progress: Vec<Arc<StreamProgress>>,
    counted_start: MonoInstant,
}

impl Opened {
    /// Starts one thread per stream and releases them together. Receivers are ready when this returns.
    pub fn start(self) -> Result<Running> {
        let core = self.plan().core();
        let warm_up = self.plan().spec.warm_up;
        let tasks = self.into_tasks()?;
        let control = StreamControl::with_bell();
        let control = control.map_err(|error| EngineError::io("open", &"an eventfd", error))?;
        let control = Arc::new(control);
        let (ready, readies) = mpsc::channel();
        let progress = tasks
            .iter()
            .map(|task| Arc::clone(&task.progress))
            .collect();
        let mut running = Running {
            threads: Vec::with_capacity(tasks.len()),
            control: Arc::clone(&control),
            progress,
            counted_start: MonoInstant::default(),
        };
        for task in tasks {
            running
                .threads
                .push(spawn(task, core, &control, ready.clone())?);
        }
        drop(ready);
        for outcome in readies {
            outcome?;
        }
        let start = MonoClock.now();
        running.counted_start = start.after(warm_up);
        control.go(start);
        Ok(running)
    }
}

impl Running {
    /// Counts so far. Cheap: reads counters that the threads keep, and the clock.
    pub fn progress(&self) -> Progress {
        let now = MonoClock.now();
        let mut progress = Progress {
            elapsed: now.saturating_since(self.counted_start),
            ..Progress::default()
        };
        for stream in &self.progress {
            progress.bytes += stream.bytes.load(Ordering::Relaxed);
            let packets = stream.packets.load(Ordering::Relaxed);
            progress.packets += packets;
            let expected = stream.expected.load(Ordering::Relaxed);
            if expected > 0 {
                // The two counters are not read at the same moment.
                let missing = expected.saturating_sub(packets);
                progress.missing = Some(progress.missing.unwrap_or(0) + missing);
            }
            let tcp = *stream.tcp.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(sample) = tcp {
                progress.tcp = Some(progress.tcp.unwrap_or_default().add(&sample));
            }
        }
        progress
    }

    /// Descriptor that is readable once a stream has ended or used up a grant since
    /// [`clear_wakeup`](Self::clear_wakeup).
    pub fn wakeup_fd(&self) -> Option<BorrowedFd<'_>> {
        self.control.wakeup_fd().map(Waker::as_fd)
    }

    /// Clears the wake-up. Call it before checking, so that no event is missed.
    pub fn clear_wakeup(&self) {
        if let Some(wakeup_fd) = self.control.wakeup_fd() {
            wakeup_fd.clear();
        }
    }

    /// Whether all streams have ended.
    pub fn is_finished(&self) -> bool {
        self.progress
            .iter()
            .all(|stream| stream.finished.load(Ordering::Acquire))
    }

    /// Whether anything has arrived, for each stream of a receiver.
    pub fn heard(&self) -> impl Iterator<Item = bool> {
        self.progress
            .iter()
            .map(|stream| stream.heard.load(Ordering::Relaxed))
    }

    /// Grants more messages to exchange; `false` if more grants are queued than any peer needs.
    pub fn grant(&self, grant: Grant) -> bool {
        self.control.grant(grant)
    }

    /// Grants used up so far.
    pub fn spent(&self) -> u64 {
        self.control.spent()
    }

    /// Stops all streams.
    pub fn stop(&self) {
        self.control.stop();
    }

    /// Tells a receiver what the sender sent. Each stream ends when all of it has arrived, at the end of a byte stream,
    /// or after `quiet` without arrivals.
    pub fn finish(&self, sent: Sent, quiet: Duration) {
        self.control.end(Ending {
            sent,
            quiet,
            said: MonoClock.now(),
        });
    }

    /// Waits for all streams to end and returns their reports. A sender ends by its stop condition; a receiver needs
    /// [`finish`](Self::finish) or [`stop`](Self::stop), or ends after 30 s of silence.
    pub fn join(mut self) -> Vec<StreamReport> {
        let threads = std::mem::take(&mut self.threads);
        let reports = threads.into_iter().zip(0..).map(|(thread, index)| {
            let lost = |_| StreamReport {
                errors: vec![ErrorCount {
                    operation: "traffic thread".to_owned(),
                    errno: "PANIC".to_owned(),
                    count: 1,
                }],
                ..StreamReport::new(index, StreamWork::Unreported)
            };
            thread.join().unwrap_or_else(lost)
        });
        reports.collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.control.stop();
    }
}

/// Starts the thread of one stream, which signals on `ready` when it is set up.
fn spawn(
    task: StreamTask,
    core: Option<u32>,
    control: &Arc<StreamControl>,
    ready: mpsc::Sender<Result<()>>,
) -> Result<JoinHandle<StreamReport>> {
    let control = Arc::clone(control);
    let name = format!("stream-{}", task.index);
    let thread = std::thread::Builder::new().name(name.clone());
    let body = move || {
        let _finished = FinishedAtEnd(task.progress, Arc::clone(&control));
        let prepared = prepare_thread(core);
        let is_prepared = prepared.is_ok();
        drop(ready.send(prepared));
        drop(ready);
        let start = control.wait_for_go().filter(|_| is_prepared);
        let report = start.map(|start| run(task.work, task.wait, start, &control));
        report.unwrap_or_else(|| StreamReport::new(u16::from(task.index), StreamWork::Unreported))
    };
    let handle = thread.spawn(body);
    handle.map_err(|error| EngineError::Host {
        what: format!("starting thread {name}"),
        why: error.to_string(),
        remedy: "raise the limit of processes (ulimit -u, TasksMax= of a service, the container's pids limit) or of memory (ulimit -v)",
    })
}

/// Marks a stream as finished when dropped, also if its thread panics.
struct FinishedAtEnd(Arc<StreamProgress>, Arc<StreamControl>);

impl Drop for FinishedAtEnd {
    fn drop(&mut self) {
        self.0.finished.store(true, Ordering::Release);
        self.1.ring();
    }
}

fn prepare_thread(core: Option<u32>) -> Result<()> {
    if let Some(core) = core {
        affinity::pin_current_thread(core).map_err(|error| EngineError::Host {
            what: format!("pinning a traffic thread to core {core}"),
            why: error.to_string(),
            remedy: "name a core that this process may run on (see taskset -p)",
        })?;
    }
    // If refused, timers are up to 50 µs later, which the lateness histogram shows.
    drop(thread::want_exact_timers());
    Ok(())
}

/// The engine's loop: turns and waits until the work is done or stopped.
fn run(
    mut work: Box<dyn Work>,
    wait: WaitMode,
    start: MonoInstant,
    control: &StreamControl,
) -> StreamReport {
    let (cpu, delay) = (thread_cpu_time(), thread::run_delay());
    let system = process::thread_system_time();
    let mut waiter = Waiter {
        wait,
        lead: Duration::ZERO,
    };
    let mut paused = Duration::ZERO;
    work.begin(start);
    let mut now = MonoClock.now();
    while !control.is_stopped() {
        match work.turn(now, control) {
            Step::Again => {}
            Step::Done => break,
            Step::Until(deadline) => paused += waiter.wait_until(deadline, control),
            Step::Poll(deadline) => {
                waiter.wait_until(deadline, control);
            }
        }
        now = MonoClock.now();
    }
    let mut report = work.finish(MonoClock.now());
    report.thread_cpu = thread_cpu_time().saturating_sub(cpu);
    let systems = process::thread_system_time().zip(system);
    report.thread_system_cpu = systems.map(|(after, before)| after.saturating_sub(before));
    let delays = thread::run_delay().zip(delay);
    report.run_delay = delays.map(|(after, before)| after.saturating_sub(before));
    report.paused = Some(paused);
    report
}

/// Waits for a deadline: sleeps while it is far, polls the clock for the last stretch. In wait mode spin it polls all
/// the time.
///
/// The stretch follows the median lateness of the kernel's timer, at most [`MAX_LEAD`]. So about half of the waits end
/// within a microsecond of their deadline and the others a few later, and a sender at low rates costs at most that
/// stretch per packet, not a core. Polling for more than the median would cost a sleeper its place in the scheduler's
/// queue.
#[derive(Debug)]
struct Waiter {
    wait: WaitMode,
    lead: Duration,
}

/// Maximum stretch of polling: at 1000 packets/s it costs 5 % of a core.
const MAX_LEAD: Duration = Duration::from_micros(50);

/// Shortest sleep worth its two system calls.
const MIN_SLEEP: Duration = Duration::from_micros(5);

/// Step of the median's tracking: from nothing to the usual 5 to 50 µs in as many packets.
const LEAD_STEP: Duration = Duration::from_micros(1);

/// Lateness above which a wake-up waited for a core, not for a timer: longer polling would not help.
const BUSY_CORE: Duration = Duration::from_micros(200);

/// Maximum single sleep: bounds the delay of a stop.
const MAX_SLEEP: Duration = Duration::from_millis(20);

impl Waiter {
    /// Waits for `deadline`. Returns how long the thread meant to sleep: polling takes CPU time, and waking late is run
    /// delay.
    fn wait_until(&mut self, deadline: MonoInstant, control: &StreamControl) -> Duration {
        let mut slept = Duration::ZERO;
        loop {
            let now = MonoClock.now();
            let left = deadline.saturating_since(now);
            if left.is_zero() || control.is_stopped() {
                return slept;
            }
            let is_far = left > self.lead + MIN_SLEEP;
            if is_far && self.wait != WaitMode::Spin {
                let asleep = left.saturating_sub(self.lead).min(MAX_SLEEP);
                self.sleep(now.after(asleep));
                slept += asleep;
            } else {
                std::hint::spin_loop();
            }
        }
    }

    fn sleep(&mut self, until: MonoInstant) {
        thread::sleep_to(until);
        let late = MonoClock.now().saturating_since(until);
        if late > BUSY_CORE {
            return;
        }
        self.lead = if late > self.lead {
            (self.lead + LEAD_STEP).min(MAX_LEAD)
        } else {
            self.lead.saturating_sub(LEAD_STEP)
        };
    }
}
