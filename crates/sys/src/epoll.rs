//! Waiting by epoll: for many sockets at once, or for one whose device is polled before the thread sleeps
//! (`EPIOCSPARAMS`, Linux 6.9).
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
        let limit = timespec(limit);
        let mut room = [MaybeUninit::uninit(); 1];
        match epoll::wait(&self.epoll, &mut room, Some(&limit)) {
            Ok((events, _)) => Ok(!events.is_empty()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// What a thread waits for at a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Something to read, or an end.
    Read,
    /// Room to write, or an error.
    Write,
    /// Either, told once when it comes and not again until there is more: for a socket that is used until it would block.
    Changes,
}

impl Interest {
    const fn flags(self) -> epoll::EventFlags {
        match self {
            Self::Read => epoll::EventFlags::IN,
            Self::Write => epoll::EventFlags::OUT,
            Self::Changes => epoll::EventFlags::IN
                .union(epoll::EventFlags::OUT)
                .union(epoll::EventFlags::ET),
        }
    }
}

/// Readiness of many sockets, each known by a number. Level-triggered but for [`Interest::Changes`]; ready sockets take
/// turns.
pub struct Readiness {
    epoll: OwnedFd,
}

/// Maximum ready sockets per call.
const MAX_READY: usize = 256;

impl Readiness {
    /// An instance without sockets.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        })
    }

    /// Adds a socket under `number`. Closing all its descriptors removes it.
    pub fn add<S: AsFd>(&self, socket: S, number: usize, interest: Interest) -> io::Result<()> {
        let data = epoll::EventData::new_u64(number as u64);
        Ok(epoll::add(&self.epoll, socket, data, interest.flags())?)
    }

    /// Removes a socket.
    pub fn remove<S: AsFd>(&self, socket: S) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// Waits until a socket is ready, at most `limit`; appends the numbers of those that are, at most 256, to `ready`.
    /// May end early without any.
    pub fn wait(&self, limit: Duration, ready: &mut Vec<usize>) -> io::Result<()> {
        let limit = timespec(limit);
        let mut room = [MaybeUninit::uninit(); MAX_READY];
        match epoll::wait(&self.epoll, &mut room, Some(&limit)) {
            Ok((events, _)) => {
                let numbers = events.iter().map(|event| event.data.u64());
                ready.extend(numbers.filter_map(|number| usize::try_from(number).ok()));
                Ok(())
            }
            Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn timespec(limit: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
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

    #[test]
    fn changes_are_told_once() {
        let [a, b] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        let readiness = Readiness::new().unwrap();
        readiness.add(&a, 7, Interest::Changes).unwrap();
        let told = || {
            let mut ready = Vec::new();
            readiness.wait(Duration::ZERO, &mut ready).unwrap();
            ready
        };
        assert_eq!(told(), [7], "it has room");
        assert!(told().is_empty());
        b.send_to(b"x", a.local_addr().unwrap()).unwrap();
        assert_eq!(told(), [7]);
        assert!(told().is_empty(), "not read, and told all the same");
    }

    #[test]
    fn ready_sockets_are_told_by_their_numbers_until_they_are_read_or_removed() {
        let sockets: Vec<_> = (0..3)
            .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
            .collect();
        let readiness = Readiness::new().unwrap();
        for (number, socket) in sockets.iter().enumerate() {
            readiness.add(socket, number + 10, Interest::Read).unwrap();
        }
        let mut ready = Vec::new();
        readiness.wait(Duration::ZERO, &mut ready).unwrap();
        assert!(ready.is_empty());
        for receiver in &sockets[1..] {
            receiver
                .send_to(b"x", receiver.local_addr().unwrap())
                .unwrap();
        }
        readiness.remove(&sockets[2]).unwrap();
        readiness.wait(Duration::from_mins(1), &mut ready).unwrap();
        assert_eq!(ready, [11]);
        sockets[1].recv(&mut [0]).unwrap();
        ready.clear();
        readiness.wait(Duration::ZERO, &mut ready).unwrap();
        assert!(ready.is_empty());
    }
}
