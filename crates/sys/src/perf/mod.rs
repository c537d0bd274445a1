//! Sampled call stacks (`perf_event_open`): one event and one ring per core.
//!
//! Kernel call chains only: user code is mostly built without frame pointers, so a chain of it
//! would be made up. Of user code the innermost address is given. Names nothing and counts nothing.
//!
//! # References
//! - `perf_event_open(2)`; `linux/perf_event.h`, `PERF_ATTR_SIZE_VER0`, so any kernel since 2.6.32

mod record;
mod ring;

use crate::failure::Failure;
pub use record::{Mode, Sample};
use record::{Record, parse};
use ring::Ring;
use rustix::io::Errno;
use std::os::fd::{FromRawFd, OwnedFd};

/// Event that triggers samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A timer of each core.
    CpuClock,
    /// The hardware's cycle counter.
    Cycles,
}

/// Whose stacks are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everything that runs on the cores.
    Host,
    /// Threads whose stacks are sampled.
    Thread,
}

/// Whether kernel code is sampled too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// User code alone.
    Excluded,
    /// Kernel and user code.
    Included,
}

/// What to sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Event that triggers samples.
    pub event: Event,
    /// What to sample.
    pub scope: Scope,
    /// Whether kernel code is sampled too.
    pub kernel: Kernel,
    /// Samples per second and core.
    pub rate_hz: u32,
}

/// Samples the given cores until it is dropped.
#[derive(Debug)]
pub struct Sampler {
    rings: Vec<Ring>,
    scratch: Vec<u8>,
    lost: u64,
}

impl Sampler {
    /// Opens one event on each of `cores`. Fails as a whole if one cannot be opened.
    pub fn open(request: Request, cores: &[u32]) -> Result<Self, Failure> {
        let rings = cores
            .iter()
            .map(|core| Ring::map(open_event(request, *core)?))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            rings,
            scratch: Vec::new(),
            lost: 0,
        })
    }

    /// Passes every waiting sample to `take`. Cheap when there is none: it reads one word per core.
    pub fn drain(&mut self, mut take: impl FnMut(Sample<'_>)) {
        let mut words = Vec::new();
        for ring in &mut self.rings {
            while ring.next(&mut self.scratch) {
                match parse(&self.scratch, &mut words) {
                    Some(Record::Sample(sample)) => take(sample),
                    Some(Record::Lost(count)) => self.lost = self.lost.saturating_add(count),
                    None => {}
                }
            }
        }
    }

    /// Samples lost for lack of buffer space, as far as the kernel has reported it.
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

fn open_event(request: Request, core: u32) -> Result<OwnedFd, Failure> {
    const CALL: &str = "perf_event_open";
    let mut attributes = Attributes::new(request);
    let (pid, core) = match request.scope {
        Scope::Host => (-1, core),
        Scope::Thread => (0, core),
    };
    let core = i32::try_from(core).map_err(|_| Failure::new(CALL, Errno::INVAL))?;
    // SAFETY: the pointer is to a live value whose `size` field is its size; the kernel may write
    // to it (on E2BIG), which its being `mut` allows.
    let result = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw mut attributes,
            pid,
            core,
            NO_GROUP,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    match i32::try_from(result) {
        // SAFETY: the kernel just gave this descriptor to us alone.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(Failure::last(CALL)),
    }
}

/// `struct perf_event_attr` of `linux/perf_event.h`, its first published size.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    /// Nanoseconds of the clock, or samples per second with [`FREQUENCY`].
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const _: () = assert!(size_of::<Attributes>() == 64);
const _: () = assert!(std::mem::offset_of!(Attributes, flags) == 40);

impl Attributes {
    fn new(request: Request) -> Self {
        let rate = u64::from(request.rate_hz.max(1));
        let (kind, config, period, by_frequency) = match request.event {
            Event::CpuClock => (
                PERF_TYPE_SOFTWARE,
                PERF_COUNT_SW_CPU_CLOCK,
                1_000_000_000 / rate,
                0,
            ),
            Event::Cycles => (
                PERF_TYPE_HARDWARE,
                PERF_COUNT_HW_CPU_CYCLES,
                rate,
                FREQUENCY,
            ),
        };
        let inherited = match request.scope {
            Scope::Host => 0,
            Scope::Thread => INHERIT,
        };
        let kernel = match request.kernel {
            Kernel::Excluded => EXCLUDE_KERNEL,
            Kernel::Included => 0,
        };
        Self {
            kind,
            size: 64,
            config,
            period,
            sample_type: PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
            read_format: 0,
            flags: by_frequency | inherited | kernel | EXCLUDE_HV | EXCLUDE_CALLCHAIN_USER,
            wakeup_events: 0,
            breakpoint_type: 0,
            config1: 0,
        }
    }
}

/// Bit `bit` of the bit fields, which C compilers allocate from the other end on big-endian machines.
const fn flag(bit: u32) -> u64 {
    if cfg!(target_endian = "big") {
        1 << (63 - bit)
    } else {
        1 << bit
    }
}

const INHERIT: u64 = flag(1);
const EXCLUDE_KERNEL: u64 = flag(5);
const EXCLUDE_HV: u64 = flag(6);
const FREQUENCY: u64 = flag(10);
const EXCLUDE_CALLCHAIN_USER: u64 = flag(22);
const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_HW_CPU_CYCLES: u64 = 0;
const PERF_COUNT_SW_CPU_CLOCK: u64 = 0;
const PERF_SAMPLE_IP: u64 = 1;
const PERF_SAMPLE_TID: u64 = 1 << 1;
const PERF_SAMPLE_CALLCHAIN: u64 = 1 << 5;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
const NO_GROUP: i32 = -1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_has_its_period_in_nanoseconds_and_cycles_have_a_frequency() {
        let request = Request {
            event: Event::CpuClock,
            scope: Scope::Host,
            kernel: Kernel::Included,
            rate_hz: 1000,
        };
        let clock = Attributes::new(request);
        assert_eq!((clock.kind, clock.period), (1, 1_000_000));
        assert_eq!(clock.flags & (FREQUENCY | INHERIT | EXCLUDE_KERNEL), 0);
        let cycles = Attributes::new(Request {
            event: Event::Cycles,
            scope: Scope::Thread,
            kernel: Kernel::Excluded,
            ..request
        });
        assert_eq!((cycles.kind, cycles.period), (0, 1000));
        let all = FREQUENCY | INHERIT | EXCLUDE_KERNEL;
        assert_eq!(cycles.flags & all, all);
    }

    #[test]
    fn a_core_that_does_not_exist_is_refused() {
        let request = Request {
            event: Event::CpuClock,
            scope: Scope::Thread,
            kernel: Kernel::Excluded,
            rate_hz: 997,
        };
        let failure = Sampler::open(request, &[u32::MAX]).unwrap_err();
        assert_eq!(failure.operation(), "perf_event_open");
    }
}
