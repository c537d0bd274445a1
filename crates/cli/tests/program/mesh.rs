//! A mesh that is measured again and again.

use crate::harness::{Place, Running, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

/// Two agents of this host, and their inventory.
struct TwoAgents {
    place: Place,
    inventory: String,
    agents: [Server; 2],
}

impl TwoAgents {
    fn new() -> Self {
        let place = Place::new();
        let key = place.with("mesh.key", &[7; 32]);
        std::fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        let key = key.display().to_string();
        let agents = [(); 2].map(|()| {
            let listen = ["--listen", "127.0.0.1:0", "--key", &key];
            Server::with(&[&listen[..], &["--allow-mesh", "127.0.0.0/8"]].concat())
        });
        let [a, b] = agents.each_ref().map(Server::address);
        let text = format!(
            "[mesh]\ntime = \"100ms\"\nkey = \"mesh.key\"\n\
             [hosts.a]\naddress = \"{a}\"\n[hosts.b]\naddress = \"{b}\"\n"
        );
        let inventory = place.with("lab.toml", text.as_bytes());
        Self {
            place,
            inventory: inventory.display().to_string(),
            agents,
        }
    }

    /// Measures again and again, until it says `prefix`.
    fn rounds(&self, every: &str, more: &[&str], prefix: &str) -> Server {
        let args = ["mesh", &self.inventory, "--every", every, "--jitter", "0s"];
        let args = [&args[..], &["--json"], more].concat();
        Server::by_with_prefix(&mut self.place.command(&args), prefix)
    }

    fn runs(&self) -> Vec<Value> {
        self.place.listed()
    }
}

#[test]
fn each_round_is_a_run_with_the_same_title() {
    let two = TwoAgents::new();
    let rounds = two.rounds("3s", &["--title", "weekly"], "note: round 1 begins in ");
    rounds.said_until("note: round ");
    rounds.said_until("note: round ");
    let (code, said) = rounds.stop(Signal::TERM);
    // Between two rounds nothing is cut short.
    assert!(matches!(code, Some(0 | 1)), "{code:?}: {said}");
    let runs = two.runs();
    let complete = runs.iter().filter(|run| run["status"] == "complete");
    assert!(complete.count() >= 3, "{runs:?}");
    for run in &runs {
        assert_eq!(
            (&run["title"], &run["kind"]),
            (&"weekly".into(), &"study".into())
        );
    }
}

#[test]
fn what_comes_too_late_is_skipped_and_said() {
    let two = TwoAgents::new();
    // Two directions of 800 ms each.
    let rounds = two.rounds("1s", &["-t", "800ms"], "linerate: skipped: ");
    rounds.said_until("note: round ");
    rounds.stop(Signal::INT);
}

#[test]
fn a_round_that_cannot_be_made_is_told_and_the_next_one_comes() {
    let two = TwoAgents::new();
    let rounds = two.rounds("3s", &[], "note: round 1 begins in ");
    let whole = std::fs::read(&two.inventory).unwrap();
    two.place.with("lab.toml", b"[hosts]\n");
    let told = rounds.said_until("linerate: round ");
    assert!(told.contains("lab.toml"), "{told}");
    two.place.with("lab.toml", &whole);
    let before = two.runs().len();
    while two.runs().len() == before {
        rounds.said_until("note: round ");
    }
    rounds.stop(Signal::TERM);
}

#[test]
fn what_cannot_be_repeated_is_refused_before_anything_starts() {
    let two = TwoAgents::new();
    for (more, code, part) in [
        (&["--every", "1ms"][..], 3, "period"),
        (&["--every", "1h", "--jitter", "31m"], 3, "jitter"),
        (&["--every", "soon"], 2, "duration"),
        (&["--jitter", "1m"], 2, "required"),
        (&["--every", "1h", "--dry-run"], 2, "--dry-run"),
        (
            &["--every", "1h", "--max-duration", "1m"],
            2,
            "--max-duration",
        ),
    ] {
        let args = [&["mesh", &two.inventory][..], more].concat();
        two.place.run(&args).failed(code, &[part]);
    }
    assert!(two.runs().is_empty());
}

#[test]
fn a_limit_ends_the_round_and_keeps_what_was_measured() {
    let two = TwoAgents::new();
    let args = ["mesh", &two.inventory, "-t", "1s", "--repetitions", "1000"];
    let ended = two
        .place
        .run(&[&args[..], &["--max-duration", "4s"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let [run] = &two.runs()[..] else {
        panic!("one run")
    };
    assert_eq!(run["status"], "incomplete");
    assert!(run["parts"].as_u64().unwrap() > 0, "{run}");
}

/// Its agents are leased to it until its term is over. The next mesh waits for that, and then measures all.
#[test]
fn a_controller_that_is_killed_keeps_its_agents_for_a_term_at_most() {
    let two = TwoAgents::new();
    let key = two.place.file("mesh.key").display().to_string();
    let [host, _] = two.agents.each_ref().map(Server::address);
    let killed = Running::start(&mut two.place.command(&["mesh", &two.inventory, "-t", "10m"]));
    let mut said;
    loop {
        said = two.place.run(&["tcp", host, "--key", &key, "-t", "10ms"]);
        if said.code != Some(0) {
            break;
        }
    }
    said.failed(
        5,
        &["leased by `linerate mesh` (mesh of 2 hosts) of 127.0.0.1"],
    );
    killed.signal(Signal::KILL);
    let next = two.place.run(&["mesh", &two.inventory]);
    assert_eq!(next.code, Some(0), "{next:?}");
    assert!(next.err.contains("waiting for "), "{next:?}");
}
