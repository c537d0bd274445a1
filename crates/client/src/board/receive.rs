//! A test in which the board sends: this host is its server for that one test.

use super::Board;
use super::stream_listener::{Stream, StreamListener};
use crate::pulse::{Pulse, planned_time};
use anyhow::Result;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::sample::EndpointReport;
use linerate_model::spec::TestSpec;
use linerate_observe::Observer;
use linerate_peers::iperf2::Iperf2;
use linerate_peers::zperf::{Job, Upload, job, sender};
use linerate_peers::{Limits, PeerKind as _, Progress, ServerConfig};
use linerate_session::{Driver, SessionEvent};
use linerate_sys::clock::MonoClock;
use linerate_sys::random::random_bytes;
use std::net::IpAddr;
use std::time::Duration;

/// How long one look for the board's stream takes.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What a board's test needs of this end.
pub(crate) struct Here {
    /// This host's address, as the board reaches it.
    pub(crate) local: IpAddr,
    /// The board's.
    pub(crate) remote: IpAddr,
    pub(crate) observer: Observer,
    pub(crate) timeout: Duration,
}

/// What both ends saw; nothing if the user ended the test.
pub(crate) type Seen = Option<(Option<EndpointReport>, EndpointReport)>;

/// Has the board send, and receives.
pub(crate) fn receive(
    board: &mut Board,
    here: Here,
    spec: &TestSpec,
    pulse: &mut dyn FnMut(&Pulse) -> bool,
) -> Result<Seen> {
    let stream_listener = StreamListener::open(spec.transport(), here.local)?;
    let job = job(spec, here.local, stream_listener.port()?);
    board.upload(job.clone())?;
    let Some(stream) = first(board, &stream_listener, here.remote, pulse)? else {
        return Ok(None);
    };
    let limits = Limits {
        // It ends itself; this is for one whose end is lost.
        max_duration: planned_time(spec).unwrap_or_default() + here.timeout,
        ..Limits::default()
    };
    let config = ServerConfig {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        timeout: here.timeout,
        session: "board".to_owned(),
        limits,
        ..ServerConfig::new(here.local, random_bytes()?)
    };
    let session = Iperf2.server(config, MonoClock.now());
    let mut driver = Driver::server(stream.line, session, here.observer, here.timeout);
    let _place = stream.place;
    driver.host(stream.data_streams, &stream.bytes)?;
    let seen = both(board, &mut driver, pulse);
    driver.bye();
    let Some((own, told)) = seen? else {
        return Ok(None);
    };
    let size = match job {
        Job::Upload { size, .. } => size,
        Job::Serve { .. } => 0,
    };
    Ok(Some((sender(spec, &told, size, &own), own)))
}

/// The board's stream; `None` if the user did not wait for it.
fn first(
    board: &mut Board,
    stream_listener: &StreamListener,
    from: IpAddr,
    pulse: &mut dyn FnMut(&Pulse) -> bool,
) -> Result<Option<Stream>> {
    loop {
        if let Some(stream) = stream_listener.stream(from, POLL_INTERVAL)? {
            return Ok(Some(stream));
        }
        board.look()?;
        if board.has_uploaded().is_some() {
            let message = "the board says that it has sent, but nothing of it came here: see that its host= is the address that it sends from, and that no firewall drops its traffic";
            return Err(Failure::new(ExitCode::Peer, message).into());
        }
        if !pulse(&progress(&Progress::default())) {
            board.give_up();
            return Ok(None);
        }
    }
}

/// What this end saw and what the board prints; `None` if the user ended the test.
fn both(
    board: &mut Board,
    driver: &mut Driver,
    pulse: &mut dyn FnMut(&Pulse) -> bool,
) -> Result<Option<(EndpointReport, Upload)>> {
    let (mut own, mut told) = (None, None);
    loop {
        match driver.turn()? {
            Some(SessionEvent::OwnReports(mut reports)) => own = reports.pop(),
            Some(SessionEvent::TestEnded { code, reason }) => {
                let message =
                    format!("what the board sent could not be received ({code}): {reason}");
                return Err(Failure::new(ExitCode::Peer, message).into());
            }
            Some(SessionEvent::Closed) => {
                let closed = || {
                    Failure::new(
                        ExitCode::Peer,
                        "what the board sent had no end that could be seen",
                    )
                };
                let own = own.ok_or_else(closed)?;
                let told = match told {
                    Some(told) => told,
                    None => board.uploaded()?,
                };
                return Ok(Some((own, told)));
            }
            _ => {}
        }
        board.look()?;
        told = told.or_else(|| board.has_uploaded());
        if own.is_some() && told.is_some() {
            return Ok(own.zip(told));
        }
        if own.is_none() && !pulse(&progress(&driver.progress())) {
            board.give_up();
            return Ok(None);
        }
    }
}

fn progress(own: &Progress) -> Pulse {
    Pulse {
        elapsed: own.elapsed,
        bytes: own.bytes.get(),
        received: None,
    }
}
