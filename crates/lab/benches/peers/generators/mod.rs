//! Frames per second that generators send over a bare veth pair and their receivers count, and what a frame costs.
//!
//! All of them send between the same two interfaces, in turns of drawn order, each as it is meant to be used: its sender
//! on one core, its receiver on the other. Sent and counted are what the kernel counts at the two interfaces in the same
//! window, and linerate's own count is compared with its own sending. Frames are of 64 bytes with FCS.

mod bare;
mod foreign;
mod ours;

use crate::activity::{Activity, Measure, Values};
use crate::goals::{Goal, OWN};
use crate::options::Options;
use crate::process::{Process, memory, pause};
use crate::table::{Line, Results};
use anyhow::{Context as _, Result, bail};
use linerate_model::Clock as _;
use linerate_model::comparison::BetterWhen;
use linerate_model::dut::TesterPort;
use linerate_model::random::Random;
use linerate_sys::clock::MonoClock;
use linerate_testbed::duts::{self, Dut, DutSetup};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

/// Numbers of flows.
const FLOWS: [u32; 3] = [1, 1_000, 1_000_000];
/// Rates of paced tests, frames/s.
const PACES: [u32; 3] = [10_000, 100_000, 1_000_000];
/// From the start of sender and receiver to the window.
const SETTLE: Duration = Duration::from_millis(600);
/// Window in which frames are counted.
const WINDOW: Duration = Duration::from_millis(400);

/// A bare loop over AF_XDP: a ring of frames that are all alike, to a program that drops them.
const BARE: &str = "bare AF_XDP loop";
/// A bare loop over frames that the kernel makes, to a program that drops them: the floor of any such generator.
const FLOOR: &str = "bare live frames";
/// linerate with frames made and counted by AF_XDP.
const AF_XDP: &str = "linerate af-xdp";

/// A wire, and who sends over it.
struct Bench<'a> {
    device: Box<dyn Dut>,
    cores: [u32; 2],
    linerate: &'a Path,
    /// A process that does nothing, in the wire's network: its counters are read there.
    resident: Process,
}

/// Sender and receiver under way.
trait Pair {
    /// Its processes, whose memory counts; none if they are threads of this one.
    fn processes(&self) -> Vec<u32>;
    /// Ends both; figures of its own.
    fn end(self: Box<Self>) -> Result<Values>;
}

/// A generator with its receiver.
trait Generator {
    fn name(&self) -> &'static str;
    /// Whether it has such a test; if not, why.
    fn offers(&self, activity: Activity) -> Result<(), String>;
    fn start(&self, bench: &Bench<'_>, activity: Activity) -> Result<Box<dyn Pair>>;
}

/// The rows of the table, and what failed.
pub(crate) fn lines(program: &Path, options: &Options, cores: [u32; 2]) -> Result<Vec<Line>> {
    if !linerate_sys::netns::is_fully_privileged() {
        bail!("generators in the kernel need root outside of user namespaces: --namespaces root");
    }
    let setup = DutSetup::new("wire".parse().context("invariant: a kind of device")?);
    let device = duts::start(&setup)?;
    let resident = Process::start(
        device.tester(),
        cores[1],
        Path::new("sleep"),
        &["100000".to_owned()],
    )?;
    let bench = Bench {
        device,
        cores,
        linerate: program,
        resident,
    };
    let all = everybody();
    let mut results = Results::default();
    let goals = goals(&all);
    let mut activities: Vec<Activity> = goals.iter().map(|goal| goal.activity).collect();
    activities.dedup();
    let mut order = Random::new(options.seed);
    for round in 1..=options.rounds {
        drop(writeln!(
            std::io::stderr(),
            "generators, round {round} of {}",
            options.rounds
        ));
        for activity in &activities {
            take_turn(&bench, &all, *activity, &mut order, &mut results);
        }
    }
    bench.resident.stop()?;
    let lines = goals.iter().map(|goal| results.line(goal));
    let failures = results.failures().into_iter();
    let failures = failures.map(|failure| Line::not_run("generators", &failure));
    Ok(lines.chain(failures).collect())
}

/// Who takes part.
fn everybody() -> [Box<dyn Generator>; 7] {
    [
        Box::new(ours::Linerate {
            name: OWN,
            generator: "kernel",
        }),
        Box::new(ours::Linerate {
            name: AF_XDP,
            generator: "af-xdp",
        }),
        Box::new(foreign::Trafficgen),
        Box::new(foreign::Testpmd::AF_PACKET),
        Box::new(foreign::Testpmd::AF_XDP),
        Box::new(bare::Ring),
        Box::new(bare::LiveFrames),
    ]
}

/// One round of an activity, in an order of its own.
fn take_turn(
    bench: &Bench<'_>,
    all: &[Box<dyn Generator>],
    activity: Activity,
    order: &mut Random,
    results: &mut Results,
) {
    let mut able = Vec::new();
    for one in all {
        match one.offers(activity) {
            Ok(()) => able.push(one.as_ref()),
            Err(why) => results.absent(one.name(), activity, why),
        }
    }
    order.shuffle(&mut able);
    for one in able {
        let values = bench.measure(one, activity);
        let values = values.map_err(|error| format!("{error:#}"));
        results.push(one.name(), activity, values);
    }
}

/// Rates of each number of flows against all others, what a frame costs and takes of memory; the errors of the pace.
fn goals(all: &[Box<dyn Generator>]) -> Vec<Goal> {
    use BetterWhen::{Higher, Lower};
    let mut goals = Vec::new();
    for flows in FLOWS {
        let activity = Activity::Frames(flows);
        let measures = [
            (Measure::FramesCounted(flows), Higher, Some(1.0)),
            (Measure::FramesSent(flows), Higher, None),
            (Measure::FrameCost(flows), Lower, None),
            (Measure::GeneratorMemory(flows), Lower, None),
        ];
        for (measure, better, ratio) in measures {
            for peer in all.iter().filter(|peer| peer.name() != OWN) {
                let offers = peer.offers(activity);
                // One row says why a peer does not take part; the floor does less than any generator may.
                if offers.is_err() && !matches!(measure, Measure::FramesCounted(_)) {
                    continue;
                }
                let goal = Goal {
                    measure,
                    activity,
                    own: OWN,
                    peer: peer.name(),
                    better,
                    ratio: ratio.filter(|_| peer.name() != FLOOR),
                };
                goals.push(goal);
            }
        }
    }
    for pace in PACES {
        for measure in [
            Measure::LatenessP50(pace),
            Measure::LatenessP99(pace),
            Measure::LatenessMax(pace),
        ] {
            goals.push(Goal {
                measure,
                activity: Activity::FramesPaced(pace),
                own: OWN,
                peer: BARE,
                better: Lower,
                ratio: None,
            });
        }
    }
    goals
}

impl Bench<'_> {
    fn ports(&self) -> &[TesterPort; 2] {
        self.device.tester().ports()
    }

    /// Starts a program on the core of the sender (0) or the receiver (1).
    fn run(&self, core: usize, program: &Path, words: &[String]) -> Result<Process> {
        Process::start(self.device.tester(), self.cores[core], program, words)
    }

    fn measure(&self, generator: &dyn Generator, activity: Activity) -> Result<Values> {
        let pair = generator.start(self, activity)?;
        let settle = match activity {
            // It ends by itself.
            Activity::FramesPaced(_) => return pair.end(),
            _ => SETTLE,
        };
        pause(settle);
        let (began, cpu) = (MonoClock.now(), busy()?);
        let before = self.counted()?;
        pause(WINDOW);
        let after = self.counted()?;
        let lasted = MonoClock.now().saturating_since(began).as_secs_f64();
        let cpu = busy()? - cpu;
        let memory = pair.processes().into_iter().map(memory_mib);
        let memory: Result<Vec<f64>> = memory.collect();
        let own = pair.end()?;
        let Activity::Frames(flows) = activity else {
            bail!("there is no such activity of generators");
        };
        let [sent, counted] = [0, 1].map(|index| float(after[index] - before[index]));
        if counted < 1.0 {
            bail!("nothing arrived");
        }
        let mut values = Values::from([
            (Measure::FramesSent(flows), sent / lasted / 1e3),
            (Measure::FramesCounted(flows), counted / lasted / 1e3),
            (Measure::FrameCost(flows), cpu * 1e9 / counted),
        ]);
        let memory = memory?;
        if !memory.is_empty() {
            values.insert(Measure::GeneratorMemory(flows), memory.iter().sum());
        }
        values.extend(own);
        Ok(values)
    }

    /// Frames that the first port has sent and the second received so far, by the kernel.
    fn counted(&self) -> Result<[u64; 2]> {
        let table = fs::read_to_string(format!("/proc/{}/net/dev", self.resident.id()))?;
        let column = |port: &TesterPort, column: usize| {
            let mut lines = table.lines().filter_map(|line| line.trim().split_once(':'));
            let (_, counts) = lines.find(|(name, _)| *name == port.interface)?;
            counts.split_ascii_whitespace().nth(column)?.parse().ok()
        };
        let [a, b] = self.ports();
        let both = column(a, 9).zip(column(b, 1));
        let (sent, received) = both.context("no counts in /proc/net/dev")?;
        Ok([sent, received])
    }
}

/// CPU time of this host so far, idle and stolen time left out, in seconds.
fn busy() -> Result<f64> {
    const HZ: f64 = 100.0;
    let stat = fs::read_to_string("/proc/stat")?;
    let fields = stat.lines().next().context("/proc/stat is empty")?;
    let fields: Vec<u64> = fields
        .split_ascii_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    // User, nice, system, (idle, waiting,) interrupts, soft interrupts.
    let busy = [0, 1, 2, 5, 6]
        .iter()
        .filter_map(|field| fields.get(*field));
    Ok(float(busy.sum()) / HZ)
}

/// Resident memory of a process, and that of its maps in the kernel, in MiB.
fn memory_mib(process: u32) -> Result<f64> {
    let folder = format!("/proc/{process}");
    let field = |text: &str, name: &str| -> Option<u64> {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    let resident = memory(process, "VmRSS").context("no VmRSS")?.get();
    let mut maps = 0;
    for entry in fs::read_dir(format!("{folder}/fdinfo"))?.flatten() {
        let info = fs::read_to_string(entry.path()).unwrap_or_default();
        if info.contains("map_type:") {
            maps += field(&info, "memlock:").unwrap_or(0);
        }
    }
    Ok(float(resident + maps) / f64::from(1 << 20))
}

fn float(count: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
    let float = count as f64;
    float
}
