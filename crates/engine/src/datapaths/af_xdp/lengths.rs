//! Payload lengths of the frames of a stream: which length the frame of a number has.

use linerate_model::spec::Genome;

/// Bytes behind each frame on a wire: its frame check sequence.
pub(in crate::datapaths) const FCS: usize = 4;

/// Payload lengths, bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::datapaths) enum Lengths {
    /// All frames have this one.
    One(usize),
    /// Frame `n` has that at place `n` modulo the number of places; never empty.
    Mix(Vec<usize>),
}

impl Lengths {
    /// Those of a stream of `payload` bytes, or by a genome of frames with so many bytes of headers; `None` where the shortest
    /// frame has no room for them.
    pub(in crate::datapaths) fn new(
        payload: usize,
        genome: Option<&Genome>,
        headers: usize,
    ) -> Option<Self> {
        let Some(genome) = genome else {
            return Some(Self::One(payload));
        };
        let beside = headers + FCS;
        let each = genome.lengths().iter();
        let each = each.map(|length| usize::from(*length).checked_sub(beside));
        each.collect::<Option<Vec<_>>>().map(Self::Mix)
    }

    /// Length of the frame of this number.
    pub(in crate::datapaths) fn of(&self, sequence: u64) -> usize {
        match self {
            Self::One(length) => *length,
            Self::Mix(lengths) => lengths[Self::place(lengths, sequence)],
        }
    }

    /// Length at each place; empty where all frames have the same.
    pub(in crate::datapaths) fn places(&self) -> &[usize] {
        match self {
            Self::One(_) => &[],
            Self::Mix(lengths) => lengths,
        }
    }

    pub(in crate::datapaths) fn longest(&self) -> usize {
        match self {
            Self::One(length) => *length,
            Self::Mix(lengths) => lengths.iter().copied().max().unwrap_or_default(),
        }
    }

    /// Place of a number.
    pub(in crate::datapaths) fn place(lengths: &[usize], sequence: u64) -> usize {
        usize::try_from(sequence % lengths.len() as u64).unwrap_or_default()
    }
}
