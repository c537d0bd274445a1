//! The server: accepts the connections and answers the request on each.

use super::flows::CONFIRMATION;
use super::{Common, FILLING, MAX_WAIT, Transfer, TransferProgress, most_accepted};
use crate::control::{Received, StreamControl};
use crate::error::{EngineError, Result};
use crate::workloads::{Step, Work};
use linerate_model::sample::{AcceptedCounts, Responder, StreamReport};
use linerate_model::spec::{ConnectionClose, MAX_FLOW};
use linerate_model::{MonoInstant, PacketCount};
use linerate_sys::epoll::Interest;
use linerate_sys::failure::Failure;
use linerate_sys::tcp;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::Duration;

/// The listener's number among the sockets that are waited for.
const LISTENER: usize = usize::MAX;

/// Connections accepted before those that are open have a turn.
const ACCEPTED_AT_ONCE: usize = 64;

/// Longest time without a connection after which a server gives up that nobody ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Where a connection stands.
enum Stage {
    Requested(Transfer),
    Answering(Transfer),
    /// Answered; the client ends it.
    Answered,
}

/// What became of a connection.
#[derive(Clone, Copy)]
enum Outcome {
    Answered,
    Foreign,
    Reset,
    Unrequested,
}

struct Accepted {
    socket: TcpStream,
    stage: Stage,
    number: u64,
    /// Bytes of a flow, as its beginning says.
    size: [u8; CONFIRMATION],
    is_sized: bool,
}

/// A connection's next step.
enum Next {
    /// Waits for its socket.
    Wait,
    End(Outcome),
}

pub(super) struct Server {
    common: Common,
    listener: TcpListener,
    from: IpAddr,
    /// Whether the listener is watched: not while as many are open as may be.
    is_listening: bool,
    all: Vec<Option<Accepted>>,
    /// Places of `all` that are free.
    free: Vec<usize>,
    /// When which connection is late with its request, in order.
    deadlines: VecDeque<(MonoInstant, usize, u64)>,
    open: usize,
    most: usize,
    counts: AcceptedCounts,
    filling: Vec<u8>,
    /// When a connection last came or went on.
    last: MonoInstant,
}

impl Accepted {
    /// Reads or writes what its stage has, and whether what came is this test's.
    fn transfer(&mut self, common: &mut Common, filling: &[u8]) -> (TransferProgress, bool) {
        let socket = &self.socket;
        let mut is_ours = true;
        let moved = match &mut self.stage {
            Stage::Requested(transfer) => {
                let opening = &common.opening;
                let size = &mut self.size;
                transfer.receive(socket, &mut common.room, |at, bytes| {
                    for (place, byte) in (at..opening.len() + CONFIRMATION).zip(bytes) {
                        let place = place.checked_sub(opening.len());
                        if let Some(place) = place.and_then(|place| size.get_mut(place)) {
                            *place = *byte;
                        }
                    }
                    let rest = opening.get(at..).unwrap_or_default();
                    let known = rest.len().min(bytes.len());
                    is_ours &= rest[..known] == bytes[..known];
                })
            }
            Stage::Answering(transfer) => {
                let confirmation: &[u8] = if self.is_sized { &self.size } else { &[] };
                transfer.send(socket, confirmation, filling)
            }
            Stage::Answered => Transfer::new(1).receive(socket, &mut common.room, |_, _| {}),
        };
        (moved, is_ours)
    }

    /// Goes on with a flow of the size that its first `head` bytes say; `false` if none can have it.
    fn take_size(&mut self, head: usize) -> bool {
        let size = u64::from_be_bytes(self.size);
        self.is_sized = (head as u64..=MAX_FLOW.get()).contains(&size);
        self.stage = Stage::Requested(Transfer {
            done: head,
            length: usize::try_from(size).unwrap_or(usize::MAX),
        });
        self.is_sized
    }
}

impl Server {
    pub(super) fn new(common: Common, listener: TcpListener, from: IpAddr) -> Result<Self> {
        let watched = common.readiness.add(&listener, LISTENER, Interest::Read);
        watched.map_err(|error| EngineError::io("watch", &"a data port", error))?;
        let most = most_accepted(common.plan.connections, common.work.close);
        Ok(Self {
            most: usize::try_from(most).unwrap_or(usize::MAX),
            filling: vec![FILLING; common.room.len()],
            common,
            listener,
            from,
            is_listening: true,
            all: Vec::new(),
            free: Vec::new(),
            deadlines: VecDeque::new(),
            open: 0,
            counts: AcceptedCounts::default(),
            last: MonoInstant::default(),
        })
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTED_AT_ONCE {
            if self.open >= self.most {
                return;
            }
            let accepted = self.listener.accept();
            let now = self.common.clock.now();
            let (socket, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    if error.kind() != ErrorKind::WouldBlock {
                        self.common.fail(Failure::from_io("accept", &error), now);
                    }
                    return;
                }
            };
            self.counts.accepted.grow(1);
            self.last = now;
            self.common.progress.hear();
            if address.ip().to_canonical() != self.from {
                self.counts.foreign.grow(1);
                continue;
            }
            self.take(socket, now);
        }
    }

    /// Takes a connection of the client.
    fn take(&mut self, socket: TcpStream, now: MonoInstant) {
        // A flow says its size first.
        let request = match &self.common.work.flows {
            Some(_) => self.common.opening.len() + CONFIRMATION,
            None => self.common.work.request.as_usize(),
        };
        let request = Transfer::new(request);
        let number = self.counts.accepted.get();
        let accepted = Accepted {
            socket,
            stage: Stage::Requested(request),
            number,
            size: [0; CONFIRMATION],
            is_sized: false,
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            self.all.len() - 1
        });
        self.all[index] = Some(accepted);
        self.open += 1;
        let most = self.counts.most_open.get().max(self.open as u64);
        self.counts.most_open = PacketCount::new(most);
        // The request has often come with it, and then nothing needs to be watched.
        if let Next::End(outcome) = self.go_on(index) {
            self.end(index, outcome);
            return;
        }
        let late = now.after(self.common.work.timeout);
        self.deadlines.push_back((late, index, number));
        let socket = self.all[index].as_ref().map(|accepted| &accepted.socket);
        let watched =
            socket.map(|socket| self.common.readiness.add(socket, index, Interest::Changes));
        if let Some(Err(error)) = watched {
            self.common.fail(Failure::from_io("epoll_ctl", &error), now);
            self.end(index, Outcome::Reset);
        }
    }

    /// Moves connection `index` as far as it goes.
    fn go_on(&mut self, index: usize) -> Next {
        let Some(Some(accepted)) = self.all.get_mut(index) else {
            return Next::Wait;
        };
        let common = &mut self.common;
        loop {
            let (moved, is_ours) = accepted.transfer(common, &self.filling);
            if !is_ours {
                return Next::End(Outcome::Foreign);
            }
            match (moved, &accepted.stage) {
                (TransferProgress::Blocked, _) => return Next::Wait,
                (TransferProgress::Whole, Stage::Requested(head))
                    if common.work.flows.is_some() && !accepted.is_sized =>
                {
                    let head = head.length;
                    if !accepted.take_size(head) {
                        return Next::End(Outcome::Foreign);
                    }
                }
                (TransferProgress::Whole, Stage::Requested(request)) => {
                    let mut answer = common.work.response.as_usize();
                    if accepted.is_sized {
                        // What came, not what was announced.
                        accepted.size = (request.done as u64).to_be_bytes();
                        answer = CONFIRMATION;
                    }
                    accepted.stage = Stage::Answering(Transfer::new(answer));
                }
                (TransferProgress::Whole, Stage::Answering(_)) => {
                    accepted.stage = Stage::Answered;
                    let now = common.clock.now();
                    self.last = now;
                    let came = if accepted.is_sized {
                        u64::from_be_bytes(accepted.size)
                    } else {
                        common.work.request.get()
                    };
                    common.count(now, came);
                    if common.work.close == ConnectionClose::Server {
                        return Next::End(Outcome::Answered);
                    }
                }
                (_, Stage::Answered) => return Next::End(Outcome::Answered),
                (TransferProgress::Ended | TransferProgress::Failed(_), _) => {
                    return Next::End(Outcome::Reset);
                }
            }
        }
    }

    fn end(&mut self, index: usize, outcome: Outcome) {
        if self.all[index].take().is_none() {
            return;
        }
        self.free.push(index);
        self.open -= 1;
        let count = match outcome {
            Outcome::Answered => &mut self.counts.answered,
            Outcome::Foreign => &mut self.counts.foreign,
            Outcome::Reset => &mut self.counts.reset,
            Outcome::Unrequested => &mut self.counts.unrequested,
        };
        count.grow(1);
    }

    /// Ends what is late by `now`.
    fn expire(&mut self, now: MonoInstant) {
        let is_held = self.common.work.close == ConnectionClose::Hold;
        while let Some((late, index, number)) = self.deadlines.front().copied() {
            let awaited = self.all[index].as_ref().filter(|one| one.number == number);
            let outcome = match awaited.map(|one| &one.stage) {
                None => None,
                Some(Stage::Answered) if is_held => None,
                Some(Stage::Requested(_)) => Some(Outcome::Unrequested),
                Some(Stage::Answering(_)) => Some(Outcome::Reset),
                Some(Stage::Answered) => Some(Outcome::Answered),
            };
            if outcome.is_some() && now < late {
                return;
            }
            self.deadlines.pop_front();
            if let Some(outcome) = outcome {
                self.end(index, outcome);
            }
        }
    }

    /// Watches the listener while another connection may be open.
    fn watch_listener(&mut self, now: MonoInstant) {
        let has_room = self.open < self.most;
        if has_room == self.is_listening {
            return;
        }
        let readiness = &self.common.readiness;
        let changed = if has_room {
            readiness.add(&self.listener, LISTENER, Interest::Read)
        } else {
            readiness.remove(&self.listener)
        };
        match changed {
            Ok(()) => self.is_listening = has_room,
            Err(error) => self.common.fail(Failure::from_io("epoll_ctl", &error), now),
        }
    }
}

impl Work for Server {
    fn begin(&mut self, start: MonoInstant) {
        self.common.begin(start);
        self.last = start;
    }

    fn turn(&mut self, now: MonoInstant, control: &StreamControl) -> Step {
        let index = usize::from(self.common.plan.index);
        let is_held = self.common.work.close == ConnectionClose::Hold;
        let is_silent = !is_held && now.saturating_since(self.last) > IDLE_TIMEOUT;
        if is_silent || control.is_over(index, Received::Unknown, self.last, now) {
            return Step::Done;
        }
        self.expire(now);
        self.watch_listener(now);
        let ready = self.common.wait(MAX_WAIT, now);
        for index in &ready {
            if *index == LISTENER {
                self.accept();
            } else if let Next::End(outcome) = self.go_on(*index) {
                self.end(*index, outcome);
            }
        }
        self.common.ready = ready;
        let now = self.common.clock.now();
        if now >= self.common.tally.start() {
            self.common.tally.roll(now);
        }
        Step::Again
    }

    fn finish(self: Box<Self>, _now: MonoInstant) -> StreamReport {
        let rest = self.all.iter().flatten();
        let unfinished = rest.filter(|one| !matches!(one.stage, Stage::Answered));
        let unfinished = unfinished.count();
        let mut counts = AcceptedCounts {
            unfinished: PacketCount::new(unfinished as u64),
            time_wait: tcp::time_wait_sockets().map(PacketCount::new),
            ..self.counts
        };
        counts.answered.grow((self.open - unfinished) as u64);
        let duration = self.common.tally.active();
        let work = Responder {
            connections: Some(counts),
            ..Responder::default()
        };
        self.common.report(duration, work)
    }
}
