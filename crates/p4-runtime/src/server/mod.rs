//! The P4Runtime server of one switch.
//!
//! ```text
//!  controllers ══ gRPC ══► service ── Job ──► DataPlane (the thread with the packets)
//!       ▲                    │ state: who is primary, the pipeline, digests
//!       └── streams ◄────────┴──◄── frames that left at the CPU port
//! ```
//!
//! It has a thread of its own with one event loop, so that everything of the state happens one after the other. What
//! needs the switch is a job for the data thread.

mod arbitration;
mod digests;
mod notify;
mod pipeline;
mod read;
mod service;
mod state;
mod stream;
mod write;

use crate::info::{InfoError, Pipeline, parse_p4info};
use crate::proto::p4::v1::p4_runtime_server::P4RuntimeServer;
use crate::tls::Tls;
use linerate_p4::{DataPlane, Limits, Program, Switch};
use service::Service;
use state::{Config, Shared};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;
use tonic::transport::server::TcpIncoming;

/// How a server is to be.
#[derive(Debug, Clone)]
pub struct Options {
    /// The number that controllers know the switch by; not 0.
    pub device_id: u64,
    /// The port whose packets go to and come from controllers.
    pub cpu_port: u32,
    /// Limits of the switches that pipelines make.
    pub limits: Limits,
    /// Where random numbers of programs begin.
    pub seed: u64,
    /// Nanoseconds from 1970 to the zero of the switch's clock.
    pub epoch: u64,
    /// The most controllers that are connected.
    pub max_controllers: usize,
    /// The most bytes of a message of a controller; a pipeline is one.
    pub max_message: usize,
    /// The most updates of a Write request.
    pub max_updates: usize,
    /// By what connections are encrypted; `None`: not at all.
    pub tls: Option<Tls>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            device_id: 1,
            cpu_port: 510,
            limits: Limits::default(),
            seed: 0,
            epoch: 0,
            max_controllers: 64,
            max_message: 64 << 20,
            max_updates: 1 << 18,
            tls: None,
        }
    }
}

/// A pipeline that a server begins with, and the switch that runs it.
#[derive(Debug)]
pub struct Pipelines {
    config: Config,
    switch: Switch,
}

impl Pipelines {
    /// A program with its P4Info, in text or binary form; `compiled` is what the program was loaded from.
    pub fn new(
        p4info: &[u8],
        program: Program,
        compiled: Vec<u8>,
        options: &Options,
    ) -> Result<Self, InfoError> {
        let pipeline = Pipeline::new(parse_p4info(p4info)?, program)?;
        let program = Arc::clone(&pipeline.program);
        Ok(Self {
            switch: Switch::new(program, options.limits, options.seed),
            config: Config {
                pipeline: Arc::new(pipeline),
                program: compiled.into(),
                cookie: None,
            },
        })
    }

    /// The switch, to set entries before it is served.
    pub fn switch(&mut self) -> &mut Switch {
        &mut self.switch
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The device id is 0.
    #[error("the device id is 0: P4Runtime has no such device")]
    NoDevice,
    /// Certificates or key are none, or do not belong together.
    #[error("TLS: {0}; certificates and keys are in PEM form, and a key is of its certificate")]
    Tls(String),
    /// The socket or the thread cannot be made.
    #[error("the P4Runtime server cannot start: {0}")]
    Io(#[from] io::Error),
}

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves the switch of a data plane at a socket. `packets` are the frames that left at the CPU port.
pub fn serve(
    listener: TcpListener,
    plane: Arc<dyn DataPlane>,
    packets: Receiver<Vec<u8>>,
    options: Options,
    first: Option<Pipelines>,
) -> Result<Server, ServeError> {
    if options.device_id == 0 {
        return Err(ServeError::NoDevice);
    }
    let builder = builder(&options)?;
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let shared = Arc::new(Shared::new(plane, options));
    if let Some(first) = first {
        shared.begin_with(first);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (stop, stopped) = oneshot::channel();
    let (frames, received) = tokio::sync::mpsc::channel(PACKET_INS);
    // Blocks on a channel of the data thread, and ends with it.
    std::thread::Builder::new()
        .name("p4rt-packets".to_owned())
        .spawn(move || {
            while let Ok(frame) = packets.recv() {
                if frames.blocking_send(frame).is_err() {
                    break;
                }
            }
        })?;
    let run = move || runtime.block_on(run(builder, listener, shared, received, stopped));
    let thread = std::thread::Builder::new()
        .name("p4rt".to_owned())
        .spawn(run)?;
    Ok(Server {
        address,
        stop: Some(stop),
        thread: Some(thread),
    })
}

/// Frames to controllers between the two threads; the data thread's own channel is what is bounded by its owner.
const PACKET_INS: usize = 64;
/// A controller that does not answer for so long is gone.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// Requests of one connection at a time.
const MAX_STREAMS: u32 = 64;

/// The server's settings.
fn builder(options: &Options) -> Result<tonic::transport::Server, ServeError> {
    let server = tonic::transport::Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .max_concurrent_streams(MAX_STREAMS)
        .concurrency_limit_per_connection(MAX_STREAMS as usize);
    let Some(tls) = &options.tls else {
        return Ok(server);
    };
    let own = server.tls_config(tls.of_server());
    own.map_err(|error| ServeError::Tls(crate::tls::reason(&error)))
}

async fn run(
    server: tonic::transport::Server,
    listener: TcpListener,
    shared: Arc<Shared>,
    packets: tokio::sync::mpsc::Receiver<Vec<u8>>,
    stopped: oneshot::Receiver<()>,
) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let limit = shared.options.max_message;
    let service = P4RuntimeServer::new(Service(Arc::clone(&shared)))
        .max_decoding_message_size(limit)
        .max_encoding_message_size(usize::MAX);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    // Dropped with all connections when the owner says so: controllers see their streams end.
    tokio::select! {
        _ = server.serve_with_incoming(service, incoming) => {}
        () = notify::packet_ins(&shared, packets) => {}
        () = notify::poll(&shared) => {}
        _ = stopped => {}
    }
}
