//! What the CPU of one end did, in one line.

use crate::figures::percent_or_unknown;
use linerate_model::run::CpuSide;

/// `thread 47.1 %, busiest core 69.4 %, softirq 5.59 % of all cores`; where the thread has more than any core, why.
pub(crate) fn cpu_line(side: &CpuSide, streams: Option<u16>) -> String {
    let of_cores = side.softirq_ratio.map_or("", |_| " of all cores");
    format!(
        "thread {}, busiest core {}{}, softirq {}{of_cores}",
        percent_or_unknown(side.thread_ratio),
        percent_or_unknown(side.busiest_core_ratio),
        beyond_its_core(side, streams).unwrap_or(""),
        percent_or_unknown(side.softirq_ratio)
    )
}

/// Why a thread has a larger share than the busiest core, as far as the figures tell: a core's share is of the time
/// between the host's two readings, which the test lies in, and a thread may use several cores in turn.
fn beyond_its_core(side: &CpuSide, streams: Option<u16>) -> Option<&'static str> {
    let (thread, core) = (side.thread_ratio?.get(), side.busiest_core_ratio?.get());
    if thread <= core + ROUNDING {
        return None;
    }
    // One thread's time over that of the cores.
    let alone = side.thread_cores.filter(|_| streams == Some(1));
    if alone.is_some_and(|alone| alone <= core + ROUNDING) {
        return Some(" (of a longer time, which the test was a part of)");
    }
    let all: f64 = side.cores.iter().map(|core| core.get()).sum();
    Some(if all + ROUNDING >= alone.unwrap_or(thread) {
        " (the thread moved between cores)"
    } else {
        " (the kernel counted cores by samples)"
    })
}

/// Shares that differ by less are the same: a clock tick of some hundred.
const ROUNDING: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::Ratio;

    fn said(thread: f64, cores: &[f64], thread_cores: Option<f64>) -> String {
        let ratio = |value: &f64| Ratio::clamped(*value);
        let side = CpuSide {
            thread_ratio: Some(Ratio::clamped(thread)),
            busiest_core_ratio: cores.iter().copied().reduce(f64::max).map(Ratio::clamped),
            cores: cores.iter().map(ratio).collect(),
            thread_cores,
            ..CpuSide::default()
        };
        cpu_line(&side, Some(1))
    }

    #[test]
    fn a_thread_with_more_than_any_core_says_how_that_can_be() {
        let plain = said(0.3, &[0.4, 0.1], Some(0.3));
        assert!(
            plain.starts_with("thread 30 %, busiest core 40 %, soft"),
            "{plain}"
        );
        let moved = said(0.357, &[0.181, 0.18], Some(0.356));
        assert!(
            moved.contains("18.1 % (the thread moved between cores),"),
            "{moved}"
        );
        let longer = said(0.357, &[0.181, 0.02], Some(0.17));
        assert!(longer.contains("18.1 % (of a longer time"), "{longer}");
        assert!(longer.ends_with("softirq not recorded"), "{longer}");
        let sampled = said(0.357, &[0.181, 0.02], None);
        assert!(sampled.contains("by samples"), "{sampled}");
    }
}
