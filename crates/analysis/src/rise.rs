//! Where a quantity begins to stay above a limit.

/// The first of the points, in rising order of load, from which on all are above; `None` if the last is not.
pub(crate) fn lasting<T>(points: &[T], is_above: impl Fn(&T) -> bool) -> Option<usize> {
    let above = points.iter().rev().take_while(|point| is_above(point));
    let count = above.count();
    (count > 0).then(|| points.len() - count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_below_is_no_rise_and_the_last_run_is() {
        let above = |value: &u32| *value > 10;
        assert_eq!(lasting(&[1, 50, 2, 11, 12], above), Some(3));
        assert_eq!(lasting(&[1, 50, 2], above), None);
        assert_eq!(lasting(&[11, 12], above), Some(0));
        assert_eq!(lasting(&[], above), None);
    }
}
