//! Addresses that a switch learns: how many (RFC 2889 §5.7), and how fast (§5.8).

use super::bench::Bench;
use super::{Method, MethodSettings};
use anyhow::Result;
use linerate_engine::learning::{AddressPorts, AddressSet, Probed, Taught};
use linerate_model::PacketRate;
use linerate_model::run::{AddressTable, LearningRate, MethodResult};
use linerate_model::spec::Direction;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct AddressTableSize;

#[derive(Debug)]
pub(super) struct AddressLearningRate;

/// Rate at which addresses are taught where their number is asked for: below what any switch learns.
const TABLE_RATE: f64 = 10_000.0;

/// Rates at which a bisection of the learning rate ends.
const WIDTH: f64 = 1.05;

/// Most trials of it: 2^17 times the lowest rate.
const MAX_TRIALS: u8 = 20;

/// Longest time that one trial takes: at the lowest rates of both.
fn trial_time(addresses: u32) -> Duration {
    Duration::from_secs_f64(f64::from(addresses) * 2.0 / TABLE_RATE)
}

impl Method for AddressTableSize {
    fn id(&self) -> &'static str {
        "address-table"
    }

    fn summary(&self) -> &'static str {
        "Addresses that a switch holds (RFC 2889)"
    }

    fn needs_throughput(&self) -> bool {
        false
    }

    fn depends_on_frames(&self) -> bool {
        false
    }

    fn time(&self, settings: &MethodSettings) -> Duration {
        trial_time(settings.addresses)
    }

    fn measure(&self, bench: &mut Bench<'_, '_>) -> Result<Option<MethodResult>> {
        let mut ports = Teaching::open(bench)?;
        let rate = Some(PacketRate::from_pps(TABLE_RATE));
        let Some((taught, seen)) = ports.trial(bench, rate)? else {
            return Ok(None);
        };
        Ok(Some(MethodResult::AddressTable(AddressTable {
            taught: ports.addresses,
            learned: ports.addresses - seen.flooded,
            first_unlearned: seen.first_flooded,
            taught_rate: taught.rate,
        })))
    }
}

impl Method for AddressLearningRate {
    fn id(&self) -> &'static str {
        "learning-rate"
    }

    fn summary(&self) -> &'static str {
        "Addresses that a switch learns per second (RFC 2889)"
    }

    fn needs_throughput(&self) -> bool {
        false
    }

    fn depends_on_frames(&self) -> bool {
        false
    }

    fn time(&self, settings: &MethodSettings) -> Duration {
        trial_time(settings.addresses).saturating_mul(MAX_TRIALS.into())
    }

    fn measure(&self, bench: &mut Bench<'_, '_>) -> Result<Option<MethodResult>> {
        let mut ports = Teaching::open(bench)?;
        let Some((fastest, seen)) = ports.trial(bench, None)? else {
            return Ok(None);
        };
        let mut found = LearningRate {
            addresses: ports.addresses,
            learned_all: None,
            missed_some: None,
            trials: 1,
        };
        if seen.flooded == 0 {
            found.learned_all = Some(fastest.rate);
            return Ok(Some(MethodResult::LearningRate(found)));
        }
        found.missed_some = Some(fastest.rate);
        let lowest = bench.frames(bench.loads.lowest).pps();
        let (mut low, mut high) = (lowest, fastest.rate.pps());
        let mut next = low;
        while found.trials < MAX_TRIALS.into() && high > low * WIDTH && !bench.is_over() {
            let Some((taught, seen)) = ports.trial(bench, Some(PacketRate::from_pps(next)))? else {
                break;
            };
            found.trials += 1;
            if seen.flooded == 0 {
                low = next.max(low);
                found.learned_all = Some(taught.rate);
            } else {
                high = next;
                found.missed_some = Some(taught.rate);
                if next <= lowest {
                    bench.note(format_args!(
                        "at {lowest} addresses/s {} of {} were not learned: the table is smaller, or full; give fewer with --addresses",
                        seen.flooded, ports.addresses
                    ));
                    break;
                }
            }
            next = (low * high).sqrt();
        }
        Ok(Some(MethodResult::LearningRate(found)))
    }
}

/// The two ports, with the sets of addresses that were taught so far.
struct Teaching {
    ports: AddressPorts,
    addresses: u32,
    next_set: u8,
}

impl Teaching {
    fn open(bench: &Bench<'_, '_>) -> Result<Self> {
        let params = &bench.spec.datapath.params;
        let name = |key: &str| params.get(key).cloned().unwrap_or_default();
        let (a, b) = match bench.spec.direction {
            Direction::Reverse => (name("b"), name("a")),
            Direction::Forward | Direction::Duplex => (name("a"), name("b")),
        };
        let token = u32::try_from(bench.spec.seed & u64::from(u32::MAX)).unwrap_or_default();
        let ports = AddressPorts::open(&a, &b, bench.row.frame_bytes.get(), token)?;
        Ok(Self {
            ports,
            addresses: bench.settings.addresses,
            next_set: 0,
        })
    }

    /// Teaches addresses that the device has not seen, and probes them; `None` if the user wants to stop, or no frame to an
    /// unknown address arrives, which the run's notes explain.
    fn trial(
        &mut self,
        bench: &mut Bench<'_, '_>,
        rate: Option<PacketRate>,
    ) -> Result<Option<(Taught, Probed)>> {
        bench.forget_addresses();
        let set = AddressSet {
            set: self.next_set,
            count: self.addresses,
        };
        self.next_set += 1;
        let interrupt = bench.context.interrupt;
        let go_on = || !interrupt.load(Ordering::Relaxed);
        let Some(taught) = self.ports.teach(set, rate, &go_on)? else {
            return Ok(None);
        };
        let Some(seen) = self.ports.probe(set, &go_on)? else {
            return Ok(None);
        };
        if seen.controls_lost == seen.controls {
            bench.note("no addresses: frames to unknown addresses do not arrive at the other port, so it does not flood as a switch does");
            return Ok(None);
        }
        if seen.controls_lost > 0 {
            bench.note(format_args!(
                "{} of {} frames to addresses that were never taught were lost: as many probes may have been, which count as learned",
                seen.controls_lost, seen.controls
            ));
        }
        Ok(Some((taught, seen)))
    }
}
