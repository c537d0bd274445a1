//! The sending end: runs the kernel on frames for a short time, again and again.

use super::code::{self, Field};
use super::generator_code as fields;
use super::home::Home;
use super::{End, host, report, template};
use crate::datapaths::af_xdp::open::{attach, load};
use crate::datapaths::af_xdp::route::FrameRoute;
use crate::datapaths::{Arrivals, Buffers, DatagramPath, PathDiagnostics};
use crate::error::{EngineError, Result};
use crate::plan::Role;
use linerate_model::sample::XdpReport;
use linerate_model::{Clock as _, Histogram, MonoInstant};
use linerate_peers::Part;
use linerate_sys::affinity;
use linerate_sys::bpf::{
    Assembler, Attached, DeviceMap, SharedValue, XDP_PASS, XdpLink, XdpMode, XdpProgram,
};
use linerate_sys::clock::MonoClock;
use linerate_sys::failure::Failure;
use linerate_wire::Stamp;
use linerate_wire::header::{Header, Kind};
use linerate_wire::schedule::Slots;
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

/// Frames of one batch: as many as the kernel redirects in one (`DEV_MAP_BULK_SIZE`), so that those which the interface
/// did not take are the last ones.
const BATCH: u32 = 16;

/// Frames of one batch of a sender that is late while the interface takes everything: what is done once for a batch, such as
/// the receiver's soft interrupt over veth, is then a tenth of a frame's cost and not a quarter.
const LATE_BATCH: u32 = 64;

/// Lateness from which on batches are longer: above what a call takes to begin.
const LATE: Duration = Duration::from_micros(100);

/// Time of one call where slots are close: bounds how long a core is held and a stop takes.
const CALL_TIME: Duration = Duration::from_millis(2);

/// Gap between slots from which on this process waits between them.
const FAR_APART: Duration = Duration::from_micros(50);

/// How long a sender without a core of its own gathers slots for one call.
const GATHERED: Duration = Duration::from_micros(100);

/// Time before and after a slot for which a call waits in the kernel.
const MARGIN: Duration = Duration::from_micros(10);

/// Expected time of one run before the first was measured, picoseconds.
const USUAL_RUN_PS: u64 = 100_000;

/// Shortest time that is expected of a run, picoseconds.
const MIN_RUN_PS: u64 = 10_000;

/// Most runs of one call.
const MAX_RUNS: u64 = 1 << 16;

/// Linux's error where the other end of a veth receives no frames of XDP.
const NO_RECEIVER: i32 = 6;

/// Linux's error of an interface that is down.
const DOWN: i32 = 100;

/// The kernel's loop that sends a stream. Field order is teardown order: the port last, so that it is kept while frames
/// may be ours.
pub struct Generator {
    _home: Home,
    program: XdpProgram,
    state: SharedValue,
    _devices: DeviceMap,
    _counter: Attached,
    /// A program that passes every frame: many drivers redirect only to interfaces that have one.
    _own: Option<XdpLink>,
    route: FrameRoute,
    header: Header,
    /// The frame that all are copies of.
    frame: Vec<u8>,
    /// Whether it waits for several slots, and then makes one call for them.
    gathers: bool,
    /// Expected time of one run, picoseconds.
    run_ps: u64,
    /// Expected time from the beginning of a call to the first run, nanoseconds.
    setup_ns: u64,
    /// Frames that the interface did not take.
    dropped: u64,
    /// Frames that tried the way.
    tried: u64,
    _port: UdpSocket,
}

/// What a call is to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order {
    /// Whether the frames count.
    pub(crate) part: Part,
    /// Number of the first.
    pub(crate) sequence: u64,
    /// Slots that may be served.
    pub(crate) most: u64,
    /// Time from which on none is.
    pub(crate) end: Option<MonoInstant>,
    /// When the slots are, and how late one may be; `None`: as fast as possible.
    pub(crate) pace: Option<(Slots, Duration)>,
}

/// What a call sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Slots served.
    pub(crate) slots: u64,
    /// Frames that the interface took.
    pub(crate) sent: u64,
    /// Number of the next frame.
    pub(crate) next: u64,
    /// When the last frame left, or the call ended without one.
    pub(crate) at: MonoInstant,
    /// Why the interface took none, if it was an error.
    pub(crate) failure: Option<Failure>,
}

impl Generator {
    pub(super) fn open(mut end: End<'_>) -> Result<Self> {
        let header = Header {
            token: end.probe.token,
            stream: end.first_stream_of(end.routes.len()),
            kind: Kind::WarmUp,
            sequence: 0,
            sent: Stamp::from_bits(0),
        };
        let destinations = end.routes.iter().map(|route| route.flow.remote.mac);
        let destinations = destinations.collect();
        let route = end.routes.swap_remove(0);
        let gathers = end.senders > 1 && end.senders >= cores_of_this_process();
        let (frame, mut plan) = template::frame(
            &route.layout,
            destinations,
            &end.lengths,
            &header,
            end.flows,
            end.setup.role == Role::Server,
        );
        plan.gathers = gathers;
        let state = SharedValue::new(fields::MEMORY_BYTES);
        let state = state.map_err(host("making memory to share with the kernel"))?;
        fields::write_tables(&plan, &mut |at, number| state.set(at, number));
        let interface = route.interface;
        let devices = DeviceMap::new(1).and_then(|map| map.set(0, interface).map(|()| map));
        let devices = devices.map_err(host("naming the interface to send on"))?;
        let map = state.descriptor();
        let code = fields::sender(&plan, map, devices.descriptor());
        let program = XdpProgram::load(&code).map_err(host("loading the sending program"))?;
        let home = Home::of(&program)?;
        let counter = Attached::to_tracepoint("xdp_devmap_xmit", &fields::counter(map));
        let counter = counter.map_err(host("counting what the interface takes"))?;
        let own = if is_veth(&route) || end.setup.both_ways {
            None
        } else {
            Some(pass_all(&route, end.params.mode)?)
        };
        let mut generator = Self {
            _home: home,
            program,
            state,
            _devices: devices,
            _counter: counter,
            _own: own,
            route,
            header,
            frame,
            gathers,
            run_ps: USUAL_RUN_PS,
            setup_ns: 0,
            dropped: 0,
            tried: 0,
            _port: end.socket,
        };
        generator.try_one()?;
        Ok(generator)
    }

    /// Sends one frame that does not count: what this kernel and this interface cannot do shows before the traffic.
    fn try_one(&mut self) -> Result<()> {
        let order = Order {
            part: Part::WarmUp,
            sequence: 0,
            most: 1,
            end: None,
            pace: None,
        };
        let began = MonoClock.now();
        let why = match self.call(&order, 1, BATCH) {
            Ok(()) if self.get(fields::SENT) == 1 => {
                self.setup_ns = self.setup_since(began);
                self.tried = 1;
                return Ok(());
            }
            Ok(()) => self.why_nothing_was_taken(),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                "this kernel makes no frames for a program (before Linux 5.18)".to_owned()
            }
            Err(error) => return Err(host("running the sending program")(error)),
        };
        Err(EngineError::Host {
            what: format!(
                "sending frames made in the kernel on {}",
                self.route.link.name
            ),
            why,
            remedy: "switch GRO on at the other end (ethtool -K IF gro on), or use generator=af-xdp",
        })
    }

    fn why_nothing_was_taken(&self) -> String {
        // Since Linux 6.3 a frame is refused before it is queued (EOPNOTSUPP), which no tracepoint tells.
        let is_refused = self.get(fields::PENDING) > 0;
        match self.error() {
            Some(code) if is_veth(&self.route) && (is_refused || code == NO_RECEIVER) => {
                "the other end of this veth takes no frames of XDP: it has neither GRO nor a program"
                    .to_owned()
            }
            _ if is_refused => "its driver takes no frames of XDP".to_owned(),
            Some(code) => format!("it took none: {}", io::Error::from_raw_os_error(code)),
            None => "it had no room for one".to_owned(),
        }
    }

    /// How long before a slot a call begins.
    pub(crate) fn lead(&self) -> Duration {
        Duration::from_nanos(self.setup_ns) + MARGIN
    }

    /// Whether slots are so far apart that this process waits between them.
    pub(crate) fn waits_between(slots: &Slots) -> bool {
        Duration::from_nanos(slots.gap) > FAR_APART
    }

    /// When a sender that has no core of its own serves the slots from this one on, all that are due then with one call;
    /// `None` for one that keeps a core.
    pub(crate) fn gathered_at(&self, slots: &Slots) -> Option<MonoInstant> {
        self.gathers.then(|| slots.next_due.after(GATHERED))
    }

    /// Frames that were sent to try the way.
    pub(crate) const fn tried(&self) -> u64 {
        self.tried
    }

    /// Runs the kernel's loop for a short time.
    pub(crate) fn run(&mut self, order: &Order) -> Carried {
        let began = MonoClock.now();
        let runs = self.runs(order, began);
        let before = self.get(fields::SENT);
        let outcome = self.call(order, runs, self.batch_of(order, began));
        let ended = MonoClock.now();
        if outcome.is_ok() {
            self.learn(began, ended, runs);
        }
        let slots = most(order) - self.get(fields::ALLOWED);
        let sent = self.get(fields::SENT) - before;
        self.dropped += slots.saturating_sub(sent);
        let next = self.get(fields::NEXT) - self.get(fields::PENDING);
        let failure = match outcome {
            Err(error) if slots == 0 => Some(error),
            _ if sent == 0 && slots > 0 => self.error().map(io::Error::from_raw_os_error),
            _ => None,
        };
        Carried {
            slots,
            sent,
            next,
            at: match slots {
                0 => ended,
                _ => MonoInstant::from_nanos(self.get(fields::LAST)),
            },
            failure: failure.map(|error| Failure::from_io("BPF_PROG_RUN", &error)),
        }
    }

    /// Forgets the lateness of the frames so far: they do not count.
    pub(crate) fn forget_lateness(&mut self) {
        code::clear(&self.state, fields::LATENESS);
        self.dropped = 0;
    }

    /// How late each frame left after its time.
    pub(crate) fn lateness(&self) -> Histogram {
        code::histogram(&|at| self.state.get(at), fields::LATENESS)
    }

    /// Writes the order into the shared memory and makes the call.
    fn call(&self, order: &Order, runs: u64, batch: u32) -> io::Result<()> {
        let set = |field: Field, number: u64| self.state.set(field.at(), number);
        let kind = match order.part {
            Part::Counted => Kind::Counted,
            Part::WarmUp => Kind::WarmUp,
        };
        set(
            fields::MARK,
            u64::from(self.header.stream) << 8 | kind as u64,
        );
        set(fields::NEXT, order.sequence);
        set(fields::ALLOWED, most(order));
        set(
            fields::END,
            order.end.map_or(u64::MAX, MonoInstant::as_nanos),
        );
        for field in [fields::TASK, fields::PENDING, fields::ERROR, fields::RATE] {
            set(field, 0);
        }
        if let Some((slots, catch_up)) = order.pace {
            set(fields::DUE, slots.next_due.as_nanos());
            set(fields::PARTS, slots.parts);
            set(fields::GAP, slots.gap);
            set(fields::LEFT, slots.left);
            set(fields::RATE, slots.rate_bps);
            set(fields::CATCH_UP, whole_nanos(catch_up));
        }
        let runs = u32::try_from(runs).unwrap_or(u32::MAX);
        self.program.run_live(&self.frame, runs, batch)
    }

    /// Runs for which the kernel is called: about as long as there is something to send.
    fn runs(&self, order: &Order, now: MonoInstant) -> u64 {
        let batch = u64::from(BATCH);
        if let Some((slots, _)) = order.pace.as_ref().filter(|_| self.gathers) {
            // Those that are due, and none for which the call would have to wait.
            let late = whole_nanos(now.saturating_since(slots.next_due));
            let due = (late / slots.gap.max(1) + 1).min(most(order));
            return due.next_multiple_of(batch).min(MAX_RUNS);
        }
        let mut time = CALL_TIME;
        if let Some((slots, _)) = &order.pace {
            let first = slots.next_due.saturating_since(now);
            let all = slots.gap.saturating_mul(most(order).saturating_sub(1));
            let last = if Self::waits_between(slots) {
                first.saturating_sub(Duration::from_nanos(self.setup_ns))
            } else {
                first + Duration::from_nanos(all)
            };
            time = time.min(last + MARGIN);
        }
        if let Some(end) = order.end {
            time = time.min(end.saturating_since(now));
        }
        let runs = whole_nanos(time).saturating_mul(1000) / self.run_ps;
        let runs = runs.next_multiple_of(batch).clamp(batch, MAX_RUNS);
        match order.pace {
            Some(_) => runs,
            None => runs.min(most(order)),
        }
    }

    /// Frames of a batch. Where an interface did not take all, numbers behind theirs must not be out already.
    fn batch_of(&self, order: &Order, now: MonoInstant) -> u32 {
        let is_late = order
            .pace
            .is_none_or(|(slots, _)| now.saturating_since(slots.next_due) > LATE);
        if is_late && self.dropped == 0 {
            LATE_BATCH
        } else {
            BATCH
        }
    }

    /// Learns from a call how long calls and runs take.
    fn learn(&mut self, began: MonoInstant, ended: MonoInstant, runs: u64) {
        let setup = self.setup_since(began);
        let took = whole_nanos(ended.saturating_since(began)).saturating_sub(setup);
        self.setup_ns = (3 * self.setup_ns + setup.min(whole_nanos(CALL_TIME))) / 4;
        let run = (took * 1000 / runs.max(1)).max(MIN_RUN_PS);
        self.run_ps = (3 * self.run_ps + run) / 4;
    }

    /// Nanoseconds from the beginning of a call to its first run.
    fn setup_since(&self, began: MonoInstant) -> u64 {
        self.get(fields::BEGAN).saturating_sub(began.as_nanos())
    }

    fn get(&self, field: Field) -> u64 {
        self.state.get(field.at())
    }

    /// The kernel's error with frames of the last call; `None`: there was no room for them.
    fn error(&self) -> Option<i32> {
        if self.get(fields::PENDING) > 0 {
            return Some(DOWN);
        }
        let error = self.get(fields::ERROR).cast_signed().unsigned_abs();
        i32::try_from(error).ok().filter(|error| *error != 0)
    }
}

/// Slots that one call may serve.
fn most(order: &Order) -> u64 {
    order.most.min(MAX_RUNS)
}

fn cores_of_this_process() -> usize {
    affinity::allowed_cores().map_or(1, |cores| cores.len())
}

fn whole_nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn is_veth(route: &FrameRoute) -> bool {
    route.link.virtual_kind() == Some("veth")
}

/// Attaches a program that passes every frame on.
fn pass_all(route: &FrameRoute, mode: Option<XdpMode>) -> Result<XdpLink> {
    let code = Assembler::default().finish_with(XDP_PASS);
    let program = load(&code, route).map_err(host("loading an XDP program"))?;
    let (link, _) = attach(&program, route, mode)?;
    Ok(link)
}

impl DatagramPath for Generator {
    fn batch(&self) -> usize {
        BATCH as usize
    }

    fn slots(&mut self) -> &mut [u8] {
        &mut []
    }

    fn send(&mut self, _count: usize) -> Result<usize, Failure> {
        Err(Failure::would_block("BPF_PROG_RUN"))
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        Err(Failure::would_block("BPF_PROG_RUN"))
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        Err(Failure::would_block("BPF_PROG_RUN"))
    }

    fn overflows(&mut self) -> Option<u64> {
        None
    }

    fn buffers(&self) -> Buffers {
        Buffers::default()
    }

    fn generator(&mut self) -> Option<&mut Generator> {
        Some(self)
    }

    fn xdp(&mut self) -> Option<XdpReport> {
        Some(report(&self.route, XdpMode::Native, 0))
    }

    fn diagnostics(&mut self) -> PathDiagnostics {
        let mut notes = Vec::new();
        if self.dropped > 0 {
            notes.push(format!(
                "{} had no room for {} frames: they were not sent, and their numbers were used again",
                self.route.link.name, self.dropped
            ));
        }
        PathDiagnostics {
            helper_cpu: None,
            notes,
        }
    }
}
