//! Control protocols as state machines over bytes, with their codecs; no I/O, no clock.
#![forbid(unsafe_code)]
