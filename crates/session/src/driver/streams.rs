//! Data streams of a test: opened here, accepted at ports of its own, or taken from a shared port.

use super::{Arrivals, Driver, SessionEvent};
use crate::demux::{AwaitedStreams, DemuxHandle, StreamMark};
use crate::endpoints::{DataStreams, Endpoints, sides};
use crate::error::{Result, SessionError};
use crate::listener::StreamListener;
use crate::state::{State, Test};
use anyhow::anyhow;
use linerate_engine::{Role, opening_at_one_port};
use linerate_model::RefusalCode;
use linerate_model::spec::{Side, TestSpec, Transport};
use linerate_peers::{Arrival, Input, StreamEvent, StreamFormat, StreamTarget};
use linerate_sys::tcp::wait_readable;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

/// Timeout for the streams of a test at a shared port: a client with many of them over a long path opens one per round
/// trip. A message of the client on the control connection ends the wait sooner.
const STREAMS_LIMIT: Duration = Duration::from_secs(25);

/// Result of waiting for data streams at a shared port.
enum Awaited {
    /// They have arrived.
    Streams(DataStreams),
    /// Not all arrived in time.
    Failed(SessionError),
    /// None will arrive; the session knows it, or the client will report it.
    Over,
}

impl Driver {
    /// Starts to listen for a data stream of the peer.
    pub(super) fn listen(&mut self, transport: Transport, port: u16) -> Result<()> {
        let opened = StreamListener::open(transport, self.line.local().ip(), port);
        match opened.and_then(|listener| Ok((listener.port()?, listener))) {
            Ok((port, listener)) => {
                self.listener = Some(listener);
                self.tell(Input::Prepared(Ok(vec![(Side::Receiver, vec![port])])))
            }
            Err(error) => self.refuse(RefusalCode::Unsupported, error),
        }
    }

    /// Takes the data stream of the peer, if it has arrived.
    pub(super) fn attend_listener(&mut self) -> Result<()> {
        let Some(listener) = &self.listener else {
            return Ok(());
        };
        let from = self.line.remote().ip();
        let Some(stream) = listener.stream(from, self.opening_len)? else {
            return Ok(());
        };
        let listener = self.listener.take();
        self.listened = listener.map(|listener| (listener, stream.place));
        self.host(stream.data_streams, &stream.bytes)
    }

    /// Opens the sockets of a test. An error is reported to the client, not fatal.
    pub(super) fn prepare(
        &mut self,
        spec: TestSpec,
        format: &Arc<dyn StreamFormat>,
    ) -> Result<Option<SessionEvent>> {
        let arrival = format.arrival();
        if arrival == Arrival::SharedPort || matches!(self.arrivals, Arrivals::Through(_)) {
            return self.receive(spec, format);
        }
        let endpoints = match Endpoints::listen(self.role, &spec, format, self.line.local()) {
            Ok(endpoints) => endpoints,
            Err(error) => {
                self.refuse(error.code_of_opening(), error)?;
                return Ok(None);
            }
        };
        let is_told = arrival == Arrival::ToldPorts && spec.transport() == Transport::Udp;
        let ports = endpoints.ports();
        self.state = State::Open(Test { spec, endpoints });
        self.tell(Input::Prepared(Ok(ports)))?;
        if is_told {
            return Ok(None);
        }
        self.flush()?;
        self.await_streams()
    }

    /// Server of a shared port: takes the streams that carry the cookie of the client's control connection.
    fn receive(
        &mut self,
        spec: TestSpec,
        format: &Arc<dyn StreamFormat>,
    ) -> Result<Option<SessionEvent>> {
        if let Err(why) = fits_one_port(&spec, format.as_ref()) {
            self.refuse(RefusalCode::Unsupported, anyhow!(why))?;
            return Ok(None);
        }
        let endpoints = match self.await_arrivals(&spec, format)? {
            Awaited::Failed(error) => Err(error),
            Awaited::Over => return Ok(None),
            Awaited::Streams(streams) => Endpoints::adopt(self.role, &spec, format, streams),
        };
        match endpoints {
            Ok(endpoints) => {
                let began = SessionEvent::TestBegan(Box::new(spec.clone()));
                self.state = State::Open(Test { spec, endpoints });
                if format.arrival() != Arrival::SharedPort {
                    return self.await_streams();
                }
                self.tell(Input::Connected)?;
                Ok(Some(began))
            }
            Err(error) => {
                let code = error.code_of_opening();
                self.abort(code, error)?;
                Ok(None)
            }
        }
    }

    /// Waits for the streams at a shared port.
    fn await_arrivals(
        &mut self,
        spec: &TestSpec,
        format: &Arc<dyn StreamFormat>,
    ) -> Result<Awaited> {
        match std::mem::replace(&mut self.arrivals, Arrivals::None) {
            Arrivals::Here(streams) => {
                self.tell(Input::Prepared(Ok(Vec::new())))?;
                Ok(Awaited::Streams(streams))
            }
            Arrivals::Through(handle) => {
                let awaited = self.await_demux(&handle, spec, format);
                self.arrivals = Arrivals::Through(handle);
                awaited
            }
            Arrivals::None => {
                Err(anyhow!("bug in linerate: its streams came to no shared port").into())
            }
        }
    }

    /// Waits for the streams through the demultiplexer.
    fn await_demux(
        &mut self,
        handle: &DemuxHandle,
        spec: &TestSpec,
        format: &Arc<dyn StreamFormat>,
    ) -> Result<Awaited> {
        let sides = sides(self.role, spec.direction);
        let has_marks = format.arrival() != Arrival::SharedPort;
        let wanted = AwaitedStreams {
            transport: spec.transport(),
            count: usize::from(spec.streams) * sides.len(),
            marks: if has_marks {
                marks(sides, spec, format)
            } else {
                Vec::new()
            },
        };
        if let Err(error) = handle.expect(wanted, self.line.connection()?, STREAMS_LIMIT) {
            self.refuse(RefusalCode::Busy, error)?;
            return Ok(Awaited::Over);
        }
        let port = self.line.local().port();
        let told = sides.iter().filter(|_| has_marks);
        let ports = told.map(|side| (*side, vec![port])).collect();
        self.tell(Input::Prepared(Ok(ports)))?;
        self.flush()?;
        let line = &self.line;
        let streams = if has_marks {
            // Its client may say that it is still there.
            handle.wait(&|| Ok(line.has_ended()), self.timeout / 2)
        } else {
            let control = line.connection()?;
            let has_spoken = || Ok(wait_readable(&[control.as_fd()], Duration::ZERO)?[0]);
            handle.wait(&has_spoken, STREAMS_LIMIT)
        };
        Ok(match streams {
            Ok(Some(streams)) => Awaited::Streams(streams),
            Ok(None) => Awaited::Over,
            Err(error) => Awaited::Failed(error.into()),
        })
    }

    /// Server: waits while the client connects; the client confirms on the control connection afterwards.
    fn await_streams(&mut self) -> Result<Option<SessionEvent>> {
        let from = self.line.remote().ip();
        let limit = self.timeout / 2;
        let State::Open(test) = &mut self.state else {
            return Ok(None);
        };
        let line = &self.line;
        match test.endpoints.await_peer(from, limit, &|| line.has_ended()) {
            Ok(()) => {
                let began = SessionEvent::TestBegan(Box::new(test.spec.clone()));
                self.tell(Input::Connected)?;
                Ok(Some(began))
            }
            // The next read reports the cause.
            Err(_) if self.line.has_ended() => Ok(None),
            Err(error) => {
                let code = match error.code() {
                    RefusalCode::Unsupported => RefusalCode::Unsupported,
                    _ => RefusalCode::Timeout,
                };
                self.abort(code, error)?;
                Ok(None)
            }
        }
    }

    /// Opens the data streams, and reports the result to the session.
    pub(super) fn open_streams(
        &mut self,
        target: StreamTarget,
        format: &Arc<dyn StreamFormat>,
    ) -> Result<()> {
        let remote = self.line.remote();
        let opened = match (std::mem::replace(&mut self.state, State::IDLE), target) {
            // Bound already: this end has sent its ports first.
            (State::Open(mut test), StreamTarget::Ports(ports)) => {
                test.endpoints.join(remote, &ports).map(|()| test)
            }
            (State::Asked { spec, .. }, StreamTarget::Ports(ports)) => {
                Endpoints::connect(&spec, format, remote, &ports, self.timeout / 2)
                    .map(|endpoints| Test { spec, endpoints })
            }
            (State::Asked { spec, kept }, StreamTarget::SameStreams) => {
                Endpoints::adopt(Role::Client, &spec, format, kept)
                    .map(|endpoints| Test { spec, endpoints })
            }
            _ => return Err(anyhow!("bug in linerate: streams are opened for no test").into()),
        };
        match opened {
            Ok(test) => {
                self.state = State::Open(test);
                self.tell(Input::Connected)
            }
            Err(error) => self.abort(error.code(), error),
        }
    }

    /// Reports datagrams of a data stream for which the session has no test yet.
    pub(super) fn attend_arrivals(&mut self) -> Result<()> {
        let Arrivals::Here(streams) = &mut self.arrivals else {
            return Ok(());
        };
        let Some((stream, bytes)) = streams.next_datagram() else {
            return Ok(());
        };
        let bytes = &bytes;
        self.tell(Input::Stream(StreamEvent::Datagram { stream, bytes }))
    }
}

/// What each stream of a test begins with where they come to one port, in the order in which the server takes them.
fn marks(sides: &[Side], spec: &TestSpec, format: &Arc<dyn StreamFormat>) -> Vec<StreamMark> {
    let of = |side: &Side| {
        let side = *side;
        (0..)
            .take(usize::from(spec.streams))
            .map(move |stream: u8| {
                let number = opening_at_one_port(spec, side, stream.into());
                StreamMark {
                    opening: format.tcp_opening(number),
                    stream,
                    format: Arc::clone(format),
                }
            })
    };
    sides.iter().flat_map(of).collect()
}

/// Whether all connections of a test show whose they are.
fn fits_one_port(
    spec: &TestSpec,
    format: &dyn StreamFormat,
) -> std::result::Result<(), &'static str> {
    if spec.threads.is_some() {
        return Err(
            "streams that share threads need ports of their own: start the server without --one-port",
        );
    }
    if format.arrival() != Arrival::SharedPort && spec.work.connections().is_some() {
        return Err(
            "short connections need a port of their own: start the server without --one-port",
        );
    }
    Ok(())
}
