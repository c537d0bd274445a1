//! The documents of a file: one per test, printed whole (`-J`) or as one object per line
//! (`--json-stream`).

use super::sums::Sums;
use super::value::{Object, Value};
use crate::import::{Command, ImportError};

/// One test's document.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// Line at which it begins, from 1.
    pub(super) line: usize,
    /// The command line seen before it.
    pub(super) command: Option<Command>,
    /// `start`.
    pub(super) start: Object,
    /// The members of `intervals`.
    pub(super) intervals: Sums,
    /// `end`; absent in a stream of lines that stops early.
    pub(super) end: Option<Object>,
    /// `error`.
    pub(super) error: Option<String>,
    /// `title`.
    pub(super) title: Option<String>,
    /// The server's own document.
    pub(super) server: Option<Box<Self>>,
    /// The server's own text.
    pub(super) server_text: Option<String>,
    /// Parts of its end or its intervals are beside these: a line between is gone.
    pub(super) is_misplaced: bool,
    /// Why it, or a part of it, cannot be read.
    pub(super) refused: Option<ImportError>,
}

impl Document {
    /// Of one object that holds it all.
    pub(super) fn whole(mut object: Object, intervals: Sums, of_server: Sums) -> Self {
        Self {
            line: object.line,
            is_misplaced: is_misplaced(&object),
            command: None,
            refused: None,
            error: object.string("error"),
            title: object.string("title"),
            server_text: object.string("server_output_text"),
            server: part(&mut object, "server_output_json")
                .map(|object| Box::new(Self::whole(object, of_server, Sums::default()))),
            start: part(&mut object, "start").unwrap_or_default(),
            end: part(&mut object, "end"),
            intervals,
        }
    }

    /// Whether both are of one end of one test.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let cookie = |document: &Self| document.start.string("cookie");
        let is_server = |document: &Self| document.start.get("accepted_connection").is_some();
        cookie(self).is_some()
            && cookie(self) == cookie(other)
            && is_server(self) == is_server(other)
    }

    /// Takes a line of `--json-stream`.
    pub(super) fn event(&mut self, event: &str, mut object: Object, of_server: Sums) {
        match event {
            "interval" => {
                let data = part(&mut object, "data");
                if let Some(interval) = data {
                    self.intervals.add(&interval);
                }
            }
            "end" => self.end = part(&mut object, "data"),
            "error" => self.error = object.string("data"),
            "server_output_text" => self.server_text = object.string("data"),
            "server_output_json" => {
                self.server = part(&mut object, "data")
                    .map(|data| Box::new(Self::whole(data, of_server, Sums::default())));
            }
            _ => {}
        }
    }
}

/// Whether parts of a document are where others should be, or come twice.
fn is_misplaced(document: &Object) -> bool {
    const PARTS: [&str; 4] = ["start", "intervals", "end", "server_output_json"];
    const INNER: [&str; 4] = [
        "cpu_utilization_percent",
        "streams",
        "sum_received",
        "sum_sent",
    ];
    let has = |object: &Object, name: &str| object.get(name).is_some();
    let mut parts = ["start", "end"]
        .into_iter()
        .filter_map(|name| document.object(name));
    INNER.iter().any(|name| has(document, name))
        || PARTS.iter().any(|name| document.all(name).count() > 1)
        || parts.any(|part| PARTS.iter().any(|name| has(part, name)))
}

pub(super) fn part(object: &mut Object, key: &str) -> Option<Object> {
    match object.take(key)? {
        Value::Object(object) => Some(object),
        _ => None,
    }
}
