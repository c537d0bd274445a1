//! Where the CPU time of one end went: sampled call stacks as one end sends them.
//!
//! Invariant of a profile that was read from outside: every frame names an entry of
//! [`Profile::names`], and no list is longer than its bound here.

use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

/// Most stacks of a profile; the lighter ones are summed in [`Profile::rest_samples`].
pub const MAX_STACKS: usize = 2000;
/// Most frames of one stack; the kernel's own limit is 127 (`kernel.perf_event_max_stack`).
pub const MAX_FRAMES: usize = 128;
/// Most names: stacks of one host share nearly all of theirs, so a whole kernel's network path fits.
pub const MAX_NAMES: usize = 8192;
/// Longest name in bytes; longer ones (generic Rust functions) are cut.
pub const MAX_NAME: usize = 160;
/// Most remarks.
pub const MAX_REMARKS: usize = 16;

/// First frame of every stack of a program that is not the one that profiles, in place of its
/// thread's name.
pub const OTHER_PROGRAMS: &str = "[other programs]";

/// How the first frame of a stack begins that is of a program which the one that profiles started, such as a device under
/// test; the name of its thread follows.
pub const STARTED_PROGRAM: &str = "[started program] ";

/// What makes a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileEvent {
    /// A timer per core, for hosts without hardware counters: code that runs with interrupts off is
    /// seen at the place where they are turned on again.
    CpuClock,
    /// The processor's cycle counter.
    Cycles,
}

/// What was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileScope {
    /// Every core, whatever ran on it.
    Host,
    /// The threads of this end's own process only: soft interrupts are seen where they borrow its threads.
    Process,
}

/// One call stack and how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ProfileStack {
    /// Indices into [`Profile::names`], from the thread's name to the innermost function.
    pub frames: Vec<u32>,
    /// Samples with exactly these frames.
    pub samples: u64,
    /// Whether the innermost frame is user code; else all but the thread's name is the kernel's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub user: bool,
}

/// Call stacks of one end, sampled over one test.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Profile {
    /// What made the samples.
    pub event: ProfileEvent,
    /// What was sampled.
    pub scope: ProfileScope,
    /// Whether kernel functions were seen.
    pub kernel: bool,
    /// Samples per second and core that was running.
    pub rate_hz: u32,
    /// Time that was sampled, nanoseconds on this end's clock; a warm-up is part of it.
    pub duration_ns: u64,
    /// Samples taken, those of idle cores included.
    pub samples: u64,
    /// Samples that the kernel dropped because nobody read them in time; not in `samples`.
    pub lost: u64,
    /// Samples whose stacks were too many to keep; in `samples`.
    pub rest_samples: u64,
    /// Names of threads, functions and modules.
    pub names: Vec<String>,
    /// The heaviest stacks, heaviest first.
    pub stacks: Vec<ProfileStack>,
    /// What is missing, and what would change that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl Profile {
    /// The names of a stack's frames, outermost first.
    pub fn frames<'a>(
        &'a self,
        stack: &'a ProfileStack,
    ) -> impl DoubleEndedIterator<Item = &'a str> {
        let name = |frame: &u32| self.names.get(usize::try_from(*frame).ok()?);
        stack.frames.iter().filter_map(name).map(String::as_str)
    }

    /// What is wrong with it, if anything: it may come from a hostile peer.
    pub fn check(&self) -> Result<(), String> {
        let within = |what: &str, length: usize, most: usize| {
            if length > most {
                return Err(format!("{length} {what}, at most {most} are allowed"));
            }
            Ok(())
        };
        within("stacks", self.stacks.len(), MAX_STACKS)?;
        within("names", self.names.len(), MAX_NAMES)?;
        within("remarks", self.remarks.len(), MAX_REMARKS)?;
        if self.rate_hz == 0 {
            return Err("a sampling rate of 0".to_owned());
        }
        for name in &self.names {
            within("bytes in a name", name.len(), MAX_NAME)?;
        }
        for remark in &self.remarks {
            within("bytes in a remark", remark.len(), MAX_REMARK)?;
        }
        let mut sum = Some(self.rest_samples);
        for stack in &self.stacks {
            within("frames in a stack", stack.frames.len(), MAX_FRAMES)?;
            let known = |frame: &u32| usize::try_from(*frame).is_ok_and(|f| f < self.names.len());
            if !stack.frames.iter().all(known) {
                return Err("a frame without a name".to_owned());
            }
            sum = sum.and_then(|sum| sum.checked_add(stack.samples));
        }
        if sum != Some(self.samples) {
            return Err("stacks whose samples do not add up".to_owned());
        }
        Ok(())
    }
}

/// Longest remark in bytes.
const MAX_REMARK: usize = 400;

/// Reads a profile and refuses one that breaks its bounds.
pub(crate) fn checked<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Profile>, D::Error> {
    let profile = Option::<Profile>::deserialize(d)?;
    match profile.as_ref().map(Profile::check) {
        None | Some(Ok(())) => Ok(profile),
        Some(Err(why)) => Err(D::Error::custom(format_args!("profile with {why}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{EndpointReport, Snapshot};
    use crate::spec::Side;

    fn profile() -> Profile {
        let stack = |frames: &[u32], samples| ProfileStack {
            frames: frames.to_vec(),
            samples,
            user: false,
        };
        Profile {
            event: ProfileEvent::CpuClock,
            scope: ProfileScope::Host,
            kernel: true,
            rate_hz: 997,
            duration_ns: 1_000_000_000,
            samples: 10,
            lost: 0,
            rest_samples: 1,
            names: ["send-0", "do_syscall_64", "udp_sendmsg"]
                .map(str::to_owned)
                .to_vec(),
            stacks: vec![stack(&[0, 1, 2], 6), stack(&[0], 3)],
            remarks: Vec::new(),
        }
    }

    #[test]
    fn frames_are_read_by_name() {
        let profile = profile();
        let names: Vec<_> = profile.frames(&profile.stacks[0]).collect();
        assert_eq!(names, ["send-0", "do_syscall_64", "udp_sendmsg"]);
        assert_eq!(profile.check(), Ok(()));
    }

    #[test]
    fn what_breaks_a_bound_is_named() {
        type Break = (&'static str, fn(&mut Profile));
        let broken: [Break; 7] = [
            ("without a name", |p| p.stacks[0].frames.push(3)),
            ("add up", |p| p.stacks[0].samples = 7),
            ("add up", |p| p.rest_samples = u64::MAX),
            ("stacks", |p| p.stacks = vec![p.stacks[1].clone(); 2001]),
            ("frames in a stack", |p| p.stacks[0].frames = vec![0; 129]),
            ("bytes in a name", |p| p.names[0] = "x".repeat(161)),
            ("rate of 0", |p| p.rate_hz = 0),
        ];
        for (expected, breaks) in broken {
            let mut profile = profile();
            breaks(&mut profile);
            let why = profile.check().unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn a_report_with_a_broken_profile_is_refused() {
        let mut report = EndpointReport {
            side: Side::Sender,
            streams: Vec::new(),
            before: Snapshot::default(),
            after: Snapshot::default(),
            profile: Some(profile()),
            clock: None,
        };
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(
            serde_json::from_str::<EndpointReport>(&text).unwrap(),
            report
        );
        report.profile.as_mut().unwrap().stacks[0].frames[0] = 9;
        let text = serde_json::to_string(&report).unwrap();
        let error = serde_json::from_str::<EndpointReport>(&text).unwrap_err();
        assert!(error.to_string().contains("without a name"), "{error}");
    }
}
