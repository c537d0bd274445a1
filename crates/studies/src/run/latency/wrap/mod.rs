//! Turns under a wrapper such as `onload --profile=latency`: for each of them the wrapper starts this program again as
//! the asking end, and what it measured comes back as values.
//!
//! ```text
//!  this process                         WRAPPER linerate wrapped-turns
//!      │ standard input: peer, test ─────────► │ connects, measures
//!      │ ◄───────── standard output: what is loaded there, both ends' reports or why there are none; ends
//! ```
//!
//! Each way is one JSON document. The wrapper may print to standard output too: lines that are no document of
//! ours are passed over. A child that does not end in time is killed with all that it started.

mod child;
mod stack;

pub use child::serve_turns;

use anyhow::Result;
use linerate_client::{Target, planned_time};
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::facts::{Preloaded, WrappedProcess};
use linerate_model::run::TargetConfig;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::TestSpec;
use linerate_sys::clock::MonoClock;
use linerate_sys::process::{kill_group, memory_file, wait_for_end};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command};
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

/// What the child is to do: a test, or only to say what is loaded into it.
type Request = Option<ChildRequest>;

/// A test that the child is to make.
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
enum Answer {
    Failed { code: u8, message: String },
    Ready(Preloaded),
    Turn(Box<ChildTurn>),
}

/// One turn that the child made.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ChildTurn {
    pub(super) sender: Option<EndpointReport>,
    pub(super) receiver: Option<EndpointReport>,
    pub(super) notes: Vec<String>,
}

/// A wrapper under which this program runs.
pub(super) struct Wrapped {
    wrap: Wrap,
    process: WrappedProcess,
}

/// Most bytes of a child's complaint that are told.
const MAX_COMPLAINT: usize = 2048;

/// Most bytes that a child may say: reports with their histograms take some 100 kB.
const MAX_OUTPUT: u64 = 64 << 20;

/// How often the waiting side looks after its own connection.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What a turn may take beyond its traffic: starting, connecting, agreeing, reports.
const TURN_OVERHEAD: Duration = Duration::from_secs(15);

impl Wrapped {
    /// Has the wrapper start this program once, to see whether it can and what it loads.
    pub(super) fn start(wrap: &Wrap) -> Result<Self> {
        let mut wrapped = Self {
            wrap: wrap.clone(),
            process: WrappedProcess::default(),
        };
        let Some(Answer::Ready(preloaded)) =
            wrapped.answer(&None, wrap.start_limit, &mut || Ok(true))?
        else {
            return Err(wrapped
                .failure("what it started did not say what is loaded into it")
                .into());
        };
        wrapped.process = WrappedProcess {
            preloaded,
            version: Some(stack::version(&wrap.words)),
            wrapper: wrap.text(),
        };
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

    /// Has a child make one test. `idle` is called many times a second and says whether to go on; if not,
    /// the child is killed and there are no reports.
    pub(super) fn run(
        &self,
        target: &Target,
        spec: &TestSpec,
        idle: &mut dyn FnMut() -> Result<bool>,
    ) -> Result<ChildTurn> {
        let request = Some(ChildRequest {
            target: target.config(),
            key_file: self.wrap.key_file.clone(),
            spec: spec.clone(),
        });
        let planned = planned_time(spec).unwrap_or(Duration::from_hours(1));
        let limit = planned + target.timeout + self.wrap.start_limit + TURN_OVERHEAD;
        match self.answer(&request, limit, idle)? {
            Some(Answer::Turn(turn)) => Ok(*turn),
            None => Ok(ChildTurn::default()),
            Some(Answer::Failed { code, message }) => {
                let known = ExitCode::ALL.iter().map(|(known, _)| *known);
                let code = known.into_iter().find(|known| *known as u8 == code);
                let message = format!("under --wrap {}: {message}", self.wrap.text());
                Err(Failure::new(code.unwrap_or(ExitCode::Other), message).into())
            }
            Some(Answer::Ready(_)) => Err(self.failure("it made no test").into()),
        }
    }

    /// Starts a child and waits for its end; `None` if `idle` did not want to go on.
    fn answer(
        &self,
        request: &Request,
        limit: Duration,
        idle: &mut dyn FnMut() -> Result<bool>,
    ) -> Result<Option<Answer>> {
        let mut input = memory_file()?;
        serde_json::to_writer(&mut input, request)?;
        input.rewind()?;
        let mut said = ChildOutput::new()?;
        let mut child = self.spawn(input, &said)?;
        let waited = wait(&child, limit, idle);
        // Whatever it started ends with it; one that is gone already is what was wanted.
        drop(kill_group(&child));
        let status = child.wait()?;
        match waited? {
            Waited::Ended => {}
            Waited::Stopped => return Ok(None),
            Waited::TooLong => {
                let seconds = limit.as_secs_f64();
                let what = format!("no answer within {seconds} s, so it was killed");
                return Err(self.failure(&(what + &said.complaint()?)).into());
            }
        }
        if let Some(answer) = said.answer()? {
            return Ok(Some(answer));
        }
        let what = format!("it ended without an answer ({status}){}", said.complaint()?);
        Err(self.failure(&what).into())
    }

    fn spawn(&self, input: File, said: &ChildOutput) -> Result<Child> {
        let mut words = self.wrap.words.iter();
        let program = words.next().expect("invariant: parse refuses no words");
        let mut command = Command::new(program);
        command.args(words).arg(&self.wrap.program).arg(CHILD);
        command.stdin(input).stdout(said.output.try_clone()?);
        // A group of its own, so that it can be ended with all that it started.
        command.stderr(said.errors.try_clone()?).process_group(0);
        command.spawn().map_err(|error| {
            let text = self.wrap.text();
            let message = format!(
                "--wrap {text}: {program} cannot be started: {error}; install it, or give its path"
            );
            Failure::new(ExitCode::HostLacks, message).into()
        })
    }

    fn failure(&self, what: &str) -> Failure {
        let text = self.wrap.text();
        let message = format!("--wrap {text}: {what}; try `{text} linerate --version`");
        Failure::new(ExitCode::HostLacks, message)
    }
}

/// How waiting for a child ended.
enum Waited {
    Ended,
    Stopped,
    TooLong,
}

fn wait(child: &Child, limit: Duration, idle: &mut dyn FnMut() -> Result<bool>) -> Result<Waited> {
    let deadline = MonoClock.now().after(limit);
    while !wait_for_end(child, MonoClock.now().after(POLL_INTERVAL).min(deadline))? {
        if MonoClock.now() >= deadline {
            return Ok(Waited::TooLong);
        }
        if !idle()? {
            return Ok(Waited::Stopped);
        }
    }
    Ok(Waited::Ended)
}

/// What a child writes. Files in memory: nobody has to read while it writes, and what goes on after it holds up nobody.
struct ChildOutput {
    output: File,
    errors: File,
}

impl ChildOutput {
    fn new() -> io::Result<Self> {
        Ok(Self {
            output: memory_file()?,
            errors: memory_file()?,
        })
    }

    /// The last line that is a document of ours.
    fn answer(&mut self) -> io::Result<Option<Answer>> {
        let text = read(&mut self.output)?;
        let mut lines = text.lines().rev();
        Ok(lines.find_map(|line| serde_json::from_slice(line.as_bytes()).ok()))
    }

    /// The end of what it wrote to standard error.
    fn complaint(&mut self) -> io::Result<String> {
        let text = read(&mut self.errors)?;
        let text = text.trim();
        let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_COMPLAINT));
        Ok(match &text[start..] {
            "" => String::new(),
            end => format!("; it said: {end}"),
        })
    }
}

fn read(file: &mut File) -> io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
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
    fn an_answer_is_found_between_what_the_wrapper_prints() {
        let script =
            r#"echo 'Using TestStack 1'; echo '{"ready":{"ld_preload":"libx.so"}}'; echo bye"#;
        let wrapped = Wrapped::start(&wrapper(script)).unwrap();
        let process = wrapped.process();
        assert_eq!(process.preloaded.ld_preload.as_deref(), Some("libx.so"));
        assert!(process.version.is_some());
        assert!(wrapped.warning().unwrap().contains("libx.so"));
    }

    #[test]
    fn a_stop_while_the_child_works_ends_it() {
        let script = r#"case $(cat) in null) echo '{"ready":{}}';; *) sleep 1000;; esac"#;
        let wrapped = Wrapped::start(&wrapper(script)).unwrap();
        let target =
            Target::new(linerate_client::address::PeerAddress::parse("127.0.0.1:9").unwrap());
        let spec = TestSpec::ping_pong(linerate_model::spec::Transport::Udp);
        let turn = wrapped.run(&target, &spec, &mut || Ok(false)).unwrap();
        assert_eq!(turn.sender, None);
    }

    #[test]
    fn a_child_s_failure_keeps_its_code() {
        let script = r#"case $(cat) in null) echo '{"ready":{}}';; *) echo '{"failed":{"code":5,"message":"nobody there"}}';; esac"#;
        let wrapped = Wrapped::start(&wrapper(script)).unwrap();
        let target =
            Target::new(linerate_client::address::PeerAddress::parse("127.0.0.1:9").unwrap());
        let spec = TestSpec::ping_pong(linerate_model::spec::Transport::Udp);
        let error = wrapped.run(&target, &spec, &mut || Ok(true)).unwrap_err();
        let failure: &Failure = error.downcast_ref().unwrap();
        assert_eq!(failure.code, ExitCode::Peer);
        assert!(failure.message.contains("nobody there"), "{failure}");
    }
}
