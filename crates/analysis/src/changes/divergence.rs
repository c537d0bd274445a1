//! Where two neighbouring stretches of a series differ most, by the distances between their values.

/// A place that splits a stretch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Split {
    /// The first value after it.
    pub(super) at: usize,
    /// How much what comes before and after it differ: twice the distances between the sides less those within each,
    /// scaled by their sizes.
    pub(super) divergence: f64,
}

/// The split of `values` with the largest divergence of any stretch that begins with them, each side with at least
/// `min_stretch` values; `None` where there is no room for two.
///
/// What comes after the split may end early, so that a level that comes back does not hide the change to it.
pub(super) fn best_split(values: &[f64], min_stretch: usize) -> Option<Split> {
    let least = min_stretch.max(1);
    let columns: Vec<Vec<f64>> = (0..values.len()).map(|at| column(values, at)).collect();
    let mut best: Option<Split> = None;
    let mut within_left = 0.0;
    for at in 1..values.len() {
        within_left += columns[at - 1][at - 1];
        if at < least || values.len() - at < least {
            continue;
        }
        let (mut between, mut within_right) = (0.0, 0.0);
        for end in at + 1..=values.len() {
            let column = &columns[end - 1];
            between += column[at];
            within_right += column[end - 1] - column[at];
            if end - at < least {
                continue;
            }
            let divergence = scaled(between, [within_left, within_right], [at, end - at]);
            if best.is_none_or(|best| divergence > best.divergence) {
                best = Some(Split { at, divergence });
            }
        }
    }
    best
}

/// Sums of the distances of the value at `of` to those before each place up to its own.
fn column(values: &[f64], of: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let sums = values[..of].iter().map(|value| {
        sum += (value - values[of]).abs();
        sum
    });
    std::iter::once(0.0).chain(sums).collect()
}

/// Sums of distances as a divergence of two sides of these sizes.
#[expect(clippy::cast_precision_loss, reason = "stretches are short")]
fn scaled(between: f64, within: [f64; 2], sizes: [usize; 2]) -> f64 {
    let [n, m] = sizes.map(|size| size as f64);
    let mean_pairs = |sum: f64, size: f64, other: f64| {
        if size < 2.0 {
            return 0.0;
        }
        2.0 * other / (n + m) / (size - 1.0) * sum
    };
    2.0 / (n + m) * between - mean_pairs(within[0], n, m) - mean_pairs(within[1], m, n)
}
