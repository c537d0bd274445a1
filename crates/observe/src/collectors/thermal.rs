//! Temperatures: thermal throttling slows a board down.

use super::{Collector, record};
use crate::error::ReadError;
use crate::host_view::HostView;
use crate::text::tidy;
use linerate_model::signals::THERMAL_HOTTEST_MILLICELSIUS;

/// Sensor directories: path, file of the name, files of the readings.
const SOURCES: &[Source] = &[
    Source {
        directory: "sys/class/thermal",
        prefix: "thermal_zone",
        name: "type",
        readings: &["temp"],
    },
    Source {
        directory: "sys/class/hwmon",
        prefix: "hwmon",
        name: "name",
        // A chip has its own sensor and one on each line to another chip.
        readings: &["temp1_input", "temp2_input", "temp3_input"],
    },
];

struct Source {
    directory: &'static str,
    prefix: &'static str,
    name: &'static str,
    readings: &'static [&'static str],
}

pub(super) static COLLECTOR: Collector = Collector {
    signals: &[THERMAL_HOTTEST_MILLICELSIUS],
    read: |host, into| {
        let all = sensors(host).into_iter().map(|(_, value)| value);
        let hottest = all.max().ok_or_else(|| ReadError::Unfit {
            what: "no sensor tells a temperature".to_owned(),
        });
        record(into, THERMAL_HOTTEST_MILLICELSIUS, hottest);
    },
    facts: |host, into| {
        let names: Vec<_> = sensors(host)
            .into_iter()
            .filter_map(|(name, _)| name)
            .collect();
        into.thermal_sensors = (!names.is_empty()).then_some(names);
    },
    ..Collector::new(
        "thermal",
        "Temperature of the hottest sensor, and which sensors there are.",
    )
};

/// Name and temperature of every sensor, in thousandths of a degree Celsius. Negative readings are invalid on a running
/// board.
fn sensors(host: &HostView<'_>) -> Vec<(Option<String>, u64)> {
    let mut all = Vec::new();
    for source in SOURCES {
        let mut names = host.names(source.directory);
        names.retain(|name| name.starts_with(source.prefix));
        for directory in names {
            let at = |file: &str| {
                host.read(&format!("{}/{directory}/{file}", source.directory))
                    .ok()
            };
            let values = source
                .readings
                .iter()
                .filter_map(|file| at(file)?.trim().parse::<u64>().ok());
            if let Some(hottest) = values.max() {
                all.push((at(source.name).and_then(|name| tidy(&name)), hottest));
            }
        }
    }
    all
}
