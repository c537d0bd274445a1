//! The P4Runtime server of a run.

use super::{RunArgs, seed};
use crate::files;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4_runtime::{Options, Pipelines, ServeError, Server, serve};
use linerate_p4_switch::Control;
use linerate_sys::clock::{MonoClock, MonotonicOffset};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Packets that wait for controllers; further ones are counted and dropped.
pub(super) const PACKET_INS: usize = 1024;

/// Serves P4Runtime, with the program that is given if there is one.
pub(super) fn controllers(
    args: &RunArgs,
    address: SocketAddr,
    control: Control,
    packets: Receiver<Vec<u8>>,
) -> Result<Server, Failure> {
    let files = match (&args.program, &args.p4info) {
        (None, _) => None,
        (Some(program), Some(p4info)) => Some((files::read(program)?, files::read(p4info)?)),
        (Some(_), None) => {
            let message = "--p4runtime with a program: give its P4Info too: --p4info FILE";
            return Err(Failure::new(ExitCode::Usage, message));
        }
    };
    let listener = TcpListener::bind(address).map_err(|error| {
        let message = format!("--p4runtime: cannot listen at {address}: {error}");
        Failure::new(ExitCode::HostLacks, message)
    })?;
    let options = Options {
        device_id: args.device_id,
        cpu_port: args.cpu_port,
        seed: seed(),
        epoch: MonotonicOffset::measure().real(MonoClock.now()),
        ..Options::default()
    };
    let entries = args.entries.as_deref().map(files::read_text).transpose()?;
    let first = files.as_ref().map(|(program, p4info)| Pipelines {
        p4info,
        program,
        entries: entries.as_deref(),
    });
    let served = serve(listener, Arc::new(control), packets, options, first);
    served.map_err(|error| {
        let code = match error {
            ServeError::Io(_) => ExitCode::HostLacks,
            _ => ExitCode::Plan,
        };
        Failure::new(code, error.to_string())
    })
}
