//! Where the time of a round trip goes, as far as the run tells.

use super::point::Point;
use crate::causes::words;
use linerate_model::one_way::{Decomposition, Stage};
use linerate_model::spec::WaitMode;

/// What is known best: from the kernel's stamps, else from blocking against spinning, else from CPU time.
pub(super) fn where_time_goes(points: &[Point<'_>]) -> Option<String> {
    let stamped = points.iter().find_map(|point| {
        let parts = point.trial.decomposition()?;
        of_parts(point, parts)
    });
    let plain = || points.iter().find(|point| !point.is_stamped);
    stamped
        .or_else(|| waking_up(points))
        .or_else(|| plain().and_then(processing))
}

linerate_model::named_enum! {
    /// What is one thing to those who tune a host.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Group {
        ReceiveStack = "the receive stacks and waking up",
        SendStack = "the send stacks",
        Wire = "drivers, interrupts and wire",
        Queue = "the queueing disciplines",
        Application = "the applications",
    }
}

impl Group {
    const fn of(stage: Stage) -> Self {
        match stage {
            Stage::NearApplication | Stage::FarApplication => Self::Application,
            Stage::NearSendStack | Stage::FarSendStack => Self::SendStack,
            Stage::NearQueue | Stage::FarQueue => Self::Queue,
            Stage::Wire => Self::Wire,
            Stage::NearReceiveStack | Stage::FarReceiveStack => Self::ReceiveStack,
        }
    }
}

fn of_parts(point: &Point<'_>, parts: &Decomposition) -> Option<String> {
    let total: f64 = parts.parts.iter().filter_map(|p| p.delay.mean_ns).sum();
    if total <= 0.0 {
        return None;
    }
    let mut groups: Vec<(Group, f64)> = Group::ALL
        .map(|group| {
            let own = parts.parts.iter().filter(|p| Group::of(p.stage) == group);
            (group, own.filter_map(|p| p.delay.mean_ns).sum())
        })
        .to_vec();
    groups.sort_by(|a, b| b.1.total_cmp(&a.1));
    let shares = groups.iter().map(|(group, time)| {
        let share = words::percent(time / total);
        format!("{share} {group}")
    });
    let shares: Vec<_> = shares.collect();
    Some(format!(
        "Where {} spends a mean round trip of {}, both ends together: {}.",
        point.name(),
        words::time(total),
        shares.join(", ")
    ))
}

/// Blocking against spinning on the same sockets: what is gone is sleeping and waking up.
fn waking_up(points: &[Point<'_>]) -> Option<String> {
    let block = points
        .iter()
        .find(|p| !p.is_stamped && p.waits(WaitMode::Block))?;
    let spin = points.iter().find(|p| {
        p.waits(WaitMode::Spin)
            && p.is_alike_but_for_the_mode(block)
            && p.is_loaded() == block.is_loaded()
    })?;
    let gone = block.p50 - spin.p50;
    (gone > 0.0).then(|| {
        format!(
            "Sleeping and waking up take {} of block's {} ({}): they are gone when both ends spin.",
            words::time(gone),
            words::time(block.p50),
            words::percent(gone / block.p50)
        )
    })
}

/// The part of a mean round trip in which a traffic thread of either end ran.
fn processing(point: &Point<'_>) -> Option<String> {
    if !point.waits(WaitMode::Block) {
        return None;
    }
    let (cpu, mean) = (point.cpu_time()?, point.mean()?);
    (cpu < mean).then(|| {
        format!(
            "With block, the traffic threads of both ends run for {} of a mean round trip of {} ({}); the rest is interrupts, wire and waking up.",
            words::time(cpu),
            words::time(mean),
            words::percent(cpu / mean)
        )
    })
}
