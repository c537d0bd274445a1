//! The thread between the ports.

use crate::control::{Control, CpuPort};
use crate::counts::{StationCounts, add_drops, add_port};
use crate::ports::{OpenPort, PortError};
use linerate_model::dut::DutCounters;
use linerate_model::{Clock as _, MonoInstant};
use linerate_p4::{DROP_PORT, Job, Plane, Switch, Time};
use linerate_sys::clock::{MonoClock, has_passed};
use linerate_sys::wake::{Waker, wait_for_any};
use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Frames that a port gives in its turn: enough that sending costs few system calls, few enough that one port does not keep
/// another waiting.
const BURST: usize = 32;
/// Pipelines that packets go through between two rounds: of one that is copied without end a controller, and whoever ends the
/// switch, are heard within some 0.1 s.
const WORK: u32 = 1 << 16;
/// Empty rounds before the thread sleeps: some 20 µs, less than it takes to be woken.
const EMPTY_ROUNDS: u32 = 100;
/// The longest sleep, after which the thread asks whether it is to end.
const SLEEP: Duration = Duration::from_millis(100);
/// Between two looks whether the interfaces are still there.
const LOOK: Duration = Duration::from_secs(1);
/// Jobs between two rounds: a controller that writes without end leaves the ports their turns.
const JOBS: usize = 16;

/// A program between ports.
#[derive(Debug)]
pub struct Station {
    plane: Plane,
    /// Numbers of ports, that of the control plane's among them.
    numbers: Vec<u32>,
    ports: Vec<(u32, OpenPort)>,
    /// Which of `ports` has a number of the program.
    places: Vec<Option<usize>>,
    cpu: Option<CpuPort>,
    jobs: Receiver<Job>,
    waker: Arc<Waker>,
    started: MonoInstant,
    idle: Idle,
    counts: StationCounts,
}

/// What the thread does while no frame comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Idle {
    /// It sleeps after some 20 µs, and the next frame waits until it wakes.
    #[default]
    Sleep,
    /// It goes on to look, and takes a whole core.
    Spin,
}

impl Station {
    /// Between `ports`, by their numbers in the program, and without a program yet.
    pub fn new(
        mut ports: Vec<(u32, OpenPort)>,
        cpu: Option<CpuPort>,
    ) -> io::Result<(Self, Control)> {
        ports.sort_by_key(|(number, _)| *number);
        let mut places = vec![None; DROP_PORT as usize];
        for (place, (number, _)) in ports.iter().enumerate() {
            if let Some(found) = places.get_mut(*number as usize) {
                *found = Some(place);
            }
        }
        let numbers = ports.iter().map(|(number, _)| *number);
        let numbers = numbers.chain(cpu.as_ref().map(|cpu| cpu.number)).collect();
        let (sender, jobs) = channel();
        let waker = Arc::new(Waker::new()?);
        let control = Control {
            jobs: sender,
            waker: Arc::clone(&waker),
        };
        let station = Self {
            plane: Plane::default(),
            numbers,
            ports,
            places,
            cpu,
            jobs,
            waker,
            started: MonoClock.now(),
            idle: Idle::default(),
            counts: StationCounts::default(),
        };
        Ok((station, control))
    }

    /// From now on it does this while no frame comes.
    pub fn set_idle(&mut self, idle: Idle) {
        self.idle = idle;
    }

    /// From now on this program runs.
    pub fn install(&mut self, switch: Switch) {
        self.plane.switch = Some(switch);
        self.connect();
    }

    /// Tells the program, which a job may have changed, what ports there are.
    fn connect(&mut self) {
        if let Some(switch) = &mut self.plane.switch {
            switch.set_ports(self.numbers.iter().copied());
        }
    }

    /// Lets packets through until `is_over` says so, which is asked at least ten times a second.
    pub fn run(&mut self, is_over: impl Fn() -> bool) -> Result<(), PortError> {
        let (mut empty, mut look) = (0, MonoClock.now().after(LOOK));
        while !is_over() {
            if has_passed(look) {
                self.look()?;
                look = MonoClock.now().after(LOOK);
            }
            let busy = self.take_jobs() | self.round();
            empty = if busy { 0 } else { empty + 1 };
            if empty >= EMPTY_ROUNDS {
                if self.idle == Idle::Sleep {
                    self.sleep();
                }
                empty = 0;
            }
        }
        Ok(())
    }

    /// Runs jobs that wait; returns whether there was one.
    fn take_jobs(&mut self) -> bool {
        let mut jobs = self.jobs.try_iter().take(JOBS).peekable();
        if jobs.peek().is_none() {
            return false;
        }
        for job in jobs {
            job(&mut self.plane, nanoseconds(self.started));
        }
        self.connect();
        let mut time = Elapsed::since(self.started);
        while let Some((port, packet)) = self.plane.next_injected()
            && let Some(switch) = &mut self.plane.switch
        {
            switch.receive(port, &packet, &mut time, &mut ());
        }
        true
    }

    /// A turn of each port, and the work that follows; returns whether there was any.
    fn round(&mut self) -> bool {
        let started = self.started;
        let mut received = 0;
        for (number, port) in &mut self.ports {
            let mut time = Elapsed::since(started);
            let taken = match &mut self.plane.switch {
                Some(switch) => port.frames.receive(BURST, &mut |frame| {
                    switch.receive(*number, frame, &mut time, &mut ());
                }),
                None => port
                    .frames
                    .receive(BURST, &mut |_| self.counts.without_program += 1),
            };
            // What fails is a port that is down or gone, which a look will show.
            received += taken.unwrap_or(0);
        }
        let (ports, places, cpu) = (&mut self.ports, &self.places, &self.cpu);
        let lost = &mut self.counts.to_control_dropped;
        let mut out = |number: u32, frame: &[u8]| {
            if let Some(place) = places.get(number as usize).copied().flatten() {
                ports[place].1.frames.send(frame);
            } else if let Some(cpu) = cpu.as_ref().filter(|cpu| cpu.number == number)
                && cpu.packets.try_send(frame.to_vec()).is_err()
            {
                *lost += 1;
            }
        };
        let mut worked = false;
        if let Some(switch) = &mut self.plane.switch {
            let mut time = Elapsed::since(started);
            let mut left = WORK;
            while left > 0 && switch.work(&mut time, &mut out, &mut ()) {
                worked = true;
                left -= 1;
            }
        }
        if worked {
            self.ports
                .iter_mut()
                .for_each(|(_, port)| port.frames.flush());
        }
        received > 0 || worked
    }

    /// Sleeps until a frame or a job is there, or for a while.
    fn sleep(&mut self) {
        let ports = self.ports.iter();
        let descriptors = ports.flat_map(|(_, port)| port.frames.descriptors());
        let all = descriptors.chain([self.waker.as_fd()]);
        // An error of a socket is that its interface is down, which passes, or gone, which a look will show.
        let _ = wait_for_any(all, Some(MonoClock.now().after(SLEEP)));
        self.waker.clear();
    }

    /// An interface that is only down comes back; one that was removed does not.
    fn look(&self) -> Result<(), PortError> {
        let mut ports = self.ports.iter();
        match ports.find(|(_, port)| !port.frames.is_there()) {
            Some((_, port)) => Err(PortError::Gone(port.name.clone())),
            None => Ok(()),
        }
    }

    /// What was counted so far.
    pub fn counts(&mut self) -> DutCounters {
        let mut counted = DutCounters::default();
        let switch = self.plane.switch.as_ref();
        for (number, port) in &mut self.ports {
            let received = switch.map_or(0, |switch| switch.port_counters(*number).received);
            add_port(&mut counted, &port.name, received, port.frames.counted());
        }
        if let Some(switch) = switch {
            add_drops(&mut counted, switch);
            counted.stages = switch.stages().collect();
        }
        self.counts.add_to(&mut counted);
        counted
    }
}

/// The time of work without a pause: the clock is read once where one packet's ends and the next one's begins.
struct Elapsed {
    since: MonoInstant,
    ended: Option<u64>,
}

impl Elapsed {
    const fn since(since: MonoInstant) -> Self {
        Self { since, ended: None }
    }
}

impl Time for Elapsed {
    fn begin(&mut self) -> u64 {
        self.ended.take().unwrap_or_else(|| nanoseconds(self.since))
    }

    fn end(&mut self) -> u64 {
        *self.ended.insert(nanoseconds(self.since))
    }
}

fn nanoseconds(since: MonoInstant) -> u64 {
    let passed = MonoClock.now().saturating_since(since).as_nanos();
    u64::try_from(passed).unwrap_or(u64::MAX)
}
