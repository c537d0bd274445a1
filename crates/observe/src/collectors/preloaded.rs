//! Libraries preloaded into this process, such as an accelerated stack: facts only.

use super::Collector;
use crate::host_view::{HostView, Scope};
use linerate_model::facts::Preloaded;
use std::path::Path;

/// Prefixes of environment settings of preloaded stacks: Onload, VMA and XLIO.
const PREFIXES: [&str; 3] = ["EF_", "VMA_", "XLIO_"];

pub(super) static COLLECTOR: Collector = Collector {
    facts: |host, into| {
        into.preloaded = read(host);
    },
    ..Collector::new(
        "preloaded",
        "Libraries preloaded into this process, such as an accelerated stack, and their \
         settings.",
    )
};

/// Libraries preloaded into this process.
pub fn preloaded() -> Preloaded {
    read(&HostView::new(&Scope::live(None))).unwrap_or_default()
}

/// Reads them from the initial environment; `None` if it cannot be read.
fn read(host: &HostView<'_>) -> Option<Preloaded> {
    let environment = host.read("proc/self/environ").ok()?;
    let mut found = Preloaded::default();
    for entry in environment.split('\0') {
        let Some((name, value)) = entry.split_once('=') else {
            continue;
        };
        if name == "LD_PRELOAD" && !value.is_empty() {
            let maps = host.read("proc/self/maps").ok();
            found.ld_preload = Some(value.to_owned());
            found.ld_preload_loaded = maps.map(|maps| {
                let mut all = value.split([':', ' ']).filter(|name| !name.is_empty());
                all.all(|library| is_mapped(library, &maps))
            });
        } else if PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            let (name, value) = (name.to_owned(), value.to_owned());
            found.stack_settings.insert(name, value);
        }
    }
    Some(found)
}

/// Whether a file of this library is mapped; its version may follow its name.
fn is_mapped(library: &str, maps: &str) -> bool {
    let file = Path::new(library)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let stem = file.split(".so").next().unwrap_or_default();
    let paths = maps
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(5));
    let mut names = paths.filter_map(|path| Path::new(path).file_name());
    !stem.is_empty() && names.any(|name| name.to_string_lossy().starts_with(stem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_sys::host_files::HostFiles;

    const MAPS: &str =
        "7f00-7f01 r-xp 00000000 08:01 42  /usr/lib/libonload.so.8.1\n7f02-7f03 rw-p 0 00:00 0\n";

    fn of(environment: &str, maps: Option<&str>) -> Preloaded {
        let root = tempfile::tempdir().unwrap();
        let process = root.path().join("proc/self");
        std::fs::create_dir_all(&process).unwrap();
        std::fs::write(process.join("environ"), environment).unwrap();
        if let Some(maps) = maps {
            std::fs::write(process.join("maps"), maps).unwrap();
        }
        let scope = Scope {
            interface: None,
            beside: Vec::new(),
            root: HostFiles::new(root.path()),
        };
        read(&HostView::new(&scope)).unwrap()
    }

    #[test]
    fn a_loaded_stack_and_its_settings_are_facts() {
        let environment = "PATH=/bin\0LD_PRELOAD=libonload.so\0EF_POLL_USEC=100000\0";
        let found = of(environment, Some(MAPS));
        assert_eq!(found.ld_preload.as_deref(), Some("libonload.so"));
        assert_eq!(found.ld_preload_loaded, Some(true));
        assert_eq!(found.stack_settings["EF_POLL_USEC"], "100000");
        assert_eq!(found.stack_settings.len(), 1);
        assert_eq!(found.to_string(), "libonload.so, EF_POLL_USEC=100000");
    }

    #[test]
    fn a_library_that_is_not_there_is_not_believed() {
        let found = of("LD_PRELOAD=libonload.so:/opt/libother.so\0", Some(MAPS));
        assert_eq!(found.ld_preload_loaded, Some(false));
        assert_eq!(
            found.to_string(),
            "libonload.so:/opt/libother.so (not loaded)"
        );
        assert_eq!(
            of("LD_PRELOAD=libonload.so\0", None).ld_preload_loaded,
            None
        );
    }

    #[test]
    fn nothing_preloaded_is_a_fact_too() {
        let found = of("PATH=/bin\0LD_PRELOAD=\0", Some(MAPS));
        assert_eq!(found, Preloaded::default());
        assert_eq!(found.to_string(), "nothing");
    }
}
