//! Utilisation of each core of this host during a test: one file is read, once per interval.

use crate::collectors::read_cores;
use crate::host_view::{HostView, Scope};
use linerate_model::Ratio;
use linerate_model::sample::Snapshot;
use linerate_model::signals;

/// CPU states, including idle.
const PARTS: [&str; 6] = [
    "user_ns",
    "system_ns",
    "idle_ns",
    "irq_ns",
    "softirq_ns",
    "steal_ns",
];

/// Remembers the cores' CPU times of the last call.
#[derive(Debug, Default)]
pub struct CoreLoad {
    last: Option<Snapshot>,
}

impl CoreLoad {
    /// Utilisation of each core since the last call, in core order; empty the first time, and where the host does not
    /// report it.
    pub fn since_last(&mut self, scope: &Scope) -> Vec<Ratio> {
        let mut now = Snapshot::default();
        read_cores(&HostView::new(scope), &mut now);
        let shares = self.last.as_ref().map(|before| shares(before, &now));
        self.last = Some(now);
        shares.unwrap_or_default()
    }
}

fn shares(before: &Snapshot, now: &Snapshot) -> Vec<Ratio> {
    let busy = |core: u32| {
        let gained = |part: &str| now.gained(before, &signals::per_core(core, part));
        let idle = gained("idle_ns")?;
        let all: u64 = PARTS.iter().filter_map(|part| gained(part)).sum();
        (all > 0).then(|| Ratio::from_parts(all.saturating_sub(idle), all))
    };
    // Cores that are offline have no line, and their numbers are skipped.
    let names = now.values.keys();
    let cores = names.filter_map(|name| name.strip_prefix("cpu.")?.strip_suffix(".idle_ns"));
    let mut cores: Vec<u32> = cores.filter_map(|core| core.parse().ok()).collect();
    cores.sort_unstable();
    cores.into_iter().filter_map(busy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_sys::host_files::HostFiles;
    use std::fs;

    #[test]
    fn each_core_counts_and_the_first_look_says_nothing() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("proc")).unwrap();
        let write = |cores: &str| {
            let text = format!("cpu  0 0 0 0 0 0 0 0 0 0\n{cores}ctxt 1\nintr 1\n");
            fs::write(root.path().join("proc/stat"), text).unwrap();
        };
        let scope = Scope {
            root: HostFiles::new(root.path()),
            ..Scope::live(None)
        };
        let mut load = CoreLoad::default();
        write(
            "cpu0 10 0 0 90 0 0 0 0 0 0\ncpu3 10 0 0 90 0 0 0 0 0 0\ncpu11 0 0 0 0 0 0 0 0 0 0\n",
        );
        assert_eq!(load.since_last(&scope), []);
        write(
            "cpu0 20 0 0 180 0 0 0 0 0 0\ncpu3 60 0 10 100 0 0 30 0 0 0\ncpu11 0 0 0 9 0 0 0 0 0 0\n",
        );
        let seen = [0.1, 0.9, 0.0].map(Ratio::clamped);
        assert_eq!(load.since_last(&scope), seen);
        // Nothing has happened since, as far as the host tells.
        assert_eq!(load.since_last(&scope), []);
        fs::remove_file(root.path().join("proc/stat")).unwrap();
        assert_eq!(load.since_last(&scope), []);
    }
}
