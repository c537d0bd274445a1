//! `linerate p4 run --p4runtime`: the switch serves controllers.

use clap::Args;
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4::DROP_PORT;
use linerate_p4_runtime::{Options, Pipelines, ServeError, Server, serve};
use linerate_p4_switch::{Control, CpuPort};
use linerate_sys::clock::wall_now;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

/// Packets for controllers that wait; further ones are dropped and counted.
const PACKETS: usize = 1024;

/// Options of `run` about controllers.
#[derive(Debug, Args)]
pub(crate) struct ServedArgs {
    /// Serve P4Runtime there, 127.0.0.1:9559 without an address. There is no TLS: whoever reaches another address may write.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:9559", requires = "p4info")]
    p4runtime: Option<SocketAddr>,
    /// The port whose packets go to and come from controllers.
    #[arg(long, value_name = "PORT", default_value_t = 510, requires = "p4runtime", value_parser = clap::value_parser!(u32).range(..i64::from(DROP_PORT)))]
    cpu_port: u32,
    /// The number by which controllers know the switch.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "p4runtime", value_parser = clap::value_parser!(u64).range(1..))]
    device_id: u64,
}

/// What a pipeline is made of.
pub(crate) struct Files<'a> {
    pub(crate) program: &'a Path,
    pub(crate) p4info: Option<&'a Path>,
    pub(crate) entries: Option<&'a Path>,
}

impl ServedArgs {
    /// The port of the controllers, and the other end of it; neither where nobody is served.
    pub(crate) fn cpu_port(&self) -> (Option<CpuPort>, Option<Receiver<Vec<u8>>>) {
        if self.p4runtime.is_none() {
            return (None, None);
        }
        let (packets, receiver) = sync_channel(PACKETS);
        let number = self.cpu_port;
        (Some(CpuPort { number, packets }), Some(receiver))
    }

    /// Serves controllers until what is returned is dropped. `seed` is where random numbers of programs begin.
    pub(crate) fn serve(
        &self,
        control: &Control,
        packets: Option<Receiver<Vec<u8>>>,
        files: &Files<'_>,
        seed: u64,
    ) -> Result<Option<Server>, Failure> {
        let (Some(address), Some(packets), Some(p4info)) = (self.p4runtime, packets, files.p4info)
        else {
            return Ok(None);
        };
        let listener = TcpListener::bind(address).map_err(|error| {
            let what = format!(
                "cannot serve P4Runtime at {address}: {error}; give --p4runtime another address"
            );
            Failure::new(ExitCode::HostLacks, what)
        })?;
        let entries = files.entries.map(crate::files::read_text).transpose()?;
        let options = Options {
            device_id: self.device_id,
            cpu_port: self.cpu_port,
            seed,
            epoch: u64::try_from(wall_now().as_unix()).unwrap_or(0) * 1_000_000_000,
            ..Options::default()
        };
        let first = Pipelines {
            p4info: &crate::files::read(p4info)?,
            program: &crate::files::read(files.program)?,
            entries: entries.as_deref(),
        };
        let server = serve(
            listener,
            Arc::new(control.clone()),
            packets,
            options,
            Some(first),
        );
        server.map(Some).map_err(|error| {
            let code = match error {
                ServeError::Io(_) => ExitCode::HostLacks,
                _ => ExitCode::Plan,
            };
            Failure::new(code, error.to_string())
        })
    }
}
