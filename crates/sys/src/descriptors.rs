//! A thread with descriptors of its own.
//!
//! While threads share their table of descriptors, the kernel counts, in every call, who uses an open file:
//! two atomic additions that a message waits for. A thread whose table is its own is spared them.

use crate::direct;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::{io, iter};

/// Gives the calling thread a table of its own with nothing in it but `kept` and the three standard
/// descriptors. A kernel that cannot leaves all as it was.
///
/// What the thread closes from now on stays open in the table that it leaves, so whoever keeps `kept` open
/// there must outlive the thread and close them. Other descriptors that this thread owns must not be used or
/// closed by it. Refused where another library than the C library answers calls: it may have descriptors that
/// the thread needs and nobody here knows.
pub fn keep_only(kept: &[BorrowedFd<'_>]) -> io::Result<()> {
    if direct::is_replaced() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut numbers: Vec<RawFd> = kept.iter().map(AsRawFd::as_raw_fd).collect();
    numbers.sort_unstable();
    // The last gap, which is never empty, makes the table.
    for (gap, flags) in gaps(&numbers)
        .into_iter()
        .rev()
        .zip(iter::once(libc::CLOSE_RANGE_UNSHARE).chain(iter::repeat(0)))
    {
        // SAFETY: the first call makes the table this thread's own, so that only numbers of this table are
        // closed; those that the caller still uses through it are in `kept`.
        let result = unsafe { libc::syscall(libc::SYS_close_range, gap.0, gap.1, flags) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The ranges between the standard descriptors and `kept`, which is sorted, up to the last number there is.
fn gaps(kept: &[RawFd]) -> Vec<(u32, u32)> {
    let mut first = 3_u32;
    let mut gaps = Vec::new();
    for number in kept.iter().filter_map(|&number| u32::try_from(number).ok()) {
        if number > first {
            gaps.push((first, number - 1));
        }
        first = first.max(number + 1);
    }
    gaps.push((first, u32::MAX));
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use std::fs::File;
    use std::io::Read as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;
    use std::thread;

    #[test]
    fn gaps_leave_out_what_is_kept() {
        assert_eq!(gaps(&[]), [(3, u32::MAX)]);
        assert_eq!(gaps(&[1, 3, 4, 7]), [(5, 6), (8, u32::MAX)]);
        assert_eq!(gaps(&[5]), [(3, 4), (6, u32::MAX)]);
    }

    #[test]
    fn a_thread_with_its_own_table_keeps_nothing_else_open() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let kept = File::open("/proc/self/status").unwrap();
        thread::scope(|scope| {
            let ended = scope.spawn(|| {
                keep_only(&[kept.as_fd()]).unwrap();
                let left = rustix::fs::fstat(far.as_fd()).unwrap_err();
                assert_eq!(left, Errno::BADF);
                rustix::fs::fstat(kept.as_fd()).unwrap();
            });
            ended.join().unwrap();
        });
        // Here both are as they were, and closing reaches the far side at once.
        rustix::fs::fstat(kept.as_fd()).unwrap();
        drop(far);
        assert_eq!(near.read(&mut [0]).unwrap(), 0);
    }
}
