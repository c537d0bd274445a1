use super::*;
use linerate_model::MonoInstant;
use proptest::prelude::*;
use std::sync::Mutex;

/// A clock that moves by given steps, one at each reading, and by 25 ns after those.
struct Steps {
    now: Mutex<(u64, std::vec::IntoIter<u64>)>,
}

impl Steps {
    fn new(steps: Vec<u64>) -> Self {
        Self {
            now: Mutex::new((1_000_000, steps.into_iter())),
        }
    }
}

impl Clock for Steps {
    fn now(&self) -> MonoInstant {
        let mut state = self.now.lock().unwrap();
        let step = state.1.next().unwrap_or(25);
        state.0 += step;
        MonoInstant::from_nanos(state.0)
    }
}

/// The readings that [`reading_cost`] takes, and the first of the series.
const BEFORE: usize = 1002 + 1;

fn steps_after_calibration(steps: &[u64]) -> Vec<u64> {
    let mut all = vec![25; BEFORE];
    all.extend(steps);
    all
}

#[test]
fn gaps_above_the_threshold_are_interruptions_and_their_time_is_lost() {
    let clock = Steps::new(steps_after_calibration(&[25, 5_025, 999, 1_000, 300_025]));
    let time = Duration::from_micros(400);
    let report = spin(&clock, time, &AtomicBool::new(false)).into_report(3);
    assert_eq!(
        (report.core, report.reading_ns, report.threshold_ns),
        (3, 25, 1_000)
    );
    assert_eq!(report.interruptions, 2);
    assert_eq!(report.lost_ns, 5_000 + 300_000);
    let max = report.max_ns.unwrap();
    assert!((300_025..=300_325).contains(&max), "{max}");
    assert!(report.elapsed >= Duration::from_micros(400));
    let share = report.lost_ratio.get();
    assert!((share - 305_000.0 / 400_000.0).abs() < 0.001, "{share}");
}

#[test]
fn a_quiet_core_has_no_quantiles_and_loses_nothing() {
    let clock = Steps::new(Vec::new());
    let time = Duration::from_millis(1);
    let report = spin(&clock, time, &AtomicBool::new(false)).into_report(0);
    assert_eq!(
        (report.interruptions, report.lost_ns, report.max_ns),
        (0, 0, None)
    );
    assert_eq!(report.lost_ratio, Ratio::ZERO);
}

#[test]
fn a_slow_clock_raises_the_threshold() {
    let gaps = Gaps::new(400, 0);
    assert_eq!(gaps.threshold, 3_200);
}

#[test]
fn a_thread_that_runs_late_measures_for_its_whole_time() {
    // The whole time passes while the cost of a reading is found.
    let mut steps = vec![25; BEFORE - 1];
    steps.push(1_000_000_000);
    let clock = Steps::new(steps);
    let time = Duration::from_millis(20);
    let report = spin(&clock, time, &AtomicBool::new(false)).into_report(0);
    assert!(report.elapsed >= time, "{report:?}");
    assert_eq!(report.readings, 20_000_000 / 25 + 1);
}

#[test]
fn a_user_can_stop_it() {
    let clock = Steps::new(Vec::new());
    let gaps = spin(&clock, Duration::MAX, &AtomicBool::new(true));
    assert_eq!(gaps.readings, 1);
}

#[test]
fn every_core_is_measured_at_once_and_one_that_no_machine_has_says_why() {
    let allowed = linerate_sys::affinity::allowed_cores().unwrap();
    let cores = [allowed[0], 1023];
    let stop = AtomicBool::new(true);
    let jitter = jitter(&Scope::live(None), &cores, Duration::from_secs(1), &stop);
    assert_eq!(jitter.cores.len(), 2);
    assert_eq!(jitter.cores[0].missing, None);
    assert!(jitter.cores[1].missing.as_ref().unwrap().contains("1023"));
}

#[test]
fn counters_of_a_core_are_told_by_name_the_most_frequent_ones() {
    let text = |timer: u64, nic: u64| {
        format!(
            "           CPU0       CPU2\n 38:          4      {nic} PCI-MSIX-0000:00:03.0   1-edge      eth0-rx\nLOC:   {timer}   7   Local timer interrupts\nERR:          0\n"
        )
    };
    let counters = |timer, nic, steal| Counters {
        stolen: stolen(
            &format!("cpu  1 1 1 1 1 1 1 9 0 0\ncpu2 1 1 1 1 1 1 1 {steal} 0 0\n"),
            100,
        ),
        interrupts: interrupts(&text(timer, nic)),
    };
    let (before, after) = (counters(10, 4_294_967_290, 3), counters(250, 4, 5));
    assert_eq!(after.stolen(&before, 2), Some(20_000_000));
    assert_eq!(after.stolen(&before, 0), None);
    let of = |core| after.interrupts(&before, core);
    assert_eq!(
        of(0),
        BTreeMap::from([("LOC Local timer interrupts".to_owned(), 240)])
    );
    assert_eq!(
        of(2),
        BTreeMap::from([("38 eth0-rx".to_owned(), 10)]),
        "the counter wrapped"
    );
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(text in "\\PC*", lines in "( CPU[0-9]){0,3}\n([0-9:a-z ]{0,30}\n){0,5}") {
        for text in [text, lines] {
            let _ = (interrupts(&text), stolen(&text, 100), stolen(&text, 0));
        }
    }
}
