//! Turns: every level of a factor in each round, forwards and backwards by turns, each time in a switch made anew, so
//! that neither drift of the machine nor where its memory lies is taken for a cost.
//!
//! Rounds that follow each other share the machine's mood. So factors take turns too, in sweeps, and a sweep's mean is one
//! observation: what changes within the whole time widens the interval.

use linerate_p4::Switch;
use linerate_p4::generate::{Family, Generated, Traffic};
use std::time::Duration;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Times that all factors are gone through; each gives one slope.
    pub(crate) sweeps: usize,
    /// Rounds of a factor in a sweep.
    pub(crate) rounds: usize,
    /// CPU time of one turn of a level.
    pub(crate) turn: Duration,
    /// Levels above it are left out.
    pub(crate) max_level: u32,
}

/// Factors that share the time of a whole run; fewer have longer turns.
const SHARED_BY: u32 = 40;
/// The most that turns are lengthened.
const LENGTHENED: u32 = 8;

impl Effort {
    pub(crate) const WHOLE: Self = Self {
        sweeps: 10,
        rounds: 3,
        turn: Duration::from_millis(3),
        max_level: u32::MAX,
    };
    pub(crate) const QUICK: Self = Self {
        sweeps: 5,
        rounds: 2,
        turn: Duration::from_millis(1),
        max_level: 10_000,
    };

    /// With turns as long as so many factors leave time for.
    pub(crate) fn shared(self, factors: usize) -> Self {
        let factors = u32::try_from(factors).unwrap_or(u32::MAX).max(1);
        let turn = self.turn * (SHARED_BY / factors).clamp(1, LENGTHENED);
        Self { turn, ..self }
    }

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
    /// Rounds that belong to a sweep.
    per_sweep: usize,
}

impl Samples {
    /// By sweep, the mean of its rounds at each level.
    pub(crate) fn sweeps(&self) -> Vec<Vec<f64>> {
        let mean = |rounds: &[Vec<f64>], at: usize| {
            let n = u32::try_from(rounds.len()).unwrap_or(u32::MAX);
            rounds.iter().map(|costs| costs[at]).sum::<f64>() / f64::from(n)
        };
        let sweeps = self.rounds.chunks(self.per_sweep);
        sweeps
            .map(|rounds| (0..self.levels.len()).map(|at| mean(rounds, at)).collect())
            .collect()
    }
}

/// A program, and how many packets of it make a turn.
struct Point {
    generated: Generated,
    packets: u32,
}

/// The fewest packets that a turn has, and the most.
const PACKETS: (u32, u32) = (64, 1 << 20);

/// Measures factors, sweep by sweep. `clock` is what the calling thread has used of its core so far.
///
/// # Errors
/// A program that does not load, or whose packets do not come out.
pub(crate) fn all(
    families: &[&'static Family],
    effort: &Effort,
    clock: &mut impl FnMut() -> Duration,
) -> Result<Vec<Samples>, String> {
    let none = |family: &&'static Family| Samples {
        levels: effort.levels(family).collect(),
        rounds: Vec::new(),
        per_sweep: effort.rounds,
    };
    let mut measured: Vec<Samples> = families.iter().map(none).collect();
    for _ in 0..effort.sweeps {
        for (family, samples) in families.iter().zip(&mut measured) {
            sweep(family, effort, clock, samples)?;
        }
    }
    Ok(measured)
}

/// The rounds of a factor in one sweep.
fn sweep(
    family: &Family,
    effort: &Effort,
    clock: &mut impl FnMut() -> Duration,
    samples: &mut Samples,
) -> Result<(), String> {
    let mut points = Vec::new();
    for level in &samples.levels {
        let generated = family.generate(*level);
        let mut switch = generated.switch().map_err(|error| error.to_string())?;
        let first = turn(&generated, &mut switch, PACKETS.0, clock)?;
        let wanted = effort.turn.as_secs_f64() * 1e9 / first.max(1.0);
        points.push(Point {
            generated,
            packets: packets(wanted),
        });
    }
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
        samples.rounds.push(costs);
    }
    Ok(())
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
            sweeps: 2,
            rounds: 3,
            turn: Duration::from_micros(100),
            max_level: 8,
        };
        let counter = Family::find("counter").unwrap();
        let samples = all(&[counter], &effort, &mut steps(Duration::from_micros(100)))
            .unwrap()
            .remove(0);
        assert_eq!(samples.levels, [0, 1, 2, 4, 8]);
        assert_eq!((samples.rounds.len(), samples.sweeps().len()), (6, 2));
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
        assert!(line(&levels, &samples.sweeps()).unwrap().slope.point.abs() < 1e-9);
    }

    #[test]
    fn a_sweep_is_the_mean_of_its_rounds() {
        let samples = Samples {
            levels: vec![1, 2],
            rounds: [[1.0, 10.0], [3.0, 20.0], [5.0, 30.0], [7.0, 40.0]]
                .map(Vec::from)
                .to_vec(),
            per_sweep: 2,
        };
        assert_eq!(samples.sweeps(), [[2.0, 15.0], [6.0, 35.0]]);
    }

    #[test]
    fn few_factors_have_longer_turns() {
        let turn = |factors| Effort::WHOLE.shared(factors).turn.as_millis();
        assert_eq!([turn(39), turn(10), turn(1), turn(0)], [3, 12, 24, 24]);
    }

    #[test]
    fn a_turn_has_as_many_packets_as_its_time_asks_for() {
        assert_eq!(
            [packets(1.0), packets(5000.5), packets(1e12)],
            [64, 5000, 1 << 20]
        );
    }
}
