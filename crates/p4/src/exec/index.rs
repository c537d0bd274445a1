//! A hash table from keys of a fixed number of words to small numbers, with keys in place.

/// No number here.
const EMPTY: u32 = u32::MAX;

/// Open addressing with linear probing, at most half full.
#[derive(Debug, Clone)]
pub(super) struct Index {
    /// Where hashing begins: who does not know it cannot choose keys that collide.
    seed: u64,
    stride: usize,
    keys: Vec<u64>,
    values: Vec<u32>,
    used: usize,
}

impl Index {
    /// For keys of this many words.
    pub(super) fn new(stride: usize, seed: u64) -> Self {
        Self {
            seed,
            stride,
            keys: vec![0; 8 * stride],
            values: vec![EMPTY; 8],
            used: 0,
        }
    }

    /// Each word is multiplied to 128 bits, of which the halves are folded together: every bit depends on every bit.
    fn hash(&self, key: &[u64]) -> u64 {
        key.iter().fold(self.seed, |hash, word| {
            let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
            u64::try_from((product ^ product >> 64) & u128::from(u64::MAX)).unwrap_or_default()
        })
    }

    fn key(&self, slot: usize) -> &[u64] {
        &self.keys[slot * self.stride..][..self.stride]
    }

    /// Keys are a few words: comparing them here costs less than a call.
    fn holds(&self, slot: usize, key: &[u64]) -> bool {
        self.key(slot).iter().zip(key).all(|(a, b)| a == b)
    }

    fn home(&self, key: &[u64]) -> usize {
        // The table has at most 2³¹ slots: the low bits suffice.
        usize::try_from(self.hash(key)).unwrap_or_default() & (self.values.len() - 1)
    }

    /// The slot that holds the key, or the empty one where it would go.
    fn slot(&self, key: &[u64]) -> usize {
        let mut slot = self.home(key);
        while self.values[slot] != EMPTY && !self.holds(slot, key) {
            slot = (slot + 1) & (self.values.len() - 1);
        }
        slot
    }

    pub(super) fn get(&self, key: &[u64]) -> Option<u32> {
        Some(self.values[self.slot(key)]).filter(|value| *value != EMPTY)
    }

    pub(super) fn set(&mut self, key: &[u64], value: u32) {
        if self.used * 2 >= self.values.len() {
            self.grow();
        }
        let slot = self.slot(key);
        self.used += usize::from(self.values[slot] == EMPTY);
        self.values[slot] = value;
        self.keys[slot * self.stride..][..self.stride].copy_from_slice(key);
    }

    fn grow(&mut self) {
        let old = std::mem::replace(self, Self::new(self.stride, self.seed));
        self.values = vec![EMPTY; old.values.len() * 2];
        self.keys = vec![0; old.keys.len() * 2];
        for slot in (0..old.values.len()).filter(|slot| old.values[*slot] != EMPTY) {
            self.set(old.key(slot), old.values[slot]);
        }
    }

    pub(super) fn remove(&mut self, key: &[u64]) {
        let mask = self.values.len() - 1;
        let mut hole = self.slot(key);
        if self.values[hole] == EMPTY {
            return;
        }
        self.used -= 1;
        // Keys behind the hole that would be looked for in front of it move up.
        let mut slot = hole;
        loop {
            self.values[hole] = EMPTY;
            loop {
                slot = (slot + 1) & mask;
                if self.values[slot] == EMPTY {
                    return;
                }
                let wanted = self.home(self.key(slot));
                if slot.wrapping_sub(wanted) & mask >= slot.wrapping_sub(hole) & mask {
                    break;
                }
            }
            self.values[hole] = self.values[slot];
            let from = slot * self.stride;
            self.keys
                .copy_within(from..from + self.stride, hole * self.stride);
            hole = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec((0_u64..40, any::<bool>()), 0..300)) {
            let (mut index, mut map) = (Index::new(2, 7), BTreeMap::new());
            for (at, (key, insert)) in steps.into_iter().enumerate() {
                let key = [key, key * 7];
                if insert {
                    let value = u32::try_from(at).unwrap();
                    index.set(&key, value);
                    map.insert(key, value);
                } else {
                    index.remove(&key);
                    map.remove(&key);
                }
            }
            for key in 0..40 {
                prop_assert_eq!(index.get(&[key, key * 7]), map.get(&[key, key * 7]).copied());
            }
        }
    }
}
