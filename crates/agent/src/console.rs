//! An agent controlled over this host's console: the control connection runs over the console, traffic over the
//! network.

use crate::AgentPlan;
use crate::serving::serve_one;
use anyhow::{Context as _, Result};
use linerate_deploy::CONSOLE_GREETING;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::carrier::Carrier;
use linerate_session::{CONSOLE_TIMEOUT, ConsoleLink, Line, connection_pair};
use linerate_sys::clock::MonoClock;
use linerate_sys::serial::SerialLine;
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;

/// Command-line parameters from its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsolePlan {
    /// The console.
    pub device: PathBuf,
    /// Its baud rate.
    pub baud: u32,
    /// The client's address in the network under test.
    pub client: IpAddr,
    /// This host's address there.
    pub address: IpAddr,
}

/// Serves the client at the console to its end. Access to the console implies full control of the host: no key is
/// required, and nothing is refused.
pub fn serve_console(plan: &ConsolePlan, mut output: impl Write, stop: &AtomicBool) -> Result<()> {
    let line = SerialLine::open(&plan.device, plan.baud).map_err(|error| {
        let message = format!(
            "using {} as a console: {error}; this is what `serial://` starts on a board",
            plan.device.display()
        );
        Failure::new(ExitCode::HostLacks, message)
    })?;
    writeln!(output, "{CONSOLE_GREETING}\r")
        .and_then(|()| output.flush())
        .context("greeting on the console")?;
    let carrier = Carrier::server(plan.baud, MonoClock.now());
    let mut console = ConsoleLink::new(line, carrier);
    if !console.wait_for_opening(stop)? {
        return Ok(());
    }
    let (near, far) = connection_pair()?;
    let agent = AgentPlan {
        timeout: CONSOLE_TIMEOUT,
        allow_imitation: false,
        ..AgentPlan::private()
    };
    thread::scope(|scope| {
        let served = scope.spawn(|| {
            let line = Line::over(near, CONSOLE_TIMEOUT)?.between(plan.address, plan.client);
            serve_one(line, &agent, stop)
        });
        let end_of_link = console.carry(&far, stop);
        // The console is in use: an error of the session goes over it, or is lost.
        drop(served.join());
        end_of_link
    })
}
