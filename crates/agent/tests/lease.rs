//! Two controllers at one agent, over loopback: who holds the lease, and what becomes of one that is not renewed.
#![expect(clippy::unwrap_used, reason = "a test")]

use linerate_agent::{Agent, AgentPlan, serve};
use linerate_client::address::{Endpoint, PeerAddress};
use linerate_client::{Client, HeldLease, LeaseOutcome, Leased, Target};
use linerate_model::agent::AgentEvent;
use linerate_model::spec::{Direction, Stop, TestSpec};
use linerate_model::{Clock as _, RefusalCode};
use linerate_peers::key::Key;
use linerate_peers::{Fence, LEASE_TERM, LeaseGrant, LeaseRequest, MAX_LAPSE_DELAY, Refusal};
use linerate_sys::clock::MonoClock;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Short, so that it is over soon.
const TERM: Duration = Duration::from_secs(3);

/// Of a test that nobody waits for.
const LONG: Duration = Duration::from_mins(1);

fn key() -> Key {
    Key::new(b"a key of these tests, no other").unwrap()
}

fn plan() -> AgentPlan {
    AgentPlan {
        key: Some(key()),
        ..AgentPlan::private()
    }
}

fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn target(port: u16, fence: Option<Fence>) -> Target {
    Target {
        key: Some(key()),
        fence,
        ..Target::new(PeerAddress::from(address(port)))
    }
}

fn client(port: u16, fence: Option<Fence>) -> Client {
    Client::connect(&target(port, fence)).unwrap()
}

fn ask(port: u16, request: LeaseRequest) -> Result<LeaseGrant, Refusal> {
    client(port, None).lease(request).unwrap()
}

fn take(holder: &str, term: Duration) -> LeaseRequest {
    let holder = holder.to_owned();
    LeaseRequest::Take { holder, term }
}

/// Asks until it is granted: until the lease of another, or a test, is over.
fn taken(port: u16, holder: &str, term: Duration) -> Fence {
    let mut controller = client(port, None);
    loop {
        match controller.lease(take(holder, term)).unwrap() {
            Ok(grant) => return grant.fence,
            Err(refusal) => assert_eq!(refusal.code, RefusalCode::Busy, "{refusal:?}"),
        }
    }
}

fn spec(time: Duration) -> TestSpec {
    TestSpec {
        stop: Stop::After(time),
        ..TestSpec::tcp_bulk()
    }
}

/// A test of this lease, or of none.
fn test(port: u16, fence: Option<Fence>) -> Result<(), String> {
    let spec = spec(Duration::from_millis(20));
    let made = client(port, fence).run(&spec, &mut |_| true);
    made.map(drop).map_err(|error| format!("{error:#}"))
}

#[track_caller]
fn is_refused(made: Result<(), String>, why: &str) {
    let error = made.unwrap_err();
    assert!(error.contains(why), "{error}");
}

#[test]
fn while_one_controller_holds_the_lease_no_test_of_others_is_made() {
    let agent = Agent::start(plan()).unwrap();
    let port = agent.port();
    test(port, None).unwrap();
    let first = taken(port, "the first", LEASE_TERM);
    let refused = ask(port, take("the second", LEASE_TERM)).unwrap_err();
    assert_eq!(refused.code, RefusalCode::Busy);
    let leased = "leased by the first of 127.0.0.1, for at most ";
    assert!(refused.message.contains(leased), "{refused:?}");
    is_refused(test(port, None), leased);
    is_refused(test(port, Some(Fence::new(first.get() - 1))), "is over");
    test(port, Some(first)).unwrap();
    let released = ask(port, LeaseRequest::Release { fence: first });
    assert!(released.unwrap().wanted);

    let second = taken(port, "the second", LEASE_TERM);
    assert!(second > first);
    for request in [
        LeaseRequest::Release { fence: first },
        LeaseRequest::Renew {
            fence: first,
            term: LEASE_TERM,
        },
    ] {
        let stale = ask(port, request).unwrap_err();
        assert_eq!(stale.code, RefusalCode::Timeout);
    }
    is_refused(test(port, Some(first)), "is over");
    test(port, Some(second)).unwrap();
    agent.stop().unwrap();
}

#[test]
fn a_controller_that_was_paused_changes_nothing_when_it_wakes() {
    let agent = Agent::start(plan()).unwrap();
    let port = agent.port();
    // Nothing is heard of it meanwhile, but its connection is open.
    let mut paused = client(port, None);
    let grant = paused.lease(take("paused", TERM)).unwrap().unwrap();
    let second = taken(port, "the second", LEASE_TERM);
    let renew = LeaseRequest::Renew {
        fence: grant.fence,
        term: LEASE_TERM,
    };
    let refused = paused.lease(renew).unwrap().unwrap_err();
    assert_eq!(refused.code, RefusalCode::Timeout);
    is_refused(test(port, Some(grant.fence)), "is over");
    test(port, Some(second)).unwrap();
    agent.stop().unwrap();
}

/// Passes connections on to an agent; where it listens, and what passes, one after the other.
fn relay(to: u16) -> (u16, Receiver<TcpStream>) {
    let listener = TcpListener::bind(address(0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, passing) = channel();
    thread::spawn(move || {
        for near in listener.incoming() {
            let near = near.unwrap();
            let far = TcpStream::connect(address(to)).unwrap();
            for (from, into) in [(&near, &far), (&far, &near)] {
                let mut from = from.try_clone().unwrap();
                let mut into = into.try_clone().unwrap();
                thread::spawn(move || {
                    drop(io::copy(&mut from, &mut into));
                    drop(into.shutdown(Shutdown::Both));
                });
            }
            if tell.send(near).is_err() {
                break;
            }
        }
    });
    (port, passing)
}

#[test]
fn a_lease_outlives_its_connection_and_is_renewed_over_another() {
    let agent = Agent::start(plan()).unwrap();
    let (port, passing) = relay(agent.port());
    let held = HeldLease::take(&target(port, None), "the first", TERM).unwrap();
    let LeaseOutcome::Held(Leased { fence, wall_clock }) = held.outcome() else {
        panic!("no lease")
    };
    // One host has one clock.
    let clock = wall_clock.unwrap();
    assert!(
        clock.offset_ns.unsigned_abs() <= clock.error_ns,
        "{clock:?}"
    );
    let mut other = client(agent.port(), None);
    let mut is_refused_for = |time: Duration| {
        let end = MonoClock.now().after(time);
        while MonoClock.now() < end {
            let refused = other.lease(take("the second", LEASE_TERM)).unwrap();
            let leased = "leased by the first";
            assert!(refused.unwrap_err().message.contains(leased));
        }
    };
    is_refused_for(TERM * 2);
    passing.recv().unwrap().shutdown(Shutdown::Both).unwrap();
    is_refused_for(TERM * 2);
    // Another connection came instead.
    passing.recv().unwrap();
    test(agent.port(), Some(fence)).unwrap();
    assert!(HeldLease::release(vec![held]));
    assert!(taken(agent.port(), "the second", LEASE_TERM) > fence);
    agent.stop().unwrap();
}

#[test]
fn an_agent_without_a_key_leases_its_host_to_nobody() {
    let agent = Agent::start(AgentPlan::private()).unwrap();
    let target = Target::new(PeerAddress::from(address(agent.port())));
    let mut client = Client::connect(&target).unwrap();
    assert!(!client.grants_leases());
    let refused = client.lease(take("a stranger", LEASE_TERM));
    let refused = refused.unwrap().unwrap_err();
    assert_eq!(refused.code, RefusalCode::Denied);
    assert!(refused.message.contains("--key"), "{refused:?}");
    agent.stop().unwrap();
}

#[test]
fn holding_a_lease_takes_no_place_from_its_tests() {
    let agent = Agent::start(AgentPlan {
        max_clients: 1,
        ..plan()
    });
    let agent = agent.unwrap();
    let mut controller = client(agent.port(), None);
    let grant = controller.lease(take("the first", LEASE_TERM));
    let fence = grant.unwrap().unwrap().fence;
    test(agent.port(), Some(fence)).unwrap();
    agent.stop().unwrap();
}

/// Ends a server with the test, however that ends.
struct Stopped<'a>(&'a AtomicBool);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The controller is there all the time, and its connection too: only its lease is over.
#[test]
fn a_lease_that_is_not_renewed_stops_its_senders() {
    for direction in [Direction::Forward, Direction::Reverse] {
        let dialer = Agent::start(plan()).unwrap();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let (tell, events) = channel();
            let stop = &stop;
            let _end = Stopped(stop);
            scope.spawn(move || {
                let told = &mut |event: &AgentEvent| drop(tell.send(event.clone()));
                serve(&plan(), stop, told).unwrap();
            });
            let listener = events.iter().find_map(|event| match event {
                AgentEvent::Listening { address, .. } => Some(address.port()),
                _ => None,
            });
            let listener = listener.unwrap();
            let endpoint = Endpoint {
                host: "127.0.0.1".to_owned(),
                port: listener,
                key: Some(key()),
            };
            let there = taken(listener, "the first", TERM);
            let here = taken(dialer.port(), "the first", TERM);
            let spec = TestSpec {
                direction,
                ..spec(LONG)
            };
            let mut controller = client(dialer.port(), Some(here));
            let made =
                controller.delegate(&endpoint, Some(there), &spec, Duration::ZERO, &mut || true);
            let error = format!("{:#}", made.unwrap_err());
            assert!(error.contains("is over"), "{error}");
            for port in [dialer.port(), listener] {
                taken(port, "the second", LEASE_TERM);
            }
            let length = events.iter().find_map(|event| match event {
                AgentEvent::TestOver { volume, .. } => Some(volume.duration),
                AgentEvent::TestEnded { volume, .. } => Some(volume?.duration),
                _ => None,
            });
            let length = length.unwrap();
            // Far from the end of the test. How far from the bound is a matter of the machine's load.
            assert!(length < LONG / 4, "{length:?}");
            println!("{direction:?}: {length:?} of {:?}", TERM + MAX_LAPSE_DELAY);
        });
        dialer.stop().unwrap();
    }
}
