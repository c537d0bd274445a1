//! What a test came to: the reports of both ends by direction.

use linerate_model::run::Host;
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Direction, Side};
use linerate_peers::DelegatedTest;
use std::time::Duration;

/// Both ends' reports of one direction of a test.
#[derive(Debug, Clone)]
pub struct DirectionOutcome {
    /// Which way.
    pub direction: Direction,
    /// Sender's report.
    pub sender: Option<EndpointReport>,
    /// Receiver's report.
    pub receiver: Option<EndpointReport>,
}

/// Results of a test.
#[derive(Debug, Clone)]
pub struct TestOutcome {
    /// One per direction of traffic; empty if the test was stopped before traffic flowed.
    pub directions: Vec<DirectionOutcome>,
    /// Output of the peer, if requested and supported by its protocol.
    pub far_output: Option<String>,
    /// Whether the user ended it early.
    pub stopped: bool,
    /// Notes of the peer outside the reports.
    pub notes: Vec<String>,
}

impl TestOutcome {
    /// Outcome of a test that the user ended without results.
    pub(crate) const fn dropped() -> Self {
        Self {
            directions: Vec::new(),
            far_output: None,
            stopped: true,
            notes: Vec::new(),
        }
    }
}

impl TestOutcome {
    /// The reports, in the form of a delegated test, with both hosts.
    pub fn into_delegated(self, hosts: Vec<Host>) -> DelegatedTest {
        let (mut client, mut server) = (Vec::new(), Vec::new());
        for done in self.directions {
            let (own, theirs) = match done.direction {
                Direction::Reverse => (done.receiver, done.sender),
                Direction::Duplex | Direction::Forward => (done.sender, done.receiver),
            };
            client.extend(own);
            server.extend(theirs);
        }
        DelegatedTest {
            client,
            server,
            hosts,
            notes: self.notes,
            stopped: self.stopped,
        }
    }

    /// What came of a test of this direction that another agent made.
    pub(crate) fn from_delegated(direction: Direction, test: DelegatedTest) -> (Self, Vec<Host>) {
        let outcome = Self {
            directions: directions(direction, test.client, test.server),
            far_output: None,
            stopped: test.stopped,
            notes: test.notes,
        };
        (outcome, test.hosts)
    }
}

/// What is known of a test that broke off while traffic ran, as one whose control connection was lost.
#[derive(Debug, Clone)]
pub struct BrokenTest {
    /// One per direction of traffic of which an end counted something.
    pub directions: Vec<DirectionOutcome>,
    /// How long its traffic had run.
    pub elapsed: Duration,
}

impl BrokenTest {
    /// `None` of one in which no end moved anything.
    pub(crate) fn new(
        direction: Direction,
        own: Vec<EndpointReport>,
        theirs: Vec<EndpointReport>,
        elapsed: Duration,
    ) -> Option<Self> {
        let has_moved = |report: &EndpointReport| {
            let mut streams = report.streams.iter();
            streams.any(|stream| stream.bytes.get() > 0)
        };
        let is_counted = |done: &DirectionOutcome| {
            let mut ends = [&done.sender, &done.receiver].into_iter().flatten();
            ends.any(has_moved)
        };
        let mut directions = directions(direction, own, theirs);
        directions.retain(is_counted);
        (!directions.is_empty()).then_some(Self {
            directions,
            elapsed,
        })
    }
}

/// Pairs the reports of both ends by direction.
pub(crate) fn directions(
    direction: Direction,
    own: Vec<EndpointReport>,
    theirs: Vec<EndpointReport>,
) -> Vec<DirectionOutcome> {
    let mut own = by_side(own);
    let mut theirs = by_side(theirs);
    let forward = DirectionOutcome {
        direction: Direction::Forward,
        sender: own(Side::Sender),
        receiver: theirs(Side::Receiver),
    };
    let reverse = DirectionOutcome {
        direction: Direction::Reverse,
        sender: theirs(Side::Sender),
        receiver: own(Side::Receiver),
    };
    match direction {
        Direction::Forward => vec![forward],
        Direction::Reverse => vec![reverse],
        Direction::Duplex => vec![forward, reverse],
    }
}

/// What is known of a test that the user ended and of whose end the peer does not report all, for the reason `why`.
pub(crate) fn left_alone(
    direction: Direction,
    own: Vec<EndpointReport>,
    theirs: Vec<EndpointReport>,
    why: &str,
) -> TestOutcome {
    if own.is_empty() && theirs.is_empty() {
        return TestOutcome::dropped();
    }
    let missing = if theirs.is_empty() {
        "its counts are missing"
    } else {
        "what it had reported by then stands here"
    };
    TestOutcome {
        directions: directions(direction, own, theirs),
        far_output: None,
        stopped: true,
        notes: vec![format!("the test was ended early: {why}; {missing}")],
    }
}

/// Takes reports out of a list by their side.
fn by_side(mut reports: Vec<EndpointReport>) -> impl FnMut(Side) -> Option<EndpointReport> {
    move |side| {
        let position = reports.iter().position(|report| report.side == side)?;
        Some(reports.swap_remove(position))
    }
}
