//! Bounds of what a reader keeps of a test.

/// Most streams of a test, and most words of one kind that a reader keeps of it.
pub(super) const MAX_STREAMS: usize = 4096;

/// What a line of a test with more should have been.
pub(super) const TOO_MANY: &str = "a line of one of at most 4096 streams";
