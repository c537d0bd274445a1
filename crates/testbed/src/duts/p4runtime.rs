//! A P4Runtime switch that runs already, between two interfaces of this host: linerate's own, BMv2's
//! `simple_switch_grpc`, or hardware.
//!
//! `linerate-p4` speaks with it, so that this program needs no event loop. What passed the switch's ports is what passed
//! the interfaces that lead to them; its own counters are those of its program.

use super::cables::{GivenPorts, Tester};
use super::p4::{SWITCH, available};
use super::params::{PORTS, params};
use super::{Availability, Dut, DutKind, DutParam, DutSetup};
use crate::{Result, TeardownError, TestbedError};
use linerate_model::dut::{DutChoice, DutCounters, DutFacts, DutWork};
use linerate_model::exit::ExitCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

pub(super) struct P4Runtime;

params! {
    [
        DutParam { name: DutChoice::ADDRESS, values: "HOST:PORT", usual: "needed", summary: "Where it serves P4Runtime; p4runtime://HOST:PORT is the same." },
        PORTS[0],
        PORTS[1],
    ]
    PIPELINE = "pipeline": "FILE" ("what it runs"),
        "Program that it is made to run: for BMv2 and linerate, what p4c-bm2-ss wrote.";
    P4INFO = "p4info": "FILE" ("needed with a pipeline"),
        "The program's P4Info, in text or binary form.";
    ENTRIES = "entries": "FILE" ("none"),
        "Entries to add: JSON as of table list, CSV, or lines of a packet test (STF).";
    DEVICE_ID = "device-id": "NUMBER" ("1"),
        "The number that it has at that address.";
    ELECTION_ID = "election-id": "NUMBER" ("1"),
        "Linerate's number as a controller; the largest one writes.";
    TLS_CA = "tls-ca": "FILE" ("no encryption"),
        "Certificates of whom the switch must have its own from, in PEM form.";
    TLS_NAME = "tls-name": "NAME" ("the host of its address"),
        "The name in the switch's certificate.";
    TLS_CERT = "tls-cert": "FILE" ("none"),
        "Certificate to show the switch.";
    TLS_KEY = "tls-key": "FILE" ("needed with a certificate"),
        "The certificate's private key.";
}

impl DutKind for P4Runtime {
    fn id(&self) -> &'static str {
        "p4runtime"
    }

    fn summary(&self) -> &'static str {
        "A P4Runtime switch that runs already, between two interfaces of this host."
    }

    fn params(&self) -> &'static [DutParam] {
        PARAMS
    }

    fn is_between_given_ports(&self) -> bool {
        true
    }

    fn programs(&self, _setup: &DutSetup) -> Availability {
        available()
    }

    fn start(&self, setup: &DutSetup) -> Result<Box<dyn Dut>> {
        let need = |key: &str, want: &str| {
            let text = setup.text(key).filter(|text| !text.is_empty());
            text.map(str::to_owned)
                .ok_or_else(|| setup.refused(key, "", want))
        };
        let far = Far {
            address: need(DutChoice::ADDRESS, "give p4runtime://HOST:PORT")?,
            device: setup.number(DEVICE_ID, 0..=u32::MAX)?.unwrap_or(1),
            election: setup.number(ELECTION_ID, 1..=u32::MAX)?.unwrap_or(1),
            tls: tls(setup)?,
        };
        let files = [PIPELINE, P4INFO, ENTRIES].map(|key| setup.file(key));
        let [pipeline, p4info, entries] = files;
        let (pipeline, p4info, entries) = (pipeline?, p4info?, entries?);
        let given = PORTS.map(|port| need(port.name, "give an interface of this host"));
        let [a, b] = given;
        let ports = GivenPorts::of([&a?, &b?])?;
        match (pipeline, p4info) {
            (None, None) => {}
            (Some(pipeline), Some(p4info)) => {
                let with = ["--p4info".into(), p4info];
                far.ask::<serde_json::Value>(
                    &["pipeline", "set"],
                    [pipeline].into_iter().chain(with),
                )?;
            }
            (Some(_), None) => {
                return Err(setup.refused(P4INFO, "", "a pipeline needs its P4Info"));
            }
            (None, Some(file)) => {
                let want = "it belongs to a pipeline: give pipeline=FILE";
                return Err(setup.refused(P4INFO, file.display(), want));
            }
        }
        let runs: Runs = far.ask(&["pipeline", "show"], [])?;
        if let Some(entries) = &entries {
            far.change("add", entries)?;
        }
        let description = far.describe(&runs)?;
        let facts = DutFacts {
            choice: setup.choice.clone(),
            description,
            version: format!("P4Runtime {}", runs.p4runtime),
        };
        // A pipeline that was set is without entries when it is set again; what else was added is taken away again.
        let added = entries.filter(|_| setup.text(PIPELINE).is_none());
        Ok(Box::new(Switch {
            far,
            added,
            ports,
            facts,
        }))
    }
}

/// How the connection is encrypted, as words of `linerate-p4`.
fn tls(setup: &DutSetup) -> Result<Vec<OsString>> {
    let mut words = Vec::new();
    for key in [TLS_CA, TLS_CERT, TLS_KEY] {
        let file = setup.file(key)?;
        words.extend(
            file.into_iter()
                .flat_map(|file| [format!("--{key}").into(), file.into()]),
        );
    }
    let name = setup.text(TLS_NAME).into_iter();
    words.extend(name.flat_map(|name| [format!("--{TLS_NAME}").into(), name.into()]));
    let lacks = |key: &str, other: &str| setup.text(key).is_some() && setup.text(other).is_none();
    for (key, other) in [
        (TLS_NAME, TLS_CA),
        (TLS_CERT, TLS_CA),
        (TLS_CERT, TLS_KEY),
        (TLS_KEY, TLS_CERT),
    ] {
        if lacks(key, other) {
            let value = setup.text(key).unwrap_or_default();
            return Err(setup.refused(key, value, &format!("give {other} too")));
        }
    }
    Ok(words)
}

/// What the switch says that it runs.
#[derive(Debug, Deserialize)]
struct Runs {
    p4runtime: String,
    program: Option<String>,
    tables: u64,
}

/// What its program has counted.
#[derive(Debug, Deserialize)]
struct Counts {
    counters: Vec<Count>,
    meters: Vec<Rates>,
}

/// A meter that is set, in what it counts.
#[derive(Debug, Deserialize)]
struct Rates {
    meter: String,
    of: String,
    unit: String,
    committed: u64,
    peak: u64,
}

impl Rates {
    fn words(&self) -> String {
        let Self {
            meter,
            of,
            unit,
            committed,
            peak,
        } = self;
        format!("meter {meter} [{of}] {committed} to {peak} {unit}/s")
    }
}

#[derive(Debug, Deserialize)]
struct Count {
    counter: String,
    of: String,
    packets: u64,
    bytes: u64,
}

/// Where it is, and who writes there.
#[derive(Debug)]
struct Far {
    address: String,
    device: u32,
    election: u32,
    tls: Vec<OsString>,
}

impl Far {
    /// Runs a command of `linerate-p4` on the switch, with these files.
    fn ask<T: DeserializeOwned>(
        &self,
        words: &[&str],
        files: impl IntoIterator<Item = PathBuf>,
    ) -> Result<T> {
        let mut command = SWITCH.command();
        command.args(words).arg(&self.address).args(files);
        command
            .arg("--json")
            .arg("--device-id")
            .arg(self.device.to_string());
        command.arg("--election-id").arg(self.election.to_string());
        command.args(&self.tls);
        let step = || TestbedError::step(format!("running {} {}", SWITCH.name, words.join(" ")));
        let output = command.output().map_err(step())?;
        if output.status.success() {
            let answer = serde_json::from_slice(&output.stdout);
            return answer.map_err(|error| step()(io::Error::other(error)));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("error: ");
        let code = output.status.code().and_then(ExitCode::of);
        Err(TestbedError::DutRefuses {
            dut: "p4runtime",
            code: code.unwrap_or(ExitCode::Other),
            said: if said.is_empty() {
                output.status.to_string()
            } else {
                said.to_owned()
            },
        })
    }

    /// What it runs. Meters bound what it forwards, so their rates belong to what is measured.
    fn describe(&self, runs: &Runs) -> Result<String> {
        let program = runs.program.as_deref();
        let program = program.unwrap_or("a program without a name");
        let (address, tables) = (&self.address, runs.tables);
        let counted: Counts = self.ask(&["counters"], [])?;
        let meters = counted.meters.iter().map(Rates::words);
        let meters = meters.fold(String::new(), |all, meter| format!("{all}, {meter}"));
        Ok(format!(
            "P4Runtime switch at {address}, {program}, {tables} tables{meters}"
        ))
    }

    /// Adds or deletes the entries of a file.
    fn change(&self, how: &str, entries: &std::path::Path) -> Result<()> {
        let files = ["--entries".into(), entries.to_owned()];
        self.ask::<serde_json::Value>(&["table", how], files)
            .map(drop)
    }
}

/// A switch between two interfaces.
struct Switch {
    far: Far,
    added: Option<PathBuf>,
    ports: GivenPorts,
    facts: DutFacts,
}

impl Dut for Switch {
    fn tester(&self) -> &Tester {
        &self.ports.tester
    }

    fn facts(&self) -> &DutFacts {
        &self.facts
    }

    fn counters(&mut self) -> Result<DutCounters> {
        let mut counted = self.ports.counters()?;
        // What is not listed has counted nothing.
        let own: Counts = self.far.ask(&["counters"], [])?;
        for count in own.counters {
            let name = format!("{} [{}]", count.counter, count.of);
            // One that counts bytes alone has no packets.
            let (unit, value) = match count.packets {
                0 if count.bytes > 0 => (" bytes", count.bytes),
                packets => ("", packets),
            };
            counted.counters.insert(name + unit, value);
        }
        Ok(counted)
    }

    fn work(&self) -> DutWork {
        DutWork::Elsewhere
    }

    fn close(mut self: Box<Self>) -> Result<(), Vec<TeardownError>> {
        self.leave()
    }
}

impl Switch {
    /// Takes away what was added to a program that ran already.
    fn leave(&mut self) -> Result<(), Vec<TeardownError>> {
        let Some(entries) = self.added.take() else {
            return Ok(());
        };
        let left = self.far.change("delete", &entries);
        left.map_err(|error| vec![TeardownError::Entries(Box::new(error))])
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        // Only a fallback: a caller that wants the errors calls `close`.
        drop(self.leave());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(params: &str) -> DutSetup {
        let choice = format!("p4runtime,address=localhost:9559{params}");
        DutSetup::new(choice.parse().unwrap())
    }

    #[test]
    fn encryption_is_asked_for_by_the_words_of_the_program() {
        // Any file will do.
        let file = std::fs::canonicalize(env!("CARGO_MANIFEST_DIR")).unwrap();
        let file = file.join("Cargo.toml");
        let file = file.to_str().unwrap();
        assert!(tls(&setup("")).unwrap().is_empty());
        let given = format!(",tls-ca={file},tls-name=switch,tls-cert={file},tls-key={file}");
        let wanted = [
            "--tls-ca",
            file,
            "--tls-cert",
            file,
            "--tls-key",
            file,
            "--tls-name",
            "switch",
        ];
        assert_eq!(tls(&setup(&given)).unwrap(), wanted);
        for lone in ["tls-name=a".to_owned(), format!("tls-cert={file}")] {
            let refused = tls(&setup(&format!(",{lone}"))).unwrap_err().to_string();
            assert!(refused.contains("give tls-ca too"), "{refused}");
        }
        let missing = tls(&setup(",tls-ca=/nowhere/ca.pem")).unwrap_err();
        assert!(missing.to_string().contains("/nowhere/ca.pem"));
    }

    #[test]
    fn a_meter_is_told_with_its_rates() {
        let counted = r#"{"counters": [], "meters": [{"meter": "ingress.rates", "of": "3", "unit": "B", "committed": 10,
            "committed_burst": 1, "peak": 20, "peak_burst": 2}]}"#;
        let counted: Counts = serde_json::from_str(counted).unwrap();
        assert_eq!(
            counted.meters[0].words(),
            "meter ingress.rates [3] 10 to 20 B/s"
        );
    }
}
