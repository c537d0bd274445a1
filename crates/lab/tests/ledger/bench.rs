//! Two hosts, an agent on one, tests from the other, and counters that linerate does not read.

use linerate_agent::{Agent, AgentPlan};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::run::{Place, Run, Trial};
use linerate_model::spec::{Pace, SocketChoice, Stop, TestSpec};
use linerate_model::{BitRate, ByteCount};
use linerate_studies::context::unattended;
use linerate_studies::run::single;
use linerate_testbed::{HostId, Link, LinkCounters, TwoHosts};
use std::collections::BTreeMap;
use std::process::Command;

/// L4 payload of each datagram.
pub(crate) const PAYLOAD: u64 = 200;

/// Matches counted datagrams in nftables: of the test's length, and their header's kind (after
/// 4 bytes of token and one of stream) is 0. Handshakes and other flows differ.
pub(crate) const COUNTED: &str = "udp length 208 @th,104,8 0";

/// Two hosts and an agent on host B.
pub(crate) struct Bench {
    hosts: TwoHosts,
    agent: Agent,
    address: String,
}

impl Bench {
    /// Joins the hosts by `link`.
    pub(crate) fn over(link: Link) -> Self {
        Self::with(link, AgentPlan::private())
    }

    /// Joins the hosts by `link`; host B has an agent of this plan.
    pub(crate) fn with(link: Link, plan: AgentPlan) -> Self {
        let hosts = TwoHosts::create(link, 1).unwrap();
        let far = hosts.host(HostId::B);
        let agent = Agent::start_on(far, plan).unwrap();
        let address = far.ipv4().to_string();
        Self {
            hosts,
            agent,
            address,
        }
    }

    /// A veth pair between the hosts.
    pub(crate) fn direct() -> Self {
        Self::over(Link::Direct { mtu: 1500 })
    }

    /// Sends the tests to another address of host B.
    pub(crate) fn aim_at(&mut self, address: &str) {
        address.clone_into(&mut self.address);
    }

    /// Runs a shell script on a host and gives what it printed.
    pub(crate) fn shell(&self, host: HostId, script: &str) -> String {
        let owned = script.to_owned();
        let run = move || Command::new("sh").args(["-ec", &owned]).output().unwrap();
        let output = self.on(host, run);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {complaint}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs `work` on a thread of a host.
    pub(crate) fn on<T: Send + 'static>(
        &self,
        host: HostId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let thread = self.hosts.host(host).spawn("work", work).unwrap();
        thread.join().unwrap()
    }

    /// Starts `work` on a thread of a host.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        host: HostId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> std::thread::JoinHandle<T> {
        self.hosts.host(host).spawn("work", work).unwrap()
    }

    /// Makes host A's packet filter drop the first `packets` counted datagrams on their way to the
    /// interface `eth0`, before its queueing discipline.
    pub(crate) fn drop_at_egress(&self, packets: u64) {
        // At this hook a packet has its Ethernet (14), IPv4 (20) and UDP (8) headers.
        self.drop_first("egress", packets * (PAYLOAD + 42), COUNTED);
    }

    /// Drops the first `bytes` of what `filter` matches at a netdev hook of host A.
    pub(crate) fn drop_first(&self, hook: &str, bytes: u64, filter: &str) {
        let rule = format!("{filter} quota until {bytes} bytes counter drop");
        self.add_rule(HostId::A, hook, &rule);
    }

    /// What that packet filter has dropped, by its own counter.
    pub(crate) fn dropped_by_filter(&self) -> u64 {
        self.counted_by_rule(HostId::A)
    }

    /// Adds one rule with a counter at a netdev hook of a host.
    pub(crate) fn add_rule(&self, host: HostId, hook: &str, rule: &str) {
        self.shell(
            host,
            &format!(
                "nft 'add table netdev t; add chain netdev t c {{ type filter hook {hook} device \"eth0\" priority 0; }};
                 add rule netdev t c {rule}'"
            ),
        );
    }

    /// Makes host B's packet filter drop every TCP handshake after those of control and of data and `handshakes` more.
    pub(crate) fn let_in(&self, handshakes: u64) {
        /// IPv4 and TCP with the options of a first segment.
        const SYN: u64 = 60;
        let rule = format!(
            "tcp flags & (syn | ack) == syn quota over {} bytes counter drop",
            (handshakes + 2) * SYN
        );
        self.add_rule(HostId::B, "ingress", &rule);
    }

    /// Packets that the rule of this host has counted.
    pub(crate) fn counted_by_rule(&self, host: HostId) -> u64 {
        let rules = self.shell(host, "nft list table netdev t");
        number_after(&rules, "counter packets ").unwrap()
    }

    /// Where the agent listens.
    pub(crate) fn address(&self) -> String {
        format!("{}:{}", self.address, self.agent.port())
    }

    /// Runs one test on host A, if it can be made.
    pub(crate) fn try_run(&self, spec: &TestSpec) -> anyhow::Result<Run> {
        let spec = spec.clone();
        let far = PeerAddress::parse(&self.address()).unwrap();
        let work = move || unattended(|context| single(context, &Target::new(far), &spec));
        self.on(HostId::A, work)
    }

    /// Runs one test on host A.
    pub(crate) fn run(&self, spec: &TestSpec) -> Run {
        let run = self.try_run(spec).unwrap();
        let document = serde_json::to_value(&run).unwrap();
        assert_eq!(linerate_schema_check::validate(&document), Ok(()));
        run
    }

    /// Runs one test and holds its ledger against `oracles`, which are asked after it. What host B's
    /// UDP says of full sockets, read by this test itself, is one more oracle.
    pub(crate) fn check(
        &self,
        name: &str,
        spec: &TestSpec,
        oracles: &[(Place, Oracle<'_>)],
    ) -> Trial {
        let before = self.full_sockets();
        let mut run = self.run(spec);
        let trial = run.trials.remove(0);
        let mut truth: BTreeMap<Place, u64> = oracles
            .iter()
            .map(|(place, count)| (*place, count(self)))
            .collect();
        truth.insert(Place::ReceiverSocket, self.full_sockets() - before);
        truth.retain(|_, packets| *packets > 0);
        let ledger = ledger_of(&trial);
        println!("\n    {name}: independent {truth:?}, ledger {ledger:?}");
        assert_eq!(
            ledger,
            truth,
            "{name}: {:?} {:?}",
            trial.ledger(),
            trial.measured().map(|measured| &measured.counters)
        );
        assert_balanced(&trial);
        trial
    }

    /// `RcvbufErrors` of host B.
    pub(crate) fn full_sockets(&self) -> u64 {
        self.udp_counter(HostId::B, 5)
    }

    /// Column `column` of UDP's row in `/proc/net/snmp` of a host.
    pub(crate) fn udp_counter(&self, host: HostId, column: usize) -> u64 {
        self.snmp(host, "Udp:", column)
    }

    /// Column `column` of the row that begins with `row` in `/proc/net/snmp` of a host.
    pub(crate) fn snmp(&self, host: HostId, row: &'static str, column: usize) -> u64 {
        self.on(host, move || {
            let text = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
            let row = text.lines().rfind(|line| line.starts_with(row)).unwrap();
            let mut columns = row.split_ascii_whitespace();
            columns.nth(column).unwrap().parse().unwrap()
        })
    }

    /// Column `drop` of what host B's interface received (`/proc/net/dev`).
    pub(crate) fn dropped_on_arrival(&self) -> u64 {
        self.on(HostId::B, || {
            let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
            let row = text
                .lines()
                .find_map(|line| line.trim().strip_prefix("eth0:"));
            row.unwrap()
                .split_ascii_whitespace()
                .nth(3)
                .unwrap()
                .parse()
                .unwrap()
        })
    }

    /// What the link element did.
    pub(crate) fn link(&self) -> LinkCounters {
        let counters = self.hosts.link().unwrap().counters().unwrap();
        assert!(
            counters.a_to_b.faults.is_none() && counters.b_to_a.faults.is_none(),
            "{counters:?}"
        );
        counters
    }

    /// Takes everything down.
    pub(crate) fn close(self) {
        self.agent.stop().unwrap();
        self.hosts.close().unwrap();
    }
}

/// Counts drops independently of linerate.
pub(crate) type Oracle<'a> = &'a dyn Fn(&Bench) -> u64;

/// `total` datagrams, slowly enough for a debug build, into a large buffer.
pub(crate) fn datagrams(total: u64) -> TestSpec {
    TestSpec {
        stop: Stop::Transactions(total),
        socket: SocketChoice {
            receive_buffer_bytes: Some(ByteCount::new(4 << 20)),
            ..SocketChoice::default()
        },
        ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(60_000_000)))
            .with_payload(ByteCount::new(PAYLOAD))
    }
}

/// Packets by place.
pub(crate) fn ledger_of(trial: &Trial) -> BTreeMap<Place, u64> {
    let mut places = BTreeMap::new();
    for entry in trial.ledger() {
        *places.entry(entry.place).or_default() += entry.packets.get();
    }
    places
}

/// Whatever happens, these hold.
pub(crate) fn assert_balanced(trial: &Trial) {
    let packets = trial.packets().unwrap();
    let [sent, received, lost] =
        [packets.sent, packets.received, packets.lost].map(|count| count.unwrap().get());
    assert_eq!(sent, received + lost);
    assert_eq!(ledger_of(trial).values().sum::<u64>(), lost);
}

/// The number that follows `word` in `text`.
pub(crate) fn number_after(text: &str, word: &str) -> Option<u64> {
    let rest = &text[text.find(word)? + word.len()..];
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}
