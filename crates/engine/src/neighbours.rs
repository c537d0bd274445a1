//! The ports of a tester as hosts on their links: each answers for its own address, and finds out to which MAC address its
//! frames go, by ARP and IPv6 neighbour discovery.
//!
//! ```text
//!   thread of port A ── who has the gateway? ──► device            its MAC address: where port A's frames go
//!   thread of port B ◄── who has B's address? ── device            answered as long as the thread runs
//! ```
//! The kernel of the port's host knows nothing of these addresses. Test frames pass by: the threads see frames of ARP alone,
//! or of IPv6.

use crate::datapaths::{PortEnd, port_end};
use crate::error::{EngineError, Result};
use crate::plan::Role;
use linerate_frames::FrameHeaders;
use linerate_frames::neighbour::{self, ETHERTYPE_ARP, Message, Neighbour};
use linerate_model::{Clock as _, MonoInstant};
use linerate_sys::clock::MonoClock;
use linerate_sys::netlink::MacAddress;
use linerate_sys::packet::{FrameSender, PacketRing, Promiscuous, RingLayout};
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a question is asked until it is answered, and how long that goes on: RFC 4861's timers and numbers.
const ASK_INTERVAL: Duration = Duration::from_secs(1);
const ASK_LIMIT: Duration = Duration::from_millis(3_200);
/// How often it is asked again afterwards: before hosts and routers forget who asked (RFC 4861: 30 s).
const REFRESH_INTERVAL: Duration = Duration::from_secs(10);
/// Age from which on an answer is none any more: three questions without one.
const MAX_AGE: Duration = Duration::from_secs(35);
/// Longest sleep of a thread: bounds how long its end takes.
const SLEEP: Duration = Duration::from_millis(20);
/// Memory of received frames.
const RING_BYTES: u32 = 1 << 20;
const FRAME_BYTES: u32 = 1514;

/// A port as a host on its link. Its thread ends with it.
#[derive(Debug)]
pub struct PortHost {
    interface: String,
    own: IpAddr,
    wanted: IpAddr,
    /// Until when the first answer is waited for.
    patience: MonoInstant,
    known: Arc<Answers>,
    thread: Option<JoinHandle<()>>,
}

/// What a thread found out.
#[derive(Debug, Default)]
struct Answers {
    /// The MAC address of what was asked for, and when it was said last.
    answer: Mutex<Option<(MacAddress, MonoInstant)>>,
    changed: Condvar,
    ends: AtomicBool,
}

/// MAC address of the port that one end of a datapath with these parameters has, in the calling thread's network.
///
/// # Errors
/// Parameters that name no ports, an interface that is not there, or not Ethernet.
pub fn port_mac(params: &BTreeMap<String, String>, role: Role) -> Result<MacAddress> {
    Ok(port_end(params, role)?.0.mac)
}

impl PortHost {
    /// Starts to answer and to ask on the port that one end of a datapath with these parameters has, on the calling
    /// thread's network. Its frames go to `gateway`; `None`: to the other port's address.
    ///
    /// # Errors
    /// Parameters that name no ports, an interface that is not there, or missing privileges.
    pub fn start(
        params: &BTreeMap<String, String>,
        role: Role,
        gateway: Option<IpAddr>,
    ) -> Result<Self> {
        let (end, other) = port_end(params, role)?;
        let wanted = gateway.unwrap_or(other);
        if wanted.is_ipv4() != end.address.is_ipv4() {
            let why = format!("it is not of the family of the port's own {}", end.address);
            let key = match role {
                Role::Client => "a-gateway",
                Role::Server => "b-gateway",
            };
            return Err(EngineError::plan(key, &wanted, why));
        }
        Self::on(end, wanted)
    }

    fn on(end: PortEnd, wanted: IpAddr) -> Result<Self> {
        let name = format!("port {}", end.interface);
        let failed = |error: io::Error| EngineError::Host {
            what: format!("asking for neighbours at {name}"),
            why: error.to_string(),
            remedy: "run as root (CAP_NET_RAW)",
        };
        let known = Arc::new(Answers::default());
        let layout = RingLayout::new(FRAME_BYTES, RING_BYTES);
        let layout = layout.ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
        // As narrow as a packet socket is: test frames of IPv4 never come here.
        let protocol = match end.address {
            IpAddr::V4(_) => ETHERTYPE_ARP,
            IpAddr::V6(_) => linerate_frames::ETHERTYPE_IPV6,
        };
        let speaker = Speaker {
            ring: PacketRing::open_for(end.index, layout, protocol).map_err(failed)?,
            sender: FrameSender::open(end.index).map_err(failed)?,
            _promiscuous: Promiscuous::hold(end.index).map_err(failed)?,
            own: Neighbour {
                mac: end.mac.0,
                address: end.address,
            },
            wanted,
            headers: end.headers,
            known: Arc::clone(&known),
        };
        let thread = std::thread::Builder::new()
            .name(format!("arp {}", end.interface))
            .spawn(move || speaker.run())
            .map_err(failed)?;
        Ok(Self {
            interface: end.interface,
            own: end.address,
            wanted,
            patience: MonoClock.now().after(ASK_LIMIT),
            known,
            thread: Some(thread),
        })
    }

    /// To which MAC address the frames of the port go; `None` while it waits for the first answer.
    ///
    /// # Errors
    /// Nobody answered: at which port, for which address, to what.
    pub fn next_hop(&self) -> Result<Option<MacAddress>> {
        self.judged(*self.known.lock(), MonoClock.now())
    }

    /// To which MAC address the frames of the port go. Waits for the first answer.
    ///
    /// # Errors
    /// Nobody answered: at which port, for which address, to what.
    pub fn resolved(&self) -> Result<MacAddress> {
        let mut answer = self.known.lock();
        loop {
            let now = MonoClock.now();
            if let Some(mac) = self.judged(*answer, now)? {
                return Ok(mac);
            }
            let left = self.patience.saturating_since(now);
            let waited = self.known.changed.wait_timeout(answer, left);
            answer = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn judged(
        &self,
        answer: Option<(MacAddress, MonoInstant)>,
        now: MonoInstant,
    ) -> Result<Option<MacAddress>> {
        match answer {
            Some((mac, at)) if now.saturating_since(at) < MAX_AGE => Ok(Some(mac)),
            None if now < self.patience => Ok(None),
            _ => Err(EngineError::Host {
                what: format!(
                    "finding the MAC address of {} at port {}",
                    self.wanted, self.interface
                ),
                why: format!(
                    "nobody answered within {:.0} s to: {}",
                    ASK_LIMIT.as_secs_f64(),
                    neighbour::in_words(self.own, self.wanted)
                ),
                remedy: "give the address of the router's port (--a-gateway, --b-gateway), tags as it expects them (--headers), or the MAC addresses themselves (--neighbours static --a-to --b-to)",
            }),
        }
    }
}

impl Drop for PortHost {
    fn drop(&mut self) {
        self.known.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ended by a panic, which is printed already.
            drop(thread.join());
        }
    }
}

impl Answers {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(MacAddress, MonoInstant)>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a thread works with.
struct Speaker {
    ring: PacketRing,
    sender: FrameSender,
    _promiscuous: Promiscuous,
    own: Neighbour,
    wanted: IpAddr,
    headers: FrameHeaders,
    known: Arc<Answers>,
}

impl Speaker {
    fn run(mut self) {
        let mut ask_at = MonoClock.now();
        while !self.known.ends.load(Ordering::Relaxed) {
            let now = MonoClock.now();
            if now >= ask_at {
                self.send(&neighbour::request(&self.headers, self.own, self.wanted));
                let is_known = self.known.lock().is_some();
                ask_at = now.after(if is_known {
                    REFRESH_INTERVAL
                } else {
                    ASK_INTERVAL
                });
            }
            // An interface that went away shows in the trial's own counts.
            if self.ring.wait(SLEEP).is_err() {
                linerate_sys::clock::sleep_until(now.after(SLEEP));
            }
            self.hear();
        }
    }

    fn hear(&mut self) {
        let (own, wanted, known) = (self.own, self.wanted, &self.known);
        let mut askers = Vec::new();
        self.ring.drain(usize::MAX, |frame| {
            let from = match neighbour::read(frame.bytes) {
                Some(Message::Request { from, wanted }) if wanted == own.address => {
                    askers.push(from);
                    from
                }
                Some(Message::Reply(from)) => from,
                Some(Message::Request { .. }) | None => return,
            };
            // Who asks for this port tells its own address too (RFC 826, RFC 4861 §7.2.3).
            if from.address == wanted {
                *known.lock() = Some((MacAddress(from.mac), MonoClock.now()));
                known.changed.notify_all();
            }
        });
        for asker in askers {
            self.send(&neighbour::reply(&self.headers, self.own, asker));
        }
    }

    /// A frame that the interface does not take is as good as lost on its way: questions are asked again.
    fn send(&self, frame: &[u8]) {
        drop(self.sender.send(&[IoSlice::new(frame)]));
    }
}
