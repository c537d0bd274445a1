//! Development only: linerate measured against known truth, against other tools and against itself, in its tests,
//! benchmarks and examples.
#![forbid(unsafe_code)]
