//! The P4Runtime server of a run.

use super::{RunArgs, seed};
use crate::files;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4_runtime::{Options, OwnCertificate, Pipelines, ServeError, Server, Tls, serve};
use linerate_p4_switch::Control;
use linerate_sys::clock::{MonoClock, MonotonicOffset};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Packets that wait for controllers; further ones are counted and dropped.
pub(super) const PACKET_INS: usize = 1024;

/// How controllers are served.
pub(super) fn options(args: &RunArgs) -> Result<Options, Failure> {
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(chain), Some(key)) => Some(Tls {
            own: OwnCertificate {
                chain: files::read(chain)?,
                key: files::read(key)?,
            },
            clients: args.tls_ca.as_deref().map(files::read).transpose()?,
        }),
        _ => None,
    };
    Ok(Options {
        device_id: args.device_id,
        cpu_port: args.cpu_port,
        limits: args.limits(),
        seed: seed(),
        epoch: MonotonicOffset::measure().real(MonoClock.now()),
        tls,
        ..Options::default()
    })
}

/// Serves P4Runtime, with a first program if there is one.
pub(super) fn controllers(
    address: SocketAddr,
    control: Control,
    packets: Receiver<Vec<u8>>,
    options: Options,
    first: Option<Pipelines>,
) -> Result<Server, Failure> {
    let listener = TcpListener::bind(address).map_err(|error| {
        let message = format!("--p4runtime: cannot listen at {address}: {error}");
        Failure::new(ExitCode::HostLacks, message)
    })?;
    let served = serve(listener, Arc::new(control), packets, options, first);
    served.map_err(|error| {
        let code = match error {
            ServeError::Io(_) => ExitCode::HostLacks,
            _ => ExitCode::Plan,
        };
        Failure::new(code, error.to_string())
    })
}
