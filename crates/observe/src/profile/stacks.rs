//! Counts equal stacks in bounded memory, and names them at the end.

use super::{kernel_symbols, user_symbols};
use crate::text::tidy;
use linerate_model::profile::{
    MAX_FRAMES, MAX_NAME, MAX_NAMES, MAX_STACKS, OTHER_PROGRAMS, ProfileStack,
};
use linerate_sys::perf::Sample;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Maximum different stacks of addresses: at 400 bytes each 6.5 MB. Two ends of a busy loopback made 900 in ten
/// seconds.
const MAX_DISTINCT: usize = 16 * 1024;
/// Maximum threads whose names are kept.
const MAX_THREADS: usize = 1024;

/// Whose code was running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Context {
    Kernel,
    /// This process's code.
    OwnCode,
    /// Another process's code.
    OtherCode,
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
    /// This process's or the kernel's.
    Ours,
    /// Another program's.
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
        let addresses = match (context, sample.chain) {
            (Context::OtherCode, _) => Vec::new(),
            (_, []) => vec![sample.address],
            // One frame is reserved for the thread.
            (_, chain) => chain[..chain.len().min(MAX_FRAMES - 1)].to_vec(),
        };
        let stack = Stack {
            thread: self.thread(sample),
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

    /// Looks up all names. What cannot be named is noted in `remarks`.
    pub(super) fn named(self, remarks: &mut Vec<String>) -> SymbolizedStacks {
        let of = |context: Context| -> BTreeSet<u64> {
            let stacks = self.counts.keys().filter(|stack| stack.context == context);
            stacks.flat_map(Stack::lookups).collect()
        };
        let kernel = kernel_symbols::names(&of(Context::Kernel), remarks);
        let own = user_symbols::names(&of(Context::OwnCode), remarks);
        let mut merged: BTreeMap<Frames<'_>, u64> = BTreeMap::new();
        for (stack, count) in &self.counts {
            let mut frames = match self.threads.get(&stack.thread) {
                Some(thread) if thread.owner == Owner::Ours => vec![thread.name.as_str()],
                // The peer must not learn the names of this host's programs.
                Some(_) | None => vec![OTHER_PROGRAMS],
            };
            match stack.context {
                Context::OtherCode => frames.push("[user]"),
                Context::OwnCode => frames.extend(stack.frames(&own, "[user]")),
                Context::Kernel => frames.extend(stack.frames(&kernel, "[kernel]")),
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
                owner: Owner::Ours,
            };
        }
        let comm = fs::read_to_string(format!("/proc/{process}/task/{thread}/comm"));
        let name = comm.ok().and_then(|name| tidy(&name));
        let stat = fs::read_to_string(format!("/proc/{process}/stat"));
        let is_kernel = stat.is_ok_and(|stat| is_kernel_thread(&stat));
        Self {
            name: name.map_or_else(|| "ended thread".to_owned(), |name| without_core(&name)),
            owner: if is_kernel || process == std::process::id() {
                Owner::Ours
            } else {
                Owner::Theirs
            },
        }
    }
}

/// Whether a thread is the kernel's, by the flags in `/proc/PID/stat`: a program that is ending has no command line
/// either.
fn is_kernel_thread(stat: &str) -> bool {
    const PF_KTHREAD: u64 = 0x0020_0000;
    // The name in parentheses may contain anything; after it come state, ppid, pgrp, session, tty, tpgid, flags.
    let flags = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_ascii_whitespace().nth(6)?.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & PF_KTHREAD != 0)
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
        let program = "77 (a) b) R 2 0 0 0 -1 4194304 0 0 0 0 0 0";
        assert!(is_kernel_thread(softirq));
        assert!(!is_kernel_thread(program));
        assert!(!is_kernel_thread("77 (cut) R 2"));
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
