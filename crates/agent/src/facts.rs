//! Facts of this host as clients are told them: read anew only so often that all clients together cost little.

use linerate_model::facts::Facts;
use linerate_model::{Clock, MonoInstant};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Facts are told for so many times as long as reading them took: strangers who come again and again cost a tenth of a core
/// at most.
const AGE_PER_READING: u32 = 9;

/// The last facts, by the interface that they are of.
#[derive(Default)]
pub(crate) struct RecentFacts(Mutex<BTreeMap<Option<String>, Recent>>);

struct Recent {
    until: MonoInstant,
    facts: Facts,
}

impl RecentFacts {
    /// The facts as read a moment ago, or now; one client reads them at a time.
    pub(crate) fn get(
        &self,
        interface: Option<&str>,
        clock: &dyn Clock,
        read: impl FnOnce() -> Facts,
    ) -> Facts {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let began = clock.now();
        // Interfaces come and go, as those of containers do.
        all.retain(|_, recent| began < recent.until);
        let interface = interface.map(str::to_owned);
        let recent = all.entry(interface).or_insert_with(|| {
            let facts = read();
            let done = clock.now();
            let age = done.saturating_since(began) * AGE_PER_READING;
            let until = done.after(age);
            Recent { until, facts }
        });
        recent.facts.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    #[derive(Default)]
    struct Watch(AtomicU64);

    impl Watch {
        fn pass(&self, time: Duration) {
            let nanos = u64::try_from(time.as_nanos()).unwrap();
            self.0.fetch_add(nanos, Ordering::Relaxed);
        }
    }

    impl Clock for Watch {
        fn now(&self) -> MonoInstant {
            MonoInstant::from_nanos(self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn a_flood_of_clients_has_the_facts_read_a_tenth_of_the_time() {
        const READING: Duration = Duration::from_millis(20);
        const BETWEEN: Duration = Duration::from_micros(100);
        let (recent, watch) = (RecentFacts::default(), Watch::default());
        let mut readings = 0;
        for _ in 0..100_000 {
            recent.get(Some("eth0"), &watch, || {
                readings += 1;
                watch.pass(READING);
                Facts::default()
            });
            watch.pass(BETWEEN);
        }
        let whole = watch.now().saturating_since(MonoInstant::from_nanos(0));
        assert!(readings > 1);
        // But for the last one, whose time has not passed.
        assert!(
            READING * (readings - 1) <= whole / 10,
            "{readings} in {whole:?}"
        );
    }

    #[test]
    fn each_interface_has_its_own() {
        let (recent, watch) = (RecentFacts::default(), Watch::default());
        let named = |name: &str| {
            let facts = [("hostname", name)].into_iter().collect();
            recent.get(Some(name), &watch, || {
                watch.pass(Duration::from_secs(1));
                facts
            })
        };
        for name in ["eth0", "eth1", "eth0"] {
            assert_eq!(named(name).hostname.as_deref(), Some(name));
        }
    }
}
