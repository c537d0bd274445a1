//! What iperf3's text and its JSON have in common.

use super::test_builder::TestBuilder;
use super::{Command, Intended, Rounded, TrafficTest, View, command, whole};
use linerate_model::spec::Transport;
use linerate_model::units::significant;

/// Why a test over SCTP is left out.
pub(super) const SCTP: &str =
    "it went over SCTP, which linerate does not read: repeat it over TCP or UDP";

/// What to say of a test with `-O`.
pub(super) const OMITTED: &str = "the omitted start of the test is not counted";

/// The intended load per stream that a command line asks for, by iperf3's rules.
pub(super) fn intended(command: &Command, transport: Transport) -> Option<Intended> {
    let Some(typed) = command.value("-b", &["bitrate", "bandwidth"]) else {
        return Some(Intended::by_default(transport));
    };
    // The burst of `-b RATE/BURST` is no rate.
    let rate = typed.split('/').next().unwrap_or(typed);
    let bps = command::rate_argument(rate, 1000.0)?;
    Some(Intended {
        label: typed.to_owned(),
        bps: (bps > 0.0).then(|| Rounded::exact(bps)),
    })
}

/// Whether a command line asks for SCTP.
pub(super) fn is_sctp(command: &Command) -> bool {
    command.has('\0', "sctp")
}

/// Says of a test over several paths that it was.
pub(super) fn note_multipath(test: &mut TestBuilder) {
    let command = test.command.as_ref();
    if command.is_some_and(|command| command.has('m', "mptcp")) {
        test.note("over Multipath TCP: what several paths carried together");
    }
}

/// The payload that `-l` asks for; sizes count in steps of 1024.
pub(super) fn payload(command: &Command) -> Option<u64> {
    let typed = command.value("-l", &["length"])?;
    whole(command::rate_argument(typed, 1024.0)?)
}

/// Adds the CPU time of both ends' iperf3, in percent of one core. It is that of the traffic's thread
/// as long as iperf3 had only one: before 3.16.
pub(super) fn add_cpu(test: &mut TestBuilder, own: Option<f64>, other: Option<f64>) {
    // A server does not have the client's figure yet when it prints. No end that carries traffic uses no time at
    // all: linerate's first versions told zero because they did not look.
    let is_told =
        |percent: &f64| *percent > 0.0 && test.view == View::Client && test.interrupted.is_none();
    let other = other.filter(is_told);
    if minor(test).is_some_and(|minor| minor < 16) {
        test.thread_load = [own, other].map(|percent| percent.map(|percent| percent / 100.0));
    } else if let (Some(own), Some(other)) = (own, other) {
        let [own, other] = [own, other].map(|percent| significant(percent, 3));
        test.note(format!(
            "all threads of iperf3 together took {own} % of a core at the client and {other} % at the server"
        ));
    }
}

/// `16` of version `3.16`.
fn minor(test: &TrafficTest) -> Option<u32> {
    let minor = test.tool.version.as_deref()?.strip_prefix("3.")?;
    let end = minor.find(|c: char| !c.is_ascii_digit());
    minor[..end.unwrap_or(minor.len())].parse().ok()
}
