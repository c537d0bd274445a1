//! The link element as a device: rate, queue, delay and drops that are exactly what was asked for.

use super::cables::{Cables, Ipv6, NextHop, Side, dropped, kernel_version};
use super::forwarder::{Counts, Forwarder, Inside};
use super::params::params;
use super::{Dut, DutKind, DutParam, DutSetup};
use crate::interfaces::{index_of, netlink, open_sockets, within};
use crate::link::{
    DirectionCounters, LinkConfig, LinkHandle, Outage, PacketFilter, PacketList, Tally, Transport,
};
use crate::{HostId, Result, TeardownError, TestbedError};
use linerate_model::dut::{DutCounters, DutPlace, DutRelief, DutThread, DutWork};
use linerate_model::spec::TestSpec;
use linerate_model::units::parse_duration;
use linerate_model::{BitRate, ByteCount, Clock as _, MonoInstant, PacketCount, Ratio};
use linerate_sys::clock::MonoClock;
use linerate_sys::netns::NetNamespace;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Link;

params! {
    RATE = "rate": "RATE" ("unlimited"),
        "L1 rate: frames with FCS, preamble and gap.";
    QUEUE = "queue": "BYTES" ("262144"),
        "Queue before the line, in bytes of frames without FCS; without a rate none forms.";
    DELAY = "delay": "TIME" ("0"),
        "Delay after the line.";
    LOSS = "loss": "RATIO" ("0"),
        "Share of all frames dropped by chance.";
    DROP = "drop": "N+N-N+…" ("none"),
        "UDP and TCP packets dropped by number, from 1 for each way: 5+17+400-420.";
    OUTAGE = "outage": "TIME" ("none"),
        "How long every frame is lost when the device is reset.";
}

impl DutKind for Link {
    fn id(&self) -> &'static str {
        "link"
    }

    fn summary(&self) -> &'static str {
        "linerate's link element: exact rate, queue, delay and drops, the same both ways."
    }

    fn params(&self) -> &'static [DutParam] {
        PARAMS
    }

    fn start(&self, setup: &DutSetup) -> Result<Box<dyn Dut>> {
        let config = config(setup)?;
        let outage = outage(setup)?;
        config.check(setup.mtu)?;
        let description = description(&config);
        let cables = Cables::lay(setup, NextHop::OtherPort, Ipv6::Off)?;
        cables.bring_up()?;
        let (mtu, seed, kept) = (setup.mtu, setup.seed, config.clone());
        let handle = within(&cables.device, "the link element", move || {
            let open = |side: Side| {
                let port = side.device_port();
                let index = index_of(&mut netlink()?, &port)?;
                let step = format!("opening packet sockets on {port}");
                open_sockets(index, mtu).map_err(TestbedError::step(step))
            };
            let ports = [open(Side::A)?, open(Side::B)?];
            LinkHandle::start(ports, [config.clone(), config], mtu, seed)
        })?;
        let version = format!(
            "linerate {}, {}",
            env!("CARGO_PKG_VERSION"),
            kernel_version()
        );
        let inside = Element {
            handle,
            config: kept,
            outage,
        };
        let dut = Forwarder::running(setup, &description, version, cables, inside);
        Ok(dut)
    }
}

/// How long a reset lasts.
fn outage(setup: &DutSetup) -> Result<Option<Duration>> {
    let refused = |text: &str, why: &str| setup.refused(OUTAGE, text, why);
    let read = |text: &str| match parse_duration(text) {
        Ok(time) if time.is_zero() || time > LONGEST_OUTAGE => {
            Err(refused(text, "it takes more than 0 and up to 60 s"))
        }
        Ok(time) => Ok(time),
        Err(error) => Err(refused(text, &error.to_string())),
    };
    setup.text(OUTAGE).map(read).transpose()
}

const LONGEST_OUTAGE: Duration = Duration::from_mins(1);

fn config(setup: &DutSetup) -> Result<LinkConfig> {
    let list = |text: &str| {
        let list: Result<PacketList, _> = text.replace('+', ",").parse();
        list.map_err(|error| setup.refused(DROP, text, &error.to_string()))
    };
    let delay = |text: &str| {
        parse_duration(text).map_err(|error| setup.refused(DELAY, text, &error.to_string()))
    };
    let usual = LinkConfig::default();
    Ok(LinkConfig {
        rate: setup.read::<BitRate>(RATE)?,
        queue_bytes: setup.read(QUEUE)?.unwrap_or(usual.queue_bytes),
        delay: setup.text(DELAY).map_or(Ok(Duration::ZERO), delay)?,
        loss: setup.read::<Ratio>(LOSS)?.unwrap_or(Ratio::ZERO),
        drop: setup.text(DROP).map_or(Ok(PacketList::none()), list)?,
        // Whatever the tester sends is its data, short or long.
        filter: PacketFilter {
            transport: Transport::Any,
            port: None,
            min_payload: 0,
        },
        ..usual
    })
}

fn description(config: &LinkConfig) -> String {
    let line = match config.rate {
        None => "rate unlimited".to_owned(),
        Some(rate) => format!("{rate} (L1), queue {}", config.queue_bytes),
    };
    let loss = if config.drop.is_empty() && config.loss == Ratio::ZERO {
        "no drops".to_owned()
    } else {
        format!("drops {} by chance and a list", config.loss)
    };
    format!("link element, {line}, delay {:?}, {loss}", config.delay)
}

/// The element between the ports.
struct Element {
    handle: LinkHandle,
    /// Of both ways alike.
    config: LinkConfig,
    /// How long a reset lasts.
    outage: Option<Duration>,
}

/// From a reset to the beginning of its outage: both ways know of it by then.
const NOTICE: Duration = Duration::from_millis(50);

impl Element {
    /// Both ways.
    fn reconfigure(&self, config: &LinkConfig) -> Result<()> {
        let mut both = [HostId::A, HostId::B].into_iter();
        both.try_for_each(|from| self.handle.reconfigure(from, config.clone()))
    }
}

impl Inside for Element {
    /// The element's own counts: what an interface received that the element has not yet read is not the device's yet.
    fn count(&mut self, _device: &Arc<NetNamespace>, counted: &mut DutCounters) -> Result<()> {
        let read = self.handle.counters()?;
        let ways = [(&read.a_to_b, 0, 1), (&read.b_to_a, 1, 0)];
        for (way, from, to) in ways {
            counted.ports[from].received = sum(way, |tally| tally.arrived);
            counted.ports[to].sent = sum(way, |tally| tally.forwarded);
        }
        for (way, from, to) in ways {
            let [from, to] = [from, to].map(|port: usize| counted.ports[port].name.clone());
            let listed = sum(way, |tally| tally.dropped_by_list).get();
            let by_chance = sum(way, |tally| tally.dropped_by_loss).get();
            let outage = sum(way, |tally| tally.dropped_by_outage).get();
            let queue = sum(way, |tally| tally.dropped_by_queue).get();
            let oversize = sum(way, |tally| tally.oversize).get();
            let faults = way.faults;
            counted.drops.extend([
                dropped(DutPlace::Intended, &format!("{from} list"), listed),
                dropped(DutPlace::Intended, &format!("{from} chance"), by_chance),
                dropped(DutPlace::Intended, &format!("{from} outage"), outage),
                dropped(DutPlace::Queue, &to, queue),
                dropped(DutPlace::Queue, &format!("{to} oversize"), oversize),
                dropped(DutPlace::PortRx, &from, faults.ring_drops.get()),
                dropped(DutPlace::Process, &from, faults.memory_drops.get()),
            ]);
        }
        Ok(())
    }

    fn work(&self) -> DutWork {
        let pid = std::process::id();
        let tid = self.handle.thread_id();
        let name = "link-element".to_owned();
        DutWork::Threads(vec![DutThread { pid, tid, name }])
    }

    fn reliefs(&self, _test: &TestSpec) -> Vec<DutRelief> {
        let bytes = ByteCount::new(self.config.queue_bytes.get().saturating_mul(2));
        let relief = DutRelief::LongerQueue { bytes };
        self.config.rate.map(|_| relief).into_iter().collect()
    }

    fn relieve(
        &mut self,
        _device: &Arc<NetNamespace>,
        relief: DutRelief,
        is_relieved: bool,
    ) -> Result<()> {
        let mut config = self.config.clone();
        if let (DutRelief::LongerQueue { bytes }, true) = (relief, is_relieved) {
            config.queue_bytes = bytes;
        }
        self.reconfigure(&config)
    }

    fn reset(&mut self, _device: &Arc<NetNamespace>) -> Option<Result<Counts>> {
        let length = self.outage?;
        let start = MonoClock.now().after(NOTICE);
        // Outages recur with their period: with the clock's reading as the period the next is when the host runs for twice
        // as long.
        let every = start.saturating_since(MonoInstant::default());
        let config = LinkConfig {
            outage: Some(Outage { every, length }),
            ..self.config.clone()
        };
        Some(self.reconfigure(&config).map(|()| Counts::Kept))
    }

    fn close(&mut self) -> Result<(), Vec<TeardownError>> {
        self.handle.stop().map_err(|error| vec![error])
    }
}

/// Of data packets and all other frames together.
fn sum(way: &DirectionCounters, part: fn(&Tally) -> PacketCount) -> PacketCount {
    PacketCount::new(part(&way.data).get() + part(&way.other).get())
}
