//! The scale of a comparison.

/// On which scale two sets are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    Differences,
    Logarithms,
}
