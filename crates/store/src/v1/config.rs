//! What was asked for, from the map of settings that version 1 kept.
//!
//! Every group of settings is read by itself: one that is missing or cannot be read is left out, and keys that
//! are not known are dropped, so that a run stays readable whatever its settings were.

use linerate_model::run::{
    Config, DemoSettings, RunRequest, SearchSettings, StudyCell, StudyPlace, StudySettings,
    TargetConfig,
};
use linerate_model::spec::{
    Arrival, ByteStream, CatchUp, ClosedLoop, DEFAULT_ANSWER_TIMEOUT, Datagrams, DatapathChoice,
    Direction, Imitation, Observe, OpenLoop, Pace, Pinning, ShortConnections, SocketChoice, Stall,
    Stop, TestSpec, TestWork, TransactionBounds, Transport, WaitMode, WorkloadId,
};
use linerate_model::{BitRate, ByteCount, PacketRate, Quantile};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::time::Duration;

/// The configuration of a run of this kind from `config` of version 1.
pub(super) fn upgraded(kind: Option<&Value>, config: &Map<String, Value>) -> Config {
    let values = config.get("values").cloned().unwrap_or_default();
    let command = config.get("command").and_then(Value::as_str);
    let kind = kind.and_then(Value::as_str).unwrap_or_default();
    Config {
        command: command.map(str::to_owned),
        target: read::<Target>(&values).map(Target::upgraded),
        asked: asked(kind, &values),
        place: read::<StudyPlace>(&values),
        link_speed: read::<Link>(&values).map(|link| link.link_speed_bps),
        ceiling: None,
    }
}

/// A group of settings, if all of it is there.
fn read<T: DeserializeOwned>(values: &Value) -> Option<T> {
    T::deserialize(values).ok()
}

fn asked(kind: &str, values: &Value) -> Option<RunRequest> {
    let test = read::<Test>(values).and_then(Test::upgraded);
    match kind {
        "latency" => {
            let settings = read::<Latency>(values)?;
            Some(RunRequest::Latency {
                test,
                modes: settings.modes,
                rounds: settings.rounds,
                percentiles: settings.percentiles_ratio,
                wrap: settings.wrap,
            })
        }
        "demo" => read::<DemoSettings>(values).map(RunRequest::Demo),
        "study" => read::<Study>(values)?.upgraded().map(RunRequest::Study),
        "saturate" => Some(RunRequest::Search {
            test: test?,
            search: read::<SearchSettings>(values)?,
        }),
        _ => test.map(|test| RunRequest::Test { test }),
    }
}

#[derive(Deserialize)]
struct Link {
    link_speed_bps: BitRate,
}

#[derive(Deserialize)]
struct Target {
    far_end: String,
    #[serde(flatten)]
    rest: Value,
}

impl Target {
    fn upgraded(self) -> TargetConfig {
        let part = |key: &str| self.rest.get(key).cloned().unwrap_or_default();
        let seconds = part("timeout_s").as_f64();
        let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        TargetConfig {
            peer: self.far_end,
            ip: serde_json::from_value(part("ip")).unwrap_or_default(),
            timeout: timeout.unwrap_or_default(),
            interface: part("interface").as_str().map(str::to_owned),
            link: None,
        }
    }
}

#[derive(Deserialize)]
struct Latency {
    modes: Vec<String>,
    rounds: u32,
    percentiles_ratio: Vec<Quantile>,
    wrap: Option<String>,
}

#[derive(Deserialize)]
struct Study {
    host: String,
    repetitions: u32,
    seed: u64,
    cells: Vec<Cell>,
    order: Vec<usize>,
    #[serde(default)]
    prove: bool,
}

#[derive(Deserialize)]
struct Cell {
    cell: String,
    test: Value,
}

impl Study {
    fn upgraded(self) -> Option<StudySettings> {
        let cell = |cell: Cell| {
            let kind = cell.test.get("test").and_then(Value::as_str);
            Some(StudyCell {
                test: asked(kind.unwrap_or_default(), &cell.test)?,
                cell: cell.cell,
                beside: None,
            })
        };
        Some(StudySettings {
            host: self.host,
            repetitions: self.repetitions,
            seed: self.seed,
            cells: self.cells.into_iter().map(cell).collect::<Option<_>>()?,
            order: self.order,
            prove: self.prove,
            restart: false,
            control: None,
            budget: None,
            series: Vec::new(),
        })
    }
}

/// Every setting of a test, whatever it exchanged.
#[derive(Deserialize)]
struct Test {
    transport: Transport,
    workload: WorkloadId,
    direction: Direction,
    streams: u16,
    payload_bytes: ByteCount,
    pace: Pace,
    stop: Stop,
    #[serde(default)]
    warm_up: f64,
    interval: f64,
    receiver_pause: Option<f64>,
    receiver_reads: Option<u16>,
    sender_pause: Option<f64>,
    wait: WaitMode,
    #[serde(default)]
    pinning: Pinning,
    #[serde(default)]
    datapath: DatapathChoice,
    #[serde(default)]
    socket: SocketChoice,
    seed: u64,
    #[serde(default)]
    observe: Observe,
    #[serde(default)]
    arrival: Arrival,
    answer_timeout_s: Option<f64>,
    responder_stall: Option<Stall>,
    #[serde(default)]
    decompose: bool,
    #[serde(default)]
    transactions: TransactionBounds,
}

impl Test {
    fn upgraded(self) -> Option<TestSpec> {
        Some(TestSpec {
            work: self.work()?,
            imitation: self.imitation(),
            workload: self.workload,
            direction: self.direction,
            streams: self.streams,
            threads: None,
            stop: self.stop,
            warm_up: seconds(self.warm_up)?,
            interval: seconds(self.interval)?,
            wait: self.wait,
            catch_up: CatchUp::default(),
            pinning: self.pinning,
            datapath: self.datapath,
            socket: self.socket,
            seed: self.seed,
            observe: self.observe,
        })
    }

    /// Version 1 told shapes of work apart by the name of the workload.
    fn work(&self) -> Option<TestWork> {
        let (transport, message) = (self.transport, self.payload_bytes);
        Some(match self.workload.as_str() {
            "bulk" | "marked-bulk" => TestWork::ByteStream(ByteStream {
                write: self.payload_bytes,
                pace: self.pace,
            }),
            "datagrams" => TestWork::Datagrams(Datagrams {
                payload: self.payload_bytes,
                pace: self.pace,
            }),
            "ping-pong" => TestWork::ClosedLoop(ClosedLoop {
                transport,
                message,
                transactions: self.transactions,
                decompose: self.decompose,
            }),
            "request-response" => {
                let bits = 8.0 * message.as_f64();
                let load = self.pace.intended_load()?.as_f64();
                let timeout = self.answer_timeout_s.and_then(seconds);
                TestWork::OpenLoop(OpenLoop {
                    transport,
                    message,
                    rate: PacketRate::from_pps(load / bits),
                    arrival: self.arrival,
                    answer_timeout: timeout.unwrap_or(DEFAULT_ANSWER_TIMEOUT),
                })
            }
            "connections" => TestWork::Connections(ShortConnections::default()),
            _ => return None,
        })
    }

    fn imitation(&self) -> Option<Imitation> {
        let receiver = self
            .receiver_pause
            .and_then(seconds)
            .map(|pause| Imitation::SlowReceiver {
                pause,
                datagrams_per_read: self.receiver_reads.unwrap_or(1),
            });
        let sender = self.sender_pause.and_then(seconds);
        let sender = sender.map(|pause| Imitation::SlowSender { pause });
        let stall = self.responder_stall.map(Imitation::StallingResponder);
        receiver.or(sender).or(stall)
    }
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(kind: &str, values: &Value) -> Config {
        let config = json!({"command": "linerate", "values": values});
        upgraded(Some(&json!(kind)), config.as_object().unwrap())
    }

    fn datagrams() -> Value {
        json!({
            "datapath": {"id": "sockets"}, "direction": "forward", "far_end": "10.0.0.2:5301", "interval": 1.0,
            "ip": "v4", "pace": {"at": 20_000_000}, "payload_bytes": 1400, "pinning": {}, "seed": 1,
            "socket": {}, "stop": {"after": 1.0}, "streams": 1, "timeout_s": 2.5, "transport": "udp",
            "wait": "block", "warm_up": 0.0, "workload": "datagrams", "cell": "a", "repetition": 2,
            "key-of-the-future": [1, 2],
        })
    }

    #[test]
    fn a_test_its_target_and_its_place_are_kept() {
        let config = config("udp", &datagrams());
        let pace = Pace::At(BitRate::from_bps(20_000_000));
        let expected = TestSpec {
            stop: Stop::After(Duration::from_secs(1)),
            ..TestSpec::udp_datagrams(pace).with_payload(ByteCount::new(1400))
        };
        assert_eq!(config.test(), Some(&expected));
        let target = config.target.unwrap();
        assert_eq!(target.timeout, Duration::from_millis(2500));
        assert_eq!(target.peer, "10.0.0.2:5301");
        assert_eq!(config.place.unwrap().repetition, 2);
    }

    #[test]
    fn requests_at_a_rate_have_one_again() {
        let mut values = datagrams();
        values["workload"] = json!("request-response");
        values["payload_bytes"] = json!(32);
        values["pace"] = json!({"at": 25_600});
        values["modes"] = json!(["block"]);
        values["rounds"] = json!(1);
        values["percentiles_ratio"] = json!([0.99]);
        let config = config("latency", &values);
        let TestWork::OpenLoop(open) = &config.test().unwrap().work else {
            panic!("{config:?}")
        };
        assert_eq!(open.rate, PacketRate::from_pps(100.0));
        assert_eq!(open.answer_timeout, DEFAULT_ANSWER_TIMEOUT);
    }

    #[test]
    fn settings_that_cannot_be_read_are_left_out() {
        let mut values = datagrams();
        values["workload"] = json!("quantum");
        let config = config("udp", &values);
        assert_eq!(config.asked, None);
        assert_eq!(config.command.as_deref(), Some("linerate"));
        assert_eq!(upgraded(None, &Map::new()), Config::default());
    }
}
