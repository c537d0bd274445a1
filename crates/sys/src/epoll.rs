//! An epoll instance that polls the device of its one socket before it sleeps (`EPIOCSPARAMS`, Linux 6.9).
#![expect(
    unsafe_code,
    reason = "the parameters of busy polling are set by an ioctl of their own"
)]

use rustix::event::{Timespec, epoll};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Busy-polling parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusyPoll {
    /// Maximum polling time before each sleep.
    pub time: Duration,
    /// Maximum packets per poll; above 64 it takes `CAP_NET_ADMIN`.
    pub budget: u16,
    /// Whether the device's interrupts stay masked as long as it is polled often enough.
    pub preferred: bool,
}

/// An epoll instance of one socket that busy-polls.
#[derive(Debug)]
pub struct BusyEpoll {
    epoll: OwnedFd,
}

/// `struct epoll_params` of `linux/eventpoll.h`.
#[repr(C)]
struct Params {
    busy_poll_usecs: u32,
    busy_poll_budget: u16,
    prefer_busy_poll: u8,
    pad: u8,
}

const SET: Opcode = opcode::write::<Params>(0x8a, 1);

impl BusyEpoll {
    /// Opens an instance for reads of `socket`.
    pub fn open<S: AsFd>(socket: S, wanted: BusyPoll) -> io::Result<Self> {
        let instance = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let data = epoll::EventData::new_u64(0);
        epoll::add(&instance, socket, data, epoll::EventFlags::IN)?;
        let params = Params {
            busy_poll_usecs: u32::try_from(wanted.time.as_micros()).unwrap_or(u32::MAX),
            busy_poll_budget: wanted.budget,
            prefer_busy_poll: u8::from(wanted.preferred),
            pad: 0,
        };
        // SAFETY: this opcode reads one `struct epoll_params`, whose layout `Params` has.
        let call = unsafe { Setter::<SET, Params>::new(params) };
        // SAFETY: the call is the setter made just above, and `instance` is an open epoll descriptor.
        unsafe { ioctl(&instance, call) }?;
        Ok(Self { epoll: instance })
    }

    /// Waits until `socket` is readable, at most `limit`; returns whether it is. May end early.
    pub fn wait(&self, limit: Duration) -> io::Result<bool> {
        let limit = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        };
        let mut room = [MaybeUninit::uninit(); 1];
        match epoll::wait(&self.epoll, &mut room, Some(&limit)) {
            Ok((events, _)) => Ok(!events.is_empty()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    const WANTED: BusyPoll = BusyPoll {
        time: Duration::from_micros(50),
        budget: 8,
        preferred: true,
    };

    #[test]
    fn what_comes_ends_the_wait_and_so_does_the_limit() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let waiting = BusyEpoll::open(&receiver, WANTED).unwrap();
        assert!(!waiting.wait(Duration::from_millis(1)).unwrap());
        receiver
            .send_to(b"x", receiver.local_addr().unwrap())
            .unwrap();
        assert!(waiting.wait(Duration::from_mins(1)).unwrap());
    }
}
