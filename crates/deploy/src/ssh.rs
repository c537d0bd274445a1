//! Route to a host by the system's ssh: its address syntax, and the agent that runs there while it is measured.
//!
//! How the host is reached and trusted is the user's `ssh_config` and `known_hosts`: nothing of that is overridden.

use crate::conversation::{
    CommandOutput, Package, agent_script, command_script, find_program, quoted, run_command,
    start_agent, start_program,
};
use crate::far_program::FarProgram;
use crate::keep_alive::keep_alive;
use crate::ssh_process::Ssh;
use crate::steps::Steps;
use linerate_boards::{Boards, SSH_OPTIONS, agent_folders};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::hex;
use linerate_model::query::Query;
use linerate_model::ssh::{SshDestination, is_name};
use linerate_peers::key::Key;
use linerate_sys::process::ignore_interrupt;
use linerate_sys::random::random_bytes;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Timeout until an agent serves: 18 MB over 1 Mbit/s take half of it.
const DEPLOY_TIMEOUT: Duration = Duration::from_mins(5);

/// Time without a step of an agent's start after which the host counts as hanging: a user may type a password meanwhile.
const STALLED: Duration = Duration::from_mins(1);

/// A host to reach by ssh, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshHost {
    destination: SshDestination,
    /// Its address in the network under test, where ssh uses another one.
    address: Option<String>,
    /// The port of the agent; 0 for any.
    agent_port: u16,
    /// The only folder to look for agents in.
    agents: Option<PathBuf>,
    /// ssh's configuration file, if not the user's.
    config: Option<PathBuf>,
    /// The ssh program with options.
    program: Vec<String>,
}

impl SshHost {
    /// Parses `ssh://…`, or `board://NAME` of an emulated board that is up.
    pub fn named(text: &str) -> Result<Self> {
        let wrong = |why: &str| Failure::new(ExitCode::Usage, format!("{text}: {why}"));
        if let Some(rest) = text.strip_prefix("ssh://") {
            return Self::read(rest).map_err(|why| wrong(&why));
        }
        let name = text.strip_prefix("board://");
        let name = name.ok_or_else(|| wrong("write ssh://user@host or board://NAME"))?;
        let name = name
            .parse()
            .map_err(|_| wrong("no board has such a name"))?;
        let record = Boards::of_user()?.reach(&name)?;
        let host = Self::read(&record.address.to_string()).map_err(|why| wrong(&why))?;
        let options = SSH_OPTIONS.iter().map(|word| (*word).to_owned());
        Ok(host.by(["ssh".to_owned()].into_iter().chain(options).collect()))
    }

    /// Parses what follows `ssh://`.
    pub fn read(rest: &str) -> Result<Self, String> {
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let destination = place.parse()?;
        let mut parts = Query::read(query)?;
        let address = parts.take("host");
        if address.as_deref().is_some_and(|host| !is_name(host)) {
            return Err("host= is not a host's name or address".to_owned());
        }
        let agent_port = parts.number("port", 0)?;
        let [agents, config] = ["agents", "config"].map(|name| parts.take(name).map(PathBuf::from));
        parts.end(&["host=", "port=", "agents=", "config="])?;
        Ok(Self {
            destination,
            address,
            agent_port,
            agents,
            config,
            program: vec!["ssh".to_owned()],
        })
    }

    /// Sets the ssh program, with these options before linerate's own.
    #[must_use]
    pub fn by(mut self, program: Vec<String>) -> Self {
        self.program = program;
        self
    }

    /// What of this address itself decides which programs are started: ssh's configuration here, agents there. Each in
    /// words, as a command is written.
    pub fn decided_by(&self) -> impl Iterator<Item = String> + '_ {
        let config = self.config.iter();
        let config = config.map(|file| format!("ssh -F {}", file.display()));
        let agents = self.agents.iter();
        config.chain(agents.map(|folder| format!("{}/* on {}", folder.display(), self.destination)))
    }

    /// Runs linerate there with these arguments to its end, and removes it.
    pub fn run(&self, words: &[String], timeout: Duration) -> Result<CommandOutput> {
        let find = self.finds(Package::OWN.program);
        Ssh::start(self.command(&command_script(words)))
            .and_then(|mut ssh| {
                let steps = Steps::default();
                let told = steps.clone();
                let run = move |out, input| run_command(out, input, find, &told);
                // What it runs may be silent for long.
                ssh.converse(timeout, timeout, &steps, run)?
                    .ok_or_else(|| Failure::new(ExitCode::Peer, "it did not answer in time"))
            })
            .map_err(|failure| self.name(&failure))
    }

    /// Starts a program there with these words, in a folder with its files. It ends with its input, and is to: that is how
    /// it ends when the connection does. Where the connection only falls silent, it ends by itself once its input has had no
    /// line for [`crate::SILENCE`]: an empty one comes more often. What it says on standard error goes to this process's.
    pub fn start(&self, package: &Package, words: &[String]) -> Result<FarProgram> {
        let mut command = self.command(&package.script(words));
        command.stderr(Stdio::inherit());
        // The first Ctrl-C ends the program's input.
        ignore_interrupt(&mut command);
        let find = self.finds(package.program);
        let files = package.files.clone();
        let steps = Steps::default();
        let told = steps.clone();
        let started = Ssh::start(command).and_then(|mut ssh| {
            let started = ssh.converse(DEPLOY_TIMEOUT, STALLED, &steps, move |out, input| {
                start_program(out, input, find, &files, &told)
            })?;
            let (out, input, note) = started.ok_or_else(|| {
                Failure::new(ExitCode::Peer, "it did not take the program in time")
            })?;
            Ok(FarProgram::new(ssh, input, out, note))
        });
        started.map_err(|failure| self.name(&failure))
    }

    /// Finds a program for what `uname -m` says.
    fn finds(&self, program: &'static str) -> impl FnOnce(&str) -> Result<Vec<u8>> + use<> {
        let folders = self.folders();
        move |machine| find_program(program, machine, &folders)
    }

    /// Prefixes a failure with the name of the host.
    fn name(&self, failure: &Failure) -> Failure {
        Failure::new(failure.code, format!("{self}: {}", failure.message))
    }

    /// Folders with programs for other architectures.
    fn folders(&self) -> Vec<PathBuf> {
        let home = || std::env::home_dir().map(|home| home.join(".cache/linerate"));
        let given = self.agents.clone().map(|folder| vec![folder]);
        given.unwrap_or_else(|| agent_folders(home().as_deref()))
    }

    /// ssh with the options for the host.
    fn ssh(&self) -> Command {
        let (program, options) = self
            .program
            .split_first()
            .map_or(("ssh", &[][..]), |(first, rest)| (first, rest));
        let mut ssh = Command::new(program);
        ssh.args(options);
        if let Some(config) = &self.config {
            ssh.arg("-F").arg(config);
        }
        ssh.args(self.destination.options());
        ssh
    }

    /// ssh command that runs this script there.
    fn command(&self, script: &str) -> Command {
        let mut ssh = self.ssh();
        let far = format!("sh -c {}", quoted(script));
        ssh.args(["-T", "--", self.destination.host(), &far])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        ssh
    }

    /// Its name or address in the network under test: from ssh's configuration unless given.
    fn in_network(&self) -> String {
        if let Some(address) = &self.address {
            return address.clone();
        }
        let host = self.destination.host();
        let printed = self.ssh().args(["-G", "--", host]).output().ok();
        let text = printed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let name = text.as_deref().and_then(|text| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix("hostname "))
        });
        name.unwrap_or(host).to_owned()
    }
}

impl fmt::Display for SshHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ssh://{}", self.destination)?;
        let port = (self.agent_port > 0).then(|| self.agent_port.to_string());
        let path = |path: &Option<PathBuf>| Some(path.as_ref()?.display().to_string());
        let parts = [
            ("host", self.address.clone()),
            ("port", port),
            ("agents", path(&self.agents)),
            ("config", path(&self.config)),
        ];
        let written = parts
            .iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?)));
        for (at, (name, value)) in written.enumerate() {
            let mark = if at == 0 { '?' } else { '&' };
            write!(f, "{mark}{name}={value}")?;
        }
        Ok(())
    }
}

/// A running agent, with its secret key.
#[derive(Debug, Clone)]
pub struct DeployedAgent {
    /// Its host's name or address in the network under test.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Key for its clients.
    pub key: Key,
    /// Note on how it was deployed.
    pub note: Option<String>,
}

/// A host by ssh, and this process's agent there.
#[derive(Debug)]
pub struct Deployment {
    host: SshHost,
    running: Mutex<Option<Running>>,
}

impl Deployment {
    /// The host, with nothing started yet.
    pub const fn new(host: SshHost) -> Self {
        Self {
            host,
            running: Mutex::new(None),
        }
    }

    /// The host as given in the address.
    pub const fn host(&self) -> &SshHost {
        &self.host
    }

    /// The agent there, started if there is none.
    pub fn agent(&self) -> Result<DeployedAgent> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.as_mut().is_none_or(Running::has_ended) {
            // Remove an agent that has ended first.
            *running = None;
            let started = Running::start(&self.host);
            *running = Some(started.map_err(|failure| self.host.name(&failure))?);
        }
        let running = running.as_ref().expect("invariant: it was started above");
        Ok(running.agent.clone())
    }

    /// Note on how the agent was deployed.
    pub fn note(&self) -> Option<String> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref()?.agent.note.clone()
    }
}

/// An ssh process with an agent at the remote end. The agent ends with ssh's input.
#[derive(Debug)]
struct Running {
    agent: DeployedAgent,
    /// Dropping it ends the agent's input.
    beat: Option<Sender<()>>,
    ssh: Ssh,
}

impl Running {
    fn start(host: &SshHost) -> Result<Self> {
        let secret: [u8; 32] = random_bytes()
            .map_err(|error| Failure::new(ExitCode::HostLacks, format!("random bytes: {error}")))?;
        let secret = hex(&secret);
        let key = Key::new(secret.as_bytes()).expect("invariant: it is long enough");
        let mut command = host.command(&agent_script(host.agent_port));
        // The first Ctrl-C ends the traffic, and the agent reports what it counted.
        ignore_interrupt(&mut command);
        let mut ssh = Ssh::start(command)?;
        let find = host.finds(Package::OWN.program);
        let steps = Steps::default();
        let told = steps.clone();
        let started = ssh.converse(DEPLOY_TIMEOUT, STALLED, &steps, move |out, mut input| {
            start_agent(out, &mut input, find, &secret, &told).map(|serving| (serving, input))
        })?;
        let (serving, input) = started.ok_or_else(|| {
            let message = format!(
                "no agent serves there: {} s without a step of its start, or {} s in all",
                STALLED.as_secs(),
                DEPLOY_TIMEOUT.as_secs()
            );
            Failure::new(ExitCode::Peer, message)
        })?;
        let (beat, beats) = channel();
        thread::spawn(move || keep_alive(input, &beats));
        let agent = DeployedAgent {
            host: host.in_network(),
            port: serving.port,
            key,
            note: serving.note,
        };
        Ok(Self {
            agent,
            beat: Some(beat),
            ssh,
        })
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.ssh.0.try_wait(), Ok(None))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.beat.take());
    }
}

#[cfg(test)]
mod tests {
    use super::{Ssh, Steps};
    use crate::*;
    use std::io::{BufReader, Read as _};
    use std::process::{ChildStdout, Command, Stdio};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// In place of ssh, with a dialogue that waits for a word until its last writer has ended: whether it was given up by
    /// time.
    fn gives_up(script: &str) -> bool {
        let mut silent = Command::new("sh");
        silent
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut ssh = Ssh::start(silent).unwrap();
        let (told, heard) = channel();
        let waits = move |mut out: BufReader<ChildStdout>, input| {
            let read = out.read(&mut [0]).unwrap();
            drop(input);
            told.send(read).unwrap();
            Ok(())
        };
        let (hour, stalled) = (Duration::from_hours(1), Duration::from_millis(50));
        let answer = ssh.converse(hour, stalled, &Steps::default(), waits);
        assert_eq!(heard.recv(), Ok(0));
        answer.unwrap().is_none()
    }

    #[test]
    fn a_host_that_makes_no_step_is_given_up_long_before_the_time_of_a_whole_start() {
        assert!(gives_up("read -r word"));
    }

    #[test]
    fn what_ssh_connects_through_and_does_not_notice_its_end_ends_with_it() {
        assert!(gives_up("sleep infinity & wait"));
    }

    #[test]
    fn hosts_are_read_and_shown_as_they_are_written() {
        for text in [
            "ssh://board",
            "ssh://root@board.lab:2222",
            "ssh://user@[fe80::1%eth0]:22",
            "ssh://board?host=192.0.2.1&port=5301&agents=/srv/agents&config=lab.conf",
        ] {
            let rest = text.strip_prefix("ssh://").unwrap();
            assert_eq!(SshHost::read(rest).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_host_or_no_part_of_it_is_refused() {
        for bad in [
            "",
            "-oProxyCommand=x?host=192.0.2.1",
            "board?host=",
            "board?host=-x",
            "board?port=0",
            "board?baud=9600",
            "board?agents",
        ] {
            assert!(SshHost::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_address_that_is_written_goes_before_what_ssh_knows() {
        let host = SshHost::read("board?host=192.0.2.1").unwrap();
        assert_eq!(host.in_network(), "192.0.2.1");
    }
}
