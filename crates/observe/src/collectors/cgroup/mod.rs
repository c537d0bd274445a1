//! CPU quota of this process's control group: how often and how long it was stopped.
//!
//! A quota counts in the group that has it, so the counters of the process's group and of every
//! group above it, as far as this process can see, are added up. Where two levels stop it at once
//! their times overlap: the time is an upper bound then.
//!
//! # References
//! - Linux `Documentation/scheduler/sched-bwc.rst`; `Documentation/admin-guide/cgroup-v2.rst`

use super::{Collector, record, record_missing};
use crate::error::ReadError;
use crate::host_view::HostView;
use crate::text::whole_lines;
use linerate_model::signals::{CGROUP_THROTTLED, CGROUP_THROTTLED_NS};

const MEMBERSHIP: &str = "proc/self/cgroup";

/// Common mount points of the version 1 cpu controller.
const V1_MOUNTS: &[&str] = &["sys/fs/cgroup/cpu", "sys/fs/cgroup/cpu,cpuacct"];

/// Common mount points of version 2; the second beside a version 1 hierarchy.
const V2_MOUNTS: &[&str] = &["sys/fs/cgroup", "sys/fs/cgroup/unified"];

/// Maximum nesting of groups. systemd and container managers stay below ten.
const DEPTH_MAX: usize = 32;

pub(super) static COLLECTOR: Collector = Collector {
    signals: &[CGROUP_THROTTLED, CGROUP_THROTTLED_NS],
    read: |host, into| match throttling(host) {
        Ok(sum) => {
            record(into, CGROUP_THROTTLED, Ok(sum.times));
            record(into, CGROUP_THROTTLED_NS, Ok(sum.nanos));
        }
        Err(error) => record_missing(into, COLLECTOR.signals, &error),
    },
    ..Collector::new(
        "cgroup",
        "How often and how long the CPU quota of its control group stopped this process.",
    )
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Throttling {
    times: u64,
    nanos: u64,
}

fn throttling(host: &HostView<'_>) -> Result<Throttling, ReadError> {
    let membership = host.text(MEMBERSHIP)?;
    let (mounts, group) = match cpu_group(&membership) {
        Some(Group::V1(group)) => (V1_MOUNTS, group),
        Some(Group::V2(group)) => (V2_MOUNTS, group),
        None => {
            return Err(ReadError::no_field(
                MEMBERSHIP,
                "group with the cpu controller",
            ));
        }
    };
    let mut last = None;
    for mount in mounts {
        match sum_upwards(host, mount, group) {
            Ok(sum) => return Ok(sum),
            Err(error) => last = last.or(Some(error)),
        }
    }
    Err(last.expect("invariant: there is at least one place to look"))
}

/// Adds `group` and all its ancestors. In a container the path is the host's while the mount shows only what is below
/// the container's group: levels that do not exist are skipped.
fn sum_upwards(host: &HostView<'_>, mount: &str, group: &str) -> Result<Throttling, ReadError> {
    let mut sum = None;
    let mut first_error = None;
    for level in levels(group) {
        match host.read(&format!("{mount}{level}/cpu.stat")) {
            Ok(text) => sum = Some(add(sum.unwrap_or_default(), parse(&text))),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    sum.ok_or_else(|| first_error.expect("invariant: the root is always a level"))
}

/// `/a/b` gives `/a/b`, `/a` and the root, as the empty path. Never leaves the mount.
fn levels(group: &str) -> impl Iterator<Item = &str> {
    let group = group.trim_end_matches('/');
    let group = if group.split('/').any(|part| part == "..") {
        ""
    } else {
        group
    };
    std::iter::successors(Some(group), |level| Some(&level[..level.rfind('/')?])).take(DEPTH_MAX)
}

#[derive(Debug, PartialEq, Eq)]
enum Group<'a> {
    V1(&'a str),
    V2(&'a str),
}

/// The group whose quota applies to this process: version 1's if its cpu controller is in use.
fn cpu_group(membership: &str) -> Option<Group<'_>> {
    let mut unified = None;
    for line in whole_lines(membership) {
        let mut parts = line.splitn(3, ':');
        let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        if controllers.split(',').any(|controller| controller == "cpu") {
            return Some(Group::V1(path));
        }
        if id == "0" && controllers.is_empty() {
            unified = Some(Group::V2(path));
        }
    }
    unified
}

/// Parses `cpu.stat` of one group. A group without a quota has no throttling counters.
fn parse(text: &str) -> Throttling {
    let value = |key: &str| {
        whole_lines(text).find_map(|line| {
            let (name, value) = line.split_once(' ')?;
            (name == key).then(|| value.trim().parse::<u64>().ok())?
        })
    };
    let v2 = value("throttled_usec").map(|micros| micros.saturating_mul(1000));
    Throttling {
        times: value("nr_throttled").unwrap_or(0),
        nanos: v2.or_else(|| value("throttled_time")).unwrap_or(0),
    }
}

fn add(a: Throttling, b: Throttling) -> Throttling {
    Throttling {
        times: a.times.saturating_add(b.times),
        nanos: a.nanos.saturating_add(b.nanos),
    }
}

#[cfg(test)]
mod tests;
