//! Visibility of the kernel, and tracers that slow it down.

use super::{FitnessCheck, fine, found, setting};
use linerate_model::doctor::{Finding, Severity};
use linerate_model::knob::{Consent, Knob};

const PARANOID: &str = "kernel.perf_event_paranoid";
const POINTERS: &str = "kernel.kptr_restrict";

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "tracing",
    summary: "Kernel options that profiles and drop reasons need; tracers that are running.",
    examine: |condition| {
        let tracing = condition.tracing.as_ref().map_err(Clone::clone)?;
        if let Some(tracer) = &tracing.tracer {
            return Ok(found(Finding {
                severity: Severity::High,
                now: format!("the tracer {tracer} is running"),
                cost: "it writes a record in the paths that packets take".to_owned(),
                source: Some("Documentation/trace/ftrace.rst".to_owned()),
                set: "echo nop > /sys/kernel/tracing/current_tracer".to_owned(),
                settings: Vec::new(),
            }));
        }
        let mut now = Vec::new();
        let mut set = Vec::new();
        let mut settings = Vec::new();
        if !tracing.has_types {
            now.push("the kernel does not describe its types: no drop reasons".to_owned());
            set.push("a kernel with CONFIG_DEBUG_INFO_BTF".to_owned());
        }
        if !tracing.is_privileged {
            for (name, most) in [(PARANOID, 0), (POINTERS, 0)] {
                let value = condition.sysctl(name)?;
                if value.parse::<i64>().is_ok_and(|value| value > most) {
                    now.push(format!("{name} is {value}"));
                    set.push(format!("sysctl -w {name}={most}"));
                    let knob = Knob::Sysctl {
                        name: name.to_owned(),
                    };
                    settings.push(setting(Consent::Named, knob, most.to_string()));
                }
            }
        }
        if now.is_empty() {
            return Ok(fine(
                "profiles of the whole host and drop reasons can be had",
            ));
        }
        Ok(found(Finding {
            severity: Severity::Low,
            now: now.join("; "),
            cost: "nothing while measuring; without it `--profile` sees less of the kernel, and loss is placed less exactly".to_owned(),
            source: Some("Documentation/admin-guide/sysctl/kernel.rst; Documentation/admin-guide/perf-security.rst".to_owned()),
            set: format!("run as root, or {} (every user then sees it too: --apply --only tracing)", set.join("; ")),
            settings,
        }))
    },
};
