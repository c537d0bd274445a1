//! What linerate itself does at most on a host, for a terminal.

use super::{Paper, Style};
use crate::figures::{Unit, significant};
use linerate_model::Estimate;
use linerate_model::calibration::Calibration;

/// A row for each transport, datapath and payload, with intervals.
pub fn ceilings_text(calibration: &Calibration, width: usize, style: Style) -> String {
    let mut paper = Paper::new(width, style);
    paper.title("Ceilings of linerate on this host");
    paper.row("over", "loopback, one stream, unpaced, L4 payload");
    let platform = &calibration.platform;
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    paper.row("cpu", &known(&platform.cpu_model));
    paper.row("kernel", &known(&platform.kernel_release));
    let mut rows = vec![["", "sent", "received", "n"].map(str::to_owned).to_vec()];
    for ceiling in &calibration.ceilings {
        let name = format!(
            "{} {}, {} B",
            ceiling.transport,
            ceiling.datapath,
            ceiling.payload_bytes.get()
        );
        rows.push(vec![
            name,
            rate(&ceiling.offered),
            rate(&ceiling.received),
            ceiling.received.n.to_string(),
        ]);
    }
    paper.wide_columns(&rows);
    paper.finish()
}

/// `2.43 [1.86, 3.01] Gbit/s`, with the 95 % interval.
fn rate(estimate: &Estimate) -> String {
    let unit = Unit::for_rate(estimate.point * 2.0);
    let number = |rate: f64| significant(unit.of(rate), 3);
    let interval = estimate.interval.map_or_else(String::new, |interval| {
        format!(" [{}, {}]", number(interval.low), number(interval.high))
    });
    format!("{}{interval} {}", number(estimate.point), unit.symbol())
}
