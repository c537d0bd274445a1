//! Traffic that runs beside a ping-pong: what it is.

use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{Direction, Pace, Stop, TestSpec, Transport};
use std::fmt;
use std::time::Duration;

/// Traffic that runs beside the ping-pong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Transport of the load.
    pub transport: Transport,
    /// Its intended load.
    pub pace: Pace,
    /// Its direction.
    pub direction: Direction,
}

impl Load {
    /// The load runs until it is stopped; an hour bounds it if nobody does.
    pub(super) fn spec(self) -> TestSpec {
        let base = match self.transport {
            Transport::Tcp => TestSpec::tcp_bulk().with_pace(self.pace),
            Transport::Udp => TestSpec::udp_datagrams(self.pace),
        };
        TestSpec {
            direction: self.direction,
            stop: Stop::After(Duration::from_hours(1)),
            ..base
        }
    }
}

impl std::str::FromStr for Load {
    type Err = Failure;

    /// `tcp`, `udp:100M`, `tcp:reverse`, `udp:100M:duplex`.
    fn from_str(text: &str) -> Result<Self, Failure> {
        let wrong = || {
            let message = format!("\"{text}\" is not a load such as tcp, udp:100M or tcp:reverse");
            Failure::new(ExitCode::Usage, message)
        };
        let mut parts = text.split(':');
        let transport = match parts.next() {
            Some("tcp") => Transport::Tcp,
            Some("udp") => Transport::Udp,
            _ => return Err(wrong()),
        };
        let mut load = Self {
            transport,
            pace: Pace::Unpaced,
            direction: Direction::Forward,
        };
        for part in parts {
            match part {
                "forward" => load.direction = Direction::Forward,
                "reverse" => load.direction = Direction::Reverse,
                "duplex" => load.direction = Direction::Duplex,
                rate => load.pace = Pace::At(rate.parse().map_err(|_| wrong())?),
            }
        }
        Ok(load)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} load", self.transport)?;
        if let Some(rate) = self.pace.intended_load() {
            write!(f, " {rate}")?;
        }
        f.write_str(match self.direction {
            Direction::Forward => "",
            Direction::Reverse => " reverse",
            Direction::Duplex => " duplex",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::BitRate;

    #[test]
    fn loads_are_read_in_any_order() {
        let load: Load = "udp:reverse:100M".parse().unwrap();
        assert_eq!(load.pace, Pace::At(BitRate::from_bps(100_000_000)));
        assert_eq!(load.direction, Direction::Reverse);
        assert!("quic".parse::<Load>().is_err());
        assert!("udp:fast".parse::<Load>().is_err());
    }
}
