//! Sending and receiving one message by the system call itself.
//!
//! In a process with several threads the C library's `send` and `recv` are points at which a thread may be
//! cancelled, which costs each call some 25 ns that a message waits for. The same calls made without the
//! library's help cost nothing more than the kernel does. Where a library that was loaded before it has put
//! its own functions in their place (an accelerated stack), those are called: they are what is measured.

use crate::failure::Failure;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::OnceLock;

/// Gives `bytes` to a connected socket; how many it took.
#[inline]
pub(crate) fn send<Fd: AsFd>(socket: Fd, bytes: &[u8], flags: SendFlags) -> Result<usize, Failure> {
    if is_replaced() {
        return net::send(socket, bytes, flags).map_err(|errno| Failure::new("send", errno));
    }
    // SAFETY: `bytes` is readable for its length during the call, which only reads it; no address is given.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            socket.as_fd().as_raw_fd(),
            bytes.as_ptr(),
            bytes.len(),
            flags.bits(),
            std::ptr::null::<libc::sockaddr>(),
            0,
        )
    };
    length(sent).map_err(|errno| Failure::new("send", errno))
}

/// Takes what a connected socket has; how many bytes of `room` that fills. While it has nothing and the call
/// does not sleep, looks again, `looks` times in all: between two looks there is nothing, so that a spinning
/// thread comes out of here by one way only, with its message.
#[inline]
pub(crate) fn receive<Fd: AsFd>(
    socket: Fd,
    room: &mut [u8],
    flags: RecvFlags,
    looks: u32,
) -> Result<usize, Failure> {
    let is_replaced = is_replaced();
    let fd = socket.as_fd();
    for _ in 1..looks {
        match receive_once(fd, room, flags, is_replaced) {
            Err(Errno::AGAIN) => {}
            seen => return seen.map_err(|errno| Failure::new("recv", errno)),
        }
    }
    receive_once(fd, room, flags, is_replaced).map_err(|errno| Failure::new("recv", errno))
}

#[inline]
fn receive_once(
    socket: BorrowedFd<'_>,
    room: &mut [u8],
    flags: RecvFlags,
    is_replaced: bool,
) -> Result<usize, Errno> {
    if is_replaced {
        return net::recv(socket, room, flags).map(|(length, _)| length);
    }
    // SAFETY: `room` is writable for its length during the call and borrowed by nobody else; no address is asked for.
    let got = unsafe {
        libc::syscall(
            libc::SYS_recvfrom,
            socket.as_raw_fd(),
            room.as_mut_ptr(),
            room.len(),
            flags.bits(),
            std::ptr::null_mut::<libc::sockaddr>(),
            std::ptr::null_mut::<libc::socklen_t>(),
        )
    };
    length(got)
}

/// What a call returned, or why it failed.
#[inline]
fn length(returned: libc::c_long) -> Result<usize, Errno> {
    usize::try_from(returned).map_err(|_| {
        let error = std::io::Error::last_os_error();
        Errno::from_io_error(&error).unwrap_or(Errno::IO)
    })
}

/// Whether another library than the C library answers `send` or `recv` in this process.
#[inline]
pub(crate) fn is_replaced() -> bool {
    static REPLACED: OnceLock<bool> = OnceLock::new();
    *REPLACED.get_or_init(|| {
        let library = object_of(c"__errno_location");
        [c"send", c"recv"]
            .into_iter()
            .any(|name| object_of(name) != library)
    })
}

/// Where the object begins that answers `name`; `None` where nothing is looked up at run time, as in a
/// program that is linked whole.
fn object_of(name: &CStr) -> Option<usize> {
    // SAFETY: `name` ends with a zero byte, and looking a name up calls nothing of what it finds.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let mut object = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: any address may be asked about; the structure is written whole if the answer is not zero.
    let known = !found.is_null() && unsafe { libc::dladdr(found, object.as_mut_ptr()) } != 0;
    // SAFETY: as above, it has been written.
    known.then(|| unsafe { object.assume_init() }.dli_fbase as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureClass;
    use std::os::unix::net::UnixDatagram;

    #[test]
    fn a_message_goes_whole_and_an_empty_socket_says_so() {
        let (near, far) = UnixDatagram::pair().unwrap();
        assert!(!is_replaced());
        assert_eq!(send(&near, b"ping", SendFlags::empty()).unwrap(), 4);
        let mut room = [0; 8];
        assert_eq!(receive(&far, &mut room, RecvFlags::empty(), 1).unwrap(), 4);
        assert_eq!(&room[..4], b"ping");
        let failure = receive(&far, &mut room, RecvFlags::DONTWAIT, 3).unwrap_err();
        assert_eq!(failure.class(), FailureClass::WouldBlock);
        drop(far);
        let failure = send(&near, b"ping", SendFlags::NOSIGNAL).unwrap_err();
        assert_eq!(failure.class(), FailureClass::PeerGone);
    }
}
