//! Checks whether this build can run a test.

use crate::error::{EngineError, Result};
use crate::{datapaths, workloads};
use linerate_model::BitRate;
use linerate_model::spec::{
    DatapathChoice, Imitation, MAX_STREAMS, MAX_THREADS, Pace, TestSpec, WaitMode,
};
use linerate_peers::StreamFormat;
use std::time::Duration;

/// Minimum reporting interval.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// Maximum TCP write or message, as in iperf3: memory per stream stays bounded.
const MAX_PAYLOAD: u64 = 1 << 20;

/// Maximum pause of an imitated slow reader or writer.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Refuses a test that this build cannot run; the error names the key and valid values.
pub fn check(spec: &TestSpec, format: &dyn StreamFormat) -> Result<()> {
    if !(1..=MAX_STREAMS).contains(&spec.streams) {
        let why = format!("it takes 1 to {MAX_STREAMS}");
        return Err(EngineError::plan("streams", &spec.streams, why));
    }
    check_threads(spec, format)?;
    if spec.interval < MIN_INTERVAL {
        let value = format!("{:?}", spec.interval);
        return Err(EngineError::plan(
            "interval",
            &value,
            "the shortest is 1 ms",
        ));
    }
    if spec.payload().get() > MAX_PAYLOAD {
        return Err(EngineError::plan(
            "payload",
            &spec.payload(),
            "the largest is 1 MiB",
        ));
    }
    if spec.pace() == Pace::At(BitRate::from_bps(0)) {
        return Err(EngineError::plan(
            "rate",
            &"0",
            "leave it out for an unpaced sender",
        ));
    }
    if let Some(imitation) = &spec.imitation {
        check_pause(imitation)?;
    }
    let datapath = datapaths::find(&spec.datapath.id)?;
    if spec.work.is_decomposed() && !datapath.has_socket_calls() {
        let why = "it takes apart round trips over the datapath sockets only";
        return Err(EngineError::plan("decompose", &true, why));
    }
    workloads::find(&spec.workload)?.check(spec, format)?;
    datapath.check(spec)
}

/// Refuses threads that carry several streams where they cannot.
fn check_threads(spec: &TestSpec, format: &dyn StreamFormat) -> Result<()> {
    let Some(threads) = spec.threads else {
        if spec.streams <= MAX_THREADS {
            return Ok(());
        }
        let why = format!("more than {MAX_THREADS} streams share threads: set threads");
        return Err(EngineError::plan("streams", &spec.streams, why));
    };
    if !(1..=MAX_THREADS.min(spec.streams)).contains(&threads) {
        let why = format!("it takes 1 to {MAX_THREADS}, and no more than there are streams");
        return Err(EngineError::plan("threads", &threads, why));
    }
    let why = if !format.identifies_test() {
        "streams share threads only with `linerate serve` at the peer"
    } else if !matches!(spec.workload.as_str(), "bulk" | "datagrams") {
        "streams share threads in the workloads bulk and datagrams only"
    } else if spec.datapath != DatapathChoice::default() {
        "streams share threads on the datapath sockets only, without parameters"
    } else if spec.wait == WaitMode::BusyPoll {
        "streams share threads with the wait modes block and spin only"
    } else if spec.imitation.is_some() {
        "an imitated slow application has a thread per stream"
    } else {
        return Ok(());
    };
    // Who gave more streams than that gave no threads.
    let why = format!("{why}; give at most {MAX_THREADS} streams, and no threads");
    Err(EngineError::plan("threads", &threads, why))
}

/// A thread that pauses longer would miss a stop.
fn check_pause(imitation: &Imitation) -> Result<()> {
    let (key, pause) = match imitation {
        Imitation::SlowReceiver { pause, .. } => ("receiver_pause", *pause),
        Imitation::SlowSender { pause } => ("sender_pause", *pause),
        Imitation::StallingResponder(stall) => ("responder_stall", stall.lasting),
    };
    if pause > MAX_PAUSE {
        let value = format!("{pause:?}");
        return Err(EngineError::plan(key, &value, "the longest is 1 s"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::ByteCount;
    use linerate_model::spec::WorkloadId;
    use linerate_peers::native;

    const LONG: Duration = Duration::from_secs(2);

    type Corrupt = fn(&mut TestSpec);

    #[test]
    fn a_test_that_cannot_be_names_its_key() {
        let good = TestSpec::udp_datagrams(Pace::Unpaced);
        let format = native::Streams { token: 1 };
        check(&good, &format).unwrap();
        let bad: &[(&str, Corrupt)] = &[
            ("streams", |s| s.streams = 0),
            ("interval", |s| s.interval = Duration::ZERO),
            ("payload", |s| s.work.set_payload(ByteCount::new(17))),
            ("payload", |s| s.work.set_payload(ByteCount::new(70_000))),
            ("rate", |s| s.work.set_pace(Pace::At(BitRate::from_bps(0)))),
            ("workload", |s| s.workload = WorkloadId::new("nonsense")),
            ("workload", |s| s.workload = TestSpec::tcp_bulk().workload),
            ("datapath", |s| s.datapath.id = "pigeons".to_owned()),
            ("receiver_pause", |s| {
                s.imitation = Some(Imitation::slow_receiver(LONG));
            }),
            ("sender_pause", |s| {
                s.imitation = Some(Imitation::SlowSender { pause: LONG });
            }),
        ];
        for (key, corrupt) in bad {
            let mut spec = good.clone();
            corrupt(&mut spec);
            let error = check(&spec, &format).unwrap_err();
            assert!(error.to_string().starts_with(key), "{key}: {error}");
        }
    }
    #[test]
    fn who_gave_only_many_streams_is_told_how_many_go() {
        let spec = TestSpec {
            streams: 200,
            threads: Some(2),
            ..TestSpec::tcp_bulk()
        };
        let format = native::Streams { token: 1 };
        check(&spec, &format).unwrap();
        let mut uncopied = spec.clone();
        uncopied.datapath.params = [("zerocopy".to_owned(), "true".to_owned())].into();
        let of_another_tool = check(&spec, &linerate_peers::sockperf::Streams);
        for refused in [check(&uncopied, &format), of_another_tool] {
            let words = refused.unwrap_err().to_string();
            assert!(words.contains("give at most 128 streams"), "{words}");
        }
    }
}
