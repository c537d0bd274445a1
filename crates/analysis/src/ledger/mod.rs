//! The loss ledger: every lost packet is put in a place, and the places sum to what was lost.
//!
//! The test's own sockets are asked first: what they dropped is exact. Counters of a whole host or
//! interface also count other traffic, so they bound from above, and their entries say so.
//! `network` is written only where both interfaces justify it: the sender's sent at least as many
//! packets as the test, and the receiver's either got too few or is followed by counters that
//! account for every drop behind it. What is left is `unknown`, with the reason.
//!
//! Invariant: for any counters whatever, the entries sum to `lost` and no entry is empty.
//!
//! # References
//! - A run of datagrams that the receiver's system joined (GRO) is one drop in all of its counters
//! - `UdpRcvbufErrors` includes the drops of `SO_RXQ_OVFL`: Linux `__udp_enqueue_schedule_skb`
//! - `UdpSndbufErrors` counts a qdisc's drop and a refusal too: Linux `udp_send_skb`, `udp_sendmsg`
//! - A veth counts in `rx_dropped` what an AF_XDP socket had no room for: Linux `veth_xdp_rcv_skb`
//! - `rx_dropped` counts backlog drops too: Linux `enqueue_to_backlog`; a veth's `tx_dropped` counts
//!   what its peer dropped on arrival: `veth_xmit`

mod counters;
mod reasons;

use counters::{Claim, Host};
use linerate_model::PacketCount;
use linerate_model::dut::{DutCounters, DutPlace};
use linerate_model::run::{LedgerEntry, Packets, Place};
use linerate_model::sample::{EndpointReport, StreamReport};
use reasons::Reasons;

/// Places what `packets` lost, from the counters of both ends over the trial.
///
/// Empty when nothing was lost or the loss is not known. Entries are in path order, `unknown` last.
pub fn place(
    packets: &Packets,
    sender: Option<&EndpointReport>,
    receiver: Option<&EndpointReport>,
) -> Vec<LedgerEntry> {
    let lost = packets.lost.map_or(0, PacketCount::get);
    let mut book = Book::from_lost(lost);
    let overflows = sum(receiver, |stream| {
        stream.work.socket_overflows().map(PacketCount::get)
    });
    if let Some(report) = receiver {
        let dropped = overflows.unwrap_or(0);
        book.take(Place::ReceiverSocket, dropped, &own_count(report));
    }
    book.take(
        Place::Unknown,
        sum(receiver, |stream| {
            Some(stream.work.sequence()?.too_old.get())
        })
        .unwrap_or(0),
        "came so late that it could not be told from a duplicate: perhaps not lost",
    );
    for (reason, count) in
        receiver.map_or_else(Vec::new, |report| Reasons::from_report(report).unplaced())
    {
        let why = format!(
            "dropped on the receiver's host: {reason} (kernel's drop reasons, the test's own datagrams)"
        );
        book.take(Place::Unknown, count, &why);
    }
    let mut sending = sender.map(|report| Host::sender(report, packets));
    let receiving = receiver.map(|report| Host::receiver(report, packets, overflows));
    if let (Some(host), Some(sender), Some(receiver)) = (&mut sending, sender, receiver) {
        host.without_peer(sender, receiver);
    }
    let upstream = Upstream::between(packets, sending.as_ref(), receiving.as_ref());
    let claims: Vec<Claim> = [&sending, &receiving]
        .into_iter()
        .flatten()
        .flat_map(|host| host.claims.iter().cloned())
        .collect();
    let unread = [sender, receiver]
        .into_iter()
        .flatten()
        .find_map(reasons::missing);
    book.settle(&claims, upstream.network_at_least, unread);
    upstream.close(&mut book);
    book.close()
}

/// Gives to the device under test what its counters say that it dropped, of what was lost between the interfaces.
///
/// Its counters are of every frame, so they bound from above.
pub fn place_at_device(ledger: &mut Vec<LedgerEntry>, device: &DutCounters) {
    let between = |entry: &&mut LedgerEntry| matches!(entry.place, Place::Network | Place::Unknown);
    let mut found = Vec::new();
    for drop in &device.drops {
        let mut left = drop.packets.get();
        for entry in ledger.iter_mut().filter(between) {
            let here = entry.packets.get().min(left);
            entry.packets = PacketCount::new(entry.packets.get() - here);
            left -= here;
        }
        let placed = drop.packets.get() - left;
        if placed > 0 {
            let place = match drop.place {
                // It had no room for what the device sent.
                DutPlace::PortTx => Place::ReceiverNic,
                _ => Place::Device,
            };
            found.push(LedgerEntry {
                place,
                packets: PacketCount::new(placed),
                source: format!("{} {}", drop.place, drop.at),
            });
        }
    }
    ledger.retain(|entry| entry.packets.get() > 0);
    ledger.extend(found);
    ledger.sort_by_key(|entry| entry.place);
}

/// Who counted what the test's own sockets dropped.
fn own_count(receiver: &EndpointReport) -> String {
    if counters::is_xdp(receiver) {
        return "XDP_STATISTICS of the test's own AF_XDP sockets, and frames that they could not read"
            .to_owned();
    }
    match sum(Some(receiver), |stream| {
        stream.work.receive_socket()?.dropped_runs
    }) {
        Some(runs) => format!(
            "SO_RXQ_OVFL of the test's own sockets: {runs} runs of joined datagrams, counted by the numbers that are missing there"
        ),
        None => "SO_RXQ_OVFL of the test's own sockets".to_owned(),
    }
}

/// What the two interfaces say of packets between them.
struct Upstream {
    /// Packets that provably left the sender's interface and did not reach the receiver's.
    network_at_least: u64,
    /// Why the rest cannot be given to the network; `None` if it can.
    doubt: Option<String>,
    /// Packets that came to the receiver's interface and that no protocol there was given.
    filtered: u64,
    /// The figures that justify `network`.
    why: String,
}

impl Upstream {
    fn between(packets: &Packets, sender: Option<&Host>, receiver: Option<&Host>) -> Self {
        let sent = packets.sent.map_or(0, PacketCount::get);
        let duplicates = packets.duplicated.map_or(0, PacketCount::get);
        let doubtful = |doubt: String| Self {
            network_at_least: 0,
            filtered: 0,
            doubt: Some(doubt),
            why: String::new(),
        };
        let (Some(sender), Some(receiver)) = (sender, receiver) else {
            let end = if sender.is_none() {
                "sender"
            } else {
                "receiver"
            };
            return doubtful(format!("the {end} gave no report, so nothing places these"));
        };
        let left = match &sender.passed {
            Ok(passed) if passed.at_most.saturating_add(sender.claims_total()) >= sent => passed,
            Ok(passed) => {
                return doubtful(format!(
                    "of {sent} datagrams at most {} left the sender's interface, and no counter says where the others stayed ({})",
                    passed.at_most, REFUSED_UNSEEN
                ));
            }
            Err(missing) => return doubtful(missing.clone()),
        };
        let arrived = match &receiver.passed {
            Ok(passed) => passed,
            Err(missing) => return doubtful(missing.clone()),
        };
        let absent = sent
            .saturating_add(duplicates)
            .saturating_sub(arrived.at_most)
            .saturating_sub(receiver.claimed(Place::ReceiverNic))
            .saturating_sub(receiver.claimed(Place::ReceiverBacklog));
        // One drop there can have been any number of those that are absent.
        let proven = if receiver.drops_of_runs().next().is_none() {
            absent.saturating_sub(sender.claims_total())
        } else {
            0
        };
        Self {
            network_at_least: proven,
            filtered: receiver.filtered,
            doubt: receiver.doubt(),
            why: format!(
                "sender's interface sent {}, receiver's got {} (each with other traffic)",
                left.text, arrived.text
            ),
        }
    }

    /// Gives what is left to the network as far as it can have been lost there.
    fn close(&self, book: &mut Book) {
        if let Some(doubt) = &self.doubt {
            book.take(Place::Network, self.network_at_least, &self.why);
            book.rest(Place::Unknown, doubt);
            return;
        }
        let unproven = book.left.saturating_sub(self.network_at_least);
        let filtered = self.filtered.min(unproven);
        let why = format!(
            "{} packets reached the receiver's interface and no protocol was given them: a packet filter there, or other traffic",
            self.filtered
        );
        book.take(Place::Unknown, filtered, &why);
        book.rest(Place::Network, &self.why);
    }
}

/// Where a drop at the sender can go uncounted.
const REFUSED_UNSEEN: &str = "a program or a device there dropped them without counting";

/// Lost packets that wait for a place, and those that have one.
struct Book {
    left: u64,
    entries: Vec<LedgerEntry>,
}

impl Book {
    fn from_lost(lost: u64) -> Self {
        Self {
            left: lost,
            entries: Vec::new(),
        }
    }

    /// Puts up to `packets` of what is left at `place`.
    fn take(&mut self, place: Place, packets: u64, source: &str) {
        let packets = packets.min(self.left);
        if packets == 0 {
            return;
        }
        self.left -= packets;
        self.entries.push(LedgerEntry {
            place,
            packets: PacketCount::new(packets),
            source: source.to_owned(),
        });
    }

    fn rest(&mut self, place: Place, source: &str) {
        self.take(place, self.left, source);
    }

    /// Gives each host-wide counter what it claims. Where several claim more than was lost, each
    /// gets only what the others cannot explain; whose the others are is unknown. A counter that
    /// holds far more than was lost counts other traffic for certain and proves nothing.
    fn settle(&mut self, claims: &[Claim], network_at_least: u64, unread: Option<&str>) {
        for claim in claims {
            self.take(claim.place, claim.at_least, &claim.source());
        }
        let available = self.left.saturating_sub(network_at_least);
        let open = |claim: &Claim| claim.at_most - claim.at_least;
        let total = |claims: &mut dyn Iterator<Item = &Claim>| {
            claims.fold(0_u64, |sum, claim| sum.saturating_add(open(claim)))
        };
        let all = total(&mut claims.iter());
        if all <= available {
            for claim in claims {
                self.take(claim.place, open(claim), &claim.source());
            }
            return;
        }
        let bound = available
            .saturating_add(available / FOREIGN_SHARE)
            .saturating_add(FOREIGN_LEAST);
        let mut unplaced = available;
        for claim in claims.iter().filter(|claim| open(claim) <= bound) {
            let own = available
                .saturating_sub(all - open(claim))
                .min(open(claim))
                .min(unplaced);
            unplaced -= own;
            self.take(claim.place, own, &claim.source());
        }
        let names: Vec<String> = claims.iter().map(Claim::figure).collect();
        let why = format!(
            "host-wide counters claim more than was lost, so other traffic is in them: {}{}",
            names.join(", "),
            unread.map_or_else(String::new, |why| format!(
                "; the kernel's drop reasons could tell: {why}"
            )),
        );
        self.take(Place::Unknown, unplaced, &why);
    }

    fn close(mut self) -> Vec<LedgerEntry> {
        self.entries.sort_by_key(|entry| entry.place);
        self.entries
    }
}

/// A counter may exceed what was lost by this share, and by this many packets (of the control
/// connection and of neighbour discovery), before it is taken to count another flow.
const FOREIGN_SHARE: u64 = 10;
const FOREIGN_LEAST: u64 = 10;

/// The sum over streams of what at least one of them knows.
fn sum(
    report: Option<&EndpointReport>,
    part: impl Fn(&StreamReport) -> Option<u64>,
) -> Option<u64> {
    report?
        .streams
        .iter()
        .filter_map(part)
        .reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests;
