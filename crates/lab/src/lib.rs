//! The room that knows all the others; also the agent loop.
#![forbid(unsafe_code)]
