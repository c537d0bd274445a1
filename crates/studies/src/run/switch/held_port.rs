//! Port B as a host on its link, for as long as the run goes on: its agent answers for it while a session lasts.

use anyhow::Result;
use linerate_client::Client;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::DescriptionRequest;
use linerate_sys::clock::MonoClock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the agent is asked for the next hop until it is known, and afterwards: agents learn of its changes every 10 s.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const REFRESH_INTERVAL: Duration = Duration::from_secs(5);

/// A session that keeps the port, on a thread. It ends with this value.
pub(super) struct HeldPort {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

struct State {
    /// MAC address of the port's next hop, as the agent told it last.
    next_hop: Mutex<Result<Option<String>, Failure>>,
    changed: Condvar,
    ends: AtomicBool,
}

impl HeldPort {
    /// Keeps the port of `request` by the session of `client`.
    pub(super) fn start(mut client: Client, request: DescriptionRequest) -> Result<Self> {
        let state = Arc::new(State {
            next_hop: Mutex::new(Ok(None)),
            changed: Condvar::new(),
            ends: AtomicBool::new(false),
        });
        let kept = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("port b".to_owned())
            .spawn(move || kept.keep(&mut client, &request))?;
        Ok(Self {
            state,
            thread: Some(thread),
        })
    }

    /// MAC address to which the frames of port B go. Waits for its first answer, which the agent bounds.
    pub(super) fn next_hop(&self) -> Result<String, Failure> {
        let mut told = self.state.lock();
        loop {
            if let Some(mac) = told.clone()? {
                return Ok(mac);
            }
            let waited = self.state.changed.wait(told);
            told = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    fn keep(&self, client: &mut Client, request: &DescriptionRequest) {
        while !self.is_over() {
            let told = client.describe(request).map(|port| port.next_hop);
            let pause = match told {
                Ok(None) => POLL_INTERVAL,
                _ => REFRESH_INTERVAL,
            };
            self.tell(told);
            let due = MonoClock.now().after(pause);
            while MonoClock.now() < due && !self.is_over() {
                if let Err(error) = client.tend() {
                    return self.tell(Err(error));
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    fn tell(&self, told: Result<Option<String>>) {
        *self.lock() = told.map_err(|error| {
            let known = Failure::of(error.as_ref()).cloned();
            known.unwrap_or_else(|| Failure::new(ExitCode::Other, format!("{error:#}")))
        });
        self.changed.notify_all();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Result<Option<String>, Failure>> {
        self.next_hop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HeldPort {
    fn drop(&mut self) {
        self.state.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ended by a panic, which is printed already.
            drop(thread.join());
        }
    }
}
