//! What a device between two ports forwards, by frame size and direction: the table that RFC 2544 asks for.

use super::{Delay, DelayOf, GoalResult, MethodResult, Run, Trial};
use crate::dut::{DutFacts, DutStage};
use crate::estimate::Interval;
use crate::histogram::Histogram;
use crate::one_way::OneWay;
use crate::spec::{Direction, Genome, TestSpec};
use crate::units::{
    BitRate, ByteCount, FrameOverhead, Layer, LossRatio, PacketCount, PacketRate, Ratio,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The device under test (RFC 2285 §3.1.1).
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Device {
    /// How it was given: `eth1 to eth2`, `bridge`, `router,rules=100`.
    pub name: String,
    /// What it is, as linerate started it; absent for a device that only its ports are known of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<DutFacts>,
}

/// Forwarding of frames of one size in one direction. Rates are frames per second.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Forwarding {
    /// Length of a frame from destination address to FCS (RFC 1242 §3.5).
    ///
    /// Of a mix of lengths the mean, rounded to whole bytes.
    pub frame_bytes: ByteCount,
    /// The mix of lengths, if frames have several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<FrameMix>,
    /// Which way: forward enters the device at port A.
    pub direction: Direction,
    /// Maximum frame rate of the slower port's speed (RFC 2544 §20); absent where no speed is known.
    #[serde(rename = "line_pps", default, skip_serializing_if = "Option::is_none")]
    pub line_rate: Option<PacketRate>,
    /// What the tool itself sends and counts at most over a wire in the device's place.
    #[serde(
        rename = "ceiling_pps",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub ceiling: Option<PacketRate>,
    /// One for each loss goal.
    pub goals: Vec<ForwardingGoal>,
    /// Delay at shares of the throughput with the largest loss goal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delays: Vec<ForwardingDelay>,
    /// What other methods found, in the order they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<MethodResult>,
    /// Of a mesh of ports: what was lost between each two, in all trials that lost any; empty if none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairLoss>,
}

/// Loss of frames from one port of a mesh to another.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PairLoss {
    /// Interface that the frames left.
    pub from: String,
    /// Interface that they were for.
    pub to: String,
    /// Frames that were sent.
    pub sent: PacketCount,
    /// Those of them that did not come.
    pub lost: PacketCount,
}

/// A mix of frame lengths that repeats (IMIX, RFC 6985).
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FrameMix {
    /// The mix as it was given: `imix`, letters of RFC 6985, or numbers of frames with their lengths.
    pub genome: String,
    /// Length of each frame in order, until they repeat: bytes from destination address to FCS.
    pub lengths_bytes: Vec<u16>,
    /// Exact mean of the lengths.
    pub mean_bytes: f64,
    /// What was lost of the frames of each length, in all trials that lost any; empty if none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<LengthLoss>,
}

/// Loss of frames of one length of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LengthLoss {
    /// From destination address to FCS.
    #[serde(rename = "frame_bytes")]
    pub length: u16,
    /// Frames of this length that were sent.
    pub sent: PacketCount,
    /// Those of them that did not come.
    pub lost: PacketCount,
}

impl PairLoss {
    /// `lost / sent`.
    pub fn ratio(&self) -> LossRatio {
        LossRatio::from_parts(self.lost.get(), self.sent.get())
    }
}

impl LengthLoss {
    /// `lost / sent`.
    pub fn ratio(&self) -> LossRatio {
        LossRatio::from_parts(self.lost.get(), self.sent.get())
    }
}

impl From<&Genome> for FrameMix {
    fn from(genome: &Genome) -> Self {
        Self {
            genome: genome.to_string(),
            lengths_bytes: genome.lengths().to_vec(),
            mean_bytes: genome.mean(),
            losses: Vec::new(),
        }
    }
}

/// Throughput with one loss goal.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ForwardingGoal {
    /// Maximum loss ratio: 0 for the non-drop rate (NDR), 0.005 for the partial drop rate (PDR) as FD.io CSIT has it.
    #[serde(rename = "loss_goal_ratio")]
    pub loss_goal: LossRatio,
    /// Highest intended load that meets the goal with no worse one below it.
    #[serde(rename = "lower_bound_pps")]
    pub lower_bound: Option<PacketRate>,
    /// Lowest intended load above it that misses the goal.
    #[serde(rename = "upper_bound_pps")]
    pub upper_bound: Option<PacketRate>,
    /// Lower bound × (1 − quantile loss ratio) (RFC 9971).
    #[serde(rename = "conditional_throughput_pps")]
    pub conditional_throughput: Option<PacketRate>,
    /// Whether the bounds are as close as asked.
    pub reached: bool,
}

/// What a frame costs a device, by the line through the times of frames of several sizes.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FrameCost {
    /// For each frame, whatever its length, nanoseconds.
    pub frame_ns: CostRange,
    /// For each byte of it, nanoseconds.
    pub byte_ns: CostRange,
    /// Number of frame sizes.
    pub frame_sizes: u32,
}

/// A cost in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CostRange {
    /// With each throughput in the middle of its bounds.
    pub point: f64,
    /// With each throughput anywhere between its bounds.
    pub interval: Interval,
}

/// Delay of all frames at one load.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ForwardingDelay {
    /// Share of the throughput that the load was.
    pub load_ratio: Ratio,
    /// The load.
    #[serde(rename = "intended_pps")]
    pub intended: PacketRate,
    /// What was timed: one-way delay where both ends read one clock, or two of which the error is smaller than the median;
    /// else the delay above the smallest of the trial.
    pub of: Option<DelayOf>,
    /// A one-way delay may lie so far on either side, since two clocks were compared; absent where both ends read one, or
    /// none were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
    /// Half of all frames had at most this delay.
    pub p50_ns: Option<u64>,
    /// 99 % quantile.
    pub p99_ns: Option<u64>,
    /// 99.9 % quantile.
    pub p999_ns: Option<u64>,
    /// Longest.
    pub max_ns: Option<u64>,
    /// Frames that were lost at this load.
    pub lost: Option<PacketCount>,
    /// Mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    /// The part of each stage of the device's program, the warm-up's frames included; empty where the device does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageDelay>,
}

/// How long packets were in a stage of the device's program, by the device's own clock.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StageDelay {
    /// Which.
    pub stage: DutStage,
    /// Half of all packets were in it for at most this time.
    pub p50_ns: u64,
    /// 99 % quantile.
    pub p99_ns: u64,
    /// Mean.
    pub mean_ns: f64,
}

impl StageDelay {
    fn new((stage, times): (&DutStage, &Histogram)) -> Self {
        Self {
            stage: *stage,
            p50_ns: times.quantile_nanos(0.5),
            p99_ns: times.quantile_nanos(0.99),
            mean_ns: times.mean_nanos(),
        }
    }
}

impl ForwardingDelay {
    /// Mean of the whole delay, where it is one way: what stages are parts of.
    fn whole_ns(&self) -> Option<f64> {
        let is_whole = self.of == Some(DelayOf::OneWay);
        self.mean_ns.filter(|mean| is_whole && *mean > 0.0)
    }

    /// Share of a stage in the mean of the whole delay.
    pub fn stage_ratio(&self, stage: &StageDelay) -> Option<Ratio> {
        Some(Ratio::clamped(stage.mean_ns / self.whole_ns()?))
    }

    /// Share of what is outside of the device's program in the mean of the whole delay: ports, kernel, scheduling. `None`
    /// without stages, and where these are longer together: copies wait that no receiver counts.
    pub fn outside_ratio(&self) -> Option<Ratio> {
        let inside: f64 = self.stages.iter().map(|stage| stage.mean_ns).sum();
        let share = 1.0 - inside / self.whole_ns()?;
        (!self.stages.is_empty() && share >= 0.0).then(|| Ratio::clamped(share))
    }
}

/// A trial that measured delay at a share of the throughput.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DelayTrial {
    /// Share of the throughput with the largest loss goal.
    pub load_ratio: Ratio,
    /// Index of the trial.
    pub trial: u32,
}

/// Frames per second of datagrams with `payload` bytes at `rate` of L4 payload; `None` for empty payload.
pub fn frame_rate(rate: BitRate, payload: ByteCount) -> Option<PacketRate> {
    let bits = payload.as_f64() * 8.0;
    (bits > 0.0).then(|| PacketRate::from_pps(rate.as_f64() / bits))
}

impl TestSpec {
    /// Frames per second at `rate` of L4 payload, where frames go through a device between two ports; `None` of other
    /// tests.
    pub fn device_frames(&self, rate: BitRate) -> Option<PacketRate> {
        self.datapath
            .is_between_ports()
            .then(|| frame_rate(rate, self.payload()))
            .flatten()
    }
}

impl Trial {
    /// Delay as it is known best: one way from the trial's sender, where the clocks' error is smaller than the median, else
    /// above the smallest of the trial.
    pub fn best_delay(&self) -> Option<&Delay> {
        let known = self.one_way().and_then(|one_way| {
            let error = one_way.clock_error_ns().unwrap_or(0);
            let delay = one_way.forward.as_ref();
            delay.filter(|delay| delay.p50_ns.is_some_and(|median| median > error))
        });
        known.or_else(|| self.delay())
    }
}

/// What a device that linerate started told of its stages.
fn stage_delays(trial: &Trial) -> Vec<StageDelay> {
    let device = trial
        .measured()
        .and_then(|measured| measured.device.as_ref());
    let stages = device.into_iter().flat_map(|device| &device.counted.stages);
    let passed = stages.filter(|(_, times)| !times.is_empty());
    passed.map(StageDelay::new).collect()
}

impl Forwarding {
    /// Of frames of this length, before anything is known.
    pub const fn new(frame_bytes: ByteCount, direction: Direction) -> Self {
        Self {
            frame_bytes,
            mix: None,
            direction,
            line_rate: None,
            ceiling: None,
            goals: Vec::new(),
            delays: Vec::new(),
            methods: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// What a search with datagrams of one size found; `None` where the run is no search or does not tell the size.
    ///
    /// `overhead` is that of the frames. Line rate and ceiling are not the run's to know.
    pub fn of_search(run: &Run, direction: Direction, overhead: FrameOverhead) -> Option<Self> {
        let payload = run.config.test()?.payload();
        let goal = |goal: &GoalResult| {
            let rate = |bound: Option<BitRate>| bound.and_then(|rate| frame_rate(rate, payload));
            ForwardingGoal {
                loss_goal: goal.loss_goal,
                lower_bound: rate(goal.lower_bound),
                upper_bound: rate(goal.refused_load()),
                conditional_throughput: rate(goal.conditional_throughput),
                reached: goal.reached,
            }
        };
        let delay = |one: &DelayTrial| {
            let trial = run.trials.iter().find(|trial| trial.index == one.trial)?;
            let delay = trial.best_delay();
            Some(ForwardingDelay {
                load_ratio: one.load_ratio,
                intended: frame_rate(trial.intended_load?, payload)?,
                of: delay.map(|delay| delay.of),
                clock_error_ns: trial.one_way().and_then(OneWay::clock_error_ns),
                p50_ns: delay.and_then(|delay| delay.p50_ns),
                p99_ns: delay.and_then(|delay| delay.p99_ns),
                p999_ns: delay.and_then(|delay| delay.p999_ns),
                max_ns: delay.and_then(|delay| delay.max_ns),
                lost: trial.packets().and_then(|packets| packets.lost),
                mean_ns: delay.and_then(|delay| delay.mean_ns),
                stages: stage_delays(trial),
            })
        };
        let of_way = run
            .goals()
            .iter()
            .filter(|goal| goal.direction == direction);
        let frame_bytes = ByteCount::new(overhead.bytes_at(Layer::L2, payload.get()));
        Some(Self {
            goals: of_way.map(goal).collect(),
            delays: run.delay_trials().iter().filter_map(delay).collect(),
            ..Self::new(frame_bytes, direction)
        })
    }

    /// Highest load without loss; `None` where none was searched for or found.
    pub fn throughput(&self) -> Option<PacketRate> {
        let without_loss = |goal: &&ForwardingGoal| goal.loss_goal == Ratio::ZERO;
        self.goals.iter().find(without_loss)?.lower_bound
    }

    /// The goal with the smallest loss ratio.
    pub fn strictest(&self) -> Option<&ForwardingGoal> {
        let goals = self.goals.iter();
        goals.min_by(|a, b| a.loss_goal.get().total_cmp(&b.loss_goal.get()))
    }

    /// Highest load with the largest loss goal; `None` where none was found.
    pub fn highest_throughput(&self) -> Option<PacketRate> {
        let goals = self.goals.iter();
        let largest = goals.max_by(|a, b| a.loss_goal.get().total_cmp(&b.loss_goal.get()));
        largest?.lower_bound
    }

    /// Length of a frame, or the exact mean of a mix, bytes.
    pub fn mean_bytes(&self) -> f64 {
        let mix = self.mix.as_ref().map(|mix| mix.mean_bytes);
        mix.unwrap_or_else(|| self.frame_bytes.as_f64())
    }

    /// Bit/s at `layer` of frames of this size at `rate`; L1 counts 20 bytes of preamble and gap.
    pub fn bit_rate(&self, layer: Layer, rate: PacketRate) -> BitRate {
        let between = match layer {
            Layer::L1 => FrameOverhead::UDP_IPV4.l1_bytes,
            Layer::L2 | Layer::L3 | Layer::L4Payload => 0,
        };
        let bytes = self.mean_bytes() + f64::from(between);
        BitRate::from_f64(rate.pps() * bytes * 8.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::one_way::{ClockMethod, ClockRelation};
    use crate::run::{DatagramsResult, Trial};
    use crate::spec::Transport;

    fn delay(of: DelayOf, p50_ns: u64) -> Delay {
        let mut histogram = Histogram::new();
        histogram.record(p50_ns);
        let delay = Delay::from_histogram(of, histogram).unwrap();
        Delay {
            p50_ns: Some(p50_ns),
            ..delay
        }
    }

    fn trial(method: ClockMethod, uncertainty_ns: u64) -> Trial {
        let clock = ClockRelation {
            method,
            offset_ns: 1_000_000,
            at_ns: 0,
            skew_ppm: 0.0,
            skew_uncertainty_ppm: 0.0,
            uncertainty_ns,
            asymmetry_ns: None,
            messages: 100,
        };
        let one_way = OneWay {
            forward: Some(delay(DelayOf::OneWay, 20_000)),
            clock: Some(clock),
            ..OneWay::default()
        };
        let work = DatagramsResult {
            delay: Some(delay(DelayOf::Pdv, 3_000)),
            one_way: Some(Box::new(one_way)),
            ..DatagramsResult::default()
        };
        Trial::new(0, Transport::Udp, Direction::Forward, work)
    }

    #[test]
    fn a_delay_below_the_error_of_its_clocks_is_not_known() {
        let best = |trial: &Trial| trial.best_delay().map(|delay| delay.of);
        let error = |trial: &Trial| trial.one_way().and_then(OneWay::clock_error_ns);
        let exact = trial(ClockMethod::CommonClock, 1);
        assert_eq!((best(&exact), error(&exact)), (Some(DelayOf::OneWay), None));
        for (uncertainty, of) in [(19_999, DelayOf::OneWay), (20_000, DelayOf::Pdv)] {
            let compared = trial(ClockMethod::ConvexBounds, uncertainty);
            let found = (best(&compared), error(&compared));
            assert_eq!(found, (Some(of), Some(uncertainty)));
        }
    }

    #[test]
    fn what_no_stage_took_was_outside_of_the_program() {
        let stage = |stage, mean_ns| StageDelay {
            stage,
            p50_ns: 0,
            p99_ns: 0,
            mean_ns,
        };
        let [queue, egress] = [(DutStage::Queue, 300.0), (DutStage::Egress, 200.0)];
        let mut delay = ForwardingDelay {
            load_ratio: Ratio::ZERO,
            intended: PacketRate::from_pps(1.0),
            of: Some(DelayOf::OneWay),
            clock_error_ns: None,
            p50_ns: None,
            p99_ns: None,
            p999_ns: None,
            max_ns: None,
            lost: None,
            mean_ns: Some(2000.0),
            stages: vec![stage(queue.0, queue.1), stage(egress.0, egress.1)],
        };
        assert_eq!(delay.outside_ratio(), Some(Ratio::clamped(0.75)));
        let first = delay.stage_ratio(&delay.stages[0]);
        assert_eq!(first, Some(Ratio::clamped(0.15)));
        // Stages that are longer than the whole, a delay above its smallest, and no stages: nothing is outside.
        delay.mean_ns = Some(499.0);
        assert_eq!(delay.outside_ratio(), None);
        delay.mean_ns = Some(2000.0);
        delay.of = Some(DelayOf::Pdv);
        assert_eq!(delay.outside_ratio(), None);
        assert_eq!(delay.stage_ratio(&delay.stages[0]), None);
        delay.of = Some(DelayOf::OneWay);
        delay.stages.clear();
        assert_eq!(delay.outside_ratio(), None);
    }
}
