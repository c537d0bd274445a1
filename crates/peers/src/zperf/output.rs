//! What zperf prints, line by line, as values.

use super::units::{Release, pair, time};
use linerate_model::PacketCount;
use linerate_model::spec::Transport::{self, Tcp, Udp};
use std::time::Duration;

/// A line or block that the shell printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShellOutput {
    /// The board's server listens.
    ServerStarted,
    /// Its server listened already, with another user's settings.
    AlreadyStarted,
    /// The board's server has stopped, or did not run.
    ServerStopped,
    /// Traffic has come to the server.
    SessionStarted,
    /// The server's counts of a session.
    Downloaded(Download),
    /// The client has started.
    UploadStarted,
    /// The client's counts.
    Uploaded(Upload),
    /// The operating system's release.
    Zephyr(Release),
    /// zperf's own version.
    Zperf(String),
    /// There is no such command.
    NotFound,
    /// What was asked for cannot be done, in the board's words.
    Failed(String),
}

/// The server's counts of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// TCP or UDP.
    pub transport: Transport,
    /// From the first to the last datagram, or from the connection to its end.
    pub duration: Duration,
    /// Datagram counts (UDP only).
    pub datagrams: Option<Datagrams>,
    /// Text of the rate; its units depend on the release.
    pub rate: String,
}

/// Datagram counts of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagrams {
    /// Taken from the network, some of them perhaps twice; up to Zephyr 4.4 without the first.
    pub received: PacketCount,
    /// Sequence numbers skipped, including those that arrived later.
    pub lost: PacketCount,
    /// Datagrams with a sequence number below the highest.
    pub out_of_order: PacketCount,
    /// RFC 3550's filter, in whole microseconds.
    pub jitter: Duration,
}

/// The client's counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// TCP or UDP.
    pub transport: Transport,
    /// Duration on the board's clock.
    pub duration: Duration,
    /// Datagrams, or writes to the TCP stream.
    pub sent: PacketCount,
    /// Writes that failed or were repeated (TCP only).
    pub errors: Option<PacketCount>,
    /// Text of the rate; its units depend on the release.
    pub rate: String,
    /// Whether the report of the peer's server arrived.
    pub has_report: bool,
}

/// Fields of a block that are used; other threads' output between them is ignored.
const FIELDS: [&str; 8] = [
    "duration",
    "jitter",
    "nb packets lost",
    "nb packets outorder",
    "num errors",
    "num packets",
    "rate",
    "received packets",
];

/// Reads lines.
#[derive(Debug, Default)]
pub(super) struct Reader {
    block: Option<Block>,
    /// Last error in a log line: the cause of a failed command.
    complaint: Option<String>,
}

/// Incomplete block of counts.
#[derive(Debug)]
struct Block {
    kind: Kind,
    fields: Vec<(String, String)>,
    has_report: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Download(Transport),
    Upload,
}

impl Reader {
    /// Takes one line; returns what it means or completes.
    pub(super) fn take(&mut self, line: &str) -> Option<ShellOutput> {
        let text = line.trim();
        if let Some(said) = self.plain(text) {
            self.block = None;
            return Some(said);
        }
        let started = match text {
            "End of session!" => Some(Kind::Download(Udp)),
            "TCP session ended" => Some(Kind::Download(Tcp)),
            "Upload completed!" => Some(Kind::Upload),
            _ => None,
        };
        if let Some(kind) = started {
            self.block = Some(Block {
                kind,
                fields: Vec::new(),
                has_report: true,
            });
            return None;
        }
        self.field(text)
    }

    /// Interprets a line outside a block.
    fn plain(&mut self, text: &str) -> Option<ShellOutput> {
        let lower = text.to_ascii_lowercase();
        if lower.contains("<err>") || lower.contains("<wrn>") || lower.starts_with("can't ") {
            self.complaint = Some(text.to_owned());
        }
        if let Some(release) = text.strip_prefix("Zephyr version ") {
            return Release::parse(release).map(ShellOutput::Zephyr);
        }
        if let Some(version) = text.strip_prefix("Version: ") {
            return Some(ShellOutput::Zperf(version.trim().to_owned()));
        }
        match text {
            "New session started." | "New TCP session started." => {
                return Some(ShellOutput::SessionStarted);
            }
            "Starting..." => return Some(ShellOutput::UploadStarted),
            "UDP server already started!" | "TCP server already started!" => {
                return Some(ShellOutput::AlreadyStarted);
            }
            "UDP server stopped"
            | "TCP server stopped"
            | "UDP server not running!"
            | "TCP server not running!" => return Some(ShellOutput::ServerStopped),
            _ => {}
        }
        if lower.contains("server started on port ") {
            return Some(ShellOutput::ServerStarted);
        }
        if lower.ends_with(": command not found") {
            return Some(ShellOutput::NotFound);
        }
        is_failure(&lower).then(|| ShellOutput::Failed(self.with_complaint(text)))
    }

    fn with_complaint(&mut self, text: &str) -> String {
        match self.complaint.take() {
            Some(complaint) if complaint != text => format!("{text}; before that: {complaint}"),
            _ => text.to_owned(),
        }
    }

    /// A line of a block: `name: value`. The rate is its last.
    fn field(&mut self, text: &str) -> Option<ShellOutput> {
        let block = self.block.as_mut()?;
        if text == "LAST PACKET NOT RECEIVED!!!" {
            block.has_report = false;
        }
        let (name, value) = text.split_once(':')?;
        let name = name.trim().to_ascii_lowercase();
        let is_last = name == "rate";
        if FIELDS.contains(&name.as_str()) && block.field(&name).is_none() {
            block.fields.push((name, value.trim().to_owned()));
        }
        if !is_last {
            return None;
        }
        let block = self.block.take()?;
        Some(block.complete().unwrap_or_else(|| {
            ShellOutput::Failed("its numbers at the end of the test cannot be read".to_owned())
        }))
    }
}

/// Whether a line, in lower case, says that a command has failed.
fn is_failure(lower: &str) -> bool {
    const BEGINNINGS: [&str; 15] = [
        "udp upload failed",
        "tcp upload failed",
        "udp session error",
        "tcp session error",
        "failed to start ",
        "please specify the ip address",
        "not enough parameters",
        "unrecognized argument",
        "unable to ",
        "udp support is not enabled",
        "tcp support is not enabled",
        // In old releases, such as Zephyr 2.6.
        "ipv4 connect failed ",
        "ipv6 connect failed ",
        "cannot bind ip",
        "cannot get ip",
    ];
    const WHOLE: [&str; 2] = ["udp not supported", "tcp not supported"];
    BEGINNINGS
        .iter()
        .any(|beginning| lower.starts_with(beginning))
        || WHOLE.contains(&lower)
}

impl Block {
    fn complete(self) -> Option<ShellOutput> {
        match self.kind {
            Kind::Download(transport) => self.download(transport).map(ShellOutput::Downloaded),
            Kind::Upload => self.upload().map(ShellOutput::Uploaded),
        }
    }

    fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        let (_, value) = fields.find(|(found, _)| found == name)?;
        Some(value)
    }

    fn count(&self, name: &str) -> Option<PacketCount> {
        Some(PacketCount::new(self.field(name)?.parse().ok()?))
    }

    fn download(&self, transport: Transport) -> Option<Download> {
        let datagrams = match transport {
            Tcp => None,
            Udp => Some(Datagrams {
                received: self.count("received packets")?,
                lost: self.count("nb packets lost")?,
                out_of_order: self.count("nb packets outorder")?,
                jitter: time(self.field("jitter")?)?,
            }),
        };
        Some(Download {
            transport,
            duration: time(self.field("duration")?)?,
            datagrams,
            rate: self.field("rate")?.to_owned(),
        })
    }

    /// Of UDP two columns, the far server's and in parentheses the board's own; of TCP its own only.
    fn upload(&self) -> Option<Upload> {
        let (packets, rate) = (pair(self.field("num packets")?), pair(self.field("rate")?));
        let duration = pair(self.field("duration")?);
        let number = |text: &str| Some(PacketCount::new(text.parse().ok()?));
        match packets.1 {
            Some(own) => Some(Upload {
                transport: Udp,
                duration: time(duration.1?)?,
                sent: number(own)?,
                errors: None,
                rate: rate.1?.to_owned(),
                has_report: self.has_report,
            }),
            None => Some(Upload {
                transport: Tcp,
                duration: time(duration.0)?,
                sent: number(packets.0)?,
                errors: Some(number(pair(self.field("num errors")?).0)?),
                rate: rate.0.to_owned(),
                has_report: self.has_report,
            }),
        }
    }
}
