//! Messages to the client as JSON, with the keys of `peers::native` and of the run's raw reports.

use crate::config::Config;
use crate::link::{Outgoing, Progress};
use crate::order::{MAX_DURATION, Work};
use crate::refusal::Refusal;
use crate::tally::Numbers;
use crate::test::Test;
use crate::text::{Escaped, Seconds};
use crate::traffic::Sink;
use core::fmt::{self, Write};

/// Data of messages.
pub(crate) struct Source<'a> {
    pub(crate) config: &'a Config,
    pub(crate) test: &'a Test,
    /// Number of the session.
    pub(crate) session: u32,
}

impl Source<'_> {
    /// Writes the body of a message.
    pub(crate) fn body(&self, message: Outgoing, out: &mut dyn Write) -> fmt::Result {
        match message {
            Outgoing::Preamble | Outgoing::Ping => Ok(()),
            Outgoing::Welcome => self.welcome(out),
            Outgoing::Farewell(refusal) => {
                out.write_str("{")?;
                reason(refusal, out)
            }
            Outgoing::Ready => self.ready(out),
            Outgoing::Refused { test, refusal } | Outgoing::Abort { test, refusal } => {
                write!(out, r#"{{"test":{test},"#)?;
                reason(refusal, out)
            }
            Outgoing::Connected(test) | Outgoing::Started(test) | Outgoing::Aborted(test) => {
                write!(out, r#"{{"test":{test}}}"#)
            }
            Outgoing::Progress(so_far) => progress(so_far, out),
            Outgoing::Finished { test, sent } => {
                write!(out, r#"{{"test":{test},"sent":[{sent}]}}"#)
            }
            Outgoing::Report => self.report(out),
        }
    }

    fn welcome(&self, out: &mut dyn Write) -> fmt::Result {
        let (config, session) = (self.config, self.session);
        write!(
            out,
            r#"{{"version":"{}","session":"{session}","limits":{{"max_duration_s":{},"max_streams":1}},"facts":{{"cores_online":1"#,
            env!("CARGO_PKG_VERSION"),
            Seconds(MAX_DURATION)
        )?;
        for (key, value) in [
            ("board", config.board),
            ("cpu_model", config.processor),
            ("os", config.stack),
            ("emulated", config.emulated),
        ] {
            if !value.is_empty() {
                write!(out, r#","{key}":""#)?;
                Escaped(out).write_str(value)?;
                out.write_str("\"")?;
            }
        }
        out.write_str("}}")
    }

    fn ready(&self, out: &mut dyn Write) -> fmt::Result {
        let Test { number, token, .. } = *self.test;
        write!(out, r#"{{"test":{number},"token":{token},"ports":["#)?;
        let Some(order) = self.test.order else {
            return out.write_str("]}");
        };
        let mut comma = "";
        if order.receives() {
            write!(out, r#"["receiver",[{}]]"#, self.config.receive_port)?;
            comma = ",";
        }
        if order.sends() {
            write!(out, r#"{comma}["sender",[{}]]"#, self.config.send_port)?;
        }
        out.write_str("]}")
    }

    fn report(&self, out: &mut dyn Write) -> fmt::Result {
        write!(out, r#"{{"test":{},"reports":["#, self.test.number)?;
        let Some(order) = self.test.order else {
            return out.write_str("]}");
        };
        if order.receives() {
            self.received(order.work, out)?;
        }
        if order.sends() {
            if order.receives() {
                out.write_str(",")?;
            }
            self.sent(order.work, out)?;
        }
        out.write_str("]}")
    }

    fn received(&self, work: Work, out: &mut dyn Write) -> fmt::Result {
        let sink = &self.test.sink;
        let active = sink.tally.active();
        write!(
            out,
            r#"{{"side":"receiver","streams":[{{"index":0,"bytes":{},"packets":{},"duration_s":{},"intervals":"#,
            sink.tally.bytes(),
            sink.tally.packets(),
            Seconds(active)
        )?;
        let is_numbered = matches!(work, Work::Datagrams { .. });
        let numbers = if is_numbered {
            Numbers::Shown
        } else {
            Numbers::Hidden
        };
        sink.tally.write(out, active, numbers)?;
        match work {
            Work::Datagrams { .. } => counted(sink, out)?,
            Work::Bytes { .. } => out.write_str(r#","kind":"byte-stream-receiver"}"#)?,
            Work::DatagramAnswers { .. } | Work::ByteAnswers { .. } => {
                out.write_str(r#","kind":"responder"}"#)?;
            }
        }
        self.snapshots(out)
    }

    fn sent(&self, work: Work, out: &mut dyn Write) -> fmt::Result {
        let source = &self.test.source;
        let duration = source.duration;
        write!(
            out,
            r#"{{"side":"sender","streams":[{{"index":0,"bytes":{},"packets":{},"duration_s":{},"intervals":"#,
            source.tally.bytes(),
            source.tally.packets(),
            Seconds(duration)
        )?;
        source.tally.write(out, duration, Numbers::Hidden)?;
        if matches!(work, Work::Datagrams { .. }) {
            let unsent = source.unsent;
            write!(
                out,
                r#","kind":"datagram-sender","refused":0,"unsent":{unsent},"burst_max":1}}"#
            )?;
        } else {
            out.write_str(r#","kind":"byte-stream-sender"}"#)?;
        }
        self.snapshots(out)
    }

    /// Writes the snapshots, after the list of streams.
    fn snapshots(&self, out: &mut dyn Write) -> fmt::Result {
        out.write_str(r#"],"before":"#)?;
        self.test.before.write(out)?;
        out.write_str(r#","after":"#)?;
        self.test.after.write(out)?;
        out.write_str("}")
    }
}

fn counted(sink: &Sink, out: &mut dyn Write) -> fmt::Result {
    let rounds = sink.rounds;
    let counts = sink.tracker.counts();
    write!(
        out,
        r#","kind":"datagram-receiver","reads":{rounds},"emptying_reads":{rounds}"#
    )?;
    write!(
        out,
        r#","sequence":{{"received":{},"duplicated":{},"reordered":{},"reorder_extent_max":{},"next_expected":{},"too_old":{},"foreign":{}}}"#,
        counts.received,
        counts.duplicated,
        counts.reordered,
        counts.extent_max,
        counts.next_expected,
        counts.too_old,
        sink.foreign
    )?;
    if let Some(jitter) = sink.jitter() {
        write!(out, r#","rtp_jitter_ns":{jitter}"#)?;
    }
    out.write_str("}")
}

/// Writes the rest of a body with a reason.
fn reason(refusal: Refusal, out: &mut dyn Write) -> fmt::Result {
    write!(out, r#""code":"{}","message":""#, refusal.code())?;
    write!(Escaped(out), "{refusal}")?;
    out.write_str("\"}")
}

fn progress(so_far: Progress, out: &mut dyn Write) -> fmt::Result {
    let Progress {
        test,
        elapsed,
        bytes,
        packets,
        missing,
        busy,
    } = so_far;
    write!(
        out,
        r#"{{"test":{test},"progress":{{"elapsed_s":{},"bytes":{bytes},"packets":{packets}"#,
        Seconds(elapsed)
    )?;
    if let Some(missing) = missing {
        write!(out, r#","missing":{missing}"#)?;
    }
    if let Some(busy) = busy {
        let (whole, part) = (busy / 1000, busy % 1000);
        write!(out, r#","busiest_core_ratio":{whole}.{part:03}"#)?;
    }
    out.write_str("}}")
}
