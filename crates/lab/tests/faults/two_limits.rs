//! Two limits at once: a sender that may use a share of a core, and a shaper a fifth above what that lets it send.
//!
//! Both must be named, and what the verdict says would come next must be what comes once the quota is taken away.

use crate::guard::Guard;
use crate::rig::{self, Proof};
use crate::scene::{Place, Scene, Test, kib, mbit, reverse};
use anyhow::{Context as _, Result};
use linerate_model::BitRate;
use linerate_model::run::{Run, Trial};
use linerate_model::spec::{Pace, Side, TestSpec};
use linerate_testbed::HostId;
use std::fmt::Write as _;
use std::time::Duration;

/// Of one core.
const SHARE: f64 = 0.08;
/// What the shaper lets pass, as a multiple of what the quota does.
const ABOVE: f64 = 1.2;
/// What the shaper lets pass at once, at its rate.
const BUCKET: Duration = Duration::from_millis(150);
/// What the verdict says of the rate after relief may be off by so much.
const TOLERANCE: f64 = 0.15;
/// A frame without FCS and its payload, of TCP; of UDP it is 24 bytes less.
const FRAME_OF_PAYLOAD: f64 = 1514.0 / 1448.0;

/// The shaper lets so much more pass than the two together did, or they limited as one.
const LEAST_ABOVE: f64 = 1.1;
/// What a quota lets pass changes with the kernel's timing of it.
const MOST_TRIES: usize = 3;

/// Builds both for TCP and for datagrams: what was found, a line each, and whether the verdicts were right.
pub(crate) fn are_named(guard: &mut Guard) -> Result<(String, bool)> {
    let datagrams = |spec: &mut TestSpec| {
        reverse(spec);
        spec.work.set_pace(Pace::Unpaced);
        // A quota's bursts overflow a socket of the usual size: a third limit.
        spec.socket.receive_buffer_bytes = Some(kib(4096));
    };
    let tests = [
        ("TCP", Test::tcp(reverse)),
        ("UDP", Test::udp(mbit(1), datagrams)),
    ];
    let (mut text, mut good) = ("Two limits at once:".to_owned(), true);
    for (name, test) in tests {
        let found = play_as_meant(&test, guard)?;
        let _ = write!(text, "\n- {name}: {}", found.text());
        good &= found.is_right();
    }
    Ok((text, good))
}

/// The first of some tries in which the quota limited, and the shaper above it.
fn play_as_meant(test: &Test, guard: &mut Guard) -> Result<Found> {
    let mut found = play(test, guard)?;
    for _ in 1..MOST_TRIES {
        if found.is_as_meant() {
            break;
        }
        found = play(test, guard)?;
    }
    Ok(found)
}

/// What was measured, and what was said.
struct Found {
    quota_alone: BitRate,
    shaper_alone: BitRate,
    together: BitRate,
    both: Box<Run>,
    is_disturbed: bool,
}

fn play(test: &Test, guard: &mut Guard) -> Result<Found> {
    // The peer sends, so that its process alone has the quota and its interface the shaper.
    let bare = || Scene::direct(test.clone());
    let alone = rig::play(&bare().quota(SHARE), Proof::Waived, guard)?;
    let quota_alone = rate(&alone.run)?;
    let frames = BitRate::from_f64(quota_alone.as_f64() * ABOVE * FRAME_OF_PAYLOAD);
    // A quota lets its process run for a part of each tenth of a second: a smaller bucket would hold back what is sent then,
    // and both would limit at once, each far below its own rate.
    let bucket = frames.as_f64() / 8.0 * BUCKET.as_secs_f64();
    let tbf = format!(
        "qdisc add dev eth0 root tbf rate {}bit burst {bucket:.0} limit {bucket:.0}",
        frames.bps()
    );
    let shaped = |scene: Scene| scene.tc(Place::Host(HostId::B), &tbf);
    let both = rig::play(&shaped(bare().quota(SHARE)), Proof::Waived, guard)?;
    let relieved = rig::play(&shaped(bare()), Proof::Waived, guard)?;
    Ok(Found {
        quota_alone,
        shaper_alone: rate(&relieved.run)?,
        together: rate(&both.run)?,
        is_disturbed: alone.is_disturbed || both.is_disturbed || relieved.is_disturbed,
        both: Box::new(both.run),
    })
}

fn rate(run: &Run) -> Result<BitRate> {
    let rates = run.trials.iter().filter(|trial| trial.valid);
    let most = rates.filter_map(|trial: &Trial| trial.received_rate).max();
    most.context("no valid trial")
}

impl Found {
    /// What others take away is a limit of its own.
    fn is_as_meant(&self) -> bool {
        let above = self.shaper_alone.as_f64() / self.together.as_f64();
        !self.is_disturbed && above >= LEAST_ABOVE
    }

    fn is_right(&self) -> bool {
        let Some(verdict) = self.both.verdict.as_ref().filter(|_| self.is_as_meant()) else {
            return false;
        };
        let next = verdict
            .weighed
            .as_ref()
            .and_then(|weighed| weighed.next.as_ref());
        let is_next = next.is_some_and(|next| {
            let off = next.rate.as_f64() / self.shaper_alone.as_f64() - 1.0;
            next.limit.id() == "link" && off.abs() <= TOLERANCE
        });
        verdict.limit.id() == "sender-cpu" && verdict.side == Some(Side::Sender) && is_next
    }

    fn text(&self) -> String {
        let said = self.both.verdict.as_ref().map_or_else(
            || "nothing".to_owned(),
            |verdict| {
                let weighed = verdict.weighed.as_ref();
                let next = weighed.and_then(|weighed| weighed.next.as_ref());
                let next = next.map_or_else(
                    || "nothing known".to_owned(),
                    |next| format!("{} at {}", next.limit.id(), next.rate),
                );
                format!("{} limits, then {next}", verdict.limit.id())
            },
        );
        format!(
            "a quota lets {} pass, a shaper {}, both {}; of both is said: {said}{}",
            self.quota_alone,
            self.shaper_alone,
            self.together,
            if self.is_as_meant() {
                ""
            } else {
                " (not judged: disturbed, or not built as meant)"
            }
        )
    }
}
