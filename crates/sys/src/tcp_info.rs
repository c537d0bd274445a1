//! `TCP_INFO`, read with the length the running kernel returns.
//!
//! The structure only ever grew at its end, so each field is read at its offset if the kernel's
//! answer reaches that far, and is `None` otherwise.
//!
//! # References
//! - Layout: Linux `include/uapi/linux/tcp.h`, `struct tcp_info`.
//! - Chronographs (busy, rwnd-limited, sndbuf-limited): Linux commit 05b055e8.
//! - `tcpi_rcv_wnd` Linux 6.2, `tcpi_total_rto*` Linux 6.7.

use crate::sockopt;
use linerate_model::sample::{CongestionState, TcpSample};
use std::io;
use std::os::fd::AsFd;

/// Buffer size: room for fields of later kernels behind those read here.
const ROOM: usize = 512;

/// Reads `TCP_INFO` of a connected TCP socket, and its unread bytes. `at_ns` is the caller's time of the reading.
pub fn read<Fd: AsFd>(socket: Fd, at_ns: u64) -> io::Result<TcpSample> {
    let mut bytes = [0; ROOM];
    let length = sockopt::tcp_info(&socket, &mut bytes)?;
    let mut sample = parse(&bytes[..length.min(ROOM)], at_ns);
    sample.unread_bytes = rustix::io::ioctl_fionread(socket).ok();
    Ok(sample)
}

/// Parses a `struct tcp_info` of any kernel's length.
pub fn parse(bytes: &[u8], at_ns: u64) -> TcpSample {
    let info = Fields(bytes);
    let smss = info.u32(16);
    let in_bytes = |segments: u64| Some(segments * smss?);
    let delivery_rate = info.u64(160);
    TcpSample {
        at_ns,
        cwnd_bytes: info.u32(80).and_then(in_bytes),
        ssthresh_bytes: info
            .u32(76)
            .filter(|s| *s < INFINITE_SSTHRESH)
            .and_then(in_bytes),
        smss_bytes: smss,
        srtt_ns: info.micros32(68),
        rttvar_ns: info.micros32(72),
        min_rtt_ns: info
            .u32(148)
            .filter(|us| *us < u64::from(u32::MAX))
            .map(|us| us * 1000),
        snd_wnd_bytes: info.u32(228),
        rcv_space_bytes: info.u32(96),
        busy_ns: info.micros64(168),
        rwnd_limited_ns: info.micros64(176),
        sndbuf_limited_ns: info.micros64(184),
        notsent_bytes: info.u32(144),
        bytes_sent: info.u64(200),
        bytes_retrans: info.u64(208),
        bytes_acked: info.u64(120),
        bytes_received: info.u64(128),
        retrans_segments: info.u32(100),
        lost_segments: info.u32(32),
        dsack_dups: info.u32(216),
        delivered_ce: info.u32(196),
        delivery_rate_bps: delivery_rate.map(|rate| rate.saturating_mul(8)),
        delivery_rate_app_limited: delivery_rate.and_then(|_| Some(bytes.get(7)? & 1 == 1)),
        pacing_rate_bps: info
            .u64(104)
            .filter(|rate| *rate < u64::MAX)
            .map(|r| r.saturating_mul(8)),
        pmtu_bytes: info.u32(60),
        congestion_state: bytes.get(1).copied().and_then(congestion_state),
        unacked_segments: info.u32(24),
        data_segments_sent: info.u32(156),
        reordering_seen: info.u32(220),
        out_of_order_segments: info.u32(224),
        rcv_wnd_bytes: info.u32(232),
        timeouts: info.u16(240),
        timeout_ns: info.u32(244).map(|ms| ms * 1_000_000),
        ecn: bytes.get(5).map(|options| options & ECN_AGREED != 0),
        unread_bytes: None,
    }
}

/// `TCPI_OPT_ECN`: ECN was negotiated at the handshake.
const ECN_AGREED: u8 = 8;

/// Congestion state by its number in Linux's `enum tcp_ca_state`.
const fn congestion_state(number: u8) -> Option<CongestionState> {
    match number {
        0 => Some(CongestionState::Open),
        1 => Some(CongestionState::Disorder),
        2 => Some(CongestionState::Reduced),
        3 => Some(CongestionState::Recovery),
        4 => Some(CongestionState::Loss),
        _ => None,
    }
}

/// `TCP_INFINITE_SSTHRESH`: no threshold yet (Linux `include/net/tcp.h`).
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;

/// The kernel's answer, in this machine's byte order.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u16(&self, offset: usize) -> Option<u64> {
        let bytes = self.0.get(offset..offset + 2)?;
        Some(u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)))
    }

    fn u32(&self, offset: usize) -> Option<u64> {
        let bytes = self.0.get(offset..offset + 4)?;
        Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)))
    }

    fn u64(&self, offset: usize) -> Option<u64> {
        let bytes = self.0.get(offset..offset + 8)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    }

    fn micros32(&self, offset: usize) -> Option<u64> {
        Some(self.u32(offset)? * 1000)
    }

    fn micros64(&self, offset: usize) -> Option<u64> {
        Some(self.u64(offset)?.saturating_mul(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn offsets_agree_with_the_c_library_where_it_knows_the_field() {
        assert_eq!(offset_of!(libc::tcp_info, tcpi_snd_mss), 16);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_lost), 32);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_pmtu), 60);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_rtt), 68);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_snd_ssthresh), 76);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_snd_cwnd), 80);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_rcv_space), 96);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_total_retrans), 100);
    }

    #[test]
    fn a_short_answer_leaves_later_fields_unknown() {
        let mut bytes = [0_u8; 232];
        bytes[16..20].copy_from_slice(&1448_u32.to_ne_bytes());
        bytes[80..84].copy_from_slice(&10_u32.to_ne_bytes());
        bytes[168..176].copy_from_slice(&7_u64.to_ne_bytes());
        let whole = parse(&bytes, 5);
        assert_eq!(whole.cwnd_bytes, Some(14_480));
        assert_eq!(whole.busy_ns, Some(7000));
        assert_eq!(whole.snd_wnd_bytes, Some(0));
        let old = parse(&bytes[..104], 5);
        assert_eq!(old.cwnd_bytes, Some(14_480));
        assert_eq!(old.busy_ns, None);
        assert_eq!(old.delivery_rate_app_limited, None);
        assert_eq!(
            parse(&[], 5),
            TcpSample {
                at_ns: 5,
                ..TcpSample::default()
            }
        );
    }

    #[test]
    fn infinities_are_unknown() {
        let mut bytes = [0xff_u8; 232];
        bytes[76..80].copy_from_slice(&0x7fff_ffff_u32.to_ne_bytes());
        let sample = parse(&bytes, 0);
        assert_eq!(sample.ssthresh_bytes, None);
        assert_eq!(sample.min_rtt_ns, None);
        assert_eq!(sample.pacing_rate_bps, None);
    }

    #[test]
    fn a_live_connection_reports_its_segment_size() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let sample = read(&client, 1).unwrap();
        assert!(sample.smss_bytes.unwrap() > 500);
        assert!(sample.busy_ns.is_some());
        assert_eq!(sample.congestion_state, Some(CongestionState::Open));
        assert_eq!(sample.unread_bytes, Some(0));
        assert_eq!(sample.data_segments_sent, Some(0));
    }

    #[test]
    fn what_the_application_has_not_read_is_counted() {
        use std::io::Write;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        client.write_all(&[7; 1000]).unwrap();
        let mut first = [0];
        assert_eq!(server.peek(&mut first).unwrap(), 1);
        assert_eq!(read(&server, 0).unwrap().unread_bytes, Some(1000));
    }

    #[test]
    fn states_have_names_and_unknown_ones_none() {
        let mut bytes = [0_u8; 248];
        bytes[1] = 3;
        bytes[5] = ECN_AGREED;
        bytes[240] = 2;
        bytes[244] = 250;
        let sample = parse(&bytes, 0);
        assert_eq!(sample.congestion_state, Some(CongestionState::Recovery));
        assert_eq!(sample.ecn, Some(true));
        if cfg!(target_endian = "little") {
            assert_eq!(
                (sample.timeouts, sample.timeout_ns),
                (Some(2), Some(250_000_000))
            );
        }
        bytes[1] = 9;
        assert_eq!(parse(&bytes, 0).congestion_state, None);
    }
}
