//! A test specification and its peer as the `config.values` of a run, and back.

use crate::address::{IpChoice, PeerAddress};
use crate::target::Target;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::Run;
use linerate_model::spec::TestSpec;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Every setting of `spec`, by key.
pub fn values(spec: &TestSpec) -> BTreeMap<String, Value> {
    match serde_json::to_value(spec) {
        Ok(Value::Object(map)) => map.into_iter().collect(),
        _ => BTreeMap::new(),
    }
}

const FAR_END: &str = "far_end";
const IP: &str = "ip";
const TIMEOUT: &str = "timeout_s";
const INTERFACE: &str = "interface";

/// Adds whom the test was made with, so that it can be made again.
pub fn with_target(
    mut values: BTreeMap<String, Value>,
    target: &Target,
) -> BTreeMap<String, Value> {
    let ip = match target.ip {
        IpChoice::Any => "any",
        IpChoice::V4 => "v4",
        IpChoice::V6 => "v6",
    };
    values.extend([
        (FAR_END.to_owned(), json!(target.far.to_string())),
        (IP.to_owned(), json!(ip)),
        (TIMEOUT.to_owned(), json!(target.timeout.as_secs_f64())),
    ]);
    if let Some(interface) = &target.interface {
        values.insert(INTERFACE.to_owned(), json!(interface));
    }
    values
}

impl Target {
    /// Whom `run` was made with, and how it was reached.
    pub fn of_run(run: &Run) -> Result<Self, Failure> {
        Self::of_values(&run.config.values)
    }

    /// The target that [`with_target`] wrote down.
    pub fn of_values(values: &BTreeMap<String, Value>) -> Result<Self, Failure> {
        let text = |key: &str| values.get(key).and_then(Value::as_str);
        let far = text(FAR_END).ok_or_else(|| {
            let message = "it does not say which peer it measured (an older version wrote it); measure again with --prove";
            Failure::new(ExitCode::Usage, message)
        })?;
        let mut target = Self::new(PeerAddress::parse(far)?);
        target.ip = match text(IP) {
            Some("v4") => IpChoice::V4,
            Some("v6") => IpChoice::V6,
            _ => IpChoice::Any,
        };
        let seconds = values.get(TIMEOUT).and_then(Value::as_f64);
        let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        if let Some(timeout) = timeout.filter(|timeout| !timeout.is_zero()) {
            target.timeout = timeout;
        }
        target.interface = text(INTERFACE).map(str::to_owned);
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::SCHEMA;

    fn run(values: &BTreeMap<String, Value>) -> Run {
        serde_json::from_value(json!({
            "schema": SCHEMA, "id": "run", "kind": "udp", "status": "complete",
            "tool": {"name": "linerate"}, "config": {"values": values},
        }))
        .unwrap()
    }

    #[test]
    fn a_target_comes_back_from_a_run() {
        let mut target = Target::new(PeerAddress::parse("[fe80::1%eth0]:7").unwrap());
        target.ip = IpChoice::V6;
        target.timeout = Duration::from_millis(2500);
        target.interface = Some("eth0".to_owned());
        let values = with_target(values(&TestSpec::tcp_bulk()), &target);
        let back = Target::of_run(&run(&values)).unwrap();
        assert_eq!(
            (back.far.to_string(), back.ip, back.timeout, back.interface),
            (
                target.far.to_string(),
                target.ip,
                target.timeout,
                target.interface
            )
        );
    }

    #[test]
    fn a_run_without_a_target_says_so() {
        let error = Target::of_run(&run(&BTreeMap::new())).unwrap_err();
        assert!(error.message.contains("which peer"), "{error}");
        let nonsense = BTreeMap::from([(FAR_END.to_owned(), json!("a b"))]);
        assert_eq!(
            Target::of_run(&run(&nonsense)).unwrap_err().code,
            ExitCode::Usage
        );
    }
}
