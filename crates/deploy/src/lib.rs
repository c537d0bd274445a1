//! linerate on other hosts: found for their architecture, copied, verified, started, and removed again.
//!
//! By ssh either a command is run to its end, or an agent is started that ends with whoever started it. Such an agent
//! removes its own file before it serves, has a key that only this process knows, and ends when its standard input does
//! or says nothing for [`SILENCE`]: nothing is left behind, however this process or the way to the host ends.
#![forbid(unsafe_code)]

mod console;
mod conversation;
mod ssh;

pub use console::{
    CONSOLE_AGENT, CONSOLE_GREETING, ConsoleHost, ConsolePeer, DEFAULT_BAUD, no_line,
};
pub use conversation::CommandOutput;
pub use ssh::{DeployedAgent, Deployment, SshHost};

use std::time::Duration;

/// The command that starts such an agent: of the program's own use.
pub const DEPLOYED_AGENT: &str = "deployed-agent";

/// What the agent says first, before its port.
pub const AGENT_GREETING: &str = "linerate-agent";

/// The name of the agent's file in its folder.
pub const AGENT_FILE: &str = "linerate";

/// Silence on its standard input after which an agent takes whoever started it for gone.
pub const SILENCE: Duration = Duration::from_secs(30);

/// How often it is told that its starter is there: three of these words may be late.
const BEAT: Duration = Duration::from_secs(8);
