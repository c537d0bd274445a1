//! What linerate itself does at most on a host.

use crate::document::{Block, Document, DocumentFormat, Head, Sheet};
use crate::figures::{Unit, significant};
use crate::table::words;
use linerate_model::Estimate;
use linerate_model::calibration::{Calibration, Ceiling};
use serde::Serialize;

impl Document for Calibration {
    const FORMATS: &'static [DocumentFormat] = &[];
    const NAME: &'static str = "calibration";

    fn head(&self) -> Head {
        Head {
            heading: HEADING.to_owned(),
            made_what: "Calibration",
            reading: "",
        }
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let columns = vec![
            words("", |ceiling: &Ceiling| {
                let payload = ceiling.payload_bytes.get();
                format!("{} {}, {payload} B", ceiling.transport, ceiling.datapath)
            }),
            words("sent", |ceiling: &Ceiling| rate(&ceiling.offered)),
            words("received", |ceiling: &Ceiling| rate(&ceiling.received)),
            words("n", |ceiling: &Ceiling| ceiling.received.n.to_string()),
        ];
        vec![
            Block::title(HEADING),
            Block::fact("over", "loopback, one stream, unpaced, L4 payload"),
            Block::fact("cpu", known(&self.platform.cpu_model)),
            Block::fact("kernel", known(&self.platform.kernel_release)),
            Block::Table(Sheet::new("Ceilings", &self.ceilings, columns)),
        ]
    }

    fn json(&self) -> impl Serialize {
        self
    }
}

const HEADING: &str = "Ceilings of linerate on this host";

/// `2.43 [1.86, 3.01] Gbit/s`, with the 95 % interval.
fn rate(estimate: &Estimate) -> String {
    let unit = Unit::for_rate(estimate.point * 2.0);
    let number = |rate: f64| significant(unit.of(rate), 3);
    let interval = estimate.interval.map_or_else(String::new, |interval| {
        format!(" [{}, {}]", number(interval.low), number(interval.high))
    });
    format!("{}{interval} {}", number(estimate.point), unit.symbol())
}
