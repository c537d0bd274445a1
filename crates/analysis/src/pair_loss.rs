//! Loss between each two ports of a mesh.

use crate::length_loss::dealt;
use linerate_model::PacketCount;
use linerate_model::run::{PairLoss, Run, Trial};
use linerate_model::sample::{EndpointReport, StreamReport, StreamWork};

/// What was lost from each port of a mesh to each other, in the order of the ports, in all trials of a search that lost any;
/// empty if none did, or the ports are two.
pub fn pair_losses(part: &Run) -> Vec<PairLoss> {
    let mut all: Vec<PairLoss> = Vec::new();
    for trial in &part.trials {
        let pairs = pairs(trial);
        if pairs.iter().all(|pair| pair.lost.get() == 0) {
            continue;
        }
        if all.is_empty() {
            all = pairs;
            continue;
        }
        for pair in pairs {
            let is_same = |known: &&mut PairLoss| known.from == pair.from && known.to == pair.to;
            if let Some(known) = all.iter_mut().find(is_same) {
                known.sent = PacketCount::new(known.sent.get() + pair.sent.get());
                known.lost = PacketCount::new(known.lost.get() + pair.lost.get());
            }
        }
    }
    all
}

/// Each two ports of a trial.
fn pairs(trial: &Trial) -> Vec<PairLoss> {
    let reports = trial.raw().iter();
    let streams: Vec<_> = reports
        .flat_map(|report: &EndpointReport| &report.streams)
        .collect();
    let sender = |index| {
        let is_it = |stream: &&&StreamReport| {
            stream.index == index && matches!(stream.work, StreamWork::DatagramSender(_))
        };
        streams.iter().find(is_it).copied()
    };
    let mut pairs = Vec::new();
    for receiver in &streams {
        let StreamWork::DatagramReceiver(work) = &receiver.work else {
            continue;
        };
        let Some(sent) = sender(receiver.index) else {
            continue;
        };
        let from = sent.path.xdp.as_ref().map(|xdp| xdp.interface.clone());
        // Numbers are dense: frame n goes to port n modulo their count.
        let shares = dealt(sent.packets.get(), work.by_port.len());
        pairs.extend(work.by_port.iter().zip(shares).map(|(to, sent)| PairLoss {
            from: from.clone().unwrap_or_default(),
            to: to.interface.clone(),
            sent: PacketCount::new(sent),
            lost: PacketCount::new(sent.saturating_sub(to.received.get())),
        }));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::{DatagramsResult, RunKind, Tool};
    use linerate_model::sample::{
        DatagramReceiver, DatagramSender, PathReport, PortCount, XdpReport,
    };
    use linerate_model::spec::{Direction, Side, Transport};

    const PORTS: [&str; 3] = ["eth1", "eth2", "eth3"];

    /// A trial in which each port sent `sent` frames, of which `came` came at the others, in the order of the ports.
    fn trial(sent: [u64; 3], came: [[u64; 2]; 3]) -> Trial {
        let work = DatagramsResult::default();
        let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
        let senders = (0..).zip(sent).map(|(index, packets)| StreamReport {
            packets: PacketCount::new(packets),
            path: PathReport {
                xdp: Some(XdpReport {
                    interface: PORTS[usize::from(index)].to_owned(),
                    ..XdpReport::default()
                }),
                ..PathReport::default()
            },
            ..StreamReport::new(index, DatagramSender::default())
        });
        let receivers = (0..).zip(came).map(|(index, counts)| {
            let others = (0..).zip(PORTS).filter(|(at, _)| *at != index);
            let by_port = others.zip(counts).map(|((_, name), received)| PortCount {
                interface: name.to_owned(),
                received: PacketCount::new(received),
            });
            let work = DatagramReceiver {
                by_port: by_port.collect(),
                ..DatagramReceiver::default()
            };
            StreamReport::new(index, work)
        });
        let raw = vec![
            EndpointReport::of_streams(Side::Sender, senders.collect()),
            EndpointReport::of_streams(Side::Receiver, receivers.collect()),
        ];
        trial.measured_mut().unwrap().raw = raw;
        trial
    }

    fn losses(trials: Vec<Trial>) -> Vec<(String, String, u64, u64)> {
        let mut part = Run::new("a", RunKind::Saturate, Tool::unversioned("linerate"));
        part.trials = trials;
        let pairs = pair_losses(&part).into_iter();
        let row = |pair: PairLoss| (pair.from, pair.to, pair.sent.get(), pair.lost.get());
        pairs.map(row).collect()
    }

    #[test]
    fn what_a_port_sent_is_dealt_to_the_others_in_turns() {
        let all = [[51, 50], [50, 50], [50, 50]];
        let whole = trial([101, 100, 100], all);
        assert_eq!(losses(vec![whole.clone()]), []);
        let lossy = || trial([101, 100, 100], [[51, 44], [50, 50], [49, 50]]);
        let row = |from: &str, to: &str, sent, lost| (from.to_owned(), to.to_owned(), sent, lost);
        // Trials without loss do not count.
        let seen = losses(vec![lossy(), whole, lossy()]);
        let wanted = [
            row("eth1", "eth2", 102, 0),
            row("eth1", "eth3", 100, 12),
            row("eth2", "eth1", 100, 0),
            row("eth2", "eth3", 100, 0),
            row("eth3", "eth1", 100, 2),
            row("eth3", "eth2", 100, 0),
        ];
        assert_eq!(seen, wanted);
    }
}
