//! CPU profile of this host: call stacks, sampled while a test runs.
//!
//! Samples as much as the kernel allows: the whole host, else the threads that carry the traffic, else their user code
//! alone; what is left out is a remark with its remedy. Names are looked up after the test, so that the test pays only
//! for the samples.
//!
//! Memory is bounded: see [`stacks`].

mod kernel_symbols;
mod stacks;
mod user_symbols;

use linerate_model::MonoInstant;
use linerate_model::profile::{Profile, ProfileEvent, ProfileScope};
use linerate_sys::failure::{Failure, FailureClass};
use linerate_sys::perf::{Event, Kernel, Mode, Request, Sampler, Scope};
use stacks::{Context, Stacks};
use std::fs;

/// Samples per second and core: a prime, so that it is not in phase with events at 100, 250 or 1000 Hz.
const RATE_HZ: u32 = 199;

/// Maximum cores sampled: each takes a descriptor and 132 KiB of locked memory.
const MAX_CORES: usize = 512;

/// Sampling requests, most informative first.
const LADDER: &[(Scope, Kernel)] = &[
    (Scope::Host, Kernel::Included),
    (Scope::Thread, Kernel::Included),
    (Scope::Thread, Kernel::Excluded),
];

/// Why nothing could be sampled, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ProfileError {
    why: String,
}

/// A running profile. Call [`Profiler::drain`] at least five times a second.
#[derive(Debug)]
pub struct Profiler {
    sampler: Sampler,
    request: Request,
    stacks: Stacks,
    began: MonoInstant,
    remarks: Vec<String>,
}

impl Profiler {
    /// Starts sampling. Where the whole host may not be sampled, only the calling thread and threads that it starts
    /// from here on are.
    pub fn start(now: MonoInstant) -> Result<Self, ProfileError> {
        let cores = online_cores();
        let mut refusals: Vec<Failure> = Vec::new();
        for (scope, kernel) in LADDER {
            for event in [Event::Cycles, Event::CpuClock] {
                let request = Request {
                    event,
                    scope: *scope,
                    kernel: *kernel,
                    rate_hz: RATE_HZ,
                };
                match Sampler::open(request, &cores) {
                    Ok(sampler) => {
                        return Ok(Self {
                            sampler,
                            request,
                            stacks: Stacks::default(),
                            began: now,
                            remarks: left_out(request, refusals.get(1)),
                        });
                    }
                    Err(failure) => refusals.push(failure),
                }
            }
        }
        let cause = refusals.last().map_or_else(String::new, |failure| {
            format!("{failure}; {}", remedy(*failure))
        });
        Err(ProfileError { why: cause })
    }

    /// Takes the samples since the last call.
    pub fn drain(&mut self) {
        let stacks = &mut self.stacks;
        self.sampler.drain(|sample| {
            let context = match sample.mode {
                Mode::Kernel => Context::Kernel,
                _ => Context::User,
            };
            stacks.add(context, &sample);
        });
    }

    /// Stops sampling and looks up the names.
    pub fn finish(mut self, now: MonoInstant) -> Profile {
        self.drain();
        let lost = self.sampler.lost();
        drop(self.sampler);
        let named = self.stacks.named(&mut self.remarks);
        Profile {
            event: match self.request.event {
                Event::CpuClock => ProfileEvent::CpuClock,
                Event::Cycles => ProfileEvent::Cycles,
            },
            scope: match self.request.scope {
                Scope::Host => ProfileScope::Host,
                Scope::Thread => ProfileScope::Process,
            },
            kernel: self.request.kernel == Kernel::Included,
            rate_hz: self.request.rate_hz,
            duration_ns: u64::try_from(now.saturating_since(self.began).as_nanos())
                .unwrap_or(u64::MAX),
            samples: named.samples,
            lost,
            rest_samples: named.rest,
            names: named.names,
            stacks: named.stacks,
            remarks: self.remarks,
        }
    }
}

/// What a request below the first one leaves out, and the remedy.
fn left_out(request: Request, refusal: Option<&Failure>) -> Vec<String> {
    let because = refusal.map_or_else(String::new, |failure| {
        format!(" ({failure}); {}", remedy(*failure))
    });
    match (request.scope, request.kernel) {
        (Scope::Host, _) => Vec::new(),
        (Scope::Thread, Kernel::Included) => vec![format!(
            "only the threads of the test were sampled, not soft interrupts on other threads' time{because}"
        )],
        (Scope::Thread, Kernel::Excluded) => vec![format!(
            "only the test's own user code was sampled, nothing of the kernel{because}"
        )],
    }
}

/// How to allow sampling of the whole host.
fn remedy(failure: Failure) -> String {
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    match (level, failure.class()) {
        (Err(_), _) => "this kernel has no perf events (CONFIG_PERF_EVENTS)".to_owned(),
        (Ok(level), FailureClass::Other) => format!(
            "for the whole host set `sysctl kernel.perf_event_paranoid=0` (it is {}) or give CAP_PERFMON",
            level.trim()
        ),
        (Ok(_), _) => "this host cannot sample its cores".to_owned(),
    }
}

fn online_cores() -> Vec<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    cores(&text)
}

/// Parses a core list such as `0-3,8`; core 0 if it is empty.
fn cores(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse().ok()?)
    };
    let all = text.split(',').filter_map(range).flatten();
    let cores: Vec<u32> = all.take(MAX_CORES).collect();
    if cores.is_empty() { vec![0] } else { cores }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::Clock as _;
    use linerate_sys::clock::MonoClock;

    #[test]
    fn core_lists_are_read_and_bounded() {
        assert_eq!(cores("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(cores("5\n"), [5]);
        assert_eq!(cores(""), [0]);
        assert_eq!(cores("x,1-y,7"), [7]);
        assert_eq!(cores("0-4294967295").len(), MAX_CORES);
    }

    #[test]
    fn a_profile_keeps_its_bounds_or_its_absence_has_a_remedy() {
        match Profiler::start(MonoClock.now()) {
            Ok(mut profiler) => {
                let mut spent = 0_u64;
                while profiler.stacks.samples() == 0 && spent < 50_000_000 {
                    spent = std::hint::black_box(spent + 1);
                    if spent.is_multiple_of(100_000) {
                        profiler.drain();
                    }
                }
                let profile = profiler.finish(MonoClock.now());
                assert_eq!(profile.check(), Ok(()));
                assert_eq!(profile.rate_hz, RATE_HZ);
                let partial = profile.scope == ProfileScope::Process;
                assert_eq!(partial, profile.remarks.iter().any(|r| r.contains("only")));
            }
            Err(error) => assert!(error.to_string().contains("; "), "{error}"),
        }
    }
}
