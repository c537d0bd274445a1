//! Two hosts behind the link element: linerate on one, another tool's program on the other.

use linerate_agent::{Agent, AgentPlan};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::run::{Packets, Run};
use linerate_model::spec::{Direction, Pace, Stop, TestSpec};
use linerate_model::{BitRate, ByteCount, Clock as _, PacketCount, Ratio};
use linerate_studies::context::{Context, unattended};
use linerate_studies::run::single;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_testbed::{HostId, Link, LinkConfig, PacketList, TwoHosts};
use linerate_testkit::child::KilledChild;
use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;
use std::time::Duration;

/// Datagrams of a test that its sender ends by their number.
pub(crate) const SENT: u64 = 500;
/// Their payload, and the rate at which they are sent: 250 per second overflow no socket of a program that
/// does not run for some tenths of a second.
pub(crate) const PAYLOAD: u64 = 1000;
pub(crate) const RATE: u64 = 2_000_000;

/// Of the packets that [`Drops`] name, those of the first 500 or 501.
pub(crate) const DROPPED: u64 = 137;

/// Which packets the link drops: 137 of the first 500 or 501, alone and in a run, the last ten among them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Drops {
    /// And all that come after.
    AndAllAfter,
    /// And nothing of what comes after this one, the last of a test: a stream's end gets through.
    UpTo(u64),
}

impl Drops {
    fn list(self) -> PacketList {
        let alone = (0..100).map(|k| 3 + 4 * k);
        let last = match self {
            Self::AndAllAfter => 491..=10_000,
            Self::UpTo(last) => last - 9..=last,
        };
        PacketList::from_numbers(alone.chain(420..=446).chain(last))
    }
}

/// What the link did to the datagrams of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Truth {
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
    /// Those below the last one that was delivered: gaps in the numbers show no others.
    pub(crate) shown: u64,
}

/// The hosts.
pub(crate) struct Bench {
    hosts: TwoHosts,
    drops: PacketList,
}

impl Bench {
    /// A link that drops these.
    pub(crate) fn lossy(drops: Drops) -> Self {
        Self::over(LinkConfig {
            drop: drops.list(),
            ..LinkConfig::default()
        })
    }

    /// Any link.
    pub(crate) fn over(config: LinkConfig) -> Self {
        let drops = config.drop.clone();
        let hosts = TwoHosts::create(Link::symmetric(config), 1).unwrap();
        Self { hosts, drops }
    }

    /// The address of the other host.
    pub(crate) fn far(&self) -> Ipv4Addr {
        self.hosts.host(HostId::B).ipv4()
    }

    /// Starts a program of another tool on a host.
    pub(crate) fn program(&self, host: HostId, program: &str, arguments: &[&str]) -> Program {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let host = self.hosts.host(host);
        let child = host.spawn("program", move || command.spawn()).unwrap();
        let child = child
            .join()
            .unwrap()
            .expect("a program: see ci/packages, and run ci/need packages-test");
        let mut child = KilledChild::from(child);
        let stdout = child.stdout.take().unwrap();
        let (say, lines) = channel();
        // As it comes: a server whose words nobody takes stands still once the pipe is full.
        spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.for_each(|line| drop(say.send(line)));
        });
        Program { child, lines }
    }

    /// linerate's server on the other host, speaking `protocol`; and its port.
    pub(crate) fn serve(&self, protocol: &str) -> Agent {
        let plan = AgentPlan {
            speak: vec![format!("{protocol}:0").parse().unwrap()],
            ..AgentPlan::private()
        };
        Agent::start_on(self.hosts.host(HostId::B), plan).unwrap()
    }

    /// Runs a command of linerate's on the near host against `url`.
    pub(crate) fn linerate(
        &self,
        url: &str,
        command: impl FnOnce(&mut Context<'_>, &Target) -> anyhow::Result<Run> + Send + 'static,
    ) -> Run {
        let target = Target::new(PeerAddress::parse(url).unwrap());
        let work = move || unattended(|context| command(context, &target));
        let near = self.hosts.host(HostId::A);
        near.spawn("linerate", work)
            .unwrap()
            .join()
            .unwrap()
            .unwrap()
    }

    /// What linerate says of one test against `url` in which nothing gets through, either way, for three seconds.
    pub(crate) fn with_outage(&self, url: &str, spec: TestSpec) -> Run {
        let target = Target::new(PeerAddress::parse(url).unwrap());
        let work = move || unattended(|context| single(context, &target, &spec));
        let test = self.hosts.host(HostId::A).spawn("linerate", work).unwrap();
        let wait = |time| sleep_until(MonoClock.now().after(Duration::from_millis(time)));
        wait(2500);
        self.set_loss(1.0);
        wait(3000);
        self.set_loss(0.0);
        test.join().unwrap().unwrap()
    }

    fn set_loss(&self, loss: f64) {
        let config = LinkConfig {
            loss: Ratio::clamped(loss),
            ..LinkConfig::default()
        };
        let link = self.hosts.link().unwrap();
        for host in [HostId::A, HostId::B] {
            link.reconfigure(host, config.clone()).unwrap();
        }
    }

    /// What linerate says of the packets of one test against `url`.
    pub(crate) fn packets(&self, url: &str, spec: TestSpec) -> Packets {
        let run = self.linerate(url, move |context, target| single(context, target, &spec));
        *run.trials[0].packets().unwrap()
    }

    /// What the link did to the datagrams that went this way.
    pub(crate) fn truth(&self, way: Direction) -> Truth {
        let counters = self.hosts.link().unwrap().counters().unwrap();
        let one_way = match way {
            Direction::Reverse => counters.b_to_a,
            _ => counters.a_to_b,
        };
        assert!(one_way.faults.is_none(), "{counters:?}");
        let (sent, dropped) = (one_way.data.arrived, one_way.data.dropped_by_list);
        assert_eq!(one_way.data.dropped(), dropped, "{counters:?}");
        let list = &self.drops;
        let delivered = (1..=sent.get())
            .rev()
            .find(|number| !list.contains(*number));
        Truth {
            sent: sent.get(),
            dropped: dropped.get(),
            shown: list.count_within(delivered.unwrap_or(0)),
        }
    }

    /// The interface of a host.
    pub(crate) fn interface(&self, host: HostId) -> String {
        self.hosts.host(host).interface().to_owned()
    }

    /// Takes everything down.
    pub(crate) fn close(self) {
        self.hosts.close().unwrap();
    }
}

/// Datagrams at the usual rate: all that are sent, or for three seconds where the peer sends.
pub(crate) fn datagrams(direction: Direction) -> TestSpec {
    TestSpec {
        direction,
        stop: match direction {
            Direction::Forward => Stop::Transactions(SENT),
            _ => Stop::After(Duration::from_secs(3)),
        },
        ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(RATE)))
            .with_payload(ByteCount::new(PAYLOAD))
    }
}

#[track_caller]
pub(crate) fn assert_lost(packets: Packets, sent: u64, lost: u64) {
    assert_eq!(packets.sent, Some(PacketCount::new(sent)), "{packets:?}");
    assert_eq!(packets.lost, Some(PacketCount::new(lost)), "{packets:?}");
}

/// A program under way on a host; it ends with this.
pub(crate) struct Program {
    child: KilledChild,
    lines: Receiver<String>,
}

impl Program {
    /// Reads on until a line has this word: it is ready then. Gives that line.
    pub(crate) fn wait_for(&self, word: &str) -> String {
        let found = self.lines.iter().find(|line| line.contains(word));
        found.unwrap_or_else(|| panic!("it ended without saying \"{word}\""))
    }

    /// Waits for its end; what it printed since.
    pub(crate) fn output(mut self) -> Vec<String> {
        let said = self.lines.iter().collect();
        self.child.wait().unwrap();
        said
    }
}
