//! Traffic of a test: its start, events on its streams, its end and progress.

use super::{Driver, SessionEvent};
use crate::error::Result;
use crate::state::State;
use anyhow::anyhow;
use linerate_engine::Role;
use linerate_model::sample::{EndpointReport, bytes_of};
use linerate_model::spec::{Observe, Side};
use linerate_model::{ByteCount, Clock as _, PacketCount, RefusalCode};
use linerate_observe::CoreLoad;
use linerate_peers::{Grant, Input, Progress, StreamEvent, StreamOrder};
use linerate_sys::clock::MonoClock;

impl Driver {
    /// Counts of this end in the test under way.
    pub fn progress(&self) -> Progress {
        self.state.test().map_or_else(Progress::default, |test| {
            let own = test.endpoints.progress();
            let tcp = own.tcp.unwrap_or_default();
            Progress {
                elapsed: own.elapsed,
                bytes: ByteCount::new(own.bytes),
                packets: PacketCount::new(own.packets),
                missing: own.missing.map(PacketCount::new),
                cwnd: tcp.cwnd_bytes.map(ByteCount::new),
                srtt_ns: tcp.srtt_ns,
                retransmitted: tcp.retransmitted.map(PacketCount::new),
                busiest_core: self
                    .cores
                    .iter()
                    .copied()
                    .max_by(|a, b| a.get().total_cmp(&b.get())),
                cores: self.cores.clone(),
            }
        })
    }

    /// Ends this end's traffic without the peer, which does not answer; what this end has counted, unless its reports
    /// were given out before. The session cannot go on.
    pub fn halt(&mut self) -> Vec<EndpointReport> {
        let test = self.state.test_mut();
        test.map_or_else(Vec::new, |test| test.endpoints.halt(&self.observer))
    }

    /// Starts the traffic of one side; the first side starts the progress of the test.
    pub(super) fn start(&mut self, side: Side) -> Result<()> {
        let Some(test) = self.state.test_mut() else {
            return Ok(());
        };
        if let Err(error) = test.endpoints.start(side, &self.observer) {
            self.abort(error.code(), error)?;
        }
        self.state.run(MonoClock.now());
        // Start from here: the load before the test does not count.
        (self.core_load, self.cores) = (CoreLoad::default(), Vec::new());
        self.look_at_cores();
        Ok(())
    }

    /// Reads the utilisation of the cores since the last reading, unless the test must not be disturbed.
    fn look_at_cores(&mut self) {
        let looks = self
            .state
            .test()
            .is_some_and(|test| test.spec.observe != Observe::None);
        if looks {
            self.cores = self.core_load.since_last(self.observer.scope());
        }
    }

    /// Carries out an order of the session on the data streams.
    pub(super) fn order(&mut self, order: StreamOrder) -> Result<()> {
        let Some(test) = self.state.test() else {
            return Ok(());
        };
        match order {
            StreamOrder::Datagram { stream, bytes } => test.endpoints.send_datagram(stream, bytes),
            StreamOrder::Grant(grant) => return self.grant(grant),
        }
        Ok(())
    }

    fn grant(&mut self, grant: Grant) -> Result<()> {
        let is_taken = self
            .state
            .test()
            .is_none_or(|test| test.endpoints.grant(grant));
        if is_taken {
            return Ok(());
        }
        let error = anyhow!("it announced more than a thousand rounds ahead");
        self.abort(RefusalCode::Protocol, error)
    }

    /// Handles this end's traffic: events on its streams, finished senders, drained receivers, progress.
    pub(super) fn attend_traffic(&mut self) -> Result<Option<SessionEvent>> {
        let is_running = matches!(self.state, State::Running { .. });
        if !is_running && !matches!(self.state, State::Reported(_)) {
            return Ok(None);
        }
        if !self.line.is_control() && self.attend_streams()? {
            return Ok(None);
        }
        let State::Running { test, .. } = &mut self.state else {
            return Ok(None);
        };
        let endpoints = &mut test.endpoints;
        endpoints.tend();
        let spent = endpoints.newly_spent();
        if spent > 0 {
            for _ in 0..spent {
                self.tell(Input::Stream(StreamEvent::GrantSpent))?;
            }
            return Ok(None);
        }
        if let Some(sent) = endpoints.newly_sent() {
            self.tell(Input::Finished { sent })?;
            return Ok(None);
        }
        if let Some(reports) = endpoints.reports(&self.observer) {
            self.state.report();
            if self.role == Role::Server && self.line.is_control() {
                // The reports go to the client only; no copy for this owner, since they may be long.
                let moved = SessionEvent::Moved {
                    sent: bytes_of(&reports, Side::Sender),
                    received: bytes_of(&reports, Side::Receiver),
                };
                self.tell(Input::Reports(reports))?;
                return Ok(Some(moved));
            }
            self.tell(Input::Reports(reports.clone()))?;
            return Ok(Some(SessionEvent::OwnReports(reports)));
        }
        self.tell_progress()?;
        Ok(None)
    }

    /// Reports events of the data streams where there is no control connection. Returns whether there was one.
    fn attend_streams(&mut self) -> Result<bool> {
        let Some(test) = self.state.test_mut() else {
            return Ok(false);
        };
        if let Some(stream) = test.endpoints.newly_heard() {
            self.tell(Input::Stream(StreamEvent::FirstData { stream }))?;
            return Ok(true);
        }
        if let Some((stream, bytes)) = test.endpoints.datagram() {
            let bytes = &bytes;
            self.tell(Input::Stream(StreamEvent::Datagram { stream, bytes }))?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Reports the progress about once per interval.
    fn tell_progress(&mut self) -> Result<()> {
        let now = MonoClock.now();
        let State::Running {
            test,
            next_progress,
        } = &mut self.state
        else {
            return Ok(());
        };
        if now < *next_progress {
            return Ok(());
        }
        *next_progress = now.after(test.spec.interval);
        self.look_at_cores();
        let progress = self.progress();
        self.tell(Input::Progress(progress))
    }
}
