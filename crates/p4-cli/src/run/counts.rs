//! What a switch has counted, for people and for programs.

use crate::print;
use linerate_model::dut::DutCounters;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::quantity::nanoseconds;
use linerate_model::units::float;
use std::fmt::Write as _;
use std::time::Duration;

/// Counters of a switch, and the work that they took.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) switch: DutCounters,
    /// CPU time of its thread since it began, its looks at empty ports included.
    pub(super) cpu: Duration,
}

/// The key of the CPU time, beside those of the counters.
const CPU: &str = "cpu_s";

impl Counts {
    /// Prints them, as JSON or in words.
    pub(super) fn print(&self, as_json: bool) -> Result<(), Failure> {
        print(&if as_json { self.json()? } else { self.words() })
    }

    /// One line of JSON.
    fn json(&self) -> Result<String, Failure> {
        let failed = |error: serde_json::Error| Failure::new(ExitCode::Other, error.to_string());
        let mut document = serde_json::to_value(&self.switch).map_err(failed)?;
        document[CPU] = self.cpu.as_secs_f64().into();
        Ok(format!("{document}\n"))
    }

    /// What [`Self::json`] wrote.
    pub(super) fn read(text: &str) -> serde_json::Result<Self> {
        let document: serde_json::Value = serde_json::from_str(text)?;
        let seconds = document[CPU].as_f64().unwrap_or_default();
        Ok(Self {
            switch: serde_json::from_value(document)?,
            cpu: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
        })
    }

    /// A line for each port, place of drops, further counter and stage, and what a packet took.
    fn words(&self) -> String {
        let mut text = String::new();
        let mut packets = 0;
        for port in &self.switch.ports {
            let (name, received, sent) = (&port.name, port.received, port.sent);
            packets += received.get();
            let _ = writeln!(text, "{name}: received {received}, sent {sent}");
        }
        let drops = self.switch.drops.iter();
        for drop in drops.filter(|drop| drop.packets.get() > 0) {
            let (packets, place, at) = (drop.packets, drop.place.as_str(), &drop.at);
            let _ = writeln!(text, "dropped {packets}: {place}, {at}");
        }
        for (what, count) in &self.switch.counters {
            let _ = writeln!(text, "{what}: {count}");
        }
        let stages = self.switch.stages.iter();
        for (stage, times) in stages.filter(|(_, times)| !times.is_empty()) {
            let [median, p99] = [0.5, 0.99].map(|q| nanoseconds(float(times.quantile_nanos(q))));
            let _ = writeln!(text, "time in {stage}: median {median}, p99 {p99}");
        }
        let seconds = self.cpu.as_secs_f64();
        let _ = write!(
            text,
            "CPU time of the switch, looks at empty ports included: {seconds:.3} s"
        );
        if packets > 0 {
            let each = seconds * 1e6 / float(packets);
            let _ = write!(text, ", {each:.2} µs a packet");
        }
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::dut::{DutPort, DutStage};
    use linerate_model::{Histogram, PacketCount};

    fn counts(received: u64) -> Counts {
        let port = DutPort {
            name: "eth0,vlan=10".to_owned(),
            received: PacketCount::new(received),
            sent: PacketCount::new(3),
        };
        let mut times = Histogram::new();
        times.record_n(1500, received);
        Counts {
            switch: DutCounters {
                ports: vec![port],
                stages: [(DutStage::Queue, times)].into(),
                ..DutCounters::default()
            },
            cpu: Duration::from_millis(5),
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let line = counts(1000).json().unwrap();
        assert_eq!(line.lines().count(), 1);
        let read = Counts::read(&line).unwrap();
        assert_eq!(
            (read.switch, read.cpu),
            (counts(1000).switch, counts(0).cpu)
        );
        assert!(Counts::read("no counters").is_err());
    }

    #[test]
    fn the_cost_of_a_packet_is_told_where_there_was_one() {
        let said = counts(1000).words();
        let expected = "eth0,vlan=10: received 1000, sent 3\ntime in queue: median 1.5 µs, p99 1.5 µs\nCPU time of the switch, looks at empty ports included: 0.005 s, 5.00 µs a packet\n";
        assert_eq!(said, expected);
        assert!(counts(0).words().ends_with("included: 0.005 s\n"));
    }
}
