//! A program on another host that runs until its input ends, or is silent.

use crate::keep_alive::keep_alive;
use crate::ssh_process::Ssh;
use linerate_model::exit::{ExitCode, Failure};
use std::io::{BufReader, Read as _};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Maximum output of such a program, bytes.
const MAX_OUTPUT: u64 = 8 * 1024 * 1024;

/// It runs there; dropping this ends it, and removes it there.
#[derive(Debug)]
pub struct FarProgram {
    /// Dropping it ends the program's input.
    beat: Option<Sender<()>>,
    output: Receiver<Vec<u8>>,
    ssh: Ssh,
    /// What is to be known of how it came there.
    pub note: Option<String>,
}

impl FarProgram {
    pub(crate) fn new(
        ssh: Ssh,
        input: ChildStdin,
        out: BufReader<ChildStdout>,
        note: Option<String>,
    ) -> Self {
        let (tell, output) = channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // What came before the connection broke is told.
            let _ = out.take(MAX_OUTPUT).read_to_end(&mut bytes);
            drop(tell.send(bytes));
        });
        let (beat, beats) = channel();
        thread::spawn(move || keep_alive(input, &beats));
        Self {
            beat: Some(beat),
            output,
            ssh,
            note,
        }
    }

    /// Waits for its end; once `is_over`, ends its input, which it answers with its end. Returns what it has written.
    pub fn finish(mut self, is_over: impl Fn() -> bool) -> Result<Vec<u8>, Failure> {
        let written = loop {
            if is_over() {
                drop(self.beat.take());
            }
            match self.output.recv_timeout(LOOK) {
                Ok(written) => break written,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break Vec::new(),
            }
        };
        drop(self.beat.take());
        let status = self.ssh.0.wait();
        let status = status
            .map_err(|error| Failure::new(ExitCode::Other, format!("waiting for ssh: {error}")))?;
        if status.success() {
            return Ok(written);
        }
        // ssh's own failures are 255.
        let code = status.code().and_then(ExitCode::of);
        let message = format!("the program there ended ({status})");
        Err(Failure::new(code.unwrap_or(ExitCode::Peer), message))
    }
}

/// How often is looked whether it is over: a signal wakes nobody who waits for a program.
const LOOK: Duration = Duration::from_millis(50);
