//! `linerate tcp` and `linerate udp`: one test.

use crate::context::Context;
use crate::recorder::{Header, Recorder};
use crate::run::exchange::measure_between;
use crate::run::stack::{TrafficScope, note_stack};
use crate::run::{Measurement, PayloadChoice};
use anyhow::Result;
use linerate_client::{Client, Target};
use linerate_model::run::{Run, RunKind, RunRequest};
use linerate_model::spec::{ConnectionClose, Direction, TestSpec, Transport};

/// Runs one test against `target`.
pub fn single(context: &mut Context<'_>, target: &Target, spec: &TestSpec) -> Result<Run> {
    sized(context, target, spec, PayloadChoice::AsGiven)
}

/// Runs one test against `target` with datagrams as long as `payload` says.
pub(super) fn sized(
    context: &mut Context<'_>,
    target: &Target,
    spec: &TestSpec,
    payload: PayloadChoice,
) -> Result<Run> {
    let mut client = Client::connect(target)?;
    let mut spec = spec.clone();
    let fitted = payload.apply(context, &mut client, &mut spec)?;
    let spec = &spec;
    let header = Header {
        kind: match spec.transport() {
            Transport::Tcp => RunKind::Tcp,
            Transport::Udp => RunKind::Udp,
        },
        title: title(spec, target),
        target: Some(target.config()),
        asked: RunRequest::Test { test: spec.clone() },
        hosts: client.hosts(),
    };
    let mut recorder = Recorder::begin(context, header)?;
    recorder.answered_by(&client);
    recorder.run_mut().notes.extend(fitted);
    let mut run = Measurement {
        context,
        recorder: &mut recorder,
        client: &mut client,
    };
    measure_between(&mut run, spec, None)?;
    let is_whole = spec.warm_up.is_zero() && !context.interrupted();
    let counted = if is_whole {
        TrafficScope::Whole
    } else {
        TrafficScope::Part
    };
    note_stack(&mut recorder, &mut client, counted)?;
    Ok(recorder.finish(context))
}

/// `UDP 100 Mbit/s to board:5301`.
fn title(spec: &TestSpec, target: &Target) -> String {
    let transport = spec.transport();
    let load = spec
        .pace()
        .intended_load()
        .map(|rate| format!(" at {rate}"))
        .unwrap_or_default();
    if let Some(flows) = spec.work.connections().and_then(|work| work.flows.as_ref()) {
        let name = &flows.sizes.name;
        return format!("TCP flows of {name} at {} to {}", flows.load, target.far);
    }
    if let Some(work) = spec.work.connections() {
        let how = match work.close {
            ConnectionClose::Hold => "held open",
            _ => "at once, one after the other",
        };
        return format!(
            "TCP connections, {} {how}, to {}",
            work.concurrent, target.far
        );
    }
    let way = match spec.direction {
        Direction::Forward => "to",
        Direction::Reverse => "from",
        Direction::Duplex => "to and from",
    };
    format!("{transport}{load} {way} {}", target.far)
}
