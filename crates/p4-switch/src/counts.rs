//! What a station has counted, as a device under test tells it.

use crate::ports::FrameCounts;
use linerate_model::PacketCount;
use linerate_model::dut::{DutCounters, DutDrop, DutPlace, DutPort};
use linerate_p4::{DropPlace, Switch};

/// Frames and packets that no port and no program counts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StationCounts {
    /// Frames that arrived while no program was set.
    pub(crate) without_program: u64,
    /// Packets for the control plane that it did not take in time.
    pub(crate) to_control_dropped: u64,
}

impl StationCounts {
    pub(crate) fn add_to(self, counted: &mut DutCounters) {
        let mut add = |place, at: &str, packets| add(counted, place, at, packets);
        add(DutPlace::Process, "no program set", self.without_program);
        add(
            DutPlace::Queue,
            "to the control plane",
            self.to_control_dropped,
        );
    }
}

/// What port `name` counted, `received` frames of which reached the program.
pub(crate) fn add_port(counted: &mut DutCounters, name: &str, received: u64, frames: FrameCounts) {
    counted.ports.push(DutPort {
        name: name.to_owned(),
        received: PacketCount::new(received),
        sent: PacketCount::new(frames.sent),
    });
    let mut add = |place, at: &str, packets| add(counted, place, at, packets);
    let ring = format!("{name} ring");
    add(DutPlace::PortRx, &ring, frames.receive_dropped);
    add(DutPlace::PortTx, &ring, frames.send_dropped);
    let mtu = format!("{name}: longer than its MTU");
    add(DutPlace::PortTx, &mtu, frames.too_long);
    let unfinished = format!("{name}: received with a checksum left to a device");
    if frames.without_checksum > 0 {
        counted.counters.insert(unfinished, frames.without_checksum);
    }
}

/// What the program dropped, by place.
pub(crate) fn add_drops(counted: &mut DutCounters, switch: &Switch) {
    for (place, packets) in switch.drops() {
        let of = match place {
            DropPlace::Ingress | DropPlace::Egress | DropPlace::TooManyPasses => DutPlace::Process,
            DropPlace::EgressQueue | DropPlace::RecirculationQueue => DutPlace::Queue,
            DropPlace::NoPort | DropPlace::NoQueue | DropPlace::NoGroup | DropPlace::NoSession => {
                DutPlace::Table
            }
        };
        add(counted, of, place.as_str(), packets);
    }
}

/// A place is listed from the start, so that two readings have the same places.
fn add(counted: &mut DutCounters, place: DutPlace, at: &str, packets: u64) {
    counted.drops.push(DutDrop {
        place,
        at: at.to_owned(),
        packets: PacketCount::new(packets),
    });
}
