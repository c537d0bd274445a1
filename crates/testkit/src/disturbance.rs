//! Whether a measurement had the machine: those that were disturbed are made again, whatever they gave.
//!
//! A machine whose cores are taken away for a while, by its hypervisor or by programs beside the test, is not what a
//! test has built. How much was taken say `/proc/stat` and the processes' own `stat`, and how long it stood still a
//! thread that only sleeps (not every hypervisor accounts what it takes), so that the repetition does not depend on
//! the result, and hides none. A test whose measurement stayed [`disturbed`](Measured::is_disturbed)
//! asserts only what must hold on any machine.

use linerate_model::Clock as _;
use linerate_sys::clock::MonoClock;
use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A measurement is disturbed when its hypervisor, or programs that are not the test's, take this share of all CPU
/// time: a tenth of one of two cores.
pub const DISTURBED: f64 = 0.05;

/// Most times that a measurement is made again.
const MAX_REPEATS: u32 = 3;

/// A machine that loses this share twice in a row is busy for good, beside a compiler say: no third try.
const BUSY: f64 = 0.2;

/// A measurement.
#[derive(Debug)]
pub struct Measured<T> {
    /// Of several, the one that was least disturbed.
    pub value: T,
    /// How often it was made again.
    pub repeats: u32,
    /// Share of all CPU time that went elsewhere while it was made.
    pub taken: f64,
}

impl<T> Measured<T> {
    /// Whether even the least disturbed one was disturbed.
    pub fn is_disturbed(&self) -> bool {
        self.taken >= DISTURBED
    }
}

/// A thread that sleeps a millisecond and wakes this much later stood still, with the whole machine or alone: a
/// scheduler with a few busy threads lets a sleeper run within some milliseconds.
const STOOD_STILL: Duration = Duration::from_millis(25);

/// Standing still for this share of the time is worth a share of [`DISTURBED`] of the CPU: what is sent meanwhile, or
/// not received, is a queue or a gap in a test of any kind.
const STILL: f64 = 0.01;

/// Measures once, and says how much of the CPU went elsewhere meanwhile.
pub fn observed<T>(measure: impl FnOnce() -> T) -> Measured<T> {
    once(0, measure, &mut CpuTime::now)
}

/// Measures, and again while [`DISTURBED`] or more of the CPU goes elsewhere meanwhile.
pub fn undisturbed<T>(mut measure: impl FnMut() -> T) -> Measured<T> {
    undisturbed_by(&mut measure, CpuTime::now)
}

fn undisturbed_by<T>(
    measure: &mut impl FnMut() -> T,
    mut now: impl FnMut() -> CpuTime,
) -> Measured<T> {
    let mut best = once(0, &mut *measure, &mut now);
    for repeats in 1..=MAX_REPEATS {
        if !best.is_disturbed() {
            break;
        }
        let again = once(repeats, &mut *measure, &mut now);
        best.repeats = repeats;
        if again.taken < best.taken {
            best = again;
        }
        if best.taken >= BUSY {
            break;
        }
    }
    best
}

fn once<T>(
    repeats: u32,
    measure: impl FnOnce() -> T,
    now: &mut impl FnMut() -> CpuTime,
) -> Measured<T> {
    let before = now();
    let (value, still) = while_watched(measure);
    let taken = now().taken_since(before);
    let taken = taken.max(still / STILL * DISTURBED);
    Measured {
        value,
        repeats,
        taken,
    }
}

/// Measures, and gives the share of the time for which a thread beside stood still.
fn while_watched<T>(measure: impl FnOnce() -> T) -> (T, f64) {
    std::thread::scope(|scope| {
        let (end, ended) = channel();
        let watch = scope.spawn(move || stood_still(&ended));
        let value = measure();
        // Also dropped by a measurement that panics: the thread ends then.
        drop::<Sender<()>>(end);
        (value, watch.join().unwrap_or_default())
    })
}

/// Sleeps until `ended`, and gives the share of the time that was [`STOOD_STILL`].
fn stood_still(ended: &Receiver<()>) -> f64 {
    let begin = MonoClock.now();
    let (mut last, mut still) = (begin, Duration::ZERO);
    while ended.recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Timeout) {
        let now = MonoClock.now();
        let gap = now.saturating_since(last);
        if gap >= STOOD_STILL {
            still += gap;
        }
        last = now;
    }
    let all = last.saturating_since(begin).as_secs_f64();
    if all > 0.0 {
        still.as_secs_f64() / all
    } else {
        0.0
    }
}

/// What the cores of this machine did since it started, in ticks.
#[derive(Debug, Clone, Copy, Default)]
struct CpuTime {
    all: f64,
    /// Taken by the hypervisor.
    stolen: f64,
    /// Spent in user space by any process of usual priority; those of low priority yield to a test. What the kernel does
    /// for packets is nobody's, and not looked at.
    user: f64,
    /// Of `user`, what this process and those that it started spent.
    own_user: f64,
}

impl CpuTime {
    /// All zero where the system does not tell.
    fn now() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        Self::read(&stat, own_user(&processes(), std::process::id()))
    }

    /// The line `cpu  user nice system idle iowait irq softirq steal guest …`; guest time is part of user time.
    fn read(stat: &str, own_user: f64) -> Self {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "));
        let ticks: Vec<f64> = line
            .into_iter()
            .flat_map(str::split_whitespace)
            .take(8)
            .filter_map(|word| word.parse().ok())
            .collect();
        let at = |index: usize| ticks.get(index).copied().unwrap_or_default();
        Self {
            all: ticks.iter().sum(),
            stolen: at(7),
            user: at(0),
            own_user,
        }
    }

    /// Share of the CPU time since `before` that the hypervisor and other programs took.
    fn taken_since(self, before: Self) -> f64 {
        let all = self.all - before.all;
        if all <= 0.0 {
            return 0.0;
        }
        let others = (self.user - before.user) - (self.own_user - before.own_user);
        (self.stolen - before.stolen + others.max(0.0)) / all
    }
}

/// A process, as its `stat` tells.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Process {
    parent: u32,
    /// Ticks in user space, with those of children that it has waited for.
    user: f64,
}

impl Process {
    /// `pid (name) state ppid … utime stime cutime cstime …`: fields 4, 14 and 16; the name may hold anything.
    fn read(stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            user: ticks(14)? + ticks(16)?,
        })
    }
}

/// Every process that this one may see.
fn processes() -> BTreeMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((id, Process::read(&stat)?))
        })
        .collect()
}

/// Ticks in user space of `own` and all that descend from it.
fn own_user(processes: &BTreeMap<u32, Process>, own: u32) -> f64 {
    let is_own = |mut id: u32| {
        // No deeper than there are processes, should parents change while they are read.
        for _ in 0..processes.len() {
            if id == own {
                return true;
            }
            match processes.get(&id) {
                Some(process) => id = process.parent,
                None => return false,
            }
        }
        false
    };
    let mine = processes.iter().filter(|(id, _)| is_own(**id));
    mine.map(|(_, process)| process.user).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measures 1, 2, 3, … while these shares are taken, in percent.
    fn measured(taken: &[u32]) -> Measured<u32> {
        let (mut made, mut reading) = (0, 0);
        let mut time = CpuTime::default();
        undisturbed_by(
            &mut || {
                made += 1;
                made
            },
            || {
                if reading % 2 == 1 {
                    time.all += 100.0;
                    time.stolen += f64::from(taken[reading / 2]);
                }
                reading += 1;
                time
            },
        )
    }

    #[test]
    fn a_disturbed_measurement_is_made_again() {
        let quiet = measured(&[4]);
        assert_eq!((quiet.value, quiet.repeats), (1, 0));
        let again = measured(&[5, 0]);
        assert_eq!((again.value, again.repeats), (2, 1));
        assert!(!again.is_disturbed());
    }

    #[test]
    fn of_disturbed_ones_the_least_disturbed_counts_and_says_so() {
        let all = measured(&[9, 7, 8, 10]);
        assert_eq!((all.value, all.repeats), (2, 3));
        assert!(all.is_disturbed());
    }

    #[test]
    fn a_busy_machine_is_not_waited_for() {
        assert_eq!(measured(&[50, 60, 0]).repeats, 1);
        assert_eq!(measured(&[50, 10, 0]).repeats, 2);
    }

    #[test]
    fn what_the_test_itself_uses_disturbs_nothing() {
        let stat =
            |user: u32, stolen: u32| format!("cpu  {user} 2 3 4 5 6 7 {stolen} 1 0\ncpu0 1 1\n");
        let before = CpuTime::read(&stat(1, 8), 1.0);
        let own = CpuTime::read(&stat(61, 48), 61.0);
        assert!((own.taken_since(before) - 0.4).abs() < 1e-9);
        let others = CpuTime::read(&stat(101, 8), 51.0);
        assert!((others.taken_since(before) - 0.5).abs() < 1e-9);
        assert!(CpuTime::read("", 0.0).taken_since(CpuTime::read("", 0.0)) < DISTURBED);
    }

    #[test]
    fn a_process_with_any_name_is_read() {
        let stat = "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 5";
        assert_eq!(
            Process::read(stat),
            Some(Process {
                parent: 7,
                user: 40.0
            })
        );
        assert_eq!(Process::read("42 (a) S"), None);
    }

    #[test]
    fn children_of_children_are_the_tests_own() {
        let process = |parent| Process { parent, user: 1.0 };
        let all = BTreeMap::from([
            (1, process(0)),
            (5, process(1)),
            (6, process(5)),
            (7, process(6)),
            (8, process(1)),
        ]);
        assert!((own_user(&all, 5) - 3.0).abs() < 1e-9);
    }
}
