//! `latency --rpm`: round trips per minute while TCP streams fill the path, in each direction.

use super::LatencyPlan;
use crate::run::Measurement;
use anyhow::{Context as _, Result};
use linerate_analysis::responsiveness::{Saturation, round_trips_per_minute, trimmed_mean};
use linerate_client::{Client, Target};
use linerate_model::responsiveness::Responsiveness;
use linerate_model::run::{Delay, RunWork, Trial};
use linerate_model::spec::{Direction, Stop, TestSpec};
use linerate_model::{ByteCount, Clock as _, Histogram, PacketCount};
use linerate_sys::clock::{MonoClock, sleep_until};
use std::time::Duration;

/// Length of the trial that a number of streams is judged by: slow start takes most of the first half, which
/// is not counted.
const STEP_TIME: Duration = Duration::from_secs(1);

/// Time before that which is not counted, and before the first probe.
const LEAD_TIME: Duration = Duration::from_millis(500);

/// Bytes of one block of a loaded stream: the largest frame of HTTP/2, behind which a request there waits.
const BLOCK_BYTES: ByteCount = ByteCount::new(16 << 10);

/// Measures responsiveness against `target`, first idle and then with load each way.
pub(super) fn responsiveness(
    run: &mut Measurement<'_, '_>,
    target: &Target,
    plan: &LatencyPlan,
) -> Result<()> {
    let probes = probes(plan);
    run.measure(&probes, Some("new connections, idle"))?;
    for direction in [Direction::Forward, Direction::Reverse] {
        if run.context.interrupted() {
            return Ok(());
        }
        let saturation = saturate(run, direction)?;
        if run.context.interrupted() {
            return Ok(());
        }
        let load = TestSpec {
            streams: saturation.streams(),
            // It must outlast the probes: both begin with their own handshakes.
            stop: Stop::After(plan.time + 3 * LEAD_TIME),
            ..stream(direction)
        };
        let (foreign, loaded) = together(run, target, &probes, &load)?;
        let judged = judge(foreign.as_ref(), loaded.as_ref(), &load, &saturation);
        if let RunWork::Latency { responsiveness, .. } = &mut run.recorder.run_mut().work {
            responsiveness.push(judged);
        }
    }
    Ok(())
}

/// Short connections.
fn probes(plan: &LatencyPlan) -> TestSpec {
    TestSpec {
        stop: Stop::After(plan.time),
        pinning: plan.pinning,
        observe: plan.observe,
        ..TestSpec::connections()
    }
}

/// Loaded streams.
fn stream(direction: Direction) -> TestSpec {
    TestSpec {
        direction,
        warm_up: LEAD_TIME,
        stop: Stop::After(STEP_TIME),
        ..TestSpec::marked_bulk().with_payload(BLOCK_BYTES)
    }
}

/// Doubles the streams until that carries hardly more.
fn saturate(run: &mut Measurement<'_, '_>, direction: Direction) -> Result<Saturation> {
    let mut saturation = Saturation::default();
    while let Some(streams) = saturation
        .next_streams()
        .filter(|_| !run.context.interrupted())
    {
        let spec = TestSpec {
            streams,
            ..stream(direction)
        };
        let label = format!("load of {streams} TCP streams{}", way(direction));
        let trials = run.measure(&spec, Some(&label))?;
        let goodput = trials.first().and_then(|trial| trial.received_rate);
        let Some(goodput) = goodput else { break };
        saturation.record(goodput);
    }
    Ok(saturation)
}

const fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Forward => "",
        Direction::Reverse => " reverse",
        Direction::Duplex => " duplex",
    }
}

/// The probes while the load runs on a control connection of its own; the trials of both.
fn together(
    run: &mut Measurement<'_, '_>,
    target: &Target,
    probes: &TestSpec,
    load: &TestSpec,
) -> Result<(Option<Trial>, Option<Trial>)> {
    let mut loader = Client::connect(target)?;
    let interrupt = run.context.interrupt;
    let (foreign, outcome) = std::thread::scope(|scope| {
        let traffic = scope.spawn(move || {
            loader.run(load, &mut |_| {
                !interrupt.load(std::sync::atomic::Ordering::Relaxed)
            })
        });
        sleep_until(MonoClock.now().after(LEAD_TIME));
        let label = format!(
            "new connections, under {} TCP streams{}",
            load.streams,
            way(load.direction)
        );
        let made = run.measure(probes, Some(&label));
        let joined = traffic
            .join()
            .expect("invariant: the load thread does not panic");
        (made, joined)
    });
    let outcome = outcome.context("the load beside the probes failed")?;
    let foreign = foreign?.into_iter().next();
    let mut under_load = None;
    let index = run.recorder.next_index();
    for mut trial in super::super::trials(index, load, outcome) {
        trial.label = Some(format!(
            "load of {} TCP streams{}, probed",
            load.streams,
            way(load.direction)
        ));
        run.record(trial.clone());
        under_load = Some(trial);
    }
    Ok((foreign, under_load))
}

/// What the probes on new connections and the marks on loaded ones say together.
fn judge(
    foreign: Option<&Trial>,
    loaded: Option<&Trial>,
    load: &TestSpec,
    saturation: &Saturation,
) -> Responsiveness {
    let histogram = |delay: Option<&Delay>| delay.and_then(|delay| delay.histogram.clone());
    let handshakes = histogram(foreign.and_then(|trial| trial.handshake()));
    let requests = histogram(foreign.and_then(|trial| trial.delay()));
    let marks = histogram(loaded.and_then(|trial| trial.in_band()));
    let mean = |histogram: &Option<Histogram>| histogram.as_ref().and_then(trimmed_mean);
    let count = |histogram: &Option<Histogram>| histogram.as_ref().map_or(0, Histogram::len);
    let (handshake, request, in_band) = (mean(&handshakes), mean(&requests), mean(&marks));
    let failed = foreign.iter().flat_map(|trial| trial.raw());
    let failed = failed.flat_map(|report| &report.streams);
    let failed = failed.filter_map(|stream| stream.work.timeouts());
    Responsiveness {
        direction: load.direction,
        responsiveness_rpm: handshake.zip(request).zip(in_band).and_then(
            |((handshake, request), in_band)| round_trips_per_minute(handshake, request, in_band),
        ),
        handshake_ns: handshake,
        request_ns: request,
        in_band_ns: in_band,
        connections: count(&handshakes),
        failed_connections: failed.map(PacketCount::get).sum(),
        marks: count(&marks),
        streams: load.streams,
        goodput: loaded.and_then(|trial| trial.received_rate),
        saturated: saturation.is_saturated(),
    }
}
