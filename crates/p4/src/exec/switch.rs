//! The switch: what happens to packets between and around the pipelines.
//!
//! ```text
//!  receive ─► parser ─► ingress ─┬─► queues ─► egress ─► deparser ─► out
//!                ▲               │                          │
//!                └── resubmit ◄──┴── clones, replicas       │
//!                └── recirculate ◄──────────────────────────┘
//! ```

use super::core::Core;
use super::entity::{CloneSession, Replica};
use super::event::{CopyKind, DropPlace, Event, Observer};
use super::meter::Meter;
use super::packet::{Instance, Packet, Requests};
use super::queues::{Limits, Queued, Queues, Refused};
use super::stages::{StageCounts, Time};
use super::table::{Chosen, Counter, NewEntry};
use crate::bits;
use crate::program::{DROP_PORT, Program};
use linerate_model::Histogram;
use linerate_model::dut::DutStage;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// What a port took and gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounters {
    /// Packets that came in.
    pub received: u64,
    /// Packets that went out.
    pub sent: u64,
    /// Packets that its queues had no room for.
    pub queue_drops: u64,
}

/// Values of fields that the program tells the control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// The digest's name.
    pub name: String,
    /// The fields, each big-endian in whole bytes.
    pub values: Vec<Vec<u8>>,
}

/// Pipelines that one packet and all its copies go through: a program may copy each copy, up to the limit of passes.
const MAX_WORK: u32 = 1 << 20;

/// The most digests that wait for the control plane; further ones are counted and lost.
const MAX_DIGESTS: usize = 4096;

/// A program that runs, with its entries, arrays and queues.
///
/// One thread owns it. Updates come between packets, so that a packet sees a batch of them whole or not at all.
#[derive(Debug)]
pub struct Switch {
    pub(super) program: Arc<Program>,
    pub(super) core: Core,
    pub(super) groups: BTreeMap<u32, (Vec<Replica>, Vec<u8>)>,
    /// Ports that are down, as far as they are watched.
    pub(super) down: BTreeSet<u32>,
    pub(super) sessions: BTreeMap<u32, CloneSession>,
    pub(super) limits: Limits,
    queues: Queues,
    again: VecDeque<Box<Packet>>,
    out: Vec<u8>,
    ports: Vec<PortCounters>,
    connected: Option<Vec<bool>>,
    drops: [u64; DropPlace::ALL.len()],
    stages: StageCounts,
    pub(super) digests: VecDeque<Digest>,
    pub(super) lost_digests: u64,
}

impl Switch {
    /// A switch as it is before the first packet. `seed` is where random numbers of the program begin.
    pub fn new(program: Arc<Program>, limits: Limits, seed: u64) -> Self {
        let mut switch = Self {
            core: Core::new(&program, seed),
            groups: BTreeMap::new(),
            down: BTreeSet::new(),
            sessions: BTreeMap::new(),
            limits,
            queues: Queues::new(DROP_PORT),
            again: VecDeque::new(),
            out: Vec::new(),
            ports: vec![PortCounters::default(); DROP_PORT as usize],
            connected: None,
            drops: [0; DropPlace::ALL.len()],
            stages: StageCounts::new(),
            digests: VecDeque::new(),
            lost_digests: 0,
            program,
        };
        switch.constant_entries();
        switch
    }

    /// The entries that the program brings, and its defaults.
    fn constant_entries(&mut self) {
        for (at, table) in self.program.tables.iter().enumerate() {
            let default = table.default.as_ref();
            self.core.defaults[at] = default.map(|default| Chosen::Action {
                action: default.action,
                data: default.data.clone(),
            });
            // In the JSON the smaller number wins, and numbers begin at 1; to a control plane the largest is the first's.
            let all = table.entries.iter();
            let first = all.map(|entry| entry.priority.saturating_neg()).max();
            let first = first.unwrap_or(0).saturating_add(1);
            for entry in &table.entries {
                let chosen = Chosen::Action {
                    action: entry.action,
                    data: entry.data.clone(),
                };
                let (counter, meter) = (Counter::default(), Meter::default());
                let new = NewEntry {
                    key: entry.key.clone(),
                    priority: first.saturating_add(entry.priority),
                    chosen,
                    counter,
                    meter,
                    timeout: 0,
                    note: Vec::new(),
                };
                self.core.tables[at].insert(&table.key, new, 0);
            }
        }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program, to keep.
    pub fn shared_program(&self) -> Arc<Program> {
        Arc::clone(&self.program)
    }

    /// From now on these are the only ports. Without it all from 0 to 510 are.
    pub fn set_ports(&mut self, ports: impl IntoIterator<Item = u32>) {
        let mut connected = vec![false; DROP_PORT as usize];
        for port in ports {
            if let Some(port) = connected.get_mut(port as usize) {
                *port = true;
            }
        }
        self.connected = Some(connected);
    }

    /// What a port took and gave.
    pub fn port_counters(&self, port: u32) -> PortCounters {
        self.ports.get(port as usize).copied().unwrap_or_default()
    }

    /// Packets dropped, by place.
    pub fn drops(&self) -> impl Iterator<Item = (DropPlace, u64)> {
        DropPlace::ALL.into_iter().zip(self.drops)
    }

    /// How long each packet that was sent had been in each stage, by the instants of its time stamps.
    pub fn stages(&self) -> impl Iterator<Item = (DutStage, Histogram)> {
        self.stages.histograms()
    }

    /// A packet comes in at a port, and it and all copies go as far as they get, through a million pipelines together at most.
    /// `now` is in nanoseconds.
    pub fn process(
        &mut self,
        port: u32,
        packet: &[u8],
        now: u64,
        out: &mut impl FnMut(u32, &[u8]),
    ) {
        self.process_observed(port, packet, now, out, &mut ());
    }

    /// [`Self::process`], and `observer` is told every step.
    pub fn process_observed<O: Observer>(
        &mut self,
        port: u32,
        packet: &[u8],
        now: u64,
        out: &mut impl FnMut(u32, &[u8]),
        observer: &mut O,
    ) {
        self.receive(port, packet, now, observer);
        for _ in 0..MAX_WORK {
            if !self.work(now, out, observer) {
                return;
            }
        }
        while let Some(packet) = self.waiting() {
            self.drop(packet, DropPlace::TooManyPasses, observer);
        }
    }

    /// Any packet that waits, which waits no more.
    fn waiting(&mut self) -> Option<Box<Packet>> {
        let again = self.again.pop_front();
        again.or_else(|| self.queues.pop().map(|queued| queued.packet))
    }

    /// A packet comes in at a port, and goes through ingress to a queue. What is longer than the limit is cut.
    pub fn receive<O: Observer>(
        &mut self,
        port: u32,
        bytes: &[u8],
        mut time: impl Time,
        observer: &mut O,
    ) {
        let now = time.begin();
        let mut packet = self.queues.spare();
        packet.reset(
            &self.program,
            &bytes[..bytes.len().min(self.limits.packet)],
            port,
            now,
        );
        if let Some(counters) = self.ports.get_mut(port as usize) {
            counters.received += 1;
        }
        let known = &self.program.intrinsic;
        packet.set(known.packet_length, packet.length);
        packet.set(known.ingress_port, port.into());
        packet.set(known.ingress_timestamp, now / 1000);
        self.ingress(packet, now, &mut time, observer);
    }

    /// Does one piece of waiting work; `false` when there is none.
    pub fn work<O: Observer>(
        &mut self,
        mut time: impl Time,
        out: &mut impl FnMut(u32, &[u8]),
        observer: &mut O,
    ) -> bool {
        if let Some(mut packet) = self.again.pop_front() {
            let now = time.begin();
            packet.times.leave(DutStage::Queue, now);
            self.ingress(packet, now, &mut time, observer);
            return true;
        }
        let Some(queued) = self.queues.pop() else {
            return false;
        };
        self.egress(queued, &mut time, out, observer);
        true
    }

    fn drop<O: Observer>(&mut self, packet: Box<Packet>, place: DropPlace, observer: &mut O) {
        self.drops[place as usize] += 1;
        if O::LISTENS {
            observer.event(Event::Dropped(place));
        }
        self.queues.give_back(packet);
    }

    /// Counts a pass; `None` where the packet had too many and is dropped.
    fn pass<O: Observer>(
        &mut self,
        mut packet: Box<Packet>,
        observer: &mut O,
    ) -> Option<Box<Packet>> {
        packet.passes += 1;
        if packet.passes > self.limits.passes {
            self.drop(packet, DropPlace::TooManyPasses, observer);
            return None;
        }
        Some(packet)
    }

    /// It began at `now`.
    fn ingress<O: Observer>(
        &mut self,
        packet: Box<Packet>,
        now: u64,
        time: &mut impl Time,
        observer: &mut O,
    ) {
        let Some(mut packet) = self.pass(packet, observer) else {
            return;
        };
        let program = Arc::clone(&self.program);
        let known = &program.intrinsic;
        self.core.now = now;
        if O::LISTENS {
            observer.event(Event::Ingress { port: packet.port });
        }
        self.core.parse(&program, &mut packet, observer);
        self.core
            .pipeline(&program, &mut packet, program.ingress, observer);
        let now = time.end();
        self.core.now = now;
        packet.times.leave(DutStage::Ingress, now);
        packet.exited = false;
        let requests = std::mem::take(&mut packet.requests);
        if let Some((session, list)) = requests.clone {
            self.clone_in_ingress(&program, &packet, session, list, observer);
        }
        if let Some(list) = requests.digest {
            self.digest(&packet, list);
        }
        if let Some(list) = requests.resubmit.filter(|list| *list != 0) {
            return self.resubmit(packet, list, observer);
        }
        let group = known.mcast_grp.map_or(0, |field| packet.get(field));
        if group != 0 {
            packet.set(known.instance_type, Instance::Replica as u64);
            return self.replicate(
                packet,
                u32::try_from(group).unwrap_or(u32::MAX),
                now,
                observer,
            );
        }
        let port = u32::try_from(packet.get(known.egress_spec)).unwrap_or(u32::MAX);
        if port == DROP_PORT {
            return self.drop(packet, DropPlace::Ingress, observer);
        }
        packet.set(known.instance_type, Instance::Normal as u64);
        self.enqueue(packet, port, now, observer);
    }

    /// The clone is the packet as it came in, parsed again; of the metadata it keeps the fields of a list.
    fn clone_in_ingress<O: Observer>(
        &mut self,
        program: &Program,
        packet: &Packet,
        session: u32,
        list: u64,
        observer: &mut O,
    ) {
        let mut copy = self.queues.spare();
        copy.copy_from(packet);
        copy.clear(program);
        copy.set(program.intrinsic.ingress_port, packet.port.into());
        // The clone is not observed: its parsing is the packet's.
        self.core.parse(program, &mut copy, &mut ());
        copy.length = copy.bytes.len() as u64;
        copy.keep_only(program, Some(list), packet);
        copy.set(
            program.intrinsic.instance_type,
            Instance::IngressClone as u64,
        );
        self.send_clone(copy, session, CopyKind::IngressClone, observer);
    }

    fn send_clone<O: Observer>(
        &mut self,
        copy: Box<Packet>,
        session: u32,
        kind: CopyKind,
        observer: &mut O,
    ) {
        let Some(to) = self.sessions.get_mut(&session) else {
            return self.drop(copy, DropPlace::NoSession, observer);
        };
        if O::LISTENS {
            observer.event(Event::Copied(kind));
        }
        let mut copy = copy;
        copy.truncate = copy.truncate.min(to.truncate.unwrap_or(usize::MAX));
        let replicas = std::mem::take(&mut to.replicas);
        self.send_replicas(copy, &replicas, self.core.now, observer);
        if let Some(to) = self.sessions.get_mut(&session) {
            to.replicas = replicas;
        }
    }

    fn replicate<O: Observer>(
        &mut self,
        packet: Box<Packet>,
        group: u32,
        now: u64,
        observer: &mut O,
    ) {
        match self.groups.get_mut(&group) {
            Some((replicas, _)) if !replicas.is_empty() => {
                let replicas = std::mem::take(replicas);
                self.send_replicas(packet, &replicas, now, observer);
                if let Some((empty, _)) = self.groups.get_mut(&group) {
                    *empty = replicas;
                }
            }
            _ => self.drop(packet, DropPlace::NoGroup, observer),
        }
    }

    fn send_replicas<O: Observer>(
        &mut self,
        packet: Box<Packet>,
        replicas: &[Replica],
        now: u64,
        observer: &mut O,
    ) {
        for replica in replicas {
            let mut copy = self.queues.spare();
            copy.copy_from(&packet);
            copy.set(self.program.intrinsic.egress_rid, replica.instance.into());
            if O::LISTENS && replicas.len() > 1 {
                observer.event(Event::Copied(CopyKind::Replica));
            }
            self.enqueue(copy, replica.port, now, observer);
        }
        self.queues.give_back(packet);
    }

    fn resubmit<O: Observer>(&mut self, mut packet: Box<Packet>, list: u64, observer: &mut O) {
        let mut old = self.queues.spare();
        old.copy_from(&packet);
        packet.clear(&self.program);
        packet.length = packet.bytes.len() as u64;
        packet.keep_only(&self.program, Some(list), &old);
        self.queues.give_back(old);
        let known = &self.program.intrinsic;
        packet.set(known.instance_type, Instance::Resubmitted as u64);
        packet.set(known.packet_length, packet.length);
        self.again(packet, CopyKind::Resubmitted, observer);
    }

    fn again<O: Observer>(&mut self, packet: Box<Packet>, kind: CopyKind, observer: &mut O) {
        if self.again.len() >= self.limits.recirculation {
            return self.drop(packet, DropPlace::RecirculationQueue, observer);
        }
        if O::LISTENS {
            observer.event(Event::Copied(kind));
        }
        self.again.push_back(packet);
    }

    fn digest(&mut self, packet: &Packet, list: u64) {
        let Some(list) = self.program.digests.iter().find(|known| known.id == list) else {
            return;
        };
        if self.digests.len() >= MAX_DIGESTS {
            self.lost_digests += 1;
            return;
        }
        let value = |field: &crate::program::Field| {
            bits::to_bytes(&packet.words[field.words()], field.width)
        };
        self.digests.push_back(Digest {
            name: list.name.clone(),
            values: list.fields.iter().map(value).collect(),
        });
    }

    fn enqueue<O: Observer>(
        &mut self,
        mut packet: Box<Packet>,
        port: u32,
        now: u64,
        observer: &mut O,
    ) {
        let known = &self.program.intrinsic;
        let priority = known.priority.map_or(0, |field| packet.get(field));
        let depth = match self.queues.depth(port, priority) {
            Ok(depth) if depth < self.limits.queue => depth,
            refused => {
                let place = match refused {
                    Err(Refused::NoPort) => DropPlace::NoPort,
                    Err(Refused::NoPriority) => DropPlace::NoQueue,
                    Ok(_) => DropPlace::EgressQueue,
                };
                if let (DropPlace::EgressQueue, Some(counters)) =
                    (place, self.ports.get_mut(port as usize))
                {
                    counters.queue_drops += 1;
                }
                return self.drop(packet, place, observer);
            }
        };
        packet.set(known.enq_timestamp, now / 1000);
        packet.set(known.enq_qdepth, depth as u64);
        if O::LISTENS {
            observer.event(Event::Queued { port, depth });
        }
        self.queues.push(port, priority, packet);
    }

    fn egress<O: Observer>(
        &mut self,
        queued: Queued,
        time: &mut impl Time,
        out: &mut impl FnMut(u32, &[u8]),
        observer: &mut O,
    ) {
        let Queued { port, priority, .. } = queued;
        let Some(mut packet) = self.pass(queued.packet, observer) else {
            return;
        };
        let now = time.begin();
        packet.times.leave(DutStage::Queue, now);
        let program = Arc::clone(&self.program);
        self.core.now = now;
        if O::LISTENS {
            observer.event(Event::Egress { port });
        }
        self.dequeued(&program, &mut packet, port, priority, now);
        self.core
            .pipeline(&program, &mut packet, program.egress, observer);
        let requests: Requests = std::mem::take(&mut packet.requests);
        if let Some((session, list)) = requests.clone {
            let mut copy = self.queues.spare();
            copy.copy_from(&packet);
            copy.keep_only(&program, Some(list), &packet);
            copy.set(
                program.intrinsic.instance_type,
                Instance::EgressClone as u64,
            );
            self.send_clone(copy, session, CopyKind::EgressClone, observer);
        }
        if packet.get(program.intrinsic.egress_spec) == u64::from(DROP_PORT) {
            return self.drop(packet, DropPlace::Egress, observer);
        }
        let mut bytes = std::mem::take(&mut self.out);
        self.core
            .deparse(&program, &mut packet, &mut bytes, observer);
        match requests.recirculate.filter(|list| *list != 0) {
            Some(list) => {
                packet.times.leave(DutStage::Egress, time.end());
                self.recirculate(&program, packet, &bytes, list, observer);
            }
            None => self.send(packet, port, &bytes, time, out, observer),
        }
        self.out = bytes;
    }

    fn dequeued(&self, program: &Program, packet: &mut Packet, port: u32, priority: u64, now: u64) {
        let known = &program.intrinsic;
        packet.set(known.egress_timestamp, now / 1000);
        if let (Some(enqueued), Some(delta)) = (known.enq_timestamp, known.deq_timedelta) {
            packet.set(delta, (now / 1000).wrapping_sub(packet.get(enqueued)));
        }
        packet.set(
            known.deq_qdepth,
            self.queues.depth(port, priority).unwrap_or(0) as u64,
        );
        packet.set(known.qid, priority);
        packet.set(known.egress_port, port.into());
        packet.set(known.packet_length, packet.length);
        // Any value but the drop port's: the program drops by setting that one.
        packet.set(known.egress_spec, 0);
    }

    fn recirculate<O: Observer>(
        &mut self,
        program: &Program,
        packet: Box<Packet>,
        bytes: &[u8],
        list: u64,
        observer: &mut O,
    ) {
        let mut again = self.queues.spare();
        again.copy_from(&packet);
        again.clear(program);
        again.bytes.clear();
        again
            .bytes
            .extend_from_slice(&bytes[..bytes.len().min(self.limits.packet)]);
        again.length = again.bytes.len() as u64;
        again.keep_only(program, Some(list), &packet);
        again.set(
            program.intrinsic.instance_type,
            Instance::Recirculated as u64,
        );
        again.set(program.intrinsic.packet_length, again.length);
        self.queues.give_back(packet);
        self.again(again, CopyKind::Recirculated, observer);
    }

    fn send<O: Observer>(
        &mut self,
        mut packet: Box<Packet>,
        port: u32,
        bytes: &[u8],
        time: &mut impl Time,
        out: &mut impl FnMut(u32, &[u8]),
        observer: &mut O,
    ) {
        let connected = self
            .connected
            .as_ref()
            .is_none_or(|ports| ports.get(port as usize) == Some(&true));
        if !connected {
            return self.drop(packet, DropPlace::NoPort, observer);
        }
        if let Some(counters) = self.ports.get_mut(port as usize) {
            counters.sent += 1;
        }
        if O::LISTENS {
            observer.event(Event::Sent { port, bytes });
        }
        out(port, bytes);
        packet.times.leave(DutStage::Egress, time.end());
        self.stages.count(&packet.times);
        self.queues.give_back(packet);
    }
}
