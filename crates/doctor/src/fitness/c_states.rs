//! CPU idle states with long exit latency.

use super::{FitnessCheck, fine, found, setting, words};
use linerate_model::condition::{CoreSet, IdleState};
use linerate_model::doctor::{Finding, Severity};
use linerate_model::knob::{Consent, Knob};

/// Exit latency below which a state costs less than one pass of a packet through the stack, µs.
const SHORT_US: u64 = 10;
/// Exit latency above a round trip in a rack, µs.
const LONG_US: u64 = 50;

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "c-states",
    summary: "Idle states of the cores and the time to leave them; /dev/cpu_dma_latency.",
    examine: |condition| {
        let states = condition.idle_states.as_ref().map_err(Clone::clone)?;
        let limit = condition.wake_limit_us.as_ref().ok().copied();
        let is_used = |state: &&IdleState| {
            state.is_allowed && limit.is_none_or(|limit| state.exit_us <= u64::from(limit))
        };
        let slow: Vec<_> = states
            .iter()
            .filter(is_used)
            .filter(|state| state.exit_us > SHORT_US)
            .collect();
        let Some(deepest) = slow.iter().max_by_key(|state| state.exit_us) else {
            return Ok(fine(quick(states, limit)));
        };
        let cores: CoreSet = slow.iter().map(|state| state.core).collect();
        Ok(found(Finding {
            severity: if deepest.exit_us >= LONG_US {
                Severity::High
            } else {
                Severity::Medium
            },
            now: format!(
                "{} takes {} µs to leave; states slower than {SHORT_US} µs are allowed on {}",
                deepest.name,
                deepest.exit_us,
                words::cores(&cores)
            ),
            cost: format!(
                "a packet that comes to an idle core waits up to {} µs for it to wake, as its driver states; a closed loop that blocks pays that on each message",
                deepest.exit_us
            ),
            source: Some(
                "Documentation/admin-guide/pm/cpuidle.rst; sysfs cpuidle/stateN/latency".to_owned(),
            ),
            set: format!(
                "cpupower idle-set -D {SHORT_US}; or hold 0 in /dev/cpu_dma_latency open while measuring. That ends with the process that holds it, so --apply forbids the states instead"
            ),
            settings: slow.iter().map(|state| ban(state)).collect(),
        }))
    },
};

fn ban(state: &IdleState) -> linerate_model::knob::Setting {
    let knob = Knob::IdleState {
        core: state.core,
        state: state.state,
    };
    setting(Consent::Safe, knob, "1")
}

fn quick(states: &[IdleState], limit: Option<u32>) -> String {
    let slowest = states.iter().filter(|state| state.is_allowed);
    match slowest.max_by_key(|state| state.exit_us) {
        None if states.is_empty() => {
            "the kernel chooses no idle states here; those of a hypervisor below are not seen"
                .to_owned()
        }
        None => "every idle state is forbidden".to_owned(),
        Some(state) if state.exit_us > SHORT_US => format!(
            "{} would take {} µs to leave, but a process holds /dev/cpu_dma_latency at {} µs",
            state.name,
            state.exit_us,
            limit.unwrap_or_default()
        ),
        Some(state) => format!(
            "the slowest, {}, takes {} µs to leave",
            state.name, state.exit_us
        ),
    }
}
