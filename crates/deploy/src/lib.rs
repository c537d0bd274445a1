//! linerate on other hosts: found for their architecture, copied, verified, started, and removed again.
//!
//! By ssh a command is run to its end, a program with files of its own runs until its input ends or is silent, or an agent
//! is started that ends with its starter. Such an agent removes
//! its own file before it serves, has a key that only this process knows, and ends when its standard input does or is
//! silent for [`SILENCE`]: nothing is left behind, however this process or the connection ends.
#![forbid(unsafe_code)]

mod console;
mod console_time;
mod conversation;
mod far_program;
mod keep_alive;
mod login;
mod ssh;
mod ssh_process;
mod steps;

pub use console::{
    CONSOLE_AGENT, CONSOLE_GREETING, ConsoleHost, ConsolePeer, DEFAULT_BAUD, no_line,
};
pub use conversation::{CommandOutput, Package};
pub use far_program::FarProgram;
pub use ssh::{DeployedAgent, Deployment, SshHost};

use std::time::Duration;

/// Hidden command that starts such an agent.
pub const DEPLOYED_AGENT: &str = "deployed-agent";

/// The agent's first word, before its port.
pub const AGENT_GREETING: &str = "linerate-agent";

/// File name of the agent in its folder.
pub const AGENT_FILE: &str = "linerate";

/// Silence on its standard input after which an agent, or another program there, takes its starter for gone.
pub const SILENCE: Duration = Duration::from_secs(30);

/// Keep-alive interval of the starter: three in a row may be late.
const BEAT: Duration = Duration::from_secs(8);
