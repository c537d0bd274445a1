//! What happens to a packet, for traces.

use crate::program::{Action, Source, Table};

linerate_model::named_enum! {
    /// Where packets are dropped.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DropPlace {
        /// The program dropped it in ingress, or chose no port for it.
        Ingress = "dropped by the program in ingress",
        /// The program dropped it in egress.
        Egress = "dropped by the program in egress",
        /// The queue of an egress port was full.
        EgressQueue = "egress queue full",
        /// The queue of packets that were resubmitted or recirculated was full.
        RecirculationQueue = "recirculation queue full",
        /// The egress port does not exist.
        NoPort = "no such port",
        /// The packet has the priority of no queue.
        NoQueue = "no queue of this priority",
        /// The multicast group does not exist, or has no replicas.
        NoGroup = "no such multicast group",
        /// The clone session does not exist.
        NoSession = "no such clone session",
        /// The packet, or what it was copied from, went through the pipelines too often.
        TooManyPasses = "too many passes",
    }
}

/// How a copy of a packet came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyKind {
    /// Cloned in ingress: the packet as it came in.
    IngressClone,
    /// Cloned in egress: the packet as it left egress.
    EgressClone,
    /// A replica of a multicast group.
    Replica,
    /// To ingress again, as it came in.
    Resubmitted,
    /// To ingress again, as it left egress.
    Recirculated,
}

/// One step of a packet.
#[derive(Debug)]
pub enum Event<'a> {
    /// A pipeline begins.
    Ingress {
        /// The port it came in at.
        port: u32,
    },
    /// A pipeline begins.
    Egress {
        /// The port it goes out at.
        port: u32,
    },
    /// The parser enters a state.
    State(&'a str),
    /// The parser took a header.
    Extracted {
        /// Its name.
        header: &'a str,
        /// Its bytes.
        bytes: usize,
    },
    /// The parser stopped.
    ParserError(&'a str),
    /// A checksum of the packet is wrong.
    ChecksumWrong(&'a str),
    /// A checksum has another value from now on.
    ChecksumSet {
        /// The header that has it.
        header: &'a str,
        /// The value.
        value: u64,
    },
    /// A table was asked.
    Table {
        /// The table.
        table: &'a Table,
        /// Words of the key.
        key: &'a [u64],
        /// The place of the entry that matched.
        entry: Option<u32>,
        /// What is done, with the words of its data.
        action: Option<(&'a Action, &'a [u64])>,
    },
    /// A condition was asked.
    Condition {
        /// Its name.
        name: &'a str,
        /// Where it stands.
        source: Option<&'a Source>,
        /// The answer.
        value: bool,
    },
    /// A primitive of an action runs.
    Primitive {
        /// Where it stands.
        source: Option<&'a Source>,
    },
    /// `log_msg` of the program, or an assertion that does not hold.
    Log(&'a str),
    /// A copy of the packet was made.
    Copied(CopyKind),
    /// The packet waits for egress.
    Queued {
        /// The port.
        port: u32,
        /// Packets before it.
        depth: usize,
    },
    /// The packet is gone.
    Dropped(DropPlace),
    /// The packet leaves.
    Sent {
        /// The port.
        port: u32,
        /// Its bytes.
        bytes: &'a [u8],
    },
}

/// Who is told what happens. `()` is told nothing, and costs nothing.
pub trait Observer {
    /// Whether anybody listens.
    const LISTENS: bool;
    /// Takes a step.
    fn event(&mut self, event: Event<'_>);
}

impl Observer for () {
    const LISTENS: bool = false;
    fn event(&mut self, _: Event<'_>) {}
}

impl<F: FnMut(Event<'_>)> Observer for F {
    const LISTENS: bool = true;
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}
