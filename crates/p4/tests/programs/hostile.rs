//! What no network and no compiler should send, through every program: refused or executed, each time alike.

use crate::program::{load, names, read};
use linerate_p4::stf::{self, Statement};
use linerate_p4::{Limits, Program, Switch};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::sync::Arc;

/// A runner whose cases are the same in every run.
fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, random)
}

/// What a packet test sends.
fn packets(test: &str) -> Vec<(u32, Vec<u8>)> {
    let statements = stf::parse(test).expect("statements");
    let packet = |(_, statement)| match statement {
        Statement::Packet { port, bytes } => Some((port, bytes)),
        _ => None,
    };
    statements.into_iter().filter_map(packet).collect()
}

/// A packet of the program's test, with bytes changed, cut at its end, or longer.
fn damaged() -> impl Strategy<Value = (Index, Vec<(Index, u8)>, usize)> {
    let changes = proptest::collection::vec((any::<Index>(), any::<u8>()), 0..6);
    (any::<Index>(), changes, 0_usize..200)
}

fn damage(packet: &[u8], changes: &[(Index, u8)], length: usize) -> Vec<u8> {
    let mut packet = packet.to_vec();
    if length < 100 {
        packet.truncate(length);
    } else if length > 150 {
        packet.resize(length, 0x5a);
    }
    for (at, byte) in changes {
        if !packet.is_empty() {
            let at = at.index(packet.len());
            packet[at] = *byte;
        }
    }
    packet
}

#[test]
fn damaged_packets_are_counted_and_sent_alike_each_time() {
    for name in names() {
        let test = read(&name, "stf");
        let seeds = packets(&test);
        let (program, entries) = (load(&name), stf::parse(&test).expect("statements"));
        let inputs = proptest::collection::vec(damaged(), 1..40);
        let run = runner(60).run(&inputs, |inputs| {
            let [first, second] = [(); 2].map(|()| {
                let mut switch = Switch::new(Arc::clone(&program), Limits::default(), 1);
                stf::control(&mut switch, &entries).expect("entries of its own test");
                let mut sent = Vec::new();
                for (at, (seed, changes, length)) in inputs.iter().enumerate() {
                    let (port, packet) = seed.get(&seeds);
                    let packet = damage(packet, changes, *length);
                    switch.process(*port, &packet, at as u64 * 1000, &mut |port, bytes| {
                        sent.push((port, bytes.to_vec()));
                    });
                }
                let received: u64 = (0..511)
                    .map(|port| switch.port_counters(port).received)
                    .sum();
                (sent, received)
            });
            prop_assert_eq!(first.1, inputs.len() as u64);
            prop_assert!(first == second);
            Ok(())
        });
        run.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_damaged_program_is_refused_with_words_or_runs() {
    let (mut refused, mut loaded) = (0, 0);
    for name in names() {
        let (json, seeds) = (
            read(&name, "json").into_bytes(),
            packets(&read(&name, "stf")),
        );
        let changes = proptest::collection::vec((any::<Index>(), b' '..b'~'), 1..4);
        let counts = std::cell::RefCell::new((0, 0));
        let run = runner(25).run(&changes, |changes| {
            let mut text = json.clone();
            for (at, byte) in changes {
                let at = at.index(text.len());
                text[at] = byte;
            }
            match Program::from_json(&text) {
                Err(error) => {
                    prop_assert!(!error.to_string().is_empty());
                    counts.borrow_mut().0 += 1;
                }
                Ok(program) => {
                    let mut switch = Switch::new(Arc::new(program), Limits::default(), 0);
                    for (port, packet) in &seeds {
                        switch.process(*port, packet, 0, &mut |_, _| ());
                    }
                    counts.borrow_mut().1 += 1;
                }
            }
            Ok(())
        });
        run.unwrap_or_else(|error| panic!("{name}: {error}"));
        let (no, yes) = counts.into_inner();
        refused += no;
        loaded += yes;
    }
    // Both ways are met often.
    assert!(refused > 100 && loaded > 30, "{refused} {loaded}");
}
