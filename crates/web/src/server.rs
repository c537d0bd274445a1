//! Connections: where the site listens, how many it serves at once, how long it waits for a request.

use crate::pages;
use crate::site::Site;
use anyhow::{Context as _, Result};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use linerate_model::exit::{ExitCode, Failure};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime;
use tokio::sync::Semaphore;

/// Connections that are served at once; more wait until one ends. Below the usual limit of 1024 descriptors by what
/// lists and reports need.
const MAX_CONNECTIONS: usize = 768;

/// A connection that asks for nothing for so long is closed.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Threads that make pages.
const MAX_BLOCKING_THREADS: usize = 8;

/// Wait after a connection could not be accepted, as where descriptors are used up.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// Listens at `at`.
pub(crate) fn bind(at: SocketAddr) -> Result<TcpListener, Failure> {
    let listening = TcpListener::bind(at).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listening.map_err(|error| {
        let message = format!(
            "cannot listen at {at}: {error}; choose another place with --listen ADDRESS:PORT, port 0 for any free port"
        );
        Failure::new(ExitCode::HostLacks, message)
    })
}

/// Serves `site` for as long as the process lives.
pub(crate) fn run(listener: TcpListener, site: Arc<Site>) -> Result<Infallible> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .build()
        .context("starting the event loop")?;
    runtime.block_on(accept(listener, site))
}

async fn accept(listener: TcpListener, site: Arc<Site>) -> Result<Infallible> {
    let listener = tokio::net::TcpListener::from_std(listener).context("listening")?;
    let service = TowerToHyperService::new(pages::router(site));
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let place = Arc::clone(&room).acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_RETRY).await;
            continue;
        };
        // Events are small and late ones worth little.
        let _ = stream.set_nodelay(true);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(REQUEST_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service.clone());
        tokio::spawn(async move {
            // A client that breaks off or speaks no HTTP is nobody's error.
            let _ = connection.await;
            drop(place);
        });
    }
}
