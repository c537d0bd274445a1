//! Edge colouring: pairs into rounds of disjoint pairs, at most one round more than the busiest place has pairs.
//!
//! # References
//! - Misra and Gries, "A constructive proof of Vizing's theorem", Information Processing Letters 41 (1992)

/// Colours of the edges of a graph without loops and parallel edges.
struct Colouring {
    /// Neighbour of each place by each colour.
    at: Vec<Vec<Option<usize>>>,
}

/// A round for each of `edges` between `places`, from 0.
pub(crate) fn rounds(places: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut degree = vec![0; places];
    for &(a, b) in edges {
        degree[a] += 1;
        degree[b] += 1;
    }
    let colours = degree.iter().max().copied().unwrap_or_default() + 1;
    let mut colouring = Colouring {
        at: vec![vec![None; colours]; places],
    };
    for &(a, b) in edges {
        colouring.add(a, b);
    }
    let colour = |&(a, b): &(usize, usize)| {
        let colour = colouring.colour(a, b);
        colour.expect("invariant: every edge was coloured above")
    };
    edges.iter().map(colour).collect()
}

impl Colouring {
    fn colour(&self, a: usize, b: usize) -> Option<usize> {
        self.at[a].iter().position(|other| *other == Some(b))
    }

    /// A colour that no edge at `place` has; there are more colours than edges at a place.
    fn free(&self, place: usize) -> usize {
        let free = self.at[place].iter().position(Option::is_none);
        free.expect("invariant: a place has fewer edges than there are colours")
    }

    fn is_free(&self, place: usize, colour: usize) -> bool {
        self.at[place][colour].is_none()
    }

    fn set(&mut self, a: usize, b: usize, colour: usize) {
        self.at[a][colour] = Some(b);
        self.at[b][colour] = Some(a);
    }

    fn clear(&mut self, a: usize, b: usize, colour: usize) {
        self.at[a][colour] = None;
        self.at[b][colour] = None;
    }

    fn add(&mut self, centre: usize, first: usize) {
        let fan = self.fan(centre, first);
        let last = fan[fan.len() - 1];
        let (own, wanted) = (self.free(centre), self.free(last));
        self.swap_path(centre, own, wanted);
        // The swap may have changed the fan: its longest valid part that ends where `wanted` is free is turned.
        let mut end = 0;
        while !self.is_free(fan[end], wanted) {
            let next = fan[end + 1];
            let colour = self.colour(centre, next);
            let colour = colour.expect("invariant: only the first edge of a fan has no colour");
            debug_assert!(self.is_free(fan[end], colour), "a fan up to here");
            end += 1;
        }
        self.turn(centre, &fan[..=end], wanted);
    }

    /// Neighbours of `centre` from `first` on, each over an edge whose colour is free at the one before.
    fn fan(&self, centre: usize, first: usize) -> Vec<usize> {
        let mut fan = vec![first];
        loop {
            let last = fan[fan.len() - 1];
            let colours = self.at[centre].iter().enumerate();
            let mut next = colours.filter_map(|(colour, other)| {
                let other = (*other)?;
                (self.is_free(last, colour) && !fan.contains(&other)).then_some(other)
            });
            match next.next() {
                Some(next) => fan.push(next),
                None => return fan,
            }
        }
    }

    /// Exchanges two colours on the path from `from` that begins with an edge of `wanted`; `own` is free at `from`.
    fn swap_path(&mut self, from: usize, own: usize, wanted: usize) {
        if own == wanted {
            return;
        }
        let mut path = vec![from];
        let (mut here, mut colour) = (from, wanted);
        while let Some(next) = self.at[here][colour] {
            path.push(next);
            here = next;
            colour = own + wanted - colour;
        }
        let of_step = |step: usize, first: usize| {
            if step.is_multiple_of(2) {
                first
            } else {
                own + wanted - first
            }
        };
        for (step, edge) in path.windows(2).enumerate() {
            self.clear(edge[0], edge[1], of_step(step, wanted));
        }
        for (step, edge) in path.windows(2).enumerate() {
            self.set(edge[0], edge[1], of_step(step, own));
        }
    }

    /// Moves the colours of a fan one edge back, and gives the last edge `colour`.
    fn turn(&mut self, centre: usize, fan: &[usize], colour: usize) {
        let mut colours = Vec::with_capacity(fan.len());
        for &place in &fan[1..] {
            let old = self.colour(centre, place);
            let old = old.expect("invariant: only the first edge of a fan has no colour");
            self.clear(centre, place, old);
            colours.push(old);
        }
        colours.push(colour);
        for (&place, colour) in fan.iter().zip(colours) {
            self.set(centre, place, colour);
        }
    }
}
