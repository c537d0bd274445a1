//! Work of a device on another core than the sender's: receive packet steering of its ports.
//!
//! A veth port hands what it receives to the core that sent it. With steering that core only puts frames into the backlog of
//! another (`enqueue_to_backlog`), which forwards them; an interrupt between the two cores is its price.
//!
//! # References
//! - `Documentation/networking/scaling.rst`, section RPS

use super::cables::Side;
use crate::interfaces::within;
use crate::{Result, TestbedError};
use linerate_model::dut::{DutCores, DutRelief};
use linerate_model::spec::{Direction, TestSpec};
use linerate_sys::affinity::allowed_cores;
use linerate_sys::netns::{NetNamespace, unshare_run_and_sys};
use std::sync::Arc;
use std::{fs, io};

/// The relief of a device whose work the kernel does in software interrupts; `None` where there is no other core.
pub(super) fn relief(test: &TestSpec) -> Option<DutRelief> {
    let (local, remote) = (test.pinning.local, test.pinning.remote);
    let pinned = match test.direction {
        Direction::Reverse => [remote, local],
        Direction::Duplex | Direction::Forward => [local, remote],
    };
    DutCores::apart(&allowed_cores().ok()?, pinned).map(DutRelief::OtherCore)
}

/// Steers what the device's ports receive as [`relief`] says, or lets it stay where it comes.
pub(super) fn relieve(
    device: &Arc<NetNamespace>,
    relief: DutRelief,
    is_relieved: bool,
) -> Result<()> {
    let DutRelief::OtherCore(cores) = relief else {
        return Ok(());
    };
    let cores = if is_relieved {
        mask(cores.device)
    } else {
        "0".to_owned()
    };
    within(device, "receive packet steering", move || {
        // Interfaces of the device are in no other `/sys`. It ends with this thread.
        unshare_run_and_sys().map_err(TestbedError::step("making a /sys of the device's own"))?;
        Side::BOTH.into_iter().try_for_each(|side| {
            let queues = format!("/sys/class/net/{}/queues", side.device_port());
            let step = format!("writing {cores} to {queues}/rx-*/rps_cpus");
            steer(&queues, &cores).map_err(TestbedError::step(step))
        })
    })
}

/// Sets the cores that forward what each receive queue of a folder takes.
fn steer(queues: &str, cores: &str) -> io::Result<()> {
    for queue in fs::read_dir(queues)? {
        let queue = queue?;
        if queue.file_name().to_string_lossy().starts_with("rx-") {
            fs::write(queue.path().join("rps_cpus"), cores)?;
        }
    }
    Ok(())
}

/// A set of one core as the kernel reads it: hexadecimal, in words of 32 bits from the highest.
fn mask(core: u32) -> String {
    let lower = usize::try_from(core / u32::BITS).unwrap_or_default();
    format!(
        "{:x}{}",
        1_u32 << (core % u32::BITS),
        ",00000000".repeat(lower)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_a_bit_of_words() {
        assert_eq!(mask(0), "1");
        assert_eq!(mask(31), "80000000");
        assert_eq!(mask(40), "100,00000000");
        assert_eq!(mask(64), "1,00000000,00000000");
    }
}
