//! Converts a target to and from its form in a run document.

use crate::address::PeerAddress;
use crate::target::Target;
use linerate_model::consent::{Effect, Effects, Foreign};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{Config, TargetConfig};

impl Target {
    /// The target as stored with a run, to repeat it; keys and users are left out.
    pub fn config(&self) -> TargetConfig {
        TargetConfig {
            peer: self.far.to_string(),
            ip: self.ip,
            timeout: self.timeout,
            interface: self.interface.clone(),
            link: self.link_now(),
        }
    }

    /// The target from [`Self::config`].
    pub fn from_config(config: &TargetConfig) -> Result<Self, Failure> {
        let mut target = Self::new(PeerAddress::parse(&config.peer)?);
        target.ip = config.ip;
        if !config.timeout.is_zero() && config.timeout != target.timeout {
            target.set_timeout(config.timeout);
        }
        target.interface.clone_from(&config.interface);
        target.link = config.link;
        Ok(target)
    }

    /// The target of a run, whose document anybody may have written.
    pub fn from_run(config: &Config) -> Result<Foreign<Self>, Failure> {
        let target = config.target.as_ref().ok_or_else(|| {
            let message = "it does not say which peer it measured (an older version wrote it); measure again with --prove";
            Failure::new(ExitCode::Usage, message)
        })?;
        let target = Self::from_config(target)?;
        let name = format!("the run of {}", target.far);
        Ok(Foreign::new(target, name))
    }
}

impl Effects for Target {
    fn effects(&self) -> Vec<Effect> {
        self.far.effects()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::IpChoice;
    use std::time::Duration;

    #[test]
    fn a_target_comes_back_from_a_run() {
        let mut target = Target::new(PeerAddress::parse("[fe80::1%eth0]:7").unwrap());
        target.ip = IpChoice::V6;
        target.set_timeout(Duration::from_millis(2500));
        target.interface = Some("eth0".to_owned());
        let config = Config {
            target: Some(target.config()),
            ..Config::default()
        };
        let back = Target::from_run(&config).unwrap();
        assert_eq!(
            (back.far.to_string(), back.ip, back.interface.clone()),
            (target.far.to_string(), target.ip, target.interface)
        );
        assert_eq!(
            (back.timeout, back.first_answer),
            (target.timeout, target.first_answer)
        );
    }

    #[test]
    fn a_run_without_a_target_says_so() {
        let error = Target::from_run(&Config::default()).unwrap_err();
        assert!(error.message.contains("which peer"), "{error}");
        let mut nonsense = Target::new(PeerAddress::parse("a").unwrap()).config();
        nonsense.peer = "a b".to_owned();
        assert_eq!(
            Target::from_config(&nonsense).unwrap_err().code,
            ExitCode::Usage
        );
    }
}
