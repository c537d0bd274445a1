//! Explains logs without a store: files in, words and the report out, as `linerate import` gives them.
//!
//! ```text
//! page ── stdin: Question as a line of JSON, then the files ──► explain ── stdout: Answer as JSON ──► page
//! ```
//!
//! The program is a WASI one (`wasm32-wasip1`): its whole world is what the page hands it, and no memory is shared
//! by hand. Reads no file and no clock; the page says what time it is.
#![forbid(unsafe_code)]

mod explain;
mod frame;

pub use explain::{Answer, ExplainOptions, Explanation, InputFile, explain};
pub use frame::{FrameError, answer, question};
