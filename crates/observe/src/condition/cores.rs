//! Cores: clocks, idle states, isolation, SMT siblings and NUMA nodes, and the clock source.

use super::{known, line, live, number, numbered};
use crate::host_view::HostView;
use crate::text::whole_lines;
use linerate_model::condition::{ClockPolicy, ClockSource, CoreSet, IdleState, Node, ReadResult};
use linerate_model::{Clock, Ratio};
use linerate_sys::clock::{MonoClock, sleep_until};
use std::collections::BTreeSet;
use std::io::Read as _;
use std::time::Duration;

const CPU: &str = "sys/devices/system/cpu";

pub(super) fn online(host: &HostView<'_>) -> ReadResult<CoreSet> {
    list(host, "online")
}

/// A core list in a file of `/sys/devices/system/cpu`; newer kernels print an empty one as `(null)`.
pub(super) fn list(host: &HostView<'_>, file: &str) -> ReadResult<CoreSet> {
    let path = format!("{CPU}/{file}");
    let text = known(host.read(&path))?;
    let text = text.trim();
    let text = if text == "(null)" { "" } else { text };
    CoreSet::parse(text).ok_or_else(|| format!("/{path} is not a list of cores"))
}

pub(super) fn clocks(host: &HostView<'_>) -> ReadResult<Vec<ClockPolicy>> {
    let directory = format!("{CPU}/cpufreq");
    let numbers = numbered(host, &directory, "policy");
    if numbers.is_empty() {
        return Err(format!(
            "/{directory} has no policy: this kernel, or the hypervisor above it, does not show the cores' clocks"
        ));
    }
    let policy = |number_: u32| {
        let at = format!("{directory}/policy{number_}");
        let hertz = |file: &str| -> Option<u64> {
            number::<u64>(host, &format!("{at}/{file}"))
                .ok()?
                .checked_mul(1000)
        };
        let offered = line(host, &format!("{at}/scaling_available_governors"));
        Ok(ClockPolicy {
            number: number_,
            governor: line(host, &format!("{at}/scaling_governor"))?,
            offered: words(&offered.unwrap_or_default()),
            now_hz: hertz("scaling_cur_freq"),
            max_hz: hertz("cpuinfo_max_freq"),
        })
    };
    numbers.into_iter().map(policy).collect()
}

/// Whether boost is enabled; `intel_pstate` reports the inverse of other drivers.
pub(super) fn boost(host: &HostView<'_>) -> ReadResult<bool> {
    let others = number::<u8>(host, &format!("{CPU}/cpufreq/boost")).map(|on| on != 0);
    others.or_else(|why| {
        let without = number::<u8>(host, &format!("{CPU}/intel_pstate/no_turbo"));
        without.map(|off| off == 0).map_err(|_| why)
    })
}

pub(super) fn idle_states(host: &HostView<'_>) -> ReadResult<Vec<IdleState>> {
    // Without a cpuidle driver there are no idle states; the file says so.
    line(host, &format!("{CPU}/cpuidle/current_driver"))?;
    let mut states = Vec::new();
    for core in numbered(host, CPU, "cpu") {
        let directory = format!("{CPU}/cpu{core}/cpuidle");
        for state in numbered(host, &directory, "state") {
            let at = format!("{directory}/state{state}");
            states.push(IdleState {
                core,
                state,
                name: line(host, &format!("{at}/name"))?,
                exit_us: number(host, &format!("{at}/latency"))?,
                is_allowed: number::<u32>(host, &format!("{at}/disable"))? == 0,
            });
        }
    }
    Ok(states)
}

/// The CPU wake-up latency limit in µs, in the host's byte order; only root may open the device.
pub(super) fn wake_limit(host: &HostView<'_>) -> ReadResult<u32> {
    live(host, || {
        const DEVICE: &str = "dev/cpu_dma_latency";
        let failed = |error: std::io::Error| format!("/{DEVICE}: {error}");
        let mut bytes = [0; 4];
        let mut device = host.files().device(DEVICE).map_err(failed)?;
        device.read_exact(&mut bytes).map_err(failed)?;
        u32::try_from(i32::from_ne_bytes(bytes))
            .map_err(|_| format!("/{DEVICE} holds a negative time"))
    })
}

pub(super) fn siblings(host: &HostView<'_>) -> ReadResult<Vec<CoreSet>> {
    let mut groups = BTreeSet::new();
    for core in online(host)?.0 {
        let path = format!("{CPU}/cpu{core}/topology/thread_siblings_list");
        let text = line(host, &path)?;
        let group =
            CoreSet::parse(&text).ok_or_else(|| format!("/{path} is not a list of cores"))?;
        if group.0.len() > 1 {
            groups.insert(group);
        }
    }
    Ok(groups.into_iter().collect())
}

pub(super) fn nodes(host: &HostView<'_>) -> ReadResult<Vec<Node>> {
    const NODES: &str = "sys/devices/system/node";
    let numbers = numbered(host, NODES, "node");
    if numbers.is_empty() {
        return Err(format!("/{NODES} has no node: this kernel knows none"));
    }
    let node = |number: u32| {
        let at = format!("{NODES}/node{number}");
        let cores = known(host.read(&format!("{at}/cpulist")))?;
        let distances = line(host, &format!("{at}/distance")).unwrap_or_default();
        Ok(Node {
            number,
            cores: CoreSet::parse(&cores)
                .ok_or_else(|| format!("/{at}/cpulist is not a list of cores"))?,
            distances: words(&distances)
                .iter()
                .filter_map(|word| word.parse().ok())
                .collect(),
        })
    };
    numbers.into_iter().map(node).collect()
}

/// Ticks of the whole host since boot: user, nice, system, idle, iowait, irq, softirq, steal.
fn ticks(host: &HostView<'_>) -> ReadResult<[u64; 8]> {
    const PATH: &str = "proc/stat";
    // Read anew each time, where a view keeps what it has read.
    let text = known(host.read(PATH))?;
    let columns = whole_lines(&text).find_map(|line| line.strip_prefix("cpu "));
    let ticks: Vec<u64> = columns
        .into_iter()
        .flat_map(str::split_ascii_whitespace)
        .map_while(|word| word.parse().ok())
        .take(8)
        .collect();
    ticks
        .try_into()
        .map_err(|_| format!("/{PATH} has no column for stolen time"))
}

fn sum(ticks: &[u64]) -> u64 {
    ticks.iter().fold(0, |sum, t| sum.saturating_add(*t))
}

/// Share of steal time since boot.
pub(super) fn stolen(host: &HostView<'_>) -> ReadResult<Ratio> {
    let all = ticks(host)?;
    Ok(Ratio::from_parts(all[7], sum(&all)))
}

/// Share of all cores' time that is in use, over a quarter of a second in which this program does nothing.
pub(super) fn busy(host: &HostView<'_>) -> ReadResult<Ratio> {
    const LOOK: Duration = Duration::from_millis(250);
    live(host, || {
        let before = ticks(host)?;
        sleep_until(MonoClock.now().after(LOOK));
        let mut gained = ticks(host)?;
        for (now, then) in gained.iter_mut().zip(before) {
            *now = now.saturating_sub(then);
        }
        let idle = sum(&gained[3..5]);
        let all = sum(&gained);
        if all == 0 {
            return Err("/proc/stat did not count in a quarter of a second".to_owned());
        }
        Ok(Ratio::from_parts(all.saturating_sub(idle), all))
    })
}

pub(super) fn clock_source(host: &HostView<'_>) -> ReadResult<ClockSource> {
    const AT: &str = "sys/devices/system/clocksource/clocksource0";
    let available = line(host, &format!("{AT}/available_clocksource"));
    Ok(ClockSource {
        current: line(host, &format!("{AT}/current_clocksource"))?,
        available: words(&available.unwrap_or_default()),
        reading_ns: host.is_live().then(|| reading_cost(&MonoClock)),
    })
}

/// Median time between two readings of the clock, nanoseconds.
pub(crate) fn reading_cost(clock: &impl Clock) -> u64 {
    const READINGS: usize = 1001;
    let mut before = clock.now();
    let mut gaps = [0_u64; READINGS];
    for gap in &mut gaps {
        let now = clock.now();
        *gap = now.as_nanos().saturating_sub(before.as_nanos());
        before = now;
    }
    gaps.sort_unstable();
    gaps[READINGS / 2]
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
