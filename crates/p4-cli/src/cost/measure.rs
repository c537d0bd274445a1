//! Turns: every level of a factor in each round, forwards and backwards by turns, each time in a switch made anew, so
//! that neither drift of the machine nor where its memory lies is taken for a cost.

use linerate_p4::Switch;
use linerate_p4::generate::{Family, Generated, Traffic};
use std::time::Duration;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Rounds; each gives one slope.
    pub(crate) rounds: usize,
    /// CPU time of one turn of a level.
    pub(crate) turn: Duration,
    /// Levels above it are left out.
    pub(crate) max_level: u32,
}

impl Effort {
    pub(crate) const WHOLE: Self = Self {
        rounds: 30,
        turn: Duration::from_millis(3),
        max_level: u32::MAX,
    };
    pub(crate) const QUICK: Self = Self {
        rounds: 10,
        turn: Duration::from_millis(1),
        max_level: 10_000,
    };

    /// The levels of a factor that are visited.
    pub(crate) fn levels(&self, family: &Family) -> impl Iterator<Item = u32> {
        let max = self.max_level;
        family
            .levels
            .iter()
            .copied()
            .filter(move |level| *level <= max)
    }
}

/// What turns took.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Samples {
    pub(crate) levels: Vec<u32>,
    /// By round, nanoseconds per packet at each level.
    pub(crate) rounds: Vec<Vec<f64>>,
}

/// A program, and how many packets of it make a turn.
struct Point {
    generated: Generated,
    packets: u32,
}

/// The fewest packets that a turn has, and the most.
const PACKETS: (u32, u32) = (64, 1 << 20);

/// Measures a factor. `clock` is what the calling thread has used of its core so far.
///
/// # Errors
/// A program that does not load, or whose packets do not come out.
pub(crate) fn family(
    family: &Family,
    effort: &Effort,
    clock: &mut impl FnMut() -> Duration,
) -> Result<Samples, String> {
    let levels: Vec<u32> = effort.levels(family).collect();
    let mut points = Vec::new();
    for level in &levels {
        let generated = family.generate(*level);
        let mut switch = generated.switch().map_err(|error| error.to_string())?;
        let first = turn(&generated, &mut switch, PACKETS.0, clock)?;
        let wanted = effort.turn.as_secs_f64() * 1e9 / first.max(1.0);
        points.push(Point {
            generated,
            packets: packets(wanted),
        });
    }
    let mut rounds = Vec::with_capacity(effort.rounds);
    for round in 0..effort.rounds {
        let mut costs = vec![0.0; points.len()];
        let mut order: Vec<usize> = (0..points.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let Point { generated, packets } = &points[at];
            let mut switch = generated.switch().map_err(|error| error.to_string())?;
            // Buffers grow and caches fill outside of what is timed.
            turn(generated, &mut switch, packets / 4 + 1, clock)?;
            costs[at] = turn(generated, &mut switch, *packets, clock)?;
        }
        rounds.push(costs);
    }
    Ok(Samples { levels, rounds })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "inside the bounds, and whole packets do"
)]
fn packets(wanted: f64) -> u32 {
    wanted.clamp(f64::from(PACKETS.0), f64::from(PACKETS.1)) as u32
}

/// Nanoseconds per packet of so many packets.
fn turn(
    generated: &Generated,
    switch: &mut Switch,
    packets: u32,
    clock: &mut impl FnMut() -> Duration,
) -> Result<f64, String> {
    let traffic = &generated.traffic;
    let mut packet = traffic.packet.clone();
    let mut sent = 0_u64;
    let begin = clock();
    for number in 0..packets {
        // An odd factor takes keys in no order that a cache could foresee.
        Traffic::choose(&mut packet, traffic.keys, number.wrapping_mul(0x9e37_79b1));
        switch.process(0, &packet, u64::from(number) * 1000, &mut |_, _| sent += 1);
        while switch.take_digest().is_some() {}
    }
    let took = clock().saturating_sub(begin);
    let expected = u64::from(packets) * u64::from(traffic.outputs);
    if sent != expected {
        return Err(format!(
            "{}: {sent} packets came out, not {expected}",
            generated.name
        ));
    }
    Ok(took.as_secs_f64() * 1e9 / f64::from(packets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_analysis::slope::line;

    /// A clock that moves by so much each time it is read.
    fn steps(of: Duration) -> impl FnMut() -> Duration {
        let mut now = Duration::ZERO;
        move || {
            now += of;
            now
        }
    }

    #[test]
    fn every_level_has_a_turn_in_every_round() {
        let effort = Effort {
            rounds: 3,
            turn: Duration::from_micros(100),
            max_level: 8,
        };
        let counter = Family::find("counter").unwrap();
        let samples = family(counter, &effort, &mut steps(Duration::from_micros(100))).unwrap();
        assert_eq!(samples.levels, [0, 1, 2, 4, 8]);
        assert_eq!(samples.rounds.len(), 3);
        // 64 packets a turn of 100 us.
        assert!(
            samples
                .rounds
                .iter()
                .flatten()
                .all(|cost| (cost - 1562.5).abs() < 1e-6),
            "{samples:?}"
        );
        let levels: Vec<_> = samples
            .levels
            .iter()
            .map(|level| f64::from(*level))
            .collect();
        assert!(line(&levels, &samples.rounds).unwrap().slope.point.abs() < 1e-9);
    }

    #[test]
    fn a_turn_has_as_many_packets_as_its_time_asks_for() {
        assert_eq!(
            [packets(1.0), packets(5000.5), packets(1e12)],
            [64, 5000, 1 << 20]
        );
    }
}
