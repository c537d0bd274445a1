//! Turns under a wrapper such as `onload --profile=latency`: the asking end runs in a child that the wrapper
//! starts, and what it measured comes back as values.
//!
//! ```text
//!  this process                    WRAPPER linerate wrapped-turns
//!      │ ◄──────────────────────────────── ready, what is loaded there
//!      │ request: peer, test ───────────────► │ connects, measures
//!      │ ◄──────────────────────── both ends' reports, or why there are none
//!      │ end of input ────────────────────────► │ ends
//! ```
//!
//! One JSON document per line. The wrapper may print to standard output too: lines that are no document of
//! ours are passed over. A child that does not answer in time is killed with all that it started.

mod child;
mod stack;

pub use child::serve_turns;

use anyhow::{Context as _, Result};
use linerate_client::Target;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::facts::{Preloaded, WrappedProcess};
use linerate_model::run::TargetConfig;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::TestSpec;
use linerate_sys::clock::MonoClock;
use linerate_sys::process::kill_group;
use serde::{Deserialize, Serialize};
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A wrapper, and what it is to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrap {
    /// Its program and arguments: `onload`, `--profile=latency`.
    pub words: Vec<String>,
    /// This program, which it starts with the argument [`CHILD`].
    pub program: PathBuf,
    /// File of the key that the peer asks for.
    pub key_file: Option<PathBuf>,
    /// How long it may take until what it started answers.
    pub start_limit: Duration,
}

/// How long a wrapper may take to start: an accelerated stack makes its queues first.
const START_LIMIT: Duration = Duration::from_secs(20);

/// The hidden command that a wrapper is to start.
pub const CHILD: &str = "wrapped-turns";

impl Wrap {
    /// A wrapper from its words, separated by blanks, for `program`.
    pub fn parse(text: &str, program: PathBuf) -> Result<Self, Failure> {
        let words: Vec<String> = text.split_ascii_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            let message =
                "--wrap: name a program and its arguments, such as \"onload --profile=latency\"";
            return Err(Failure::new(ExitCode::Usage, message));
        }
        Ok(Self {
            words,
            program,
            key_file: None,
            start_limit: START_LIMIT,
        })
    }

    /// What it was given as.
    pub fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// What the child is to do.
#[derive(Debug, Serialize, Deserialize)]
struct ChildRequest {
    /// The peer.
    target: TargetConfig,
    key_file: Option<PathBuf>,
    spec: TestSpec,
}

/// What the child says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Said {
    Ready(Preloaded),
    Turn(Box<ChildTurn>),
    Failed { code: u8, message: String },
}

/// One turn that the child made.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ChildTurn {
    pub(super) sender: Option<EndpointReport>,
    pub(super) receiver: Option<EndpointReport>,
    pub(super) notes: Vec<String>,
}

/// A child that measures under a wrapper. Dropping it ends the child.
pub(super) struct Wrapped {
    wrap: Wrap,
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    /// The last that it wrote to standard error.
    complaint: Arc<Mutex<Vec<u8>>>,
    /// Ends when standard error was read to its end.
    said_all: Receiver<()>,
    process: WrappedProcess,
}

/// Most bytes of a child's complaint that are kept.
const MAX_COMPLAINT: usize = 2048;

/// How long the last words of a child that is gone may take to arrive. What it started outside its group may hold
/// standard error open for ever.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Longest line of a child: reports with their histograms take some 100 kB.
const MAX_LINE: u64 = 64 << 20;

/// How often the waiting side looks after its own connection.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What a turn may take beyond its traffic: connecting, agreeing, reports.
const SPARE: Duration = Duration::from_secs(15);

impl Wrapped {
    /// Starts the child and waits until it answers.
    pub(super) fn start(wrap: &Wrap) -> Result<Self> {
        let (program, arguments) = wrap.words.split_first().context("a wrapper has a name")?;
        let mut command = Command::new(program);
        command.args(arguments).arg(&wrap.program).arg(CHILD);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // A group of its own, so that it can be ended with all that it started.
        command.stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| {
            Failure::new(
                ExitCode::HostLacks,
                format!(
                    "--wrap {}: {program} cannot be started: {error}; install it, or give its path",
                    wrap.text()
                ),
            )
        })?;
        let pipes = child
            .stdin
            .take()
            .zip(child.stdout.take())
            .zip(child.stderr.take());
        let ((input, output), errors) = pipes.context("invariant: all three were asked for")?;
        let complaint = Arc::default();
        let said_all = keep_last(errors, Arc::clone(&complaint));
        let mut wrapped = Self {
            wrap: wrap.clone(),
            child,
            input,
            lines: lines_of(output),
            complaint,
            said_all,
            process: WrappedProcess::default(),
        };
        let limit = wrap.start_limit;
        match wrapped.hear(limit, &mut || Ok(true))? {
            Said::Ready(preloaded) => wrapped.process.preloaded = preloaded,
            _ => {
                return Err(wrapped
                    .failure("what it started did not say that it is ready")
                    .into());
            }
        }
        wrapped.process.version = Some(stack::version(&wrap.words));
        wrapped.process.wrapper = wrap.text();
        Ok(wrapped)
    }

    /// What is loaded in the child, and the wrapper's version.
    pub(super) const fn process(&self) -> &WrappedProcess {
        &self.process
    }

    /// What to be careful about with this child's numbers.
    pub(super) fn warning(&self) -> Option<String> {
        stack::warning(&self.process.preloaded)
            .map(|why| format!("--wrap {}: {why}", self.wrap.text()))
    }

    /// Lets the child make one test. `idle` is called many times a second and says whether to go on; if not,
    /// the child is gone and there are no reports.
    pub(super) fn run(
        &mut self,
        target: &Target,
        spec: &TestSpec,
        idle: &mut dyn FnMut() -> Result<bool>,
    ) -> Result<ChildTurn> {
        let request = ChildRequest {
            target: target.config(),
            key_file: self.wrap.key_file.clone(),
            spec: spec.clone(),
        };
        let mut line = serde_json::to_string(&request)?;
        line.push('\n');
        let given = self.input.write_all(line.as_bytes());
        given.map_err(|error| self.end(&format!("it takes no request: {error}")))?;
        let planned = linerate_client::planned_time(spec).unwrap_or(Duration::from_hours(1));
        match self.hear(planned + target.timeout + SPARE, idle)? {
            Said::Turn(turn) => Ok(*turn),
            Said::Failed { code, message } => {
                let known = ExitCode::ALL.iter().map(|(known, _)| *known);
                let code = known.into_iter().find(|known| *known as u8 == code);
                let message = format!("under --wrap {}: {message}", self.wrap.text());
                Err(Failure::new(code.unwrap_or(ExitCode::Other), message).into())
            }
            Said::Ready(_) => Err(self.failure("it was started a second time").into()),
        }
    }

    /// The next document of the child.
    fn hear(&mut self, limit: Duration, idle: &mut dyn FnMut() -> Result<bool>) -> Result<Said> {
        let deadline = MonoClock.now().after(limit);
        loop {
            match self.lines.recv_timeout(POLL_INTERVAL) {
                Ok(line) => {
                    if let Ok(said) = serde_json::from_slice(line.as_bytes()) {
                        return Ok(said);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended().into()),
            }
            if MonoClock.now() >= deadline {
                let text = format!(
                    "no answer within {} s, so it was killed",
                    limit.as_secs_f64()
                );
                return Err(self.end(&text).into());
            }
            if !idle()? {
                self.kill();
                return Ok(Said::Turn(Box::default()));
            }
        }
    }

    /// It closed its output.
    fn ended(&mut self) -> Failure {
        // A wrapper that closed its output and goes on is ended here.
        self.kill();
        let what = match self.child.wait() {
            Ok(status) => format!("it ended without an answer ({status})"),
            Err(error) => format!("it ended without an answer ({error})"),
        };
        self.last_words(&what)
    }

    fn end(&self, what: &str) -> Failure {
        self.kill();
        self.last_words(what)
    }

    /// The failure of one that was ended, with all that it said.
    fn last_words(&self, what: &str) -> Failure {
        // Nothing is ever sent: it disconnects, or the time is over.
        let _said_all = self.said_all.recv_timeout(LAST_WORDS);
        self.failure(what)
    }

    fn failure(&self, what: &str) -> Failure {
        let kept = self
            .complaint
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&kept);
        let said = match said.trim() {
            "" => String::new(),
            text => format!("; it said: {text}"),
        };
        Failure::new(
            ExitCode::HostLacks,
            format!(
                "--wrap {}: {what}{said}; try `{} linerate --version`",
                self.wrap.text(),
                self.wrap.text()
            ),
        )
    }

    fn kill(&self) {
        // One that is gone already is what was wanted.
        drop(kill_group(&self.child));
    }
}

impl Drop for Wrapped {
    fn drop(&mut self) {
        self.kill();
        drop(self.child.wait());
    }
}

/// The lines of `output`, read by a thread, so that waiting for one can end.
fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
            let text = String::from_utf8_lossy(&line).into_owned();
            if !matches!(read, Ok(1..)) || sender.send(text).is_err() {
                return;
            }
        }
    });
    lines
}

/// Keeps the end of what comes; what is returned disconnects when nothing more will.
fn keep_last(mut from: impl Read + Send + 'static, kept: Arc<Mutex<Vec<u8>>>) -> Receiver<()> {
    let (reading, over) = channel::<()>();
    std::thread::spawn(move || {
        let _reading = reading;
        let mut room = [0; 1024];
        while let Ok(length @ 1..) = from.read(&mut room) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&room[..length]);
            let over = kept.len().saturating_sub(MAX_COMPLAINT);
            kept.drain(..over);
        }
    });
    over
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wrapper that is a small shell script in `sh -c`; what it is to start comes as `$0` and `$1`.
    fn wrapper(script: &str) -> Wrap {
        Wrap {
            words: ["sh", "-c", script].map(str::to_owned).to_vec(),
            program: PathBuf::from("/bin/true"),
            key_file: None,
            start_limit: Duration::from_mins(1),
        }
    }

    fn refused(wrap: &Wrap) -> String {
        match Wrapped::start(wrap) {
            Ok(_) => panic!("{wrap:?} was started"),
            Err(error) => {
                let failure: &Failure = error.downcast_ref().unwrap();
                assert_eq!(failure.code, ExitCode::HostLacks);
                failure.message.clone()
            }
        }
    }

    #[test]
    fn words_are_separated_by_blanks() {
        let wrap = Wrap::parse(" onload  --profile=latency ", PathBuf::new()).unwrap();
        assert_eq!(wrap.words, ["onload", "--profile=latency"]);
        assert_eq!(wrap.text(), "onload --profile=latency");
        assert!(Wrap::parse("  ", PathBuf::new()).is_err());
    }

    #[test]
    fn a_wrapper_that_is_not_there_is_told() {
        let wrap = Wrap::parse("no-such-wrapper --fast", PathBuf::from("/bin/true")).unwrap();
        let message = refused(&wrap);
        assert!(
            message.contains("no-such-wrapper cannot be started"),
            "{message}"
        );
    }

    #[test]
    fn a_wrapper_that_fails_is_told_with_its_own_words() {
        let message = refused(&wrapper("echo no such driver >&2; exit 7"));
        assert!(message.contains("exit status: 7"), "{message}");
        assert!(message.contains("no such driver"), "{message}");
    }

    #[test]
    fn a_wrapper_that_hangs_is_killed_with_what_it_started() {
        let mut wrap = wrapper("sleep 1000 & echo banner; wait");
        wrap.start_limit = Duration::from_millis(300);
        let message = refused(&wrap);
        assert!(
            message.contains("no answer within 0.3 s, so it was killed"),
            "{message}"
        );
    }

    #[test]
    fn a_child_is_ready_after_a_banner_and_gone_when_it_is_dropped() {
        let script = r#"echo 'Using TestStack 1'; echo '{"ready":{"ld_preload":"libx.so"}}'; cat > /dev/null"#;
        let wrapped = Wrapped::start(&wrapper(script)).unwrap();
        let process = wrapped.process();
        assert_eq!(process.preloaded.ld_preload.as_deref(), Some("libx.so"));
        assert!(process.version.is_some());
        assert!(wrapped.warning().unwrap().contains("libx.so"));
    }

    #[test]
    fn a_stop_while_the_child_works_ends_it() {
        let script = r#"echo '{"ready":{}}'; cat > /dev/null"#;
        let mut wrapped = Wrapped::start(&wrapper(script)).unwrap();
        let target =
            Target::new(linerate_client::address::PeerAddress::parse("127.0.0.1:9").unwrap());
        let spec = TestSpec::ping_pong(linerate_model::spec::Transport::Udp);
        let turn = wrapped.run(&target, &spec, &mut || Ok(false)).unwrap();
        assert_eq!(turn.sender, None);
    }

    #[test]
    fn a_child_s_failure_keeps_its_code() {
        let script = r#"echo '{"ready":{}}'; read request; echo '{"failed":{"code":5,"message":"nobody there"}}'"#;
        let mut wrapped = Wrapped::start(&wrapper(script)).unwrap();
        let target =
            Target::new(linerate_client::address::PeerAddress::parse("127.0.0.1:9").unwrap());
        let spec = TestSpec::ping_pong(linerate_model::spec::Transport::Udp);
        let error = wrapped.run(&target, &spec, &mut || Ok(true)).unwrap_err();
        let failure: &Failure = error.downcast_ref().unwrap();
        assert_eq!(failure.code, ExitCode::Peer);
        assert!(failure.message.contains("nobody there"), "{failure}");
    }
}
