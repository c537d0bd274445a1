//! What a selector chooses from: weights, ports that are watched, actions of one entry.

use std::collections::BTreeSet;

/// A member of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupMember {
    /// The member.
    pub id: u32,
    /// How often it is chosen, relative to the others.
    pub weight: u32,
    /// The port without which it is not chosen.
    pub watch: Option<u32>,
}

/// What a hash chooses from: numbers, each as often as it weighs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Weighted {
    /// Sums of the weights up to here, rising.
    ends: Vec<u64>,
    numbers: Vec<u32>,
}

impl Weighted {
    /// Those that weigh something and whose port, if they watch one, is not down.
    pub(super) fn new(
        of: impl Iterator<Item = (u32, u32, Option<u32>)>,
        down: &BTreeSet<u32>,
    ) -> Self {
        let mut weighted = Self::default();
        let mut sum = 0;
        for (number, weight, watch) in of {
            if weight > 0 && watch.is_none_or(|port| !down.contains(&port)) {
                sum += u64::from(weight);
                weighted.ends.push(sum);
                weighted.numbers.push(number);
            }
        }
        weighted
    }

    pub(super) fn choose(&self, hash: u64) -> Option<u32> {
        let at = hash.checked_rem(*self.ends.last()?)?;
        let place = self.ends.partition_point(|end| *end <= at);
        self.numbers.get(place).copied()
    }
}

/// An action of an entry that has several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredChoice {
    /// The place in the table's list of actions.
    pub(crate) action: u32,
    pub(crate) data: Vec<u64>,
    pub(crate) weight: u32,
    pub(crate) watch: Option<u32>,
}

/// The actions of an entry that has several, of which a selector chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choices {
    pub(crate) all: Vec<StoredChoice>,
    live: Weighted,
}

impl Choices {
    pub(super) fn new(all: Vec<StoredChoice>, down: &BTreeSet<u32>) -> Self {
        let mut choices = Self {
            all,
            live: Weighted::default(),
        };
        choices.refresh(down);
        choices
    }

    pub(super) fn refresh(&mut self, down: &BTreeSet<u32>) {
        let choices = self.all.iter().zip(0..);
        self.live = Weighted::new(
            choices.map(|(choice, at)| (at, choice.weight, choice.watch)),
            down,
        );
    }

    /// The one that a hash chooses.
    pub(super) fn choose(&self, hash: u64) -> Option<&StoredChoice> {
        self.all.get(self.live.choose(hash)? as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_ports_decide_what_is_chosen() {
        let members = [(7, 1, None), (8, 3, Some(2)), (9, 0, None)];
        let chosen = |down: &[u32]| {
            let weighted = Weighted::new(members.into_iter(), &down.iter().copied().collect());
            (0..8).map(|hash| weighted.choose(hash)).collect::<Vec<_>>()
        };
        assert_eq!(chosen(&[]), [7, 8, 8, 8, 7, 8, 8, 8].map(Some));
        assert_eq!(chosen(&[2]), [Some(7); 8]);
        assert_eq!(Weighted::default().choose(5), None);
    }
}
