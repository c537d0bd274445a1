//! Maximum socket buffers.

use super::{FitnessCheck, fine, found, setting, words};
use linerate_model::condition::Condition;
use linerate_model::doctor::{Finding, Severity};
use linerate_model::knob::{Consent, Knob, Setting};

/// Minimum value of a setting, and the value to set.
struct Minimum {
    name: &'static str,
    least: u64,
    set: u64,
}

/// Limits of `SO_RCVBUF` and `SO_SNDBUF`.
const PLAIN: &[Minimum] = &[
    Minimum {
        name: "net.core.rmem_max",
        least: 4 << 20,
        set: 16 << 20,
    },
    Minimum {
        name: "net.core.wmem_max",
        least: 4 << 20,
        set: 16 << 20,
    },
];
/// The third value of these limits TCP's autotuning; `set` is the kernel's own default.
const TCP: &[Minimum] = &[
    Minimum {
        name: "net.ipv4.tcp_rmem",
        least: 4 << 20,
        set: 6 << 20,
    },
    Minimum {
        name: "net.ipv4.tcp_wmem",
        least: 4 << 20,
        set: 4 << 20,
    },
];

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "buffers",
    summary: "The largest buffers that sockets may ask for and TCP may take.",
    examine: |condition| {
        let mut small = Small::default();
        for wanted in PLAIN {
            small.plain(condition, wanted);
        }
        for wanted in TCP {
            small.tcp(condition, wanted);
        }
        if small.settings.is_empty() {
            return match small.unknown {
                Some(why) => Err(why),
                None => Ok(fine(small.now.join("; "))),
            };
        }
        Ok(found(Finding {
            severity: Severity::Medium,
            now: small.now.join("; "),
            cost: small.cost.join("; "),
            source: Some("socket(7), tcp(7); the times follow from the sizes alone, so they are upper bounds".to_owned()),
            set: format!("sysctl -w {}; datagram tests then ask for it: --receive-buffer 16M", small.set.join(" ")),
            settings: small.settings,
        }))
    },
};

/// A limit that is too small.
#[derive(Default)]
struct Small {
    now: Vec<String>,
    cost: Vec<String>,
    set: Vec<String>,
    settings: Vec<Setting>,
    unknown: Option<String>,
}

impl Small {
    fn plain(&mut self, condition: &Condition, wanted: &Minimum) {
        let value = condition.sysctl(wanted.name).and_then(|text| {
            let parsed = text.parse::<u64>();
            parsed.map_err(|_| format!("{} is {text:?}, no number", wanted.name))
        });
        match value {
            Err(why) => self.unknown = Some(why),
            Ok(bytes) => {
                self.now.push(format!("{} {bytes}", wanted.name));
                if bytes < wanted.least {
                    let (speed, at) = words::speed(condition);
                    let fills = words::float(bytes) * 8.0 / speed.as_f64().max(1.0);
                    self.cost.push(format!(
                        "{at} datagrams fill {bytes} bytes in {} at most",
                        words::time(fills)
                    ));
                    self.change(wanted, wanted.set.to_string());
                }
            }
        }
    }

    fn tcp(&mut self, condition: &Condition, wanted: &Minimum) {
        let text = match condition.sysctl(wanted.name) {
            Ok(text) => text,
            Err(why) => {
                self.unknown = Some(why);
                return;
            }
        };
        let numbers: Vec<u64> = text
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        let &[least, default, most] = numbers.as_slice() else {
            self.unknown = Some(format!("{} is {text:?}, not three numbers", wanted.name));
            return;
        };
        self.now.push(format!("{} {text}", wanted.name));
        if most < wanted.least {
            let rate = words::float(most) * 8.0 / 0.01 / 1e6;
            self.cost.push(format!(
                "a TCP connection over 10 ms of round trip can do {rate:.0} Mbit/s at most"
            ));
            self.change(wanted, format!("{least} {default} {}", wanted.set));
        }
    }

    fn change(&mut self, wanted: &Minimum, value: String) {
        self.set.push(format!("{}='{value}'", wanted.name));
        let knob = Knob::Sysctl {
            name: wanted.name.to_owned(),
        };
        self.settings.push(setting(Consent::Safe, knob, value));
    }
}
