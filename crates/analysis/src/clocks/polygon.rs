//! A convex polygon that half-planes cut smaller.

/// Corners in order; none when nothing is left.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Polygon(Vec<(f64, f64)>);

impl Polygon {
    /// `x` from `low` to `high`, `y` from `-most` to `most`.
    pub(super) fn rectangle(low: f64, high: f64, most: f64) -> Self {
        Self(vec![(low, -most), (high, -most), (high, most), (low, most)])
    }

    /// Keeps where `a·x + b·y ≤ most` (Sutherland and Hodgman, "Reentrant polygon clipping", 1974).
    pub(super) fn keep(&mut self, a: f64, b: f64, most: f64) {
        let over = |(x, y): (f64, f64)| a * x + b * y - most;
        if self.0.iter().all(|corner| over(*corner) <= 0.0) {
            return;
        }
        let next = self.0.iter().cycle().skip(1);
        let mut kept = Vec::with_capacity(self.0.len() + 1);
        for (&from, &to) in self.0.iter().zip(next) {
            let (here, there) = (over(from), over(to));
            if here <= 0.0 {
                kept.push(from);
            }
            if (here < 0.0 && there > 0.0) || (here > 0.0 && there < 0.0) {
                let part = here / (here - there);
                kept.push((
                    from.0 + part * (to.0 - from.0),
                    from.1 + part * (to.1 - from.1),
                ));
            }
        }
        self.0 = kept;
    }

    /// The smallest and the largest `y`; `None` if nothing is left.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        let all = || self.0.iter().map(|(_, y)| *y);
        let range = (
            all().fold(f64::INFINITY, f64::min),
            all().fold(f64::NEG_INFINITY, f64::max),
        );
        (!self.0.is_empty()).then_some(range)
    }

    /// The largest distance of `a·x + b·y` from `value` over the polygon.
    pub(super) fn reach(&self, a: f64, b: f64, value: f64) -> f64 {
        let distances = self.0.iter().map(|(x, y)| (a * x + b * y - value).abs());
        distances.fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_is_cut_to_a_triangle_and_to_nothing() {
        let mut polygon = Polygon::rectangle(-1.0, 1.0, 1.0);
        polygon.keep(1.0, 1.0, 0.0);
        assert_eq!(polygon.range(), Some((-1.0, 1.0)));
        assert!((polygon.reach(1.0, 1.0, 0.0) - 2.0).abs() < 1e-12);
        polygon.keep(0.0, 1.0, 0.5);
        assert_eq!(polygon.range(), Some((-1.0, 0.5)));
        polygon.keep(-1.0, -1.0, -0.5);
        assert_eq!(polygon.range(), None);
    }
}
