//! Which flows of a mesh are slow beside the others, and what the slow ones have in common.

use crate::FlowEnds;

/// A flow is slow below the median by so many median absolute deviations: 3 standard deviations of normal rates.
const DEVIATIONS: f64 = 3.0 * 1.4826;
/// A flow is slow by at least this share of the median too: where all rates are alike, deviations are tiny.
const LEAST_SHARE: f64 = 0.2;
/// Share of a host's flows that are slow where the host is what they have in common.
const MOST_SLOW: f64 = 0.6;

/// What slow flows have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Common {
    /// Nothing: the flow is slow by itself.
    Nothing,
    /// Most flows that this host receives are slow.
    Receiver(usize),
    /// Most flows that this host sends are slow.
    Sender(usize),
}

/// Which of these rates, in bit/s, are slow beside the others.
pub fn slow(rates: &[Option<f64>]) -> Vec<bool> {
    let known: Vec<f64> = rates.iter().flatten().copied().collect();
    let Some(median) = median(known.clone()) else {
        return vec![false; rates.len()];
    };
    let deviations = known.iter().map(|rate| (rate - median).abs()).collect();
    let deviation = self::median(deviations).unwrap_or_default();
    let below = median - (DEVIATIONS * deviation).max(LEAST_SHARE * median);
    let is_slow = |rate: &Option<f64>| rate.is_some_and(|rate| rate < below);
    rates.iter().map(is_slow).collect()
}

/// What slow flow `at` has in common with others.
pub fn common(flows: &[FlowEnds], slow: &[bool], at: usize) -> Common {
    let share = |of: &dyn Fn(&FlowEnds) -> bool| {
        let all: Vec<bool> = flows
            .iter()
            .zip(slow)
            .filter(|(flow, _)| of(flow))
            .map(|(_, slow)| *slow)
            .collect();
        let slow = all.iter().filter(|slow| **slow).count();
        // One flow has nothing in common with itself.
        if all.len() < 2 {
            return 0.0;
        }
        linerate_model::units::float(slow as u64) / linerate_model::units::float(all.len() as u64)
    };
    let FlowEnds { from, to } = flows[at];
    let sending = share(&|flow| flow.from == from);
    let receiving = share(&|flow| flow.to == to);
    if sending >= MOST_SLOW && sending >= receiving {
        Common::Sender(from)
    } else if receiving >= MOST_SLOW {
        Common::Receiver(to)
    } else {
        Common::Nothing
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len().checked_sub(1)? / 2;
    Some(f64::midpoint(values[middle], values[values.len() / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_receiver_is_what_its_flows_have_in_common() {
        let mut flows = Vec::new();
        for from in 0..5 {
            flows.extend(
                (0..5)
                    .filter(|to| *to != from)
                    .map(|to| FlowEnds { from, to }),
            );
        }
        let rate = |flow: &FlowEnds| Some(if flow.to == 3 { 1e8 } else { 9.4e8 });
        let rates: Vec<_> = flows.iter().map(rate).collect();
        let slow = slow(&rates);
        assert_eq!(slow.iter().filter(|slow| **slow).count(), 4);
        for (at, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.to == 3) {
            assert_eq!(common(&flows, &slow, at), Common::Receiver(3), "{flow:?}");
        }
    }

    #[test]
    fn one_slow_flow_is_slow_by_itself_and_equal_rates_are_not_slow() {
        let flows = [(0, 1), (0, 2), (1, 2), (2, 1), (2, 0), (1, 0)];
        let flows = flows.map(|(from, to)| FlowEnds { from, to });
        let mut rates = [
            Some(100.0),
            Some(99.0),
            Some(101.0),
            Some(100.0),
            Some(98.0),
            None,
        ];
        assert!(!slow(&rates).contains(&true));
        rates[1] = Some(40.0);
        let slow = slow(&rates);
        assert_eq!(slow.iter().position(|slow| *slow), Some(1));
        assert_eq!(common(&flows, &slow, 1), Common::Nothing);
        assert!(!super::slow(&[None, None]).contains(&true));
    }
}
