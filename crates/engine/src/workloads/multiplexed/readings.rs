//! `TCP_INFO` of many connections as one reading: that of a connection which is their sum.

use linerate_model::sample::TcpSample;

/// Sums what adds up (windows, bytes, segments, rates), averages times, and takes the smallest of minima. `None` without
/// readings; a field that a reading lacks is absent, as is what only one connection can say.
pub(super) fn sum(at_ns: u64, readings: &[TcpSample]) -> Option<TcpSample> {
    let first = readings.first()?;
    let every = |part: fn(&TcpSample) -> Option<u64>| -> Option<Vec<u64>> {
        readings.iter().map(part).collect()
    };
    let total = |part| every(part).map(|all| all.into_iter().fold(0, u64::saturating_add));
    let mean = |part| Some(total(part)? / readings.len() as u64);
    let least = |part| every(part)?.into_iter().min();
    Some(TcpSample {
        at_ns,
        cwnd_bytes: total(|s| s.cwnd_bytes),
        ssthresh_bytes: total(|s| s.ssthresh_bytes),
        smss_bytes: least(|s| s.smss_bytes),
        srtt_ns: mean(|s| s.srtt_ns),
        rttvar_ns: mean(|s| s.rttvar_ns),
        min_rtt_ns: least(|s| s.min_rtt_ns),
        snd_wnd_bytes: total(|s| s.snd_wnd_bytes),
        rcv_space_bytes: total(|s| s.rcv_space_bytes),
        busy_ns: mean(|s| s.busy_ns),
        rwnd_limited_ns: mean(|s| s.rwnd_limited_ns),
        sndbuf_limited_ns: mean(|s| s.sndbuf_limited_ns),
        notsent_bytes: total(|s| s.notsent_bytes),
        bytes_sent: total(|s| s.bytes_sent),
        bytes_retrans: total(|s| s.bytes_retrans),
        bytes_acked: total(|s| s.bytes_acked),
        bytes_received: total(|s| s.bytes_received),
        retrans_segments: total(|s| s.retrans_segments),
        lost_segments: total(|s| s.lost_segments),
        dsack_dups: total(|s| s.dsack_dups),
        delivered_ce: total(|s| s.delivered_ce),
        delivery_rate_bps: total(|s| s.delivery_rate_bps),
        pacing_rate_bps: total(|s| s.pacing_rate_bps),
        pmtu_bytes: least(|s| s.pmtu_bytes),
        unacked_segments: total(|s| s.unacked_segments),
        data_segments_sent: total(|s| s.data_segments_sent),
        reordering_seen: total(|s| s.reordering_seen),
        out_of_order_segments: total(|s| s.out_of_order_segments),
        rcv_wnd_bytes: total(|s| s.rcv_wnd_bytes),
        timeouts: total(|s| s.timeouts),
        timeout_ns: mean(|s| s.timeout_ns),
        ecn: first.ecn,
        unread_bytes: total(|s| s.unread_bytes),
        ..TcpSample::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_add_up_times_are_means_and_what_one_lacks_is_absent() {
        let reading = |cwnd, srtt, acked| TcpSample {
            cwnd_bytes: Some(cwnd),
            srtt_ns: Some(srtt),
            min_rtt_ns: Some(srtt),
            bytes_acked: acked,
            ..TcpSample::default()
        };
        let all = [reading(10, 100, Some(1)), reading(30, 300, None)];
        let sum = sum(7, &all).unwrap();
        assert_eq!(
            (sum.at_ns, sum.cwnd_bytes, sum.srtt_ns),
            (7, Some(40), Some(200))
        );
        assert_eq!((sum.min_rtt_ns, sum.bytes_acked), (Some(100), None));
        assert_eq!(super::sum(7, &[]), None);
    }
}
