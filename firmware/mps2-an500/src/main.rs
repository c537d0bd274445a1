//! The responder on Arm's MPS2 board with a Cortex-M7 (AN500), as QEMU has it.
#![no_std]
#![no_main]

mod clock;
mod lan9118;
mod panic;
mod sleep;
mod uart;

use clock::Clock;
use core::mem::MaybeUninit;
use cortex_m_rt::entry;
use lan9118::Lan9118;
use linerate_board::{Board, Nic, Registers, config, run};
use linerate_on_smoltcp::Memory;
use linerate_responder::{Instant, Responder, Signal};
use sleep::Sleeper;
use uart::Uart;

/// The Ethernet controller's address and interrupt.
const ETHERNET: usize = 0xa000_0000;
const ETHERNET_IRQ: usize = 13;
/// The dual timer's address.
const TIMER: usize = 0x4000_2000;

#[entry]
fn main() -> ! {
    // Apart from the stack, where their size is seen.
    static mut MEMORY: Memory<'static> = Memory::new();
    static mut RESPONDER: MaybeUninit<Responder> = MaybeUninit::uninit();

    // SAFETY: the board has its first UART there.
    let mut uart = unsafe { Uart::at(uart::UART0) };
    let Some(core) = cortex_m::Peripherals::take() else {
        panic!("the core's registers are taken once");
    };
    // SAFETY: the board has its dual timer there.
    let clock = Clock::start(unsafe { Registers::at(TIMER) });
    // SAFETY: the board has its Ethernet controller there.
    let controller = Lan9118::start(unsafe { Registers::at(ETHERNET) });
    let sleeper = Sleeper::new(core, ETHERNET_IRQ);
    let mac = controller.address();
    let config = config("Arm MPS2 (AN500)", "Cortex-M7", mac);
    let board = Mps2 {
        clock,
        nic: Nic::new(controller),
        sleeper,
    };
    run(board, mac, config, &mut uart, (MEMORY, RESPONDER))
}

struct Mps2 {
    clock: Clock,
    nic: Nic<Lan9118>,
    sleeper: Sleeper,
}

impl Board for Mps2 {
    type Nic = Nic<Lan9118>;

    fn nic(&mut self) -> &mut Nic<Lan9118> {
        &mut self.nic
    }

    fn now(&mut self) -> Instant {
        self.clock.now()
    }

    fn sleep(&mut self, deadline: Instant) {
        self.nic.driver.acknowledge();
        if !self.nic.driver.has_frame() {
            let now = self.clock.now();
            self.sleeper.sleep(now, deadline);
        }
    }

    fn count(&mut self, note: &mut dyn FnMut(Signal, u64)) {
        self.nic.driver.count_dropped();
        let counts = self.nic.counts();
        let [dropped, errors] = self.nic.driver.not_received();
        note(Signal::NicRxPackets, counts.rx_packets);
        note(Signal::NicRxBytes, counts.rx_bytes);
        note(Signal::NicRxDropped, dropped);
        note(Signal::NicRxErrors, errors);
        note(Signal::NicTxPackets, counts.tx_packets);
        note(Signal::NicTxBytes, counts.tx_bytes);
        note(Signal::NicTxDropped, 0);
    }
}
