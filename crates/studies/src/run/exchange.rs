//! Short exchanges of messages before and after a test of datagrams: where its hosts read two clocks, one-way
//! delays need to know how these stand to each other.

use super::Measurement;
use anyhow::Result;
use linerate_analysis::assemble;
use linerate_client::{Client, DirectionOutcome};
use linerate_model::run::{Host, Trial};
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Direction, Observe, Pinning, Stop, TestSpec, Transport};
use std::time::Duration;

/// How long one exchange takes: on a path of 1 ms some 200 messages, of which the fastest bound the offset.
const EXCHANGE_TIME: Duration = Duration::from_millis(200);

/// What an exchange gave: the report of the client, who asked, and of the server.
type Exchange = [EndpointReport; 2];

/// Runs one test of datagrams between two exchanges, if its hosts read two clocks.
pub(super) fn measure_between(
    run: &mut Measurement<'_, '_>,
    spec: &TestSpec,
    label: Option<&str>,
) -> Result<()> {
    let client = &mut *run.client;
    let compare =
        spec.work.is_datagrams() && client.shows_clock() && clocks_may_differ(&client.hosts());
    let before = compare.then(|| exchange(client, spec)).transpose()?;
    let mut trials = run.unrecorded(spec, label)?;
    let wanted = compare && !run.context.interrupted() && trials.iter().any(needs_exchanges);
    if wanted {
        let after = exchange(run.client, spec)?;
        let exchanges: Vec<Exchange> = [before.flatten(), after].into_iter().flatten().collect();
        for trial in &mut trials {
            assemble::with_exchanges(trial, &exchanges);
        }
    }
    for trial in trials {
        run.record(trial);
    }
    Ok(())
}

fn needs_exchanges(trial: &Trial) -> bool {
    match trial.raw() {
        [sender, receiver] => assemble::needs_exchanges(sender, receiver),
        _ => false,
    }
}

/// Whether the two hosts are not known to read one clock.
fn clocks_may_differ(hosts: &[Host]) -> bool {
    let [here, there] = hosts else { return true };
    let (here, there) = (&here.facts, &there.facts);
    // Kernels before 5.6 have one time namespace and do not name it.
    let is_same_time = here.time_namespace == there.time_namespace;
    here.boot_id.is_none() || here.boot_id != there.boot_id || !is_same_time
}

/// A short ping-pong over UDP, not recorded as a trial.
fn exchange(client: &mut Client, spec: &TestSpec) -> Result<Option<Exchange>> {
    let exchange = TestSpec {
        stop: Stop::After(EXCHANGE_TIME),
        observe: Observe::None,
        wait: spec.wait,
        pinning: Pinning::default(),
        ..TestSpec::ping_pong(Transport::Udp)
    };
    debug_assert_eq!(exchange.direction, Direction::Forward);
    let outcome = client.run(&exchange, &mut |_| true)?;
    let ends = outcome.directions.into_iter().next();
    Ok(ends.and_then(
        |DirectionOutcome {
             sender, receiver, ..
         }| Some([sender?, receiver?]),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::HostRole;

    fn host(facts: &[(&str, &str)]) -> Host {
        Host {
            facts: facts.iter().copied().collect(),
            ..Host::new(HostRole::Client)
        }
    }

    #[test]
    fn only_one_boot_in_one_time_namespace_is_known_to_be_one_clock() {
        let one = host(&[("boot_id", "a"), ("time_namespace", "time:[1]")]);
        let moved = host(&[("boot_id", "a"), ("time_namespace", "time:[2]")]);
        let other = host(&[("boot_id", "b"), ("time_namespace", "time:[1]")]);
        let old = host(&[("boot_id", "a")]);
        let differ = |a: &Host, b: &Host| clocks_may_differ(&[a.clone(), b.clone()]);
        assert!(!differ(&one, &one));
        assert!(!differ(&old, &old));
        assert!(differ(&one, &moved));
        assert!(differ(&one, &other));
        assert!(differ(&one, &old));
        assert!(differ(&host(&[]), &host(&[])));
    }
}
