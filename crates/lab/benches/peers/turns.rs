//! Ping-pongs in turns: all contenders' pairs of processes are up at once, and one pair runs at a time.
//!
//! What a round trip takes on one machine changes by a third within seconds (on a virtual one by more), as it
//! pleases its other tenants. Tests of seconds, one after the other, meet different machines; turns of a
//! tenth of a second meet the same one, and pairs of rounds then differ by two per cent instead of twenty. A
//! message that is under way when its pair is stopped counts once with the whole rest: one in some thousands,
//! so that the 99th percentile does not see it.

use crate::activity::{Activity, Lengths, Values};
use crate::contenders::PingPong;
use crate::lab::{Lab, PATIENCE};
use crate::process::{Process, pause};
use anyhow::{Context as _, Result};
use linerate_model::Clock as _;
use linerate_model::random::Random;
use linerate_sys::clock::MonoClock;
use std::time::Duration;

/// Of each turn: some ten thousand round trips. A change of turns holds up at most about ten of them, the more the more
/// threads a process has; a 99th percentile rests on a hundred.
const TURN: Duration = Duration::from_millis(100);
/// What a pair runs alone after its start: connecting, agreeing, warming up.
const START: Duration = Duration::from_millis(500);
/// From the stop of a client to that of its server, which has answered by then.
const LAST_ANSWER: Duration = Duration::from_millis(1);

/// Both processes of one contender.
pub(crate) struct Pair {
    pub(crate) server: Process,
    pub(crate) client: Process,
}

impl Pair {
    fn rest(&self) -> Result<()> {
        self.client.rest()?;
        pause(LAST_ANSWER);
        self.server.rest()
    }

    fn resume(&self) -> Result<()> {
        self.server.resume()?;
        self.client.resume()
    }
}

/// One ping-pong of each contender, as long for each as `lengths` says; what each gave, in the same order.
pub(crate) fn take_turns(
    contenders: &[&dyn PingPong],
    lab: &Lab,
    activity: Activity,
    lengths: Lengths,
    order: &mut Random,
) -> Vec<Result<Values>> {
    let share = lengths.whole() + START;
    let whole = Lengths {
        test: share * u32::try_from(contenders.len()).unwrap_or(u32::MAX),
        ..lengths
    };
    let start = |contender: &&dyn PingPong| {
        let pair = contender.start(lab, activity, whole)?;
        pause(START);
        pair.rest()?;
        Ok(pair)
    };
    let pairs: Vec<Result<Pair>> = contenders.iter().map(start).collect();
    let broken = alternate(pairs.iter().flatten().collect(), whole.test, order);
    let ends = pairs.into_iter().zip(contenders).map(|(pair, contender)| {
        let pair = pair?;
        pair.resume()?;
        let done = pair.client.finish(PATIENCE).context("client")?;
        drop(pair.server);
        contender.read(activity, &done.output)
    });
    let ends = ends.collect();
    match broken {
        Ok(()) => ends,
        Err(error) => {
            let why = format!("{error:#}");
            contenders
                .iter()
                .map(|_| Err(anyhow::anyhow!(why.clone())))
                .collect()
        }
    }
}

/// Lets one pair run at a time, until all are over. The turns of one that is over pass with nobody: it ends a little
/// earlier or later than the others, and nobody shall run with fewer changes of turns than they.
fn alternate(mut turns: Vec<&Pair>, length: Duration, order: &mut Random) -> Result<()> {
    let latest = MonoClock.now().after(length + PATIENCE);
    loop {
        order.shuffle(&mut turns);
        let mut going = 0;
        for pair in &turns {
            if pair.client.has_ended()? {
                pause(TURN);
            } else {
                going += 1;
                pair.resume()?;
                pause(TURN);
                pair.rest()?;
            }
        }
        if going == 0 || MonoClock.now() >= latest {
            return Ok(());
        }
    }
}
