//! The queueing discipline at the root of an interface.

use super::answer::{attribute, text};
use super::{InterfaceIndex, Netlink, htb};
use linerate_model::BitRate;
use netlink_packet_core::{DefaultNla, Emitable as _, NLM_F_ACK, NLM_F_ECHO};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcHeader, TcMessage, TcStatsQueue};
use std::io;

/// A queueing discipline as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qdisc {
    /// Its kind, `fq_codel`.
    pub kind: String,
    /// Its handle; zero if the kernel attached it as the default.
    pub handle: u32,
    /// Its parameters (`TCA_OPTIONS`), in its own format.
    pub options: Vec<u8>,
}

/// `linux/pkt_sched.h`: parameters whose first member is a `tc_ratespec`, and the rate where 32 bits do not hold it.
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
/// Rate of `cake`; zero is unlimited.
const TCA_CAKE_BASE_RATE64: u16 = 2;
/// Rate field of `tc_ratespec`, in bytes per second.
const RATE: std::ops::Range<usize> = 8..12;

impl Qdisc {
    /// Rate in its own parameters (`tbf`, `cake`), in bytes per second.
    fn own_rate(&self) -> Option<u64> {
        let long = |kind| {
            let bytes = attribute(&self.options, kind)?.try_into().ok()?;
            Some(u64::from_ne_bytes(bytes))
        };
        match self.kind.as_str() {
            "tbf" => long(TCA_TBF_RATE64).or_else(|| {
                let spec = attribute(&self.options, TCA_TBF_PARMS)?.get(RATE)?;
                Some(u32::from_ne_bytes(spec.try_into().ok()?).into())
            }),
            "cake" => long(TCA_CAKE_BASE_RATE64),
            _ => None,
        }
    }
}

/// Statistics of a queueing discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QdiscStats {
    /// Packets dropped since it was attached, modulo 2^32.
    pub dropped: u32,
    /// Times that a packet was delayed by the rate limit since it was attached, modulo 2^32.
    pub overlimits: u32,
    /// Backlog, bytes.
    pub backlog_bytes: u32,
}

impl Netlink {
    /// The queueing discipline at the root of the interface; `None` if it has none (`noqueue`).
    pub fn root_qdisc(&mut self, index: InterfaceIndex) -> io::Result<Option<Qdisc>> {
        self.ask_root(index, qdisc)
    }

    /// Configured rate of the shaper at the root of the interface (`tbf`, `cake`, `htb`), in bit/s of frames from
    /// destination address to payload (Ethernet without FCS); `None` for other disciplines, without a limit, and for
    /// `htb` where it depends on the packet.
    pub fn root_shaper_rate(&mut self, index: InterfaceIndex) -> io::Result<Option<BitRate>> {
        let Some(root) = self.root_qdisc(index)? else {
            return Ok(None);
        };
        let bytes = match root.kind.as_str() {
            "htb" => htb::ceiling(index, root.handle, &root.options)?,
            _ => root.own_rate(),
        };
        let bytes = bytes.filter(|bytes| *bytes > 0);
        Ok(bytes.map(|bytes| BitRate::from_bps(bytes.saturating_mul(8))))
    }

    /// Statistics of the queueing discipline at the root of the interface; `None` if it has none.
    pub fn root_qdisc_stats(&mut self, index: InterfaceIndex) -> io::Result<Option<QdiscStats>> {
        self.ask_root(index, stats)
    }

    fn ask_root<T>(
        &mut self,
        index: InterfaceIndex,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let question = Message::GetQueueDiscipline(at_root(index, 0));
        // Without `NLM_F_ECHO` the kernel notifies subscribers, not the requester. For an interface without a queueing
        // discipline it sends nothing at all: the acknowledgement is the answer.
        let body = match self.exchange(question, NLM_F_ACK | NLM_F_ECHO) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
            body => body?,
        };
        if body.is_empty() {
            return Ok(None);
        }
        read(&body).map(Some).ok_or_else(super::lacking)
    }

    /// Attaches `qdisc` at the root of the interface, replacing the present one.
    pub fn replace_root_qdisc(&mut self, index: InterfaceIndex, qdisc: &Qdisc) -> io::Result<()> {
        self.replace(Message::NewQueueDiscipline(to_put(index, qdisc)))
    }

    /// Detaches the root queueing discipline: the kernel attaches its default again.
    pub fn delete_root_qdisc(&mut self, index: InterfaceIndex) -> io::Result<()> {
        self.change(Message::DelQueueDiscipline(at_root(index, 0)))
    }
}

fn at_root(index: InterfaceIndex, handle: u32) -> TcMessage {
    let mut message = TcMessage::with_index(index.0.cast_signed());
    message.header.handle = handle.into();
    message.header.parent = TcHandle::ROOT;
    message
}

fn to_put(index: InterfaceIndex, qdisc: &Qdisc) -> TcMessage {
    let mut message = at_root(index, qdisc.handle);
    message.attributes = vec![TcAttribute::Kind(qdisc.kind.clone())];
    if !qdisc.options.is_empty() {
        // The original bytes: the library would re-encode the options that it knows.
        let options = DefaultNla::new(libc::TCA_OPTIONS, qdisc.options.clone());
        message.attributes.push(TcAttribute::Other(options));
    }
    message
}

/// Fixed part and attributes of an `RTM_NEWQDISC`.
fn parts(body: &[u8]) -> Option<(TcHeader, &[u8])> {
    let header = TcHeader::parse(body).ok()?;
    let attributes = &body[header.buffer_len()..];
    Some((header, attributes))
}

pub(super) fn qdisc(body: &[u8]) -> Option<Qdisc> {
    let (header, attributes) = parts(body)?;
    Some(Qdisc {
        kind: text(attributes, libc::TCA_KIND)?,
        handle: header.handle.into(),
        options: attribute(attributes, libc::TCA_OPTIONS)
            .unwrap_or_default()
            .to_vec(),
    })
}

/// `TCA_STATS2`, since Linux 2.6.10.
pub(super) fn stats(body: &[u8]) -> Option<QdiscStats> {
    let (_, attributes) = parts(body)?;
    let queue = attribute(attribute(attributes, libc::TCA_STATS2)?, TCA_STATS_QUEUE)?;
    let queue = TcStatsQueue::parse(queue).ok()?;
    Some(QdiscStats {
        dropped: queue.drops,
        overlimits: queue.overlimits,
        backlog_bytes: queue.backlog,
    })
}

/// `linux/gen_stats.h`.
const TCA_STATS_QUEUE: u16 = 3;

#[cfg(test)]
mod tests {
    use super::super::tests::attribute_bytes;
    use super::*;

    #[test]
    fn a_queueing_discipline_is_read_as_it_is_written() {
        let written = Qdisc {
            kind: "fq_codel".to_owned(),
            handle: 0x8001_0000,
            options: vec![8, 0, 2, 0, 1, 0, 0, 0],
        };
        let message = to_put(InterfaceIndex(3), &written);
        let mut body = vec![0; message.buffer_len()];
        message.emit(&mut body);
        assert_eq!(qdisc(&body), Some(written));
        assert_eq!(qdisc(&body[..22]), None);
    }

    #[test]
    fn the_rate_of_a_shaper_is_in_its_parameters() {
        let shaper = |kind: &str, options: &[(u16, &[u8])]| Qdisc {
            kind: kind.to_owned(),
            handle: 0,
            options: attribute_bytes(options),
        };
        let mut parameters = [0; 36];
        parameters[RATE].copy_from_slice(&37_500_000_u32.to_ne_bytes());
        let short = shaper("tbf", &[(TCA_TBF_PARMS, &parameters)]);
        assert_eq!(short.own_rate(), Some(37_500_000));
        parameters[RATE].copy_from_slice(&u32::MAX.to_ne_bytes());
        let rate = 5_000_000_000_u64.to_ne_bytes();
        let long = [(TCA_TBF_PARMS, &parameters[..]), (TCA_TBF_RATE64, &rate)];
        assert_eq!(shaper("tbf", &long).own_rate(), Some(5_000_000_000));
        let unlimited = [(TCA_CAKE_BASE_RATE64, &[0; 8][..])];
        assert_eq!(shaper("cake", &unlimited).own_rate(), Some(0));
        assert_eq!(shaper("tbf", &[(TCA_TBF_PARMS, &[0; 7])]).own_rate(), None);
        assert_eq!(
            shaper("pfifo", &[(TCA_TBF_PARMS, &parameters)]).own_rate(),
            None
        );
    }

    #[test]
    fn drops_are_read_from_the_statistics() {
        let words = [1_u32, 2000, 3, 4, 5].map(u32::to_ne_bytes);
        let nested = attribute_bytes(&[(TCA_STATS_QUEUE, words.as_flattened())]);
        let mut body = vec![0; 20];
        body.extend(attribute_bytes(&[(libc::TCA_STATS2, &nested)]));
        let expected = QdiscStats {
            dropped: 3,
            overlimits: 5,
            backlog_bytes: 2000,
        };
        assert_eq!(stats(&body), Some(expected));
    }
}
