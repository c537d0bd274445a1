//! A document as a test.

use super::FORMAT;
use super::document::Document;
use super::sums::{jitter, time};
use super::value::Object;
use crate::import::line::{Fingerprint, late};
use crate::import::reader::{self, Log, Result};
use crate::import::test_builder::{DirectionFigures, TestBuilder};
use crate::import::witness::covers;
use crate::import::{
    Connection, Coverage, Endpoint, Intended, ParsedTest, Rounded, Row, Series, Totals, View,
    iperf3, iperf3_text,
};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, WallTime};

/// Adds the client's test of a document, and the server's if it has that too.
pub(super) fn add_tests(log: &mut Log, mut document: Document) {
    if let Some(error) = document.refused {
        return log.refuse(error);
    }
    let test = Reader::new(log, &mut document);
    log.end(test);
    if let Some(server) = &mut document.server {
        let mut server = Reader::new(log, server);
        server.test.view = View::Server;
        log.end(server);
    }
    if let Some(text) = &document.server_text {
        let inner = iperf3_text::inner(&log.file, document.line, text);
        log.tests.extend(inner);
    }
}

/// Makes a test of a document.
struct Reader<'d> {
    document: &'d Document,
    settings: Object,
    omits: bool,
    /// Lines of intervals whose figures are not all there, or contradict their sum.
    doubtful: Vec<usize>,
    /// Intervals by whether this end sent them, as far as the document says.
    sides: Vec<(Option<bool>, Series)>,
    is_empty: bool,
    test: TestBuilder,
    is_reverse: bool,
}

impl<'d> Reader<'d> {
    fn new(log: &mut Log, document: &'d mut Document) -> Self {
        let intervals = std::mem::take(&mut document.intervals);
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
        log.number = document.line;
        let version = start.string("version");
        log.version = version.map(|text| text.trim_start_matches("iperf ").to_owned());
        let mut test = TestBuilder::new(log, &FORMAT, view, transport);
        test.started = started(start);
        test.cookie = start.string("cookie");
        test.command.clone_from(&document.command);
        test.connections = start.objects("connected").filter_map(connection).collect();
        test.payload_bytes = settings.count("blksize").filter(|bytes| *bytes > 0);
        test.coverage = Coverage::Timed;
        test.smss_bytes = start
            .count("tcp_mss")
            .or_else(|| start.count("tcp_mss_default"));
        let error = document.error.as_deref();
        test.interrupted =
            error.map(|said| said.strip_prefix("error - ").unwrap_or(said).to_owned());
        if let Some(title) = &document.title {
            test.note(format!("titled \"{title}\""));
        }
        let mut reader = Self {
            is_reverse: settings.flag("reverse").unwrap_or(false),
            document,
            settings,
            omits: intervals.omits,
            doubtful: intervals.doubtful.clone(),
            is_empty: !intervals.has_any,
            sides: intervals.finish(),
            test,
        };
        reader.test.intended = reader.intended();
        reader
    }

    /// A cookie names a test, its totals the end that counted; not the lines of the file.
    fn fingerprint(&self) -> Fingerprint {
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

    fn flow(&mut self, direction: Direction) -> Result<()> {
        let ends = self.ends(direction);
        let rows = self.rows(direction).unwrap_or_default();
        if ends.is_empty() && rows.is_empty() {
            return Ok(());
        }
        let names = ["sum_sent", "sum_received"].into_iter();
        let sums = names.filter_map(|name| self.sum(direction, name));
        let streams = ends.iter().flat_map(|end| {
            ["sender", "receiver", "udp"]
                .into_iter()
                .filter_map(|part| end.object(part))
        });
        if sums.chain(streams).any(|sum| totals(sum).is_none()) {
            return Err("a summary with start and end".into());
        }
        let (sent, received) = match self.test.transport {
            _ if ends.is_empty() => (None, None),
            Transport::Tcp => self.tcp(direction, &ends),
            Transport::Udp => self.udp(direction, &ends, &rows),
        };
        let streams = |part| add(ends.iter().filter_map(|end| totals(end.object(part)?)));
        // Those of UDP mix what both ends counted.
        let [sent_streams, received_streams] = match self.test.transport {
            Transport::Tcp => ["sender", "receiver"].map(streams),
            Transport::Udp => [None, None],
        };
        let (own, reported, own_streams, reported_streams) = if self.test.sends(direction) {
            (sent, received, sent_streams, received_streams)
        } else {
            (received, sent, received_streams, sent_streams)
        };
        // What the other end says comes at the very end, and to the client only.
        let is_told = self.test.view == View::Client && self.test.interrupted.is_none();
        let own = self.test.or_early(own, &rows);
        let way = DirectionFigures {
            streams: ends.len(),
            own: Some(own.ok_or("its summary (\"end\") is not there")?),
            reported: reported.filter(|_| is_told),
            own_streams,
            reported_streams: reported_streams.filter(|_| is_told),
            rows,
        };
        self.test.flow(direction, way);
        Ok(())
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
        Some(rows.clone())
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
            return (totals(sent), totals(received));
        }
        // Up to 3.10 the one summary has the sender's bytes and the receiver's losses.
        let Some(mut mixed) = add(ends.iter().filter_map(|end| totals(end.object("udp")?))) else {
            return (None, None);
        };
        let sum = self.sum(direction, "sum").and_then(totals);
        mixed.bytes = mixed.bytes.or_else(|| sum?.bytes);
        mixed.bps = mixed.bps.or_else(|| sum?.bps);
        if !self.test.sends(direction) {
            let own = Totals::of_intervals(rows);
            let own = own.filter(|_| covers(rows, mixed.seconds, self.test.coverage));
            // The sender's bytes are no figure of this end.
            let received = Totals {
                bytes: own.and_then(|own| own.bytes),
                bps: own.and_then(|own| own.bps),
                ..mixed
            };
            return (None, Some(received));
        }
        let received = Totals {
            bytes: None,
            bps: None,
            ..mixed
        };
        (Some(mixed), Some(received))
    }

    /// What the end of the document says of the whole test.
    fn end(&mut self) {
        let Some(end) = &self.document.end else {
            return;
        };
        let streams = end.objects("streams");
        let late_ones = streams
            .filter_map(|stream| stream.object("udp")?.count("out_of_order"))
            .fold(0, u64::saturating_add);
        if late_ones > 0 {
            self.test.note(late(late_ones));
        }
        for name in [
            "sum",
            "sum_sent",
            "sum_received",
            "sum_sent_bidir_reverse",
            "sum_received_bidir_reverse",
        ] {
            if end.object(name).is_some_and(|sum| sum.is_negative("bytes")) {
                self.test.doubt(format!(
                    "bytes and rate are unknown: the bytes of the summary's {name} are negative"
                ));
            }
        }
        if self.omits {
            self.test.omits_start = true;
            self.test.note(iperf3::OMITTED);
        }
        self.test.congestion_control = end.string("sender_tcp_congestion");
        if let Some(cpu) = end.object("cpu_utilization_percent") {
            let percent = |key| cpu.figure(key).map(|figure| figure.value);
            let (own, other) = (percent("host_total"), percent("remote_total"));
            iperf3::add_cpu(&mut self.test, own, other);
        }
    }
}

impl reader::Draft for Reader<'_> {
    fn begun(&self) -> usize {
        self.test.origin.line
    }

    fn finish(mut self, tests: &mut Vec<ParsedTest>) -> Result<()> {
        if self.settings.string("protocol").as_deref() == Some("SCTP") {
            tests.push(self.test.skipped(iperf3::SCTP));
            return Ok(());
        }
        iperf3::note_multipath(&mut self.test);
        if !self.is_empty || self.document.error.is_none() {
            self.flow(Direction::Forward)?;
            self.flow(Direction::Reverse)?;
            if self.test.flows.is_empty() {
                return Err("it has no figures".into());
            }
            self.end();
        }
        if let Some(line) = self.doubtful.first() {
            let more = self.doubtful.len() - 1;
            self.test.doubt(format!(
                "the streams' figures of an interval are not all there, or are not those of its sum (line {line} and \
                 {more} more)"
            ));
        }
        self.test.text = self.fingerprint();
        tests.push(self.test.traffic());
        Ok(())
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
        is_wrapped: object.is_negative("packets"),
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
