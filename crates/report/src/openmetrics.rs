//! What a server has counted and what a run has measured, as Prometheus and `OpenMetrics` 1.0 read it.

use crate::csv::kebab;
use crate::figures::clean;
use crate::words;
use linerate_model::Quantity;
use linerate_model::agent::{AgentStatus, TestResult};
use linerate_model::run::{Run, Trial};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeCounterValue, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;

/// A metric's labels and value.
type Series<'a> = (Vec<(&'static str, &'a str)>, u64);

/// The state of a server, in a text of `OpenMetrics`. What is counted has a series from the start, and no client and no
/// test adds one.
pub fn agent_metrics(status: &AgentStatus) -> String {
    text(Metrics(status.clone()))
}

/// The trials of a run and of its parts, in a text of `OpenMetrics`: mean, smallest and largest of each quantity over the
/// valid trials of a direction, and how many these are. A quantity that no trial has is left out.
pub fn run_metrics(run: &Run) -> String {
    text(Figures(run.clone()))
}

fn text(collector: impl Collector) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(collector));
    let mut text = String::new();
    encode(&mut text, &registry).expect("invariant: a string takes all that is written");
    text
}

#[derive(Debug)]
struct Figures(Run);

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let groups = groups(&self.0);
        let labels = |group: &Group<'_>| {
            vec![
                ("kind", group.kind.clone()),
                ("title", group.title.clone()),
                ("direction", group.direction.clone()),
            ]
        };
        let mut trials = encoder.encode_descriptor(
            "linerate_valid_trials",
            "Trials that the other figures are of",
            None,
            MetricType::Gauge,
        )?;
        for group in &groups {
            let labels = labels(group);
            let mut one = trials.encode_family(&labels)?;
            one.encode_gauge(&group.trials.len())?;
        }
        for quantity in Quantity::of_trials() {
            let figures: Vec<_> = groups
                .iter()
                .filter_map(|group| Some((labels(group), extent(quantity, &group.trials)?)))
                .collect();
            if figures.is_empty() {
                continue;
            }
            let name = format!("linerate_{}", quantity.column());
            let help = quantity.name();
            let mut metric = encoder.encode_descriptor(&name, &help, None, MetricType::Gauge)?;
            for (labels, values) in figures {
                for (statistic, value) in ["max", "mean", "min"].into_iter().zip(values) {
                    let mut labels = labels.clone();
                    labels.push(("statistic", statistic.to_owned()));
                    metric.encode_family(&labels)?.encode_gauge(&value)?;
                }
            }
        }
        Ok(())
    }
}

/// Valid trials of one run or part and one direction.
struct Group<'a> {
    kind: String,
    title: String,
    direction: String,
    trials: Vec<&'a Trial>,
}

fn groups(run: &Run) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for trial in run.trials.iter().filter(|trial| trial.valid) {
        let direction = kebab(&trial.direction).unwrap_or_default();
        match groups.iter_mut().find(|group| group.direction == direction) {
            Some(group) => group.trials.push(trial),
            None => groups.push(Group {
                kind: kebab(&run.kind()).unwrap_or_default(),
                title: clean(&words::title(run)),
                direction,
                trials: vec![trial],
            }),
        }
    }
    groups.extend(run.parts().iter().flat_map(self::groups));
    groups
}

/// Largest, mean and smallest of a quantity.
#[expect(clippy::cast_precision_loss, reason = "a number of trials")]
fn extent(quantity: Quantity, trials: &[&Trial]) -> Option<[f64; 3]> {
    let values: Vec<f64> = trials
        .iter()
        .filter_map(|trial| quantity.of(trial))
        .collect();
    let largest = values.iter().copied().reduce(f64::max)?;
    let smallest = values.iter().copied().reduce(f64::min)?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Some([largest, mean, smallest])
}

#[derive(Debug)]
struct Metrics(AgentStatus);

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Out(&mut encoder);
        self.tests(&mut out)?;
        self.host(&mut out)
    }
}

impl Metrics {
    fn tests(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let counts = &self.0.counts;
        let (mut tests, mut bytes, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
        for (protocol, of) in &counts.protocols {
            for result in TestResult::ALL {
                let count = of.tests.get(&result).copied().unwrap_or_default();
                let labels = vec![("protocol", &**protocol), ("result", result.as_str())];
                tests.push((labels, count));
            }
            for (direction, count) in [("received", of.received), ("sent", of.sent)] {
                let labels = vec![("protocol", &**protocol), ("direction", direction)];
                bytes.push((labels, count.get()));
            }
            for (reason, count) in &of.refusals {
                let labels = vec![("protocol", &**protocol), ("reason", reason.as_str())];
                refusals.push((labels, *count));
            }
        }
        let unread = counts.unread.iter();
        let unread = unread.map(|(reason, count)| (vec![("reason", *reason)], *count));
        out.counters(
            "linerate_tests",
            "Tests by how they ended: complete, ended early, refused",
            &tests,
        )?;
        out.counters(
            "linerate_payload_bytes",
            "L4 payload that this host moved in tests",
            &bytes,
        )?;
        out.counters(
            "linerate_refusals",
            "Clients and tests refused, by kind of reason",
            &refusals,
        )?;
        out.counters(
            "linerate_unread_connections",
            "Connections closed before anything was read, by what was lacking",
            &unread.collect::<Vec<_>>(),
        )?;
        out.counter(
            "linerate_failed_sessions",
            "Sessions ended by an error",
            &counts.failed_sessions,
        )
    }

    fn host(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let status = &self.0;
        out.gauge("linerate_clients", "Sessions under way", status.clients)?;
        out.gauge(
            "linerate_streams",
            "Streams of tests under way",
            status.streams,
        )?;
        out.gauge(
            "linerate_connections",
            "Open control connections",
            status.connections,
        )?;
        let Some(process) = &status.process else {
            return Ok(());
        };
        out.counter(
            "process_cpu_seconds",
            "CPU time, user and system",
            &process.cpu.as_secs_f64(),
        )?;
        let memory = process.resident.get();
        out.gauge("process_resident_memory_bytes", "Resident memory", memory)?;
        out.gauge(
            "process_open_fds",
            "Open file descriptors",
            process.open_files,
        )
    }
}

struct Out<'a, 'b>(&'a mut DescriptorEncoder<'b>);

impl Out<'_, '_> {
    fn counters(&mut self, name: &str, help: &str, series: &[Series<'_>]) -> fmt::Result {
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in series {
            let mut one = metric.encode_family(labels)?;
            one.encode_counter::<NoLabelSet, u64, f64>(value, None)?;
        }
        Ok(())
    }

    fn counter<V: EncodeCounterValue>(&mut self, name: &str, help: &str, value: &V) -> fmt::Result {
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, V, f64>(value, None)
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let mut metric = self
            .0
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        metric.encode_gauge(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::agent::{AgentEvent, ProcessUse};
    use linerate_model::run::DatagramsResult;
    use linerate_model::spec::{Direction, Transport};
    use linerate_model::{BitRate, ByteCount};
    use std::time::Duration;

    #[test]
    fn a_run_is_figures_over_its_valid_trials() {
        let mut run = crate::missed::tests::search(Vec::new());
        let trial = |index, rate, valid| Trial {
            received_rate: Some(BitRate::from_bps(rate)),
            valid,
            ..Trial::new(
                index,
                Transport::Udp,
                Direction::Forward,
                DatagramsResult::default(),
            )
        };
        run.trials = vec![
            trial(0, 100, true),
            trial(1, 300, true),
            trial(2, 900, false),
        ];
        let text = run_metrics(&run);
        let labels = "kind=\"saturate\",title=\"a search\",direction=\"forward\"";
        for line in [
            format!("linerate_valid_trials{{{labels}}} 2"),
            format!("linerate_received_bps{{{labels},statistic=\"mean\"}} 200.0"),
            format!("linerate_received_bps{{{labels},statistic=\"max\"}} 300.0"),
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }

    #[test]
    fn what_was_counted_is_text_of_openmetrics() {
        let mut status = AgentStatus {
            clients: 2,
            process: Some(ProcessUse {
                cpu: Duration::from_millis(1500),
                resident: ByteCount::new(4096),
                open_files: 7,
            }),
            ..AgentStatus::default()
        };
        status.counts.record(&AgentEvent::Listening {
            protocol: "native".to_owned(),
            name: "linerate".to_owned(),
            address: "[::]:5301".parse().unwrap(),
        });
        let text = agent_metrics(&status);
        for line in [
            "# TYPE linerate_tests counter",
            "linerate_tests_total{protocol=\"native\",result=\"refused\"} 0",
            "linerate_refusals_total{protocol=\"native\",reason=\"busy\"} 0",
            "linerate_unread_connections_total{reason=\"open-file\"} 0",
            "linerate_clients 2",
            "process_cpu_seconds_total 1.5",
            "process_open_fds 7",
            "# EOF",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }
}
