//! Counts equal stacks in bounded memory, and names them at the end.

use super::{kernel_symbols, user_symbols};
use crate::text::tidy;
use linerate_model::profile::{
    MAX_FRAMES, MAX_NAME, MAX_NAMES, MAX_STACKS, OTHER_PROGRAMS, ProfileStack, STARTED_PROGRAM,
};
use linerate_sys::perf::Sample;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Maximum different stacks of addresses: at 400 bytes each 6.5 MB. Two ends of a busy loopback made 900 in ten
/// seconds.
const MAX_DISTINCT: usize = 16 * 1024;
/// Maximum threads whose names are kept.
const MAX_THREADS: usize = 1024;

/// Which code was running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Context {
    Kernel,
    /// That of the thread's process.
    User,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Stack {
    thread: u32,
    context: Context,
    /// Innermost first.
    addresses: Vec<u64>,
}

/// A thread that was seen.
#[derive(Debug)]
struct Thread {
    name: String,
    owner: Owner,
}

/// Owner of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The kernel.
    Kernel,
    /// This process, or one that it started.
    Known(u32),
    /// Another program.
    Theirs,
}

/// Stacks as addresses.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    counts: BTreeMap<Stack, u64>,
    threads: BTreeMap<u32, Thread>,
    samples: u64,
    rest: u64,
}

/// Stacks as names.
#[derive(Debug, Default)]
pub(super) struct SymbolizedStacks {
    pub(super) samples: u64,
    pub(super) rest: u64,
    pub(super) names: Vec<String>,
    pub(super) stacks: Vec<ProfileStack>,
}

impl Stacks {
    /// Samples so far.
    #[cfg(test)]
    pub(super) const fn samples(&self) -> u64 {
        self.samples
    }

    pub(super) fn add(&mut self, context: Context, sample: &Sample<'_>) {
        self.samples += 1;
        let thread = self.thread(sample);
        let is_known = self.process(thread).is_some();
        let addresses = match (context, sample.chain) {
            (Context::User, _) if !is_known => Vec::new(),
            (_, []) => vec![sample.address],
            // One frame is reserved for the thread.
            (_, chain) => chain[..chain.len().min(MAX_FRAMES - 1)].to_vec(),
        };
        let stack = Stack {
            thread,
            context,
            addresses,
        };
        if let Some(count) = self.counts.get_mut(&stack) {
            *count += 1;
        } else if self.counts.len() < MAX_DISTINCT {
            self.counts.insert(stack, 1);
        } else {
            self.rest += 1;
        }
    }

    /// Id of the thread, whose name is then known; threads beyond the bound share one id.
    fn thread(&mut self, sample: &Sample<'_>) -> u32 {
        let number = if sample.process == 0 {
            0
        } else {
            sample.thread
        };
        if !self.threads.contains_key(&number) {
            if self.threads.len() >= MAX_THREADS {
                return u32::MAX;
            }
            self.threads
                .insert(number, Thread::new(sample.process, number));
        }
        number
    }

    /// The process of a thread whose functions may be named.
    fn process(&self, thread: u32) -> Option<u32> {
        match self.threads.get(&thread)?.owner {
            Owner::Known(process) => Some(process),
            Owner::Kernel | Owner::Theirs => None,
        }
    }

    /// Looks up all names. What cannot be named is noted in `remarks`.
    pub(super) fn named(self, remarks: &mut Vec<String>) -> SymbolizedStacks {
        let mut in_kernel = BTreeSet::new();
        let mut in_process: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        for stack in self.counts.keys() {
            match (stack.context, self.process(stack.thread)) {
                (Context::Kernel, _) => in_kernel.extend(stack.lookups()),
                (Context::User, Some(process)) => {
                    in_process
                        .entry(process)
                        .or_default()
                        .extend(stack.lookups());
                }
                (Context::User, None) => {}
            }
        }
        let kernel = kernel_symbols::names(&in_kernel, remarks);
        let by_process: BTreeMap<u32, _> = in_process
            .iter()
            .map(|(process, addresses)| {
                (*process, user_symbols::names(*process, addresses, remarks))
            })
            .collect();
        let mut merged: BTreeMap<Frames<'_>, u64> = BTreeMap::new();
        for (stack, count) in &self.counts {
            let mut frames = match self.threads.get(&stack.thread) {
                Some(thread) if thread.owner != Owner::Theirs => vec![thread.name.as_str()],
                // The peer must not learn the names of this host's programs.
                Some(_) | None => vec![OTHER_PROGRAMS],
            };
            let process = self.process(stack.thread);
            match (
                stack.context,
                process.and_then(|process| by_process.get(&process)),
            ) {
                (Context::User, None) => frames.push("[user]"),
                (Context::User, Some(names)) => frames.extend(stack.frames(names, "[user]")),
                (Context::Kernel, _) => frames.extend(stack.frames(&kernel, "[kernel]")),
            }
            let user = stack.context != Context::Kernel;
            *merged.entry((frames, user)).or_default() += count;
        }
        heaviest(merged, self.samples)
    }
}

impl Stack {
    /// Lookup address of each frame, innermost first: a caller's address is its return address, which may already
    /// belong to the next function, so minus one.
    fn lookups(&self) -> impl DoubleEndedIterator<Item = u64> {
        let places = self.addresses.iter().enumerate();
        places.map(|(depth, address)| address.saturating_sub(u64::from(depth > 0)))
    }

    /// Outermost first.
    fn frames<'a>(
        &self,
        names: &'a BTreeMap<u64, String>,
        unknown: &'a str,
    ) -> impl Iterator<Item = &'a str> {
        let name = move |address| names.get(&address).map_or(unknown, String::as_str);
        self.lookups()
            .map(name)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
    }
}

/// Names of a stack, outermost first, and whether its innermost is user code.
type Frames<'a> = (Vec<&'a str>, bool);

/// The heaviest stacks within the bounds of a profile; the others are summed up.
fn heaviest(merged: BTreeMap<Frames<'_>, u64>, samples: u64) -> SymbolizedStacks {
    let mut by_weight: Vec<_> = merged.into_iter().collect();
    // Equal weights are ordered by name, so that a profile is reproducible.
    by_weight.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut named = SymbolizedStacks {
        samples,
        ..SymbolizedStacks::default()
    };
    let mut index: BTreeMap<&str, u32> = BTreeMap::new();
    let mut placed = 0;
    for ((frames, user), count) in by_weight.into_iter().take(MAX_STACKS) {
        let new: BTreeSet<&str> = frames
            .iter()
            .copied()
            .filter(|name| !index.contains_key(name))
            .collect();
        if named.names.len() + new.len() > MAX_NAMES {
            continue;
        }
        for name in new {
            let next = u32::try_from(named.names.len()).expect("invariant: at most MAX_NAMES");
            index.insert(name, next);
            named.names.push(shortened(name));
        }
        placed += count;
        named.stacks.push(ProfileStack {
            frames: frames.iter().map(|name| index[name]).collect(),
            samples: count,
            user,
        });
    }
    named.rest = samples.saturating_sub(placed);
    named
}

fn shortened(name: &str) -> String {
    let mut end = name.len().min(MAX_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}

impl Thread {
    fn new(process: u32, thread: u32) -> Self {
        if thread == 0 {
            return Self {
                name: "swapper".to_owned(),
                owner: Owner::Kernel,
            };
        }
        let comm = fs::read_to_string(format!("/proc/{process}/task/{thread}/comm"));
        let name = comm.ok().and_then(|name| tidy(&name));
        let name = name.map_or_else(|| "ended thread".to_owned(), |name| without_core(&name));
        let own = std::process::id();
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let (name, owner) = match ProcessStat::read(&stat) {
            _ if process == own => (name, Owner::Known(process)),
            Some(stat) if stat.is_kernel => (name, Owner::Kernel),
            Some(stat) if stat.parent == own => {
                (format!("{STARTED_PROGRAM}{name}"), Owner::Known(process))
            }
            _ => (name, Owner::Theirs),
        };
        Self { name, owner }
    }
}

/// What `/proc/PID/stat` says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessStat {
    /// Who started it.
    parent: u32,
    /// Whether it is a thread of the kernel, by its flags: a program that is ending has no command line either.
    is_kernel: bool,
}

impl ProcessStat {
    fn read(stat: &str) -> Option<Self> {
        const PF_KTHREAD: u64 = 0x0020_0000;
        // The name in parentheses may contain anything; after it come state, ppid, pgrp, session, tty, tpgid, flags.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace().skip(1);
        let parent = fields.next()?.parse().ok()?;
        let flags: u64 = fields.nth(4)?.parse().ok()?;
        Some(Self {
            parent,
            is_kernel: flags & PF_KTHREAD != 0,
        })
    }
}

/// Name without the core number: `ksoftirqd/3` is one of several equal threads.
fn without_core(name: &str) -> String {
    name.split('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_sys::perf::Mode;

    fn sample(chain: &[u64]) -> Sample<'_> {
        Sample {
            mode: Mode::Kernel,
            address: 5,
            process: 0,
            thread: 0,
            chain,
        }
    }

    #[test]
    fn equal_stacks_are_one_and_too_many_are_the_rest() {
        let mut stacks = Stacks::default();
        for address in 0..MAX_DISTINCT as u64 + 10 {
            stacks.add(Context::Kernel, &sample(&[address, 7]));
            stacks.add(Context::Kernel, &sample(&[1, 7]));
        }
        assert_eq!(stacks.counts.len(), MAX_DISTINCT);
        // Address 1 came before the bound was reached, so each of its samples is in a stack.
        assert_eq!(stacks.rest, 10);
        assert_eq!(stacks.samples, 2 * (MAX_DISTINCT as u64 + 10));
    }

    #[test]
    fn the_lightest_stacks_are_summed() {
        let functions: Vec<String> = (0..MAX_STACKS + 5).map(|n| format!("f{n}")).collect();
        let mut merged = BTreeMap::new();
        for (name, weight) in functions.iter().zip(1_u64..) {
            merged.insert((vec!["thread", name.as_str()], false), weight);
        }
        let all = merged.values().sum();
        let named = heaviest(merged, all);
        assert_eq!(named.stacks.len(), MAX_STACKS);
        assert_eq!(named.rest, 1 + 2 + 3 + 4 + 5);
        assert_eq!(named.names[0..2], ["f2004", "thread"]);
        assert_eq!(named.stacks[0].samples, 2005);
        assert_eq!(named.stacks[0].frames, [1, 0]);
    }

    #[test]
    fn names_beyond_the_bound_go_to_the_rest() {
        let functions: Vec<String> = (0..MAX_NAMES).map(|n| format!("f{n}")).collect();
        let mut merged = BTreeMap::new();
        for chunk in functions.chunks(100) {
            merged.insert((chunk.iter().map(String::as_str).collect(), false), 2);
        }
        merged.insert((vec!["x", "y"], true), 1);
        let all = merged.values().sum();
        let named = heaviest(merged, all);
        assert_eq!(named.names.len(), MAX_NAMES);
        assert_eq!(named.rest, 1);
    }

    #[test]
    fn kernel_threads_are_known_by_their_flags() {
        let softirq = "15 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 0";
        let program = "77 (a) b) R 5 0 0 0 -1 4194304 0 0 0 0 0 0";
        let read = |stat| ProcessStat::read(stat).map(|read| (read.parent, read.is_kernel));
        assert_eq!(read(softirq), Some((2, true)));
        assert_eq!(read(program), Some((5, false)));
        assert_eq!(read("77 (cut) R 2"), None);
    }

    #[test]
    fn functions_of_a_started_program_are_named_and_its_thread_says_so() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let process = child.id();
        let maps = || fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        // From the start of its code on, when it is no longer this program's copy.
        let code = loop {
            let maps = maps();
            let line = maps
                .lines()
                .find(|line| line.contains("r-xp") && line.contains("sleep"));
            if let Some((from, _)) = line.and_then(|line| line.split_once('-')) {
                break u64::from_str_radix(from, 16).unwrap();
            }
        };
        let mut stacks = Stacks::default();
        let seen = Sample {
            mode: Mode::User,
            address: code,
            process,
            thread: process,
            chain: &[],
        };
        stacks.add(Context::User, &seen);
        let named = stacks.named(&mut Vec::new());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(named.names.len(), 2, "{:?}", named.names);
        assert!(
            named.names.contains(&format!("{STARTED_PROGRAM}sleep")),
            "{:?}",
            named.names
        );
        assert!(
            !named.names.contains(&"[user]".to_owned()),
            "{:?}",
            named.names
        );
    }

    #[test]
    fn a_long_name_is_cut_at_a_letter() {
        assert_eq!(shortened(&"é".repeat(200)).len(), MAX_NAME);
        assert_eq!(
            shortened(&format!("x{}", "é".repeat(200))).len(),
            MAX_NAME - 1
        );
    }
}
