//! The ssh process of a conversation.

use crate::conversation::{Broken, kept};
use crate::steps::{BABBLE, Patience, Steps, Typist, Wait};
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_sys::clock::MonoClock;
use linerate_sys::process::{kill_tree, wait_for_end};
use std::fs::File;
use std::io::BufReader;
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Timeout for ssh to end after its input has.
const GRACE: Duration = Duration::from_secs(5);

/// Longest time until a step is seen.
const STEP_CHECK: Duration = Duration::from_millis(200);

/// Maximum standard error of ssh and the remote shell that is shown, bytes.
const MAX_SAID: u64 = 4 * 1024;

/// The ssh process, waited for on drop, so that nothing is left at either end.
#[derive(Debug)]
pub(crate) struct Ssh(pub(crate) Child);

impl Drop for Ssh {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let deadline = MonoClock.now().after(GRACE);
        if !wait_for_end(&self.0, deadline).unwrap_or(false) {
            kill_tree(&self.0);
        }
        let _ = self.0.wait();
    }
}

impl Ssh {
    pub(crate) fn start(mut command: Command) -> Result<Self, Failure> {
        let child = command.spawn().map_err(|error| {
            let program = command.get_program().display();
            let message = format!(
                "{program} does not start: {error}; get OpenSSH's with: apt-get install openssh-client (Debian)"
            );
            Failure::new(ExitCode::HostLacks, message)
        })?;
        Ok(Self(child))
    }

    /// Runs `conversation` with the remote shell; `None` if it takes longer than `timeout`, or makes none of its `steps` for as
    /// long as `stalled`.
    pub(crate) fn converse<T: Send + 'static>(
        &mut self,
        timeout: Duration,
        stalled: Duration,
        steps: &Steps,
        conversation: impl FnOnce(BufReader<ChildStdout>, ChildStdin) -> Result<T, Broken>
        + Send
        + 'static,
    ) -> Result<Option<T>, Failure> {
        let child = &mut self.0;
        let errors = child.stderr.take();
        let (Some(input), Some(out)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::new(ExitCode::Other, "ssh has no pipes"));
        };
        let said = spawn_with_result(move || {
            errors.map_or_else(String::new, |errors| kept(errors, MAX_SAID))
        });
        let answer = spawn_with_result(move || conversation(BufReader::new(out), input));
        let typist = typist();
        let mut patience = Patience::new(MonoClock.now(), timeout, stalled, typist);
        let given_up = loop {
            let now = MonoClock.now();
            let wait = match patience.at(now, steps.count(), steps.has_heard()) {
                Wait::Until(until) => until.saturating_since(now).min(STEP_CHECK),
                given_up => break given_up,
            };
            match answer.recv_timeout(wait) {
                Ok(Ok(done)) => return Ok(Some(done)),
                Ok(Err(Broken::Refused(failure))) => return Err(failure),
                Ok(Err(Broken::Silent(awaited))) => return Err(ended_before(awaited, &said)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break Wait::Stalled,
            }
        };
        // The dialogue holds its input, and goes on until the process has ended. A program that ssh connects through may
        // not notice that.
        kill_tree(child);
        match given_up {
            Wait::Silent => {
                let message = format!(
                    "ssh said nothing for {} s; see that `ssh HOST true` ends without a question, and what its configuration connects through (ProxyCommand, ProxyJump)",
                    typist.silence().as_secs()
                );
                Err(Failure::new(ExitCode::Peer, message))
            }
            Wait::Babbles => {
                let message = format!(
                    "its shell prints for {} s, but not what it was asked for; see what its start-up files print, such as with `ssh HOST true`",
                    BABBLE.as_secs()
                );
                Err(Failure::new(ExitCode::Peer, message))
            }
            Wait::Stalled | Wait::Until(_) => Ok(None),
        }
    }
}

/// Whether ssh can ask somebody for a password.
fn typist() -> Typist {
    match File::open("/dev/tty") {
        Ok(_) => Typist::Possible,
        Err(_) => Typist::None,
    }
}

/// Error for an ssh that ended before it sent `awaited`.
fn ended_before(awaited: &str, said: &Receiver<String>) -> Failure {
    let said = said.recv_timeout(GRACE).unwrap_or_default();
    let said = if said.is_empty() {
        String::new()
    } else {
        format!("; it said: {said}")
    };
    let message = format!(
        "ssh ended before {awaited} was heard of{said}; see that `ssh` reaches the host and that it has a POSIX shell; where the agent does not start, build it without shared libraries (`make dist`)"
    );
    Failure::new(ExitCode::Peer, message)
}

/// Runs `work` on its own thread; the result is received from a channel.
fn spawn_with_result<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (tell, hear) = channel();
    // The receiver may be gone.
    thread::spawn(move || drop(tell.send(work())));
    hear
}
