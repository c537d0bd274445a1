//! Stages of each message at one end: between its program's own times and the kernel's timestamps.
//!
//! All times of one end are on its own monotonic clock, so stages need nothing of the other end's clock. The time
//! between the ends' drivers follows from both ends' samples: see `analysis`.

use crate::datapaths::KernelStamps;
use linerate_model::MonoInstant;
use linerate_model::one_way::{Passage, Passages, Stage, StageReport};
use linerate_sys::timestamps::Wall;
use std::collections::BTreeMap;

/// Maximum messages kept.
const MAX_MESSAGES: usize = 2048;

/// Stages of a message at one end: four, and the time between this end's timestamps on the other side.
const PARTS_OF_MESSAGE: usize = 5;

/// Stages at the requester, in the order of [`Stages::asked`].
const REQUESTER_STAGES: [Option<Stage>; PARTS_OF_MESSAGE] = [
    Some(Stage::NearApplication),
    Some(Stage::NearSendStack),
    Some(Stage::NearQueue),
    None,
    Some(Stage::NearReceiveStack),
];

/// Stages at the responder, in the order of [`Stages::answered`]; the time between the arrival and the departure of the
/// answer is all of them.
const RESPONDER_STAGES: [Option<Stage>; PARTS_OF_MESSAGE] = [
    Some(Stage::FarReceiveStack),
    Some(Stage::FarApplication),
    Some(Stage::FarSendStack),
    Some(Stage::FarQueue),
    None,
];

/// The program's times of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Requester: start of the round trip. Responder: when the program had the message.
    pub(super) first: MonoInstant,
    /// Just before the sending call.
    pub(super) called: MonoInstant,
    /// Requester: when the program had the answer. Responder: not used.
    pub(super) last: MonoInstant,
}

/// Timestamps of a message, or the name of a missing one.
type Stamped = Result<[MonoInstant; 3], &'static str>;

/// Collects the stages of one end's messages.
#[derive(Debug, Default)]
pub(super) struct Stages {
    /// n − 1, where every n-th message is kept and n is a power of two.
    mask: u64,
    rows: Vec<(u64, [i64; PARTS_OF_MESSAGE])>,
    complete: u64,
    incomplete: BTreeMap<&'static str, u64>,
    error_ns: u64,
}

impl Stages {
    pub(super) fn new() -> Self {
        Self {
            rows: Vec::with_capacity(MAX_MESSAGES),
            ..Self::default()
        }
    }

    /// Requester: records a returned message.
    pub(super) fn asked(
        &mut self,
        stamps: &mut dyn KernelStamps,
        number: u64,
        times: Times,
        counted: bool,
    ) {
        let Some((row, wall)) = self.take(stamps, counted) else {
            return;
        };
        let row = row.and_then(|[scheduled, driver, arrived]| {
            let points = [
                times.first,
                times.called,
                scheduled,
                driver,
                arrived,
                times.last,
            ];
            steady(wall).and_then(|()| self.between(points))
        });
        self.keep(number, row);
    }

    /// Responder: records an answered message.
    pub(super) fn answered(
        &mut self,
        stamps: &mut dyn KernelStamps,
        number: u64,
        times: Times,
        counted: bool,
    ) {
        let Some((row, wall)) = self.take(stamps, counted) else {
            return;
        };
        let row = row.and_then(|[scheduled, driver, arrived]| {
            let points = [arrived, times.first, times.called, scheduled, driver];
            let [receive, application, send, queue] = self.between(points)?;
            let all = receive + application + send + queue;
            steady(wall).map(|()| [receive, application, send, queue, all])
        });
        self.keep(number, row);
    }

    /// Kernel timestamps of the last message (scheduler, driver, arrival), and whether wall time was set meanwhile. For
    /// one that is not `counted` they are only drained from the kernel.
    fn take(&mut self, stamps: &mut dyn KernelStamps, counted: bool) -> Option<(Stamped, Wall)> {
        let (departed, wall) = (stamps.departed(), stamps.check());
        if !counted {
            return None;
        }
        self.error_ns = self.error_ns.max(nanos(stamps.error()));
        let row = known([
            ("scheduler", departed.scheduled),
            ("driver", departed.driver),
            ("arrival", stamps.arrived()),
        ]);
        Some((row, wall))
    }

    /// Durations between successive times. A negative one beyond the timestamps' error belongs to another message.
    fn between<const N: usize, const M: usize>(
        &self,
        points: [MonoInstant; N],
    ) -> Result<[i64; M], &'static str> {
        let error = self.error_ns.cast_signed();
        let mut steps = [0; M];
        for (step, pair) in steps.iter_mut().zip(points.windows(2)) {
            let passed = pair[1].as_nanos().wrapping_sub(pair[0].as_nanos());
            *step = passed.cast_signed();
            if *step < -2 * error {
                return Err("order");
            }
        }
        Ok(steps)
    }

    fn keep(&mut self, number: u64, row: Result<[i64; PARTS_OF_MESSAGE], &'static str>) {
        let row = match row {
            Ok(row) => row,
            Err(lacks) => {
                *self.incomplete.entry(lacks).or_default() += 1;
                return;
            }
        };
        self.complete += 1;
        if number & self.mask != 0 {
            return;
        }
        if self.rows.len() == MAX_MESSAGES {
            self.mask = (self.mask << 1) | 1;
            let mask = self.mask;
            self.rows.retain(|(number, _)| number & mask == 0);
            if number & mask != 0 {
                return;
            }
        }
        if self.rows.len() < MAX_MESSAGES {
            self.rows.push((number, row));
        }
    }

    /// Report of the requester.
    pub(super) fn finish_asking(self) -> StageReport {
        self.finish(REQUESTER_STAGES)
    }

    /// Report of the responder.
    pub(super) fn finish_answering(self) -> StageReport {
        self.finish(RESPONDER_STAGES)
    }

    fn finish(self, stages: [Option<Stage>; PARTS_OF_MESSAGE]) -> StageReport {
        let column = |index: usize| -> Passages {
            let passage = |(number, row): &(u64, [i64; PARTS_OF_MESSAGE])| Passage {
                key: number.cast_signed(),
                took_ns: row[index],
            };
            self.rows.iter().map(passage).collect()
        };
        let mut report = StageReport {
            complete: self.complete,
            conversion_ns: self.error_ns,
            ..StageReport::default()
        };
        for (index, stage) in stages.into_iter().enumerate() {
            match stage {
                Some(stage) => drop(report.parts.insert(stage, column(index))),
                None => report.between = column(index),
            }
        }
        let named = |(lacks, count): (&str, u64)| (lacks.to_owned(), count);
        report.incomplete = self.incomplete.into_iter().map(named).collect();
        report
    }
}

/// All timestamps, or the name of the first that is missing.
fn known<const N: usize>(
    stamps: [(&'static str, Option<MonoInstant>); N],
) -> Result<[MonoInstant; N], &'static str> {
    let mut all = [MonoInstant::default(); N];
    for (place, (name, stamp)) in all.iter_mut().zip(stamps) {
        *place = stamp.ok_or(name)?;
    }
    Ok(all)
}

/// Timestamps from before and after a setting of wall time cannot be compared.
const fn steady(wall: Wall) -> Result<(), &'static str> {
    match wall {
        Wall::Steady => Ok(()),
        Wall::Set => Err("step"),
    }
}

fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datapaths::Departed;
    use std::time::Duration;

    /// A kernel that stamps at these times.
    struct Kernel {
        arrived: Option<u64>,
        departed: [Option<u64>; 2],
        wall: Wall,
    }

    impl KernelStamps for Kernel {
        fn arrived(&self) -> Option<MonoInstant> {
            self.arrived.map(MonoInstant::from_nanos)
        }

        fn departed(&mut self) -> Departed {
            let [scheduled, driver] = self.departed.map(|at| at.map(MonoInstant::from_nanos));
            Departed { scheduled, driver }
        }

        fn check(&mut self) -> Wall {
            self.wall
        }

        fn error(&self) -> Duration {
            Duration::from_nanos(10)
        }
    }

    fn times(first: u64, called: u64, last: u64) -> Times {
        let at = MonoInstant::from_nanos;
        Times {
            first: at(first),
            called: at(called),
            last: at(last),
        }
    }

    fn kernel(arrived: u64, departed: [u64; 2]) -> Kernel {
        Kernel {
            arrived: Some(arrived),
            departed: departed.map(Some),
            wall: Wall::Steady,
        }
    }

    #[test]
    fn the_parts_of_a_message_sum_up_to_its_round_trip() {
        let mut stages = Stages::new();
        stages.asked(
            &mut kernel(5_000, [1_400, 1_900]),
            3,
            times(1_000, 1_050, 7_000),
            true,
        );
        let report = stages.finish_asking();
        let took = |passages: &Passages| passages.iter().map(|p| p.took_ns).sum::<i64>();
        let parts: i64 = report.parts.values().map(took).sum();
        assert_eq!(took(&report.between), 3_100);
        assert_eq!(parts + 3_100, 6_000);
        assert_eq!(report.between.iter().next().unwrap().key, 3);
    }

    #[test]
    fn the_answering_end_knows_how_long_a_message_was_there() {
        let mut stages = Stages::new();
        stages.answered(&mut kernel(100, [900, 1_000]), 8, times(400, 450, 0), true);
        let report = stages.finish_answering();
        assert_eq!(report.between.iter().next().unwrap().took_ns, 900);
        assert_eq!(
            report.parts[&Stage::FarReceiveStack]
                .iter()
                .next()
                .unwrap()
                .took_ns,
            300
        );
    }

    #[test]
    fn a_message_without_a_stamp_or_with_another_s_is_not_taken_apart() {
        let mut stages = Stages::new();
        let sent = times(1_000, 1_050, 7_000);
        let mut lacking = kernel(5_000, [1_400, 1_900]);
        lacking.departed[1] = None;
        stages.asked(&mut lacking, 0, sent, true);
        stages.asked(&mut kernel(5_000, [400, 500]), 1, sent, true);
        let mut moved = kernel(5_000, [1_400, 1_900]);
        moved.wall = Wall::Set;
        stages.asked(&mut moved, 2, sent, true);
        stages.asked(&mut moved, 3, sent, false);
        let report = stages.finish_asking();
        let lacks: Vec<_> = report
            .incomplete
            .iter()
            .map(|(name, n)| (name.as_str(), *n))
            .collect();
        assert_eq!(lacks, [("driver", 1), ("order", 1), ("step", 1)]);
        assert_eq!((report.complete, report.between.len()), (0, 0));
    }

    #[test]
    fn both_ends_keep_the_same_numbers_however_many_there_were() {
        let keys = |count: u64, lost: u64| -> Vec<i64> {
            let mut stages = Stages::new();
            for number in (0..count).filter(|number| number % 1000 != lost) {
                stages.asked(&mut kernel(50, [30, 40]), number, times(10, 20, 60), true);
            }
            stages
                .finish_asking()
                .between
                .iter()
                .map(|p| p.key)
                .collect()
        };
        let (here, there) = (keys(50_000, 1_001), keys(50_000, 128));
        let both = here.iter().filter(|key| there.binary_search(key).is_ok());
        assert!(both.count() >= MAX_MESSAGES / 2 - 50);
        assert!(here.len() <= MAX_MESSAGES);
    }
}
