//! What acknowledgements come back on.

use super::Cause;

/// The way back lets acknowledgements through no faster, and TCP sends no faster than they come.
pub(crate) static CAUSE: Cause = Cause {
    id: "return-path",
    name: "the return path",
    subject: "the return path",
    summary: "Datagrams as small as acknowledgements wait or are lost on the way back, while the data's way is free.",
    because: |_| "acknowledgements come back no faster, while datagrams find the way of the data free",
    ..Cause::BASE
};
