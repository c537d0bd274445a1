//! `calibrate`: what is kept of a host, and the runs that are held against it.

use crate::harness::{Place, Server};
use serde_json::Value;

const SHORT: [&str; 8] = [
    "calibrate",
    "--datapath=sockets",
    "--payload=512,1448",
    "--time=50ms",
    "--repetitions=2",
    "--seed=7",
    "-q",
    "--json",
];

#[test]
fn ceilings_are_kept_and_later_runs_carry_them() {
    let place = Place::new();
    let printed = place.run(&SHORT).done();
    let calibration: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(calibration["schema"], "linerate/calibration/1");
    let schema = linerate_schema_check::CALIBRATION_1;
    assert_eq!(
        linerate_schema_check::validate_against(schema, &calibration),
        Ok(())
    );
    let ceilings = calibration["ceilings"].as_array().unwrap();
    // Two payloads of datagrams, and a byte stream.
    assert_eq!(ceilings.len(), 3, "{ceilings:?}");
    for ceiling in ceilings {
        assert_eq!(ceiling["offered_bps"]["n"], 2, "{ceiling}");
        assert!(ceiling["received_bps"]["point"].as_f64() > Some(0.0));
    }
    let kept = std::fs::read(place.store().join("calibration.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&kept).unwrap(), calibration);

    let server = Server::on("127.0.0.1");
    let run = |args: &[&str]| -> Value {
        let common = [
            "udp",
            server.address(),
            "--rate=1M",
            "--json",
            "--diagnose=0s",
        ];
        place
            .run(&[&common[..], &["--time=100ms"], args].concat())
            .document()
    };
    let within = &run(&["--payload=1000"])["config"]["ceiling"];
    assert!(within["offered_bps"].as_u64() > Some(0), "{within}");
    assert_eq!(within["made"], calibration["made"]);
    // Neither a size outside of what was measured nor several streams have one.
    assert!(run(&["--payload=64"])["config"]["ceiling"].is_null());
    assert!(run(&["--streams=2"])["config"]["ceiling"].is_null());

    // Found on another kernel, it does not count.
    let mut other = calibration;
    other["platform"]["kernel_release"] = "0.0.1".into();
    std::fs::write(place.store().join("calibration.json"), other.to_string()).unwrap();
    assert!(run(&["--payload=1000"])["config"]["ceiling"].is_null());
    // Nor does a damaged one, which harms nothing.
    std::fs::write(place.store().join("calibration.json"), "{").unwrap();
    assert!(run(&["--payload=1000"])["config"]["ceiling"].is_null());
    assert_eq!(place.listed().len(), 5);
}

#[test]
fn a_datapath_that_nobody_knows_is_refused() {
    let place = Place::new();
    let ended = place.run(&["calibrate", "--datapath=wormhole", "-q"]);
    ended.failed(2, &["wormhole", "known are sockets"]);
    assert!(!place.store().join("calibration.json").exists());
}
