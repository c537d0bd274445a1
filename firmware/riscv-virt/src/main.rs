//! The responder on QEMU's virt machine of 32-bit RISC-V.
#![no_std]
#![no_main]

mod console;
mod dma;
mod nic;
mod timer;

use console::Console;
use core::mem::MaybeUninit;
use linerate_board::{Board, Nic, config, run};
use linerate_on_smoltcp::Memory;
use linerate_responder::{Instant, Signal};
use nic::Virtio;
use timer::Timer;

#[riscv_rt::entry]
fn main() -> ! {
    let mut memory = Memory::new();
    let mut responder = MaybeUninit::uninit();
    let Some(device) = Virtio::find() else {
        panic!("no network device: start QEMU with -device virtio-net-device");
    };
    let mac = device.address();
    let config = config("QEMU virt", "RV32IMAC", mac);
    let board = Virt {
        nic: Nic::new(device),
        timer: Timer::new(),
    };
    run(
        board,
        mac,
        config,
        &mut Console,
        (&mut memory, &mut responder),
    )
}

struct Virt {
    nic: Nic<Virtio>,
    timer: Timer,
}

impl Board for Virt {
    type Nic = Nic<Virtio>;

    fn nic(&mut self) -> &mut Nic<Virtio> {
        &mut self.nic
    }

    fn now(&mut self) -> Instant {
        self.timer.now()
    }

    fn sleep(&mut self, deadline: Instant) {
        self.nic.driver.acknowledge();
        if !self.nic.driver.has_frame() {
            self.timer.sleep(deadline);
        }
    }

    fn count(&mut self, note: &mut dyn FnMut(Signal, u64)) {
        let counts = self.nic.counts();
        note(Signal::NicRxPackets, counts.rx_packets);
        note(Signal::NicRxBytes, counts.rx_bytes);
        // The device takes no frame that it has no memory for: it waits in the host.
        note(Signal::NicRxDropped, 0);
        note(Signal::NicTxPackets, counts.tx_packets);
        note(Signal::NicTxBytes, counts.tx_bytes);
        note(Signal::NicTxDropped, 0);
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    use core::fmt::Write as _;
    let _ = writeln!(Console, "{info}");
    loop {
        riscv::asm::wfi();
    }
}
