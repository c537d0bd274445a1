//! CPU of one end: what its traffic thread and its host had left.

use super::Evidence;
use crate::causes::words;
use crate::readings::throttled_share;
use crate::thresholds::cpu::{
    FULL, HOLDS_UP, HOT, LEAST_WAIT, RUN_DELAY_THRESHOLD, STEAL_THRESHOLD, THROTTLED,
};
use linerate_model::Ratio;
use linerate_model::run::CpuSide;
use linerate_model::spec::Side;

/// Smaller shares of a host's CPU are left out of the evidence.
const NOTICED: f64 = 0.01;

/// The CPU figures of one end.
pub(in crate::causes) struct Cpu {
    /// Share of the time that the thread ran or waited for a core.
    pub(in crate::causes) thread: Option<f64>,
    /// Share of the time that the CPU quota stopped it.
    pub(in crate::causes) throttled: f64,
    /// Share of the host's CPU that the hypervisor took.
    pub(in crate::causes) steal: f64,
    side: Side,
    /// Share of the time that the thread waited for a core.
    waited: f64,
    /// Share of the whole host's CPU that was used, without programs of low priority.
    whole_host: Option<f64>,
    /// Share of the whole host's CPU that programs of low priority used.
    niced: f64,
    /// Share of the busiest core that was used.
    busiest_core: Option<f64>,
    /// Soft interrupts in units of one core.
    pub(in crate::causes) softirq_cores: Option<f64>,
}

impl Cpu {
    /// What is known of `side`; `None` if nothing is.
    pub(in crate::causes) fn of_side(evidence: &Evidence<'_>, side: Side) -> Option<Self> {
        let thread = evidence.thread_load(side);
        let throttled = evidence.mean(|trial| throttled_share(trial, side));
        let share = |part: fn(&CpuSide) -> Option<Ratio>| {
            evidence.mean(|trial| Some(part(trial.cpu_of(side)?)?.get()))
        };
        let whole_host = share(|cpu| cpu.host_ratio);
        if thread.is_none() && whole_host.is_none() && throttled.is_none_or(|t| t == 0.0) {
            return None;
        }
        Some(Self {
            thread,
            throttled: throttled.unwrap_or(0.0),
            steal: share(|cpu| cpu.steal_ratio).unwrap_or(0.0),
            side,
            waited: share(|cpu| cpu.run_delay_ratio).unwrap_or(0.0),
            whole_host,
            niced: share(|cpu| cpu.niced_ratio).unwrap_or(0.0),
            busiest_core: share(|cpu| cpu.busiest_core_ratio),
            softirq_cores: evidence.mean(|trial| softirq_cores(trial.cpu_of(side)?)),
        })
    }

    /// The ends of which something is known, the sender first.
    pub(in crate::causes) fn of_ends(evidence: &Evidence<'_>) -> Vec<Self> {
        let ends = [Side::Sender, Side::Receiver].into_iter();
        ends.filter_map(|side| Self::of_side(evidence, side))
            .collect()
    }

    /// Whether CPU time was what was missing.
    pub(in crate::causes) fn is_hot(&self) -> bool {
        self.thread_is_hot() || self.softirq_is_hot()
    }

    /// Whether soft interrupts took a whole core.
    pub(in crate::causes) fn softirq_is_hot(&self) -> bool {
        self.softirq_cores.is_some_and(|cores| cores >= HOT)
    }

    /// Whether the traffic thread had no time left, or was stopped.
    pub(in crate::causes) fn thread_is_hot(&self) -> bool {
        self.pressure() >= HOT || self.is_throttled()
    }

    /// Whether a CPU quota stopped the thread for a share of the time that matters.
    pub(in crate::causes) fn is_throttled(&self) -> bool {
        self.throttled >= THROTTLED
    }

    /// Whether the hypervisor took so much that a thread with a schedule to keep feels it.
    pub(in crate::causes) fn has_cpu_steal(&self) -> bool {
        self.steal >= STEAL_THRESHOLD
    }

    /// Share of the time that the thread could do nothing else: it ran, waited, or had no host.
    pub(in crate::causes) fn pressure(&self) -> f64 {
        let stolen = if self.has_cpu_steal() {
            self.steal
        } else {
            0.0
        };
        (self.thread.unwrap_or(0.0) + stolen).min(1.0)
    }

    /// What took the CPU time, to follow "because" or "and".
    pub(in crate::causes) fn reason(&self) -> String {
        let side = self.name();
        if self.is_throttled() {
            let stopped = words::percent(self.throttled);
            return format!("its CPU quota stopped the {side} {stopped} of the time");
        }
        if self.pressure() >= HOT {
            let share = words::percent(self.pressure());
            return format!("the {side}'s thread ran, or waited for a core, {share} of the time");
        }
        if self.is_starved() {
            let core = words::percent(self.fullest_core().unwrap_or(1.0));
            let waited = words::percent(self.waited);
            return format!(
                "the {side}'s busiest core was used {core}, and the thread waited for a core {waited} of the time"
            );
        }
        if self.has_cpu_steal() && !self.softirq_is_hot() {
            let stolen = words::percent(self.steal);
            return format!("the hypervisor took {stolen} of the {side}'s CPU");
        }
        let cores = self.softirq_cores.unwrap_or(0.0);
        format!("soft interrupts took {cores:.2} cores of the {side}")
    }

    /// The end that it is of.
    pub(in crate::causes) fn name(&self) -> &'static str {
        self.side.as_str()
    }

    /// Whether a core had no time free and the thread felt it: the one it is pinned to, or the only
    /// one. A thread that sleeps between packets is late by each wait, so it falls short long before
    /// it fills a core.
    pub(in crate::causes) fn is_starved(&self) -> bool {
        self.fullest_core().is_some_and(|core| core >= FULL) && self.waited >= RUN_DELAY_THRESHOLD
    }

    /// Whether a starved thread spends so much of its time that a byte stream must wait for it: the
    /// queue before it then looks like a link's.
    pub(in crate::causes) fn holds_up(&self) -> bool {
        self.is_starved() && self.pressure() >= HOLDS_UP
    }

    /// Whether a core had no time free and the thread waited for one at least as long as a sender's
    /// shortage, as a share of the time.
    pub(in crate::causes) fn explains(&self, shortage: f64) -> bool {
        self.fullest_core().is_some_and(|core| core >= FULL)
            && self.waited >= shortage.max(LEAST_WAIT)
    }

    /// Whether the thread spent more time waiting for a core than running, and no quota was why.
    pub(in crate::causes) fn mostly_waits(&self) -> bool {
        let ran = self
            .thread
            .map_or(0.0, |load| (load - self.waited).max(0.0));
        !self.is_throttled() && self.waited > ran
    }

    fn fullest_core(&self) -> Option<f64> {
        [self.busiest_core, self.whole_host]
            .into_iter()
            .flatten()
            .max_by(f64::total_cmp)
    }

    /// Whether there was clearly CPU time left.
    pub(in crate::causes) fn is_idle(&self) -> bool {
        !self.is_hot()
            && !self.is_starved()
            && (self.thread.is_some() || self.whole_host.is_some_and(|h| h < HOT))
    }

    /// What a CPU quota did, if there is one that did anything.
    pub(in crate::causes) fn throttling(&self) -> Option<String> {
        (self.throttled > 0.0).then(|| {
            format!(
                "A CPU quota stopped the {}'s control group {} of the time.",
                self.name(),
                words::percent(self.throttled)
            )
        })
    }

    /// One sentence per figure.
    pub(in crate::causes) fn figures(&self) -> Vec<String> {
        let side = self.name();
        let mut figures = Vec::new();
        if let Some(thread) = self.thread {
            figures.push(format!(
                "The {side}'s traffic thread ran, or waited for a core, {} of the time.",
                words::percent(thread)
            ));
        }
        if let Some(host) = self.whole_host {
            let used = words::percent(host);
            let niced = words::percent(self.niced);
            figures.push(if self.niced >= NOTICED {
                format!("The {side}'s host used {used} of its CPU, and programs of low priority another {niced}.")
            } else {
                format!("The {side}'s host used {used} of its CPU.")
            });
        }
        if self.is_starved() {
            figures.push(format!(
                "The {side}'s busiest core was used {}, and its traffic thread waited for a core {} of the time.",
                words::percent(self.fullest_core().unwrap_or(1.0)),
                words::percent(self.waited)
            ));
        }
        figures.extend(self.throttling());
        if self.steal >= NOTICED {
            figures.push(format!(
                "The hypervisor took {} of the {side}'s CPU.",
                words::percent(self.steal)
            ));
        }
        if let Some(cores) = self.softirq_cores.filter(|cores| *cores >= 0.5) {
            figures.push(format!(
                "Soft interrupts took {cores:.2} cores of the {side}."
            ));
        }
        figures
    }
}

/// Soft interrupts in units of one core.
fn softirq_cores(cpu: &CpuSide) -> Option<f64> {
    let cores = u32::try_from(cpu.cores.len()).ok().filter(|n| *n > 0)?;
    Some(cpu.softirq_ratio?.get() * f64::from(cores))
}
