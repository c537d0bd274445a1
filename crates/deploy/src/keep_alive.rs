//! Signs of life for what runs on another host.

use crate::{BEAT, SILENCE};
use std::io::Write as _;
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

/// Sends empty lines to what runs there, until the sender of `beats` or what reads them is gone.
pub(crate) fn keep_alive(mut input: ChildStdin, beats: &Receiver<()>) {
    const { assert!(BEAT.as_secs() * 3 < SILENCE.as_secs()) };
    while beats.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
        if input.write_all(b"\n").is_err() {
            return;
        }
    }
}
