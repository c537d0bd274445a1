//! The ring, on architectures for which the `io-uring` crate knows the kernel's structures.
#![expect(
    unsafe_code,
    reason = "what is pushed to a submission queue points at memory that must stay"
)]

use super::{ROOM, Submission};
use crate::clock::MonoClock;
use crate::failure::Failure;
use crate::memory::PageBuffer;
use crate::udp::Blocking;
use io_uring::types::{CancelBuilder, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use linerate_model::Clock;
use rustix::io::Errno;
use std::fs;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Ring entries: at most a send and a receive are under way.
const ENTRIES: u32 = 4;

/// How long the kernel's thread polls an empty queue before it sleeps: longer than any round trip worth spinning for.
const IDLE: Duration = Duration::from_millis(200);

/// Maximum sleep of one call, as for other sockets.
const CALL_LIMIT: Duration = Duration::from_millis(20);

/// Timeout of a send: it never waits for buffer space.
const SEND_LIMIT: Duration = Duration::from_secs(1);

/// Timeout of cancelling a receive.
const CANCEL_LIMIT: Duration = Duration::from_millis(200);

/// User data that identifies completions.
const RECEIVE: u64 = 1;
const SEND: u64 = 2;

/// `io_uring.h`: a receive first polls for data, instead of trying at once.
const POLL_FIRST: u16 = 1;

/// One connected socket and its ring.
pub struct UringSocket {
    ring: IoUring,
    socket: OwnedFd,
    buffers: ManuallyDrop<Buffers>,
    blocking: Blocking,
    setup: Setup,
    is_enabled: bool,
    /// A receive is under way.
    receiving: bool,
    /// A send is under way.
    sending: bool,
    received: Option<i32>,
    sent: Option<i32>,
    helper: Option<Helper>,
}

struct Buffers {
    outgoing: PageBuffer,
    incoming: PageBuffer,
}

/// Completion mode that the kernel supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setup {
    /// Completions are processed on request, and a flag in memory says when (Linux 6.1).
    Deferred,
    /// Completions are processed at any system call (Linux 5.19).
    Cooperative,
    /// Completions interrupt the thread.
    Interrupting,
    /// The kernel's thread processes them.
    KernelThread,
}

/// The kernel's thread that polls the submission queue.
#[derive(Debug, Clone, Copy)]
struct Helper {
    thread: u32,
    /// Its CPU time when traffic began.
    before: Duration,
}

/// Whether this process may create rings.
pub fn available() -> io::Result<()> {
    IoUring::new(ENTRIES).map(drop)
}

impl UringSocket {
    /// Takes ownership of a connected socket.
    pub fn open(socket: OwnedFd, submission: Submission, blocking: Blocking) -> io::Result<Self> {
        let (ring, setup) = build(submission)?;
        ring.submitter().register_files(&[socket.as_raw_fd()])?;
        Ok(Self {
            ring,
            socket,
            buffers: ManuallyDrop::new(Buffers {
                outgoing: PageBuffer::new(ROOM, 0),
                incoming: PageBuffer::new(ROOM, 0),
            }),
            blocking,
            setup,
            is_enabled: false,
            receiving: false,
            sending: false,
            received: None,
            sent: None,
            helper: None,
        })
    }

    /// The socket, for its options.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Outgoing buffer of [`send`](Self::send), [`ROOM`] bytes.
    pub fn outgoing(&mut self) -> &mut [u8] {
        self.buffers.outgoing.bytes_mut()
    }

    /// Missing kernel features that make completions cheap, if any.
    pub const fn lacks(&self) -> Option<&'static str> {
        match self.setup {
            Setup::Deferred | Setup::KernelThread => None,
            Setup::Cooperative => Some("IORING_SETUP_DEFER_TASKRUN (Linux 6.1)"),
            Setup::Interrupting => Some("IORING_SETUP_COOP_TASKRUN (Linux 5.19)"),
        }
    }

    /// CPU time of the kernel's thread since traffic began; `None` without such a thread, or where the kernel does not
    /// report it.
    pub fn helper_cpu(&self) -> Option<Duration> {
        if self.setup != Setup::KernelThread {
            return None;
        }
        let late = || Helper::new(&self.ring, Duration::ZERO);
        let helper = self.helper.or_else(late)?;
        Some(
            crate::thread::cpu_time(std::process::id(), helper.thread)?
                .saturating_sub(helper.before),
        )
    }

    /// Sends the first `length` bytes of the outgoing buffer; returns how many were accepted: all of a datagram. Never
    /// waits for buffer space.
    pub fn send(&mut self, length: usize) -> Result<usize, Failure> {
        self.enable()?;
        if !self.sending {
            let bytes = &self.buffers.outgoing.bytes()[..length.min(ROOM)];
            let count = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let entry = opcode::Send::new(Fixed(0), bytes.as_ptr(), count)
                .flags(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
                .build()
                .user_data(SEND);
            self.push(&entry);
            self.sending = true;
        }
        // One system call for both: the answer cannot have arrived yet, so the receive polls first.
        let ioprio = match self.setup {
            Setup::Interrupting => 0,
            _ => POLL_FIRST,
        };
        self.arm(ioprio);
        self.await_sent()
    }

    fn await_sent(&mut self) -> Result<usize, Failure> {
        const SPINS: u32 = 1024;
        let deadline = MonoClock.now().after(SEND_LIMIT);
        loop {
            for _ in 0..SPINS {
                self.enter(Blocking::No)?;
                self.reap();
                if let Some(result) = self.sent.take() {
                    return outcome("send", result);
                }
                std::hint::spin_loop();
            }
            if MonoClock.now() >= deadline {
                return Err(Failure::timed_out("send"));
            }
        }
    }

    /// Receives a datagram, or bytes of a stream; none at its end. In blocking mode waits up to some 20 ms.
    pub fn receive(&mut self) -> Result<&[u8], Failure> {
        self.enable()?;
        self.reap();
        if self.received.is_none() {
            self.arm(0);
            self.enter(self.blocking)?;
            self.reap();
        }
        let result = self.received.take();
        let result = result.ok_or(Failure::would_block("recv"))?;
        let length = outcome("recv", result)?;
        Ok(&self.buffers.incoming.bytes()[..length.min(ROOM)])
    }

    /// Enables the ring for the calling thread, which owns it from then on.
    fn enable(&mut self) -> Result<(), Failure> {
        if self.is_enabled {
            return Ok(());
        }
        let enabled = self.ring.submitter().register_enable_rings();
        enabled.map_err(|error| Failure::from_io("io_uring_register", &error))?;
        self.is_enabled = true;
        // The thread may not have begun: its CPU time is then zero, and it is looked up at the end.
        if self.setup == Setup::KernelThread {
            self.helper = Helper::new(&self.ring, Duration::ZERO).map(|helper| Helper {
                before: crate::thread::cpu_time(std::process::id(), helper.thread)
                    .unwrap_or_default(),
                ..helper
            });
        }
        Ok(())
    }

    /// Submits a receive, unless one is under way or its result has not been taken.
    fn arm(&mut self, ioprio: u16) {
        if self.receiving || self.received.is_some() {
            return;
        }
        let room = self.buffers.incoming.bytes_mut();
        let length = u32::try_from(room.len()).unwrap_or(u32::MAX);
        let entry = opcode::Recv::new(Fixed(0), room.as_mut_ptr(), length)
            .ioprio(ioprio)
            .build()
            .user_data(RECEIVE);
        self.push(&entry);
        self.receiving = true;
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: the entry points at a buffer of this value, which stays where it is until the entry's
        // completion has been taken (see `drop`), and names the file registered in `open`.
        let pushed = unsafe { self.ring.submission().push(entry) };
        pushed.expect("invariant: at most one send and one receive are in a queue of four");
    }

    /// Submits the queue and processes pending completions.
    fn enter(&mut self, blocking: Blocking) -> Result<(), Failure> {
        let result = match blocking {
            Blocking::Yes => {
                let limit = Timespec::from(CALL_LIMIT);
                let limit = SubmitArgs::new().timespec(&limit);
                self.ring.submitter().submit_with_args(1, &limit)
            }
            Blocking::No => {
                let queue = self.ring.submission();
                let idle = queue.is_empty() && !queue.taskrun();
                drop(queue);
                // Nothing to submit, and no completion to process.
                if idle {
                    return Ok(());
                }
                self.ring.submit()
            }
        };
        match result {
            Ok(_) => Ok(()),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::TIME | Errno::INTR) => Ok(()),
                _ => Err(Failure::from_io("io_uring_enter", &error)),
            },
        }
    }

    fn reap(&mut self) {
        for completion in self.ring.completion() {
            match completion.user_data() {
                RECEIVE => {
                    self.receiving = false;
                    self.received = Some(completion.result());
                }
                SEND => {
                    self.sending = false;
                    self.sent = Some(completion.result());
                }
                _ => {}
            }
        }
    }

    /// Cancels what is under way; returns whether the kernel has released the buffers.
    fn cancel(&mut self) -> bool {
        if !self.receiving && !self.sending {
            return true;
        }
        let deadline = MonoClock.now().after(CANCEL_LIMIT);
        // Queued entries cannot be cancelled before they are submitted.
        let _ = self.enter(Blocking::No);
        let limit = Timespec::from(CANCEL_LIMIT);
        let any = CancelBuilder::any();
        drop(self.ring.submitter().register_sync_cancel(Some(limit), any));
        loop {
            self.reap();
            if !self.receiving && !self.sending {
                return true;
            }
            if MonoClock.now() >= deadline || self.enter(Blocking::Yes).is_err() {
                return false;
            }
        }
    }
}

impl Drop for UringSocket {
    fn drop(&mut self) {
        let is_free = self.cancel();
        // The kernel frees the ring later than this value; release the socket and its port now.
        let _ = self.ring.submitter().unregister_files();
        if is_free {
            // SAFETY: nothing is under way, so the kernel has no use of the buffers, and this value is
            // not used again.
            unsafe { ManuallyDrop::drop(&mut self.buffers) };
        }
    }
}

/// Creates the ring with the best mode that this kernel supports; it is disabled until first use.
fn build(submission: Submission) -> io::Result<(IoUring, Setup)> {
    let mut last = io::Error::from(io::ErrorKind::Unsupported);
    let wanted: &[Setup] = match submission {
        Submission::Calls => &[Setup::Deferred, Setup::Cooperative, Setup::Interrupting],
        Submission::KernelThread => &[Setup::KernelThread],
    };
    for setup in wanted {
        let mut builder = IoUring::builder();
        builder.setup_r_disabled();
        match setup {
            Setup::Deferred => {
                builder.setup_single_issuer().setup_defer_taskrun();
                builder.setup_taskrun_flag()
            }
            Setup::Cooperative => builder.setup_coop_taskrun().setup_taskrun_flag(),
            Setup::Interrupting => &mut builder,
            Setup::KernelThread => {
                let idle = u32::try_from(IDLE.as_millis()).unwrap_or(u32::MAX);
                builder.setup_sqpoll(idle)
            }
        };
        match builder.build(ENTRIES) {
            Ok(ring) => return Ok((ring, *setup)),
            Err(error) => last = error,
        }
        // Only an unknown flag gives this error.
        if last.raw_os_error() != Some(libc::EINVAL) {
            break;
        }
    }
    Err(last)
}

fn outcome(operation: &'static str, result: i32) -> Result<usize, Failure> {
    usize::try_from(result).map_err(|_| {
        let errno = Errno::from_raw_os_error(result.saturating_neg());
        Failure::new(operation, errno)
    })
}

impl Helper {
    /// The kernel thread of `ring`, with `before` as its CPU time at the start; `None` where the kernel does not name
    /// it, or not yet: before the thread runs, its id is not set.
    fn new(ring: &IoUring, before: Duration) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", ring.as_raw_fd())).ok()?;
        let thread = thread_in(&text)?;
        // In a PID namespace the id may be another thread's: accept only a thread of this process with the kernel's
        // name.
        let name = fs::read_to_string(format!("/proc/self/task/{thread}/comm")).ok()?;
        name.starts_with("iou-sqp")
            .then_some(Self { thread, before })
    }
}

/// `SqThread` of a ring's `fdinfo`.
fn thread_in(fdinfo: &str) -> Option<u32> {
    let line = fdinfo
        .lines()
        .find_map(|line| line.strip_prefix("SqThread:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    fn pair() -> (UdpSocket, UdpSocket) {
        let a = UdpSocket::bind("127.0.0.1:0").unwrap();
        let b = UdpSocket::bind("127.0.0.1:0").unwrap();
        a.connect(b.local_addr().unwrap()).unwrap();
        b.connect(a.local_addr().unwrap()).unwrap();
        (a, b)
    }

    fn open(socket: UdpSocket, submission: Submission, blocking: Blocking) -> UringSocket {
        UringSocket::open(socket.into(), submission, blocking).unwrap()
    }

    /// The next datagram, however long it takes.
    fn next(socket: &mut UringSocket) -> Vec<u8> {
        loop {
            match socket.receive() {
                Ok(bytes) => return bytes.to_vec(),
                Err(failure) => assert_eq!(failure.name(), "EAGAIN"),
            }
        }
    }

    #[test]
    fn datagrams_go_there_and_back_in_every_way() {
        for submission in [Submission::Calls, Submission::KernelThread] {
            for blocking in [Blocking::No, Blocking::Yes] {
                let (a, b) = pair();
                let mut a = open(a, submission, blocking);
                for number in 1..=20_u8 {
                    a.outgoing()[..32].fill(number);
                    assert_eq!(a.send(32), Ok(32), "{submission:?} {blocking:?}");
                    let mut room = [0; 99];
                    assert_eq!(b.recv(&mut room).unwrap(), 32);
                    assert_eq!(b.send(&room[..32]).unwrap(), 32);
                    assert_eq!(next(&mut a), [number; 32]);
                }
            }
        }
    }

    #[test]
    fn another_thread_may_use_what_one_opened() {
        let (a, b) = pair();
        let mut a = open(a, Submission::Calls, Blocking::Yes);
        let thread = std::thread::spawn(move || next(&mut a));
        b.send(b"here").unwrap();
        assert_eq!(thread.join().unwrap(), b"here");
    }

    #[test]
    fn a_receive_under_way_is_cancelled_before_its_buffer_goes() {
        let (a, b) = pair();
        let mut a = open(a, Submission::Calls, Blocking::No);
        assert_eq!(a.receive().unwrap_err().name(), "EAGAIN");
        assert!(a.receiving);
        assert!(a.cancel());
        drop(a);
        drop(b);
    }

    #[test]
    fn a_closed_port_is_told() {
        let (a, b) = pair();
        let mut b = open(b, Submission::Calls, Blocking::No);
        assert_eq!(b.receive().unwrap_err().name(), "EAGAIN");
        drop(b);
        let mut a = open(a, Submission::Calls, Blocking::Yes);
        let error = (0..10).find_map(|_| {
            let sent = a.send(8).err();
            let got = a
                .receive()
                .err()
                .filter(|failure| failure.name() != "EAGAIN");
            sent.or(got)
        });
        assert_eq!(error.unwrap().name(), "ECONNREFUSED");
    }

    #[test]
    fn the_kernel_s_thread_is_found_and_its_time_counted() {
        let (a, b) = pair();
        let mut a = open(a, Submission::KernelThread, Blocking::No);
        b.send(b"x").unwrap();
        assert_eq!(next(&mut a), b"x");
        assert!(a.helper_cpu().is_some());
        assert_eq!(open(b, Submission::Calls, Blocking::No).helper_cpu(), None);
    }

    #[test]
    fn the_thread_is_read_from_what_the_kernel_tells_of_a_ring() {
        assert_eq!(
            thread_in("SqMask:\t0x3\nSqThread:\t4711\nSqThreadCpu:\t0\n"),
            Some(4711)
        );
        assert_eq!(thread_in("SqThread:\t-1\n"), None);
        assert_eq!(thread_in("pos:\t0\n"), None);
    }
}
