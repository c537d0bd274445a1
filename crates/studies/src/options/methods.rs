//! Options of the methods by which a device is measured.

use super::draft::{duration, read, set};
use super::{Group, HelpLevel, SWITCH as ONLY, Usual, choice, list, option};
use linerate_model::Ratio;
use std::time::Duration;

pub(super) static METHODS: Group = Group {
    heading: "Methods",
    options: &[
        list(
            "method",
            ONLY,
            "METHOD",
            "How the device is measured, one after the other",
        )
        .shown(HelpLevel::Short)
        .usual("throughput")
        .choices(choice::methods)
        .is_beside(true)
        .page("switch.md#methods")
        .sets(|d, v| {
            d.device.methods.clear();
            v.split(',').try_for_each(|id| d.device.measure_by(id))
        }),
        option(
            "addresses",
            ONLY,
            "N",
            "address-table, learning-rate: addresses that are taught, to 1000000",
        )
        .usual("10000")
        .is_beside(true)
        .sets(|d, v| set(&mut d.device.method_settings.addresses, addresses(v))),
        option(
            "bursts",
            ONLY,
            "N",
            "back-to-back: tests whose longest bursts are averaged; RFC 9004 asks for 50",
        )
        .usual("50")
        .is_beside(true)
        .sets(|d, v| set(&mut d.device.method_settings.bursts, at_least_one(v))),
        option(
            "loss-step",
            ONLY,
            "SHARE",
            "loss-curve: step from one load to the next, of the highest",
        )
        .usual("10%")
        .is_beside(true)
        .sets(|d, v| set(&mut d.device.method_settings.loss_step, step(v))),
        option("resets", ONLY, "N", "reset: how often the device is reset")
            .usual("3")
            .is_beside(true)
            .sets(|d, v| set(&mut d.device.method_settings.resets, at_least_one(v))),
        option(
            "reset-time",
            ONLY,
            "TIME",
            "reset: length of each trial; the device must forward again before its end",
        )
        .usual("5s")
        .is_beside(true)
        .sets(|d, v| {
            set(
                &mut d.device.method_settings.reset_time,
                longer_than_nothing(v),
            )
        }),
        option(
            "reset-command",
            ONLY,
            "COMMAND",
            "reset: shell command that resets the device",
        )
        .otherwise(Usual::Words("what a device of `dut` has"))
        .is_beside(true)
        .sets(|d, v| {
            set(
                &mut d.device.method_settings.reset_command,
                Ok(Some(v.to_owned())),
            )
        }),
        option(
            "soak",
            ONLY,
            "TIME",
            "soak: length of the trial; critical-load: of all trials",
        )
        .usual("1h")
        .is_beside(true)
        .sets(|d, v| set(&mut d.device.method_settings.soak, longer_than_nothing(v))),
        option(
            "soak-load",
            ONLY,
            "SHARE",
            "soak: its load, of the throughput with the largest loss goal",
        )
        .usual("90%")
        .is_beside(true)
        .sets(|d, v| set(&mut d.device.method_settings.soak_load, read(v))),
        option(
            "target-loss",
            ONLY,
            "RATIO",
            "critical-load: average loss ratio at that load",
        )
        .usual("1e-7")
        .is_beside(true)
        .sets(|d, v| set(&mut d.device.method_settings.target_loss, target(v))),
    ],
};

fn at_least_one(text: &str) -> Result<u32, String> {
    let number: u32 = read(text)?;
    (number > 0)
        .then_some(number)
        .ok_or_else(|| "must be at least 1".to_owned())
}

/// Enough for the largest table, in some minutes.
fn addresses(text: &str) -> Result<u32, String> {
    at_least_one(text).and_then(|count| {
        let is_meaningful = count <= 1_000_000;
        is_meaningful
            .then_some(count)
            .ok_or_else(|| "must be at most 1000000".to_owned())
    })
}

fn longer_than_nothing(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    (!time.is_zero())
        .then_some(time)
        .ok_or_else(|| "must be longer than 0s".to_owned())
}

/// A load that loses all or nothing on average is no critical load.
fn target(text: &str) -> Result<Ratio, String> {
    let target: Ratio = read(text)?;
    let is_between = target > Ratio::ZERO && target.get() < 1.0;
    is_between
        .then_some(target)
        .ok_or_else(|| "must be above 0 and below 1".to_owned())
}

/// 200 trials at most, and two at least.
fn step(text: &str) -> Result<Ratio, String> {
    let step: Ratio = read(text)?;
    (0.005..=0.5)
        .contains(&step.get())
        .then_some(step)
        .ok_or_else(|| "must be from 0.5% to 50%".to_owned())
}
