//! Whatever a board's shell writes, the conversation with it neither panics nor grows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_model::MonoInstant;
use linerate_model::spec::Transport;
use linerate_peers::Wire;
use linerate_peers::zperf::{Config, Event, Job, Shell};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// Time passes where the shell writes this: no shell does.
const PAUSE: u8 = 0;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, said)) = data.split_first() else {
        return;
    };
    let config = Config {
        wire: if choice & 1 == 0 { Wire::Serial } else { Wire::Telnet },
        release: None,
        timeout: Duration::from_secs(10),
        first_answer: Duration::from_secs(2),
    };
    let transport = if choice & 2 == 0 { Transport::Udp } else { Transport::Tcp };
    let mut now = MonoInstant::from_nanos(1);
    let mut shell = Shell::new(config, now);
    for piece in said.split_inclusive(|byte| *byte == PAUSE) {
        let outcome = shell.feed(now, piece);
        let mut typed = 0;
        while let Some(bytes) = shell.poll_send() {
            typed += bytes.len();
        }
        assert!(typed <= 3 * piece.len() + 256, "{typed}");
        while let Some(event) = shell.poll_event() {
            match event {
                Event::Ready(_) if choice & 4 == 0 => shell.begin(now, Job::Serve { transport, port: 5001 }),
                Event::Ready(_) => shell.begin(
                    now,
                    Job::Upload {
                        transport,
                        to: IpAddr::V4(Ipv4Addr::LOCALHOST),
                        port: 5001,
                        seconds: 1,
                        size: 1000,
                        bps: Some(1_000_000),
                    },
                ),
                Event::Serving => shell.traffic_ended(now),
                _ => {}
            }
        }
        if outcome.is_err() {
            assert_eq!(shell.deadline(), None);
            return;
        }
        if piece.ends_with(&[PAUSE])
            && let Some(deadline) = shell.deadline()
        {
            now = deadline;
            drop(shell.pass(now));
        }
    }
});
