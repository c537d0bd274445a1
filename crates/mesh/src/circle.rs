//! The circle method: every pair of a set in the fewest rounds of disjoint pairs.

/// Rounds in which `count` places meet each other: one less than places where that is even, else as many as places.
pub(crate) const fn rounds(count: usize) -> usize {
    if count < 2 { 0 } else { count + count % 2 - 1 }
}

/// The pairs of one round, smaller place first. One place stays fixed, the others turn around it.
pub(crate) fn round(count: usize, round: usize) -> impl Iterator<Item = (usize, usize)> {
    let turning = rounds(count);
    let slots = turning + 1;
    (0..slots / 2).filter_map(move |step| {
        let (a, b) = if step == 0 {
            (round, turning)
        } else {
            ((round + step) % turning, (round + turning - step) % turning)
        };
        // An odd number of places leaves out one of them in each round.
        (a < count && b < count).then_some((a.min(b), a.max(b)))
    })
}
