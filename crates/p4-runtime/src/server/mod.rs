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

use crate::info::InfoError;
use crate::proto::p4::v1::p4_runtime_server::P4RuntimeServer;
use linerate_p4::{DataPlane, Limits, LoadError};
use service::Service;
use state::Shared;
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
        }
    }
}

/// A pipeline that a server begins with.
#[derive(Debug, Clone, Copy)]
pub struct Pipelines<'a> {
    /// P4Info, in text or binary form.
    pub p4info: &'a [u8],
    /// What p4c-bm2-ss wrote.
    pub program: &'a [u8],
    /// Entries, groups and sessions, as packet tests in STF form write them.
    pub entries: Option<&'a str>,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The device id is 0.
    #[error("the device id is 0: P4Runtime has no such device")]
    NoDevice,
    /// The P4Info is not one, or not of the program.
    #[error(transparent)]
    Info(#[from] InfoError),
    /// The program cannot be executed.
    #[error(transparent)]
    Program(#[from] LoadError),
    /// The entries are not of the program.
    #[error("entries: {0}")]
    Entries(#[from] linerate_p4::stf::StfError),
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
    first: Option<Pipelines<'_>>,
) -> Result<Server, ServeError> {
    if options.device_id == 0 {
        return Err(ServeError::NoDevice);
    }
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let shared = Arc::new(Shared::new(plane, options));
    if let Some(first) = first {
        shared.begin_with(first)?;
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
    let run = move || runtime.block_on(run(listener, shared, received, stopped));
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

async fn run(
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
    let server = tonic::transport::Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .max_concurrent_streams(MAX_STREAMS)
        .concurrency_limit_per_connection(MAX_STREAMS as usize);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    // Dropped with all connections when the owner says so: controllers see their streams end.
    tokio::select! {
        _ = server.serve_with_incoming(service, incoming) => {}
        () = notify::packet_ins(&shared, packets) => {}
        () = notify::poll(&shared) => {}
        _ = stopped => {}
    }
}
