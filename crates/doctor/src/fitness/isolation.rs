//! Cores reserved for measurements.

use super::{FitnessCheck, fine, found, words};
use linerate_model::doctor::{Finding, Severity};

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "isolation",
    summary: "Cores that the scheduler and the timer tick leave alone.",
    examine: |condition| {
        let isolated = condition.isolated.as_ref().map_err(Clone::clone)?;
        // A kernel without CONFIG_NO_HZ_FULL has neither the file nor such cores.
        let tickless = condition.tickless.clone().unwrap_or_default();
        let (is_free, whose) = match condition.core {
            Some(core) => (isolated.has(core), format!("core {core} is")),
            None => (!isolated.is_empty(), "no core is".to_owned()),
        };
        if is_free {
            let ticks = if tickless.is_empty() {
                "with a timer tick".to_owned()
            } else {
                format!("without tick: {}", words::cores(&tickless))
            };
            return Ok(fine(format!(
                "isolated: {}; {ticks}",
                words::cores(isolated)
            )));
        }
        let example = condition
            .core
            .map_or_else(|| "N".to_owned(), |core| core.to_string());
        Ok(found(Finding {
            severity: if condition.core.is_some() {
                Severity::Medium
            } else {
                Severity::Low
            },
            now: if condition.core.is_some() {
                format!("{whose} not isolated")
            } else {
                format!("{whose} isolated")
            },
            cost: "the scheduler may put other threads on a measuring core, and the timer interrupts it 100 to 1000 times a second (CONFIG_HZ); `--jitter` measures what that takes"
                .to_owned(),
            source: Some("Documentation/timers/no_hz.rst; kernel-parameters.txt, isolcpus and nohz_full".to_owned()),
            set: format!(
                "boot with isolcpus={example} nohz_full={example} rcu_nocbs={example}, and measure there with --cpu"
            ),
            settings: Vec::new(),
        }))
    },
};
