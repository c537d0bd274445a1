//! Handle of a running link element for its owner.

use super::draw::split;
use super::element::{Command, Element, Lane};
use super::{LinkConfig, LinkCounters, Shaper};
use crate::{HostId, Result, TeardownError, TestbedError};
use linerate_sys::packet::{FrameSender, PacketRing};
use linerate_sys::wake::Waker;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// The element's end of an interface.
#[derive(Debug)]
pub(crate) struct Port {
    /// Receives frames of the interface.
    pub(crate) ring: PacketRing,
    /// Sends frames on the interface.
    pub(crate) sender: FrameSender,
}

/// A running link element. Dropping it stops its thread.
#[derive(Debug)]
pub struct LinkHandle {
    commands: Sender<Command>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<io::Result<()>>>,
    thread_id: u32,
    mtu: u32,
}

impl LinkHandle {
    /// Starts to carry frames between two ports, of hosts A and B.
    pub(crate) fn start(
        ports: [Port; 2],
        configs: [LinkConfig; 2],
        mtu: u32,
        seed: u64,
    ) -> Result<Self> {
        let longest = mtu + 14;
        let [seed_a, seed_b] = split(seed);
        let [config_a, config_b] = configs;
        let [port_a, port_b] = ports;
        let (commands, inbox) = channel();
        let waker = Waker::new().map(Arc::new).map_err(TestbedError::element)?;
        let shaper_a = Shaper::new(config_a, longest, seed_a);
        let shaper_b = Shaper::new(config_b, longest, seed_b);
        let element = Element {
            lanes: [
                Lane::new(shaper_a, port_a.ring, port_b.sender, longest),
                Lane::new(shaper_b, port_b.ring, port_a.sender, longest),
            ],
            commands: inbox,
            waker: Arc::clone(&waker),
        };
        let (own_id, id) = channel();
        let thread = Builder::new()
            .name("link-element".into())
            .spawn(move || {
                // Nobody waits for it if the testbed is being taken down already.
                let _ = own_id.send(linerate_sys::thread::id());
                element.run()
            })
            .map_err(TestbedError::element)?;
        let thread_id = await_answer(&id)?;
        Ok(Self {
            commands,
            waker,
            thread: Some(thread),
            thread_id,
            mtu,
        })
    }

    /// Number of its thread, by which `/proc` lists it.
    pub(crate) fn thread_id(&self) -> u32 {
        self.thread_id
    }

    /// Counters since the link was created or reset, including frames that have just reached its interfaces.
    pub fn counters(&self) -> Result<LinkCounters> {
        let (answer, counters) = channel();
        self.command(Command::Count(answer))?;
        await_answer(&counters)?.map_err(TestbedError::element)
    }

    /// Resets all counters and numbers data packets from 1 again, so that lists and random decisions repeat. Frames in
    /// flight stay in flight and are not counted.
    pub fn reset(&self) -> Result<()> {
        let (answer, done) = channel();
        self.command(Command::Reset(answer))?;
        await_answer(&done)?.map_err(TestbedError::element)
    }

    /// Applies `config` to frames that host `from` sends from now on.
    pub fn reconfigure(&self, from: HostId, config: LinkConfig) -> Result<()> {
        config.check(self.mtu)?;
        let (answer, done) = channel();
        self.command(Command::Reconfigure(from, Box::new(config), answer))?;
        await_answer(&done)
    }

    fn command(&self, command: Command) -> Result<()> {
        self.commands
            .send(command)
            .map_err(|_| TestbedError::ElementGone)?;
        self.waker.wake().map_err(TestbedError::element)
    }

    /// Stops the thread and waits for its end.
    pub(crate) fn stop(&mut self) -> Result<(), TeardownError> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        // Fails only if the thread has ended by itself, and then `join` returns the reason.
        drop(self.command(Command::Stop));
        match thread.join() {
            Ok(result) => result.map_err(TeardownError::Element),
            Err(_) => Err(TeardownError::ElementPanicked),
        }
    }
}

impl Drop for LinkHandle {
    fn drop(&mut self) {
        // Only a fallback: a caller that wants the errors calls `TwoHosts::close`.
        drop(self.stop());
    }
}

fn await_answer<T>(answer: &Receiver<T>) -> Result<T> {
    answer.recv().map_err(|_| TestbedError::ElementGone)
}
