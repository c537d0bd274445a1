//! Interruptions of a spinning thread, core by core.
//!
//! A thread pinned to each core reads the clock over and over. Two readings are apart by the cost of one reading,
//! unless something else had the core meanwhile: an interrupt, another thread, firmware, the hypervisor. Gaps above a
//! threshold are counted. All cores are measured at the same time, as busy as a run keeps them; so work that would use
//! an idle core finds none, and the figures are those of a host under load. The threads have default priority.
//!
//! Whatever the cause, a gap of this size here means that a delay of that size in a measurement need not come from the
//! network.

use crate::condition::reading_cost;
use crate::host_view::{HostView, Scope};
use crate::text::whole_lines;
use linerate_model::doctor::{CoreJitter, Jitter};
use linerate_model::{Clock, Histogram, Ratio};
use linerate_sys::affinity::pin_current_thread;
use linerate_sys::clock::MonoClock;
use linerate_sys::process::thread_preemptions;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, scope};
use std::time::Duration;

/// Minimum gap counted as an interruption: an interrupt takes at least about as long. With a slow clock source, the
/// threshold is a multiple of the cost of one reading.
const THRESHOLD_NS: u64 = 1_000;
const READINGS_PER_THRESHOLD: u64 = 8;
/// Maximum kinds of interrupts reported per core.
const MAX_INTERRUPTS_PER_CORE: usize = 8;
/// Maximum cores at once: each takes a thread and about 0.3 MB.
const MAX_CORES: usize = 1024;

/// Gaps seen by one thread.
#[derive(Debug)]
struct Gaps {
    threshold: u64,
    reading: u64,
    first: u64,
    last: u64,
    readings: u64,
    lost: u64,
    histogram: Histogram,
}

impl Gaps {
    fn new(reading: u64, first: u64) -> Self {
        Self {
            threshold: THRESHOLD_NS.max(reading.saturating_mul(READINGS_PER_THRESHOLD)),
            reading,
            first,
            last: first,
            readings: 1,
            lost: 0,
            histogram: Histogram::new(),
        }
    }

    /// Records a clock reading `now`.
    fn take(&mut self, now: u64) {
        let gap = now.saturating_sub(self.last);
        self.last = now;
        self.readings += 1;
        if gap > self.threshold {
            self.lost += gap - self.reading;
            self.histogram.record(gap);
        }
    }

    fn into_report(self, core: u32) -> CoreJitter {
        let elapsed = self.last.saturating_sub(self.first);
        let quantile =
            |q: f64| (!self.histogram.is_empty()).then(|| self.histogram.quantile_nanos(q));
        CoreJitter {
            core,
            missing: None,
            elapsed: Duration::from_nanos(elapsed),
            readings: self.readings,
            reading_ns: self.reading,
            threshold_ns: self.threshold,
            interruptions: self.histogram.len(),
            lost_ns: self.lost,
            lost_ratio: Ratio::from_parts(self.lost, elapsed),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: quantile(1.0),
            histogram: self.histogram,
            stolen_ns: None,
            interrupts: BTreeMap::new(),
            preemptions: None,
        }
    }
}

/// Reads `clock` for `time` from the first reading on, or until `stop` is set.
fn spin(clock: &impl Clock, time: Duration, stop: &AtomicBool) -> Gaps {
    let reading = reading_cost(clock);
    let first = clock.now();
    let deadline = first.after(time);
    let mut gaps = Gaps::new(reading, first.as_nanos());
    while gaps.last < deadline.as_nanos() && !stop.load(Ordering::Relaxed) {
        gaps.take(clock.now().as_nanos());
    }
    gaps
}

/// Measures each of `cores` for `time`, all at once. Ends early when `stop` is set.
pub fn jitter(view: &Scope, cores: &[u32], time: Duration, stop: &AtomicBool) -> Jitter {
    let cores = &cores[..cores.len().min(MAX_CORES)];
    let begun = OnceLock::new();
    let before = Counters::read(view);
    let mut measured: Vec<CoreJitter> = scope(|threads| {
        let begun = &begun;
        let started: Vec<_> = cores
            .iter()
            .map(|core| {
                let work = move || watch(*core, time, begun, stop);
                let name = format!("jitter-{core}");
                Builder::new().name(name).spawn_scoped(threads, work)
            })
            .collect();
        // Start barrier: a thread that spins already would delay the start of the others.
        begun.get_or_init(|| ());
        started
            .into_iter()
            .zip(cores)
            .map(|(thread, core)| match thread {
                Ok(thread) => thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(error) => missing(*core, format!("starting a thread: {error}")),
            })
            .collect()
    });
    let after = Counters::read(view);
    for core in measured.iter_mut().filter(|core| core.missing.is_none()) {
        core.stolen_ns = after.stolen(&before, core.core);
        core.interrupts = after.interrupts(&before, core.core);
    }
    Jitter {
        asked: time,
        cores: measured,
    }
}

/// Measures one core. A thread that starts late still measures for the full `time`.
fn watch(core: u32, time: Duration, begun: &OnceLock<()>, stop: &AtomicBool) -> CoreJitter {
    let pinned = pin_current_thread(core);
    begun.wait();
    if let Err(error) = pinned {
        return missing(
            core,
            format!("this program may not run on core {core}: {error}"),
        );
    }
    let preempted = thread_preemptions();
    let gaps = spin(&MonoClock, time, stop);
    let preemptions = thread_preemptions();
    CoreJitter {
        preemptions: preemptions
            .zip(preempted)
            .and_then(|(now, then)| now.checked_sub(then)),
        ..gaps.into_report(core)
    }
}

fn missing(core: u32, why: String) -> CoreJitter {
    CoreJitter {
        missing: Some(why),
        ..Gaps::new(0, 0).into_report(core)
    }
}

/// The kernel's counters of each core.
struct Counters {
    /// Steal time so far in ns, by core.
    stolen: BTreeMap<u32, u64>,
    /// Interrupts so far, by core and name.
    interrupts: BTreeMap<(u32, String), u64>,
}

impl Counters {
    fn read(view: &Scope) -> Self {
        let host = HostView::new(view);
        let hertz = rustix::param::clock_ticks_per_second();
        let text = |path| {
            host.text(path)
                .map_or_else(|_| String::new(), |text| text.to_string())
        };
        Self {
            stolen: stolen(&text("proc/stat"), hertz),
            interrupts: interrupts(&text("proc/interrupts")),
        }
    }

    fn stolen(&self, before: &Self, core: u32) -> Option<u64> {
        let (now, then) = (self.stolen.get(&core)?, before.stolen.get(&core)?);
        now.checked_sub(*then)
    }

    /// Interrupts of `core` since `before`, by name; the kernel counts each in 32 bits.
    fn interrupts(&self, before: &Self, core: u32) -> BTreeMap<String, u64> {
        let mut gained: Vec<_> = self
            .interrupts
            .iter()
            .filter(|((of, _), _)| *of == core)
            .filter_map(|(key, now)| {
                let then = before.interrupts.get(key)?;
                let gained = now
                    .checked_sub(*then)
                    .or_else(|| now.checked_add(1 << 32)?.checked_sub(*then))?;
                (gained > 0).then(|| (key.1.clone(), gained))
            })
            .collect();
        gained.sort_by_key(|(name, gained)| (std::cmp::Reverse(*gained), name.clone()));
        gained.truncate(MAX_INTERRUPTS_PER_CORE);
        gained.into_iter().collect()
    }
}

/// Steal time by core: the eighth column of each core's line in `/proc/stat`.
fn stolen(text: &str, hertz: u64) -> BTreeMap<u32, u64> {
    let tick = 1_000_000_000_u64.checked_div(hertz).unwrap_or(0);
    whole_lines(text)
        .filter_map(|line| {
            let (core, columns) = line.strip_prefix("cpu")?.split_once(' ')?;
            let ticks: u64 = columns.split_ascii_whitespace().nth(7)?.parse().ok()?;
            Some((core.parse().ok()?, ticks.checked_mul(tick)?))
        })
        .collect()
}

/// Each count of `/proc/interrupts`, by core, with the row's label and the description after the counts.
fn interrupts(text: &str) -> BTreeMap<(u32, String), u64> {
    let mut lines = whole_lines(text);
    let cores: Vec<u32> = lines
        .next()
        .into_iter()
        .flat_map(str::split_ascii_whitespace)
        .map_while(|word| word.strip_prefix("CPU")?.parse().ok())
        .collect();
    let mut counts = BTreeMap::new();
    for line in lines {
        let Some((label, columns)) = line.split_once(':') else {
            continue;
        };
        let words: Vec<_> = columns.split_ascii_whitespace().collect();
        let Some((numbers, description)) = words.split_at_checked(cores.len()) else {
            continue;
        };
        let label = label.trim();
        let about = if label.parse::<u32>().is_ok() {
            description.last().copied().unwrap_or_default().to_owned()
        } else {
            description.join(" ")
        };
        let Some(name) = crate::text::tidy(&format!("{label} {about}")) else {
            continue;
        };
        for (core, number) in cores.iter().zip(numbers) {
            if let Ok(count) = number.parse() {
                counts.insert((*core, name.clone()), count);
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests;
