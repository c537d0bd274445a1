//! What the links that were found leave to each flow: max-min fair shares.

use super::reference::Rates;

/// A link for this purpose.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) flows: Vec<usize>,
    /// bit/s.
    pub(super) capacity: f64,
}

/// What each of these flows would carry if only `links` and its own limit, its value in `alone`, held it back, bit/s.
pub(super) fn expected(alone: &Rates, links: &[Shared]) -> Rates {
    let mut fixed = Rates::new();
    loop {
        // The link that leaves least to each of its flows that are not fixed yet.
        let level = |link: &Shared| {
            let (mut left, mut count) = (link.capacity, 0.0);
            for flow in link.flows.iter().filter(|flow| alone.contains_key(flow)) {
                match fixed.get(flow) {
                    Some(rate) => left -= rate,
                    None => count += 1.0,
                }
            }
            (count > 0.0).then(|| left.max(0.0) / count)
        };
        let levels = links.iter().filter_map(|link| Some((level(link)?, link)));
        let Some((level, link)) = levels.min_by(|a, b| a.0.total_cmp(&b.0)) else {
            break;
        };
        // What flows carry less by themselves is left to the others.
        let slower = alone.iter();
        let slower: Vec<_> = slower
            .filter(|(flow, rate)| !fixed.contains_key(*flow) && **rate <= level)
            .collect();
        if slower.is_empty() {
            let rest = link.flows.iter().copied();
            let rest = rest.filter(|flow| alone.contains_key(flow) && !fixed.contains_key(flow));
            let rest: Vec<usize> = rest.collect();
            fixed.extend(rest.into_iter().map(|flow| (flow, level)));
        } else {
            fixed.extend(slower);
        }
    }
    let mut all = alone.clone();
    all.extend(fixed);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slow_flow_leaves_is_shared_by_the_others() {
        let alone = Rates::from([(0, 2.0), (1, 10.0), (2, 10.0), (3, 10.0)]);
        let link = Shared {
            flows: vec![0, 1, 2],
            capacity: 12.0,
        };
        let expected = expected(&alone, &[link]);
        assert_eq!(
            expected,
            Rates::from([(0, 2.0), (1, 5.0), (2, 5.0), (3, 10.0)])
        );
    }
}
