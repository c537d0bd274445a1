//! Where packets wait: for ingress again, and for egress by port and priority.

use super::packet::Packet;
use std::collections::VecDeque;

/// Priorities of a port; 0 is served last.
const PRIORITIES: usize = 8;

/// What bounds the work of one packet and the memory of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Packets that may wait at a port and priority; `simple_switch` has 64.
    pub queue: usize,
    /// Packets that may wait to be processed in ingress again.
    pub recirculation: usize,
    /// How often a packet, or what it is a copy of, may go through a pipeline.
    pub passes: u32,
    /// Bytes of the largest packet.
    pub packet: usize,
    /// Entries of all tables together, and members of each action profile, whatever the program says.
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue: 64,
            recirculation: 1024,
            passes: 64,
            packet: 1 << 16,
            entries: 1 << 20,
        }
    }
}

/// Queues of all ports, served port after port. Packets stay where they are in memory: places change hands.
#[derive(Debug)]
pub(super) struct Queues {
    ports: Vec<[VecDeque<Box<Packet>>; PRIORITIES]>,
    /// Ports with packets, each once.
    turns: VecDeque<u32>,
    spare: VecDeque<Box<Packet>>,
}

/// A packet whose turn it is.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) port: u32,
    pub(super) priority: u64,
    pub(super) packet: Box<Packet>,
}

/// Why there is no queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    NoPort,
    NoPriority,
}

impl Queues {
    pub(super) fn new(ports: u32) -> Self {
        Self {
            ports: (0..ports).map(|_| Default::default()).collect(),
            turns: VecDeque::new(),
            spare: VecDeque::new(),
        }
    }

    /// A packet to fill; used ones come back by [`Self::give_back`].
    pub(super) fn spare(&mut self) -> Box<Packet> {
        self.spare.pop_back().unwrap_or_default()
    }

    pub(super) fn give_back(&mut self, packet: Box<Packet>) {
        self.spare.push_back(packet);
    }

    /// Packets that wait at a port with this priority.
    pub(super) fn depth(&self, port: u32, priority: u64) -> Result<usize, Refused> {
        let port = self.ports.get(port as usize).ok_or(Refused::NoPort)?;
        let priority = usize::try_from(priority).unwrap_or(usize::MAX);
        Ok(port.get(priority).ok_or(Refused::NoPriority)?.len())
    }

    /// Puts a packet at the end of a queue that is not full.
    pub(super) fn push(&mut self, port: u32, priority: u64, packet: Box<Packet>) {
        let Some(of_port) = self.ports.get_mut(port as usize) else {
            return self.give_back(packet);
        };
        if of_port.iter().all(VecDeque::is_empty) {
            self.turns.push_back(port);
        }
        match usize::try_from(priority)
            .ok()
            .and_then(|priority| of_port.get_mut(priority))
        {
            Some(queue) => queue.push_back(packet),
            None => self.spare.push_back(packet),
        }
    }

    /// The next packet: ports take turns, and at a port the highest priority goes first.
    pub(super) fn pop(&mut self) -> Option<Queued> {
        let port = self.turns.pop_front()?;
        let of_port = self.ports.get_mut(port as usize)?;
        let mut queues = of_port.iter_mut().enumerate().rev();
        let (priority, packet) =
            queues.find_map(|(at, queue)| Some((at as u64, queue.pop_front()?)))?;
        if of_port.iter().any(|queue| !queue.is_empty()) {
            self.turns.push_back(port);
        }
        Some(Queued {
            port,
            priority,
            packet,
        })
    }
}
