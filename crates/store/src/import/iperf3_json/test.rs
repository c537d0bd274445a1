//! A document as a test.

use super::ID;
use super::document::Document;
use super::sums::{Sums, jitter, time};
use super::value::Object;
use crate::import::iperf3_text::Iperf3Text;
use crate::import::line::{Fingerprint, late};
use crate::import::{
    Connection, Endpoint, Flow, ImportError, Intended, Origin, ParsedTest, Rounded, Row, Series,
    Totals, TrafficTest, View, iperf3,
};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, WallTime};

/// The client's test of a document, and the server's if it has that too.
pub(super) fn of(file: &str, mut document: Document) -> Vec<ParsedTest> {
    if let Some(error) = document.refused {
        return vec![ParsedTest::Refused(error)];
    }
    let mut tests: Vec<ParsedTest> = vec![traffic(file, &mut document).into()];
    if let Some(server) = &mut document.server {
        let server = traffic(file, server).map(|test| TrafficTest {
            view: View::Server,
            ..test
        });
        tests.push(server.into());
    }
    if let Some(text) = &document.server_text {
        match Iperf3Text::parse_inner(file, document.line, text) {
            Ok(found) => tests.extend(found),
            Err(error) => tests.push(ParsedTest::Refused(error)),
        }
    }
    tests
}

fn traffic(file: &str, document: &mut Document) -> Result<TrafficTest, ImportError> {
    let intervals = std::mem::take(&mut document.intervals);
    let is_empty = !intervals.has_any;
    let mut reader = Reader::new(file, document, intervals);
    if is_empty && reader.document.error.is_some() {
        reader.test.fingerprint = reader.fingerprint();
        return Ok(reader.test);
    }
    for direction in [Direction::Forward, Direction::Reverse] {
        let flow = reader.flow(direction)?;
        reader.test.flows.extend(flow);
    }
    if reader.test.flows.is_empty() {
        return Err(reader.cut("it has no figures"));
    }
    reader.finish();
    reader.test.fingerprint = reader.fingerprint();
    Ok(reader.test)
}

/// Makes a test of a document.
struct Reader<'d> {
    document: &'d Document,
    settings: Object,
    omits: bool,
    /// Intervals by whether this end sent them, as far as the document says.
    sides: Vec<(Option<bool>, Series)>,
    test: TrafficTest,
    is_reverse: bool,
}

impl<'d> Reader<'d> {
    fn new(file: &str, document: &'d Document, intervals: Sums) -> Self {
        let start = &document.start;
        let settings = start.object("test_start").cloned().unwrap_or_default();
        let view = if start.get("accepted_connection").is_some() {
            View::Server
        } else {
            View::Client
        };
        let transport = match settings.string("protocol").as_deref() {
            Some("UDP") => Transport::Udp,
            _ => Transport::Tcp,
        };
        let origin = Origin {
            file: file.to_owned(),
            line: document.line,
        };
        let mut test = TrafficTest::new(origin, ID, "iperf3", view, transport);
        let version = start.string("version");
        test.tool.version = version.map(|text| text.trim_start_matches("iperf ").to_owned());
        test.started = started(start);
        test.cookie = start.string("cookie");
        test.command.clone_from(&document.command);
        test.connections = start.objects("connected").filter_map(connection).collect();
        test.payload_bytes = settings.count("blksize").filter(|bytes| *bytes > 0);
        test.smss_bytes = start
            .count("tcp_mss")
            .or_else(|| start.count("tcp_mss_default"));
        test.interrupted.clone_from(&document.error);
        test.notes.extend(
            document
                .title
                .as_ref()
                .map(|title| format!("titled \"{title}\"")),
        );
        let mut reader = Self {
            is_reverse: settings.flag("reverse").unwrap_or(false),
            document,
            settings,
            omits: intervals.omits,
            sides: intervals.finish(),
            test,
        };
        reader.test.intended = reader.intended();
        reader
    }

    /// A cookie names a test, its totals the end that counted; not the lines of the file.
    fn fingerprint(&self) -> u64 {
        let start = &self.document.start;
        let words = [
            start.string("cookie").unwrap_or_default(),
            format!("{:?} {:?}", self.test.view, self.test.connections),
            format!("{:?}", self.test.started),
            format!(
                "{:?}",
                self.test
                    .flows
                    .iter()
                    .map(|flow| (flow.sent, flow.received))
                    .collect::<Vec<_>>()
            ),
            self.test.interrupted.clone().unwrap_or_default(),
        ];
        Fingerprint::of(words.iter().map(String::as_str))
    }

    /// The intended load per stream: from 3.7 on the document states it.
    fn intended(&self) -> Option<Intended> {
        let start = &self.document.start;
        let stated = self.settings.figure("target_bitrate");
        let Some(bps) = stated.or_else(|| start.figure("target_bitrate")) else {
            let command = self.test.command.as_ref();
            return iperf3::intended(command?, self.test.transport);
        };
        let is_paced = bps.value > 0.0;
        Some(Intended {
            label: if is_paced {
                BitRate::from_f64(bps.value).to_string()
            } else {
                "unpaced".to_owned()
            },
            bps: is_paced.then_some(bps),
        })
    }

    /// Which way a stream or a sum goes; before 3.7 all go the same.
    fn direction(&self, sends: Option<bool>) -> Direction {
        let is_reverse = sends.map_or(self.is_reverse, |sends| {
            sends != (self.test.view == View::Client)
        });
        if is_reverse {
            Direction::Reverse
        } else {
            Direction::Forward
        }
    }

    fn flow(&self, direction: Direction) -> Result<Option<Flow>, ImportError> {
        let ends = self.ends(direction);
        let rows = self.rows(direction).unwrap_or_default();
        if ends.is_empty() && rows.is_empty() {
            return Ok(None);
        }
        let sends = self.test.sends(direction);
        let mut flow = Flow {
            streams: u16::try_from(ends.len()).unwrap_or(u16::MAX),
            ..Flow::new(direction)
        };
        if !ends.is_empty() {
            (flow.sent, flow.received) = match self.test.transport {
                Transport::Tcp => self.tcp(direction, &ends),
                Transport::Udp => self.udp(direction, &ends, &rows),
            };
        }
        let (own, reported) = if sends {
            (&mut flow.sent, &mut flow.received)
        } else {
            (&mut flow.received, &mut flow.sent)
        };
        // What the other end says comes at the very end, and to the client only.
        if self.test.view == View::Server || self.test.interrupted.is_some() {
            *reported = None;
        }
        if own.is_none() && self.test.interrupted.is_some() {
            *own = Totals::of_intervals(&rows);
        }
        if own.is_none() {
            return Err(self.cut("its summary (\"end\") is not there"));
        }
        if sends {
            flow.sent_rows = rows;
        } else {
            flow.received_rows = rows;
        }
        Ok(Some(flow))
    }

    /// The summary of each stream of one direction.
    fn ends(&self, direction: Direction) -> Vec<&'d Object> {
        let part = match self.test.transport {
            Transport::Tcp => "sender",
            Transport::Udp => "udp",
        };
        let end = self.document.end.iter();
        end.flat_map(|end| end.objects("streams"))
            .filter(|stream| {
                let reported = stream.object(part);
                reported
                    .is_some_and(|reported| self.direction(reported.flag("sender")) == direction)
            })
            .collect()
    }

    /// Intervals that count, all streams of a direction together.
    fn rows(&self, direction: Direction) -> Option<Series> {
        let mut sides = self.sides.iter();
        let (_, rows) = sides.find(|(sends, _)| self.direction(*sends) == direction)?;
        let mut rows = rows.clone();
        if self.test.sends(direction) {
            // A sender measures none, but prints zeros.
            rows.change(|row| row.jitter = None);
        }
        Some(rows)
    }

    /// The sum over all streams of one direction, where its name says which direction that is.
    fn sum(&self, direction: Direction, name: &str) -> Option<&'d Object> {
        let end = self.document.end.as_ref()?;
        let reverse = format!("{name}_bidir_reverse");
        if end.get(&reverse).is_some() {
            return match direction {
                Direction::Reverse => end.object(&reverse),
                Direction::Duplex | Direction::Forward => end.object(name),
            };
        }
        end.object(name).filter(|_| end.all(name).count() == 1)
    }

    fn tcp(&self, direction: Direction, ends: &[&Object]) -> (Option<Totals>, Option<Totals>) {
        let of = |name, part| match self.sum(direction, name) {
            Some(sum) => totals(sum),
            None => add(ends.iter().filter_map(|end| totals(end.object(part)?))),
        };
        (of("sum_sent", "sender"), of("sum_received", "receiver"))
    }

    fn udp(
        &self,
        direction: Direction,
        ends: &[&Object],
        rows: &[Row],
    ) -> (Option<Totals>, Option<Totals>) {
        let both = self
            .sum(direction, "sum_sent")
            .zip(self.sum(direction, "sum_received"));
        if let Some((sent, received)) = both {
            let sent = totals(sent).map(|totals| Totals {
                // A sender measures neither, but prints zeros.
                lost: None,
                jitter: None,
                ..totals
            });
            return (sent, totals(received));
        }
        // Up to 3.10 the one summary has the sender's bytes and the receiver's losses.
        let Some(mixed) = add(ends.iter().filter_map(|end| totals(end.object("udp")?))) else {
            return (None, None);
        };
        if !self.test.sends(direction) {
            return (
                None,
                Totals::of_intervals(rows).map(|own| Totals {
                    jitter: mixed.jitter,
                    ..own
                }),
            );
        }
        let sent = Totals {
            lost: None,
            jitter: None,
            ..mixed
        };
        let received = Totals {
            bytes: None,
            bps: None,
            ..mixed
        };
        (Some(sent), Some(received))
    }

    fn finish(&mut self) {
        let Some(end) = &self.document.end else {
            return;
        };
        let streams = end.objects("streams");
        let late_ones = streams
            .filter_map(|stream| stream.object("udp")?.count("out_of_order"))
            .fold(0, u64::saturating_add);
        if late_ones > 0 {
            self.test.notes.push(late(late_ones));
        }
        if self.omits {
            self.test
                .notes
                .push("the omitted start of the test is not counted".to_owned());
        }
        self.test.congestion_control = end.string("sender_tcp_congestion");
        if let Some(cpu) = end.object("cpu_utilization_percent") {
            let percent = |key| cpu.figure(key).map(|figure| figure.value);
            let (own, other) = (percent("host_total"), percent("remote_total"));
            iperf3::add_cpu(&mut self.test, own, other);
        }
    }

    fn cut(&self, missing: &str) -> ImportError {
        ImportError::Cut {
            file: self.test.origin.file.clone(),
            line: self.test.origin.line,
            missing: missing.to_owned(),
        }
    }
}

/// The summary of a stream or of all.
fn totals(object: &Object) -> Option<Totals> {
    // `seconds` of a receiver's summary is the time of the end that prints it.
    let seconds = time(object, "end")?.minus(object.figure("start")?);
    Some(Totals {
        bytes: object.figure("bytes"),
        bps: object.figure("bits_per_second"),
        datagrams: object.count("packets"),
        lost: object.count("lost_packets"),
        jitter: jitter(object),
        retransmitted: object.count("retransmits"),
        ..Totals::over(seconds)
    })
}

/// The sum of several streams' summaries, over the longest of their times.
fn add(mut all: impl Iterator<Item = Totals>) -> Option<Totals> {
    let mut sum = all.next()?;
    for other in all {
        let both = |a: Option<u64>, b: Option<u64>| a?.checked_add(b?);
        let plus = |a: Option<Rounded>, b: Option<Rounded>| Some(a?.plus(b?));
        if other.seconds.value > sum.seconds.value {
            sum.seconds = other.seconds;
        }
        sum.bytes = plus(sum.bytes, other.bytes);
        sum.bps = plus(sum.bps, other.bps);
        sum.datagrams = both(sum.datagrams, other.datagrams);
        sum.lost = both(sum.lost, other.lost);
        sum.retransmitted = both(sum.retransmitted, other.retransmitted);
        sum.jitter = None;
    }
    Some(sum)
}

fn started(start: &Object) -> Option<WallTime> {
    let seconds = start.object("timestamp")?.count("timesecs")?;
    WallTime::from_unix(i64::try_from(seconds).ok()?)
}

fn connection(object: &Object) -> Option<Connection> {
    let endpoint = |host, port| {
        let address = object.string(host)?;
        Some(Endpoint {
            address: address.split('%').next().unwrap_or(&address).to_owned(),
            port: u16::try_from(object.count(port)?).ok()?,
        })
    };
    Some(Connection {
        local: endpoint("local_host", "local_port")?,
        remote: endpoint("remote_host", "remote_port")?,
    })
}
