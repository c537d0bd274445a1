//! What Prometheus reads of a hub. How many series there are depends on nothing that is measured.

use linerate_model::exit::Failure;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

/// What the hub counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gauges {
    pub(crate) database_up: Gauge,
    pub(crate) round_under_way: Gauge,
    pub(crate) rounds: Counter,
    pub(crate) failed_rounds: Counter,
    pub(crate) skipped_rounds: Counter,
    pub(crate) lapsed_leases: Counter,
    pub(crate) trials: Counter,
    pub(crate) documents_without_rows: Gauge,
    pub(crate) damaged_documents: Gauge,
    pub(crate) spooled_rounds: Gauge,
    pub(crate) archive_free: Gauge,
}

impl Gauges {
    /// Answers them over HTTP for as long as the process lives.
    ///
    /// # Errors
    ///
    /// An address that cannot be had.
    pub(crate) fn answer_at(&self, address: SocketAddr) -> Result<SocketAddr, Failure> {
        let listener = linerate_metrics::open(address)?;
        let at = listener.local_addr().unwrap_or(address);
        let registry = Arc::new(self.registry());
        let page = move || text(&registry);
        let answer = move || {
            linerate_metrics::answer_all(&listener, &AtomicBool::new(false), &page);
        };
        let started = thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(answer);
        started.map(|_| at).map_err(|error: io::Error| {
            let message = format!("cannot start a thread for --metrics: {error}");
            Failure::new(linerate_model::exit::ExitCode::HostLacks, message)
        })
    }

    fn registry(&self) -> Registry {
        let mut registry = Registry::with_prefix("linerate_hub");
        let all: [(&str, &str, &Gauge); 5] = [
            (
                "database_up",
                "1 while the database answers",
                &self.database_up,
            ),
            (
                "round_under_way",
                "1 while this hub measures a round",
                &self.round_under_way,
            ),
            (
                "documents_without_rows",
                "Documents of the archive that have no rows yet",
                &self.documents_without_rows,
            ),
            (
                "damaged_documents",
                "Documents of the archive that cannot be read",
                &self.damaged_documents,
            ),
            (
                "spooled_rounds",
                "Rounds whose documents are not in the archive yet, with one under way",
                &self.spooled_rounds,
            ),
        ];
        for (name, help, gauge) in all {
            registry.register(name, help, gauge.clone());
        }
        let free = "Free space of the archive's file system";
        registry.register_with_unit("archive_free", free, Unit::Bytes, self.archive_free.clone());
        let counted: [(&str, &str, &Counter); 5] = [
            ("rounds", "Rounds that this hub has made", &self.rounds),
            (
                "failed_rounds",
                "Rounds that this hub could not make",
                &self.failed_rounds,
            ),
            (
                "skipped_rounds",
                "Rounds that nobody began before the next one was due",
                &self.skipped_rounds,
            ),
            (
                "lapsed_leases",
                "Leases whose holder did not come back",
                &self.lapsed_leases,
            ),
            (
                "trials",
                "Rows of trials that this hub has made",
                &self.trials,
            ),
        ];
        for (name, help, counter) in counted {
            registry.register(name, help, counter.clone());
        }
        registry
    }
}

fn text(registry: &Registry) -> String {
    let mut text = String::new();
    encode(&mut text, registry).expect("invariant: a string takes all that is written");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_is_there_from_the_start() {
        let gauges = Gauges::default();
        let page = text(&gauges.registry());
        assert!(page.contains("linerate_hub_trials_total 0"), "{page}");
        assert!(page.contains("linerate_hub_archive_free_bytes 0"), "{page}");
        gauges.trials.inc_by(3);
        gauges.rounds.inc();
        let later = text(&gauges.registry());
        assert!(later.contains("linerate_hub_trials_total 3"), "{later}");
        assert_eq!(page.lines().count(), later.lines().count());
        assert!(page.ends_with("# EOF\n"));
    }

    #[test]
    fn alerts_are_of_series_that_there_are() {
        let page = text(&Gauges::default().registry());
        let rules = include_str!("../alerts.yml");
        let named = rules.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let named: Vec<_> = named
            .filter(|word| word.starts_with("linerate_hub_"))
            .collect();
        assert!(named.len() > 8, "{named:?}");
        for series in named {
            assert!(page.contains(&format!("\n{series} ")), "{series}: {page}");
        }
    }
}
