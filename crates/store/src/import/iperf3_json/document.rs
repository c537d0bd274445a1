//! The documents of a file: one per test, printed whole (`-J`) or as one object per line
//! (`--json-stream`).

use super::value::{Fault, Object, Parser, Value};
use crate::import::{Command, ImportError};

/// One test's document.
#[derive(Debug, Default)]
pub(super) struct Document<'a> {
    /// Line at which it begins, from 1.
    pub(super) line: usize,
    /// The command line seen before it.
    pub(super) command: Option<Command>,
    /// `start`.
    pub(super) start: Object<'a>,
    /// The members of `intervals`.
    pub(super) intervals: Vec<Object<'a>>,
    /// `end`; absent in a stream of lines that stops early.
    pub(super) end: Option<Object<'a>>,
    /// `error`.
    pub(super) error: Option<String>,
    /// `title`.
    pub(super) title: Option<String>,
    /// The server's own document.
    pub(super) server: Option<Box<Self>>,
    /// The server's own text.
    pub(super) server_text: Option<String>,
    /// Why it, or a part of it, cannot be read.
    pub(super) refused: Option<ImportError>,
}

impl<'a> Document<'a> {
    /// Of one object that holds it all.
    fn whole(mut object: Object<'a>) -> Self {
        Self {
            line: object.line,
            command: None,
            refused: None,
            error: object.string("error"),
            title: object.string("title"),
            server_text: object.string("server_output_text"),
            server: server(&mut object),
            start: part(&mut object, "start").unwrap_or_default(),
            end: part(&mut object, "end"),
            intervals: match object.take("intervals") {
                Some(Value::Array(items)) => items.into_iter().filter_map(as_object).collect(),
                _ => Vec::new(),
            },
        }
    }

    /// Whether both are of one end of one test.
    fn is_same(&self, other: &Self) -> bool {
        let cookie = |document: &Self| document.start.string("cookie");
        let is_server = |document: &Self| document.start.get("accepted_connection").is_some();
        cookie(self).is_some()
            && cookie(self) == cookie(other)
            && is_server(self) == is_server(other)
    }

    /// Takes a line of `--json-stream`.
    fn event(&mut self, event: &str, mut object: Object<'a>) {
        match event {
            "interval" => self.intervals.extend(part(&mut object, "data")),
            "end" => self.end = part(&mut object, "data"),
            "error" => self.error = object.string("data"),
            "server_output_text" => self.server_text = object.string("data"),
            "server_output_json" => {
                self.server = part(&mut object, "data").map(|data| Box::new(Self::whole(data)));
            }
            _ => {}
        }
    }
}

fn as_object(value: Value<'_>) -> Option<Object<'_>> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn part<'a>(object: &mut Object<'a>, key: &str) -> Option<Object<'a>> {
    object.take(key).and_then(as_object)
}

fn server<'a>(object: &mut Object<'a>) -> Option<Box<Document<'a>>> {
    part(object, "server_output_json").map(|object| Box::new(Document::whole(object)))
}

/// Reads every document of a file; one that is not whole says so.
pub(super) fn read<'a>(file: &str, text: &'a str) -> Vec<Document<'a>> {
    let mut parser = Parser::new(text);
    let mut documents = Documents::default();
    loop {
        while let Some(line) = parser.other_line() {
            documents.command = Command::find(line, &["iperf3"]).or(documents.command);
        }
        let line = parser.line();
        match parser.document() {
            None => return documents.read,
            Some(Ok(object)) => documents.add(line, object),
            Some(Err(fault)) => {
                documents.refuse(line, error(file, text, line, fault));
                parser.skip();
            }
        }
    }
}

/// The documents of a file while it is read.
#[derive(Default)]
struct Documents<'a> {
    read: Vec<Document<'a>>,
    command: Option<Command>,
    /// The last one comes as one object per line.
    streams: bool,
}

impl<'a> Documents<'a> {
    fn add(&mut self, line: usize, mut object: Object<'a>) {
        let Some(event) = object.string("event") else {
            let whole = Document::whole(object);
            // `--json-stream-full-output` prints it all once more.
            if self.streams && self.read.last().is_some_and(|last| last.is_same(&whole)) {
                let streamed = self.read.pop();
                self.command = streamed.and_then(|streamed| streamed.command);
            }
            self.begin(whole);
            self.streams = false;
            return;
        };
        if event == "start" || !self.streams {
            self.begin(Document {
                line,
                start: match event.as_str() {
                    "start" => part(&mut object, "data").unwrap_or_default(),
                    _ => Object::default(),
                },
                ..Document::default()
            });
            self.streams = true;
        }
        if let Some(document) = self.read.last_mut() {
            document.event(&event, object);
        }
    }

    fn begin(&mut self, document: Document<'a>) {
        self.read.push(Document {
            command: self.command.take(),
            ..document
        });
    }

    /// Marks what begins at `line`, which may be a line of the last document, as not readable.
    fn refuse(&mut self, line: usize, error: ImportError) {
        // What follows the end of a stream is the whole document once more, or another test.
        let is_over = self.read.last().is_some_and(|last| last.end.is_some());
        if !self.streams || is_over {
            self.streams = false;
            self.begin(Document {
                line,
                ..Document::default()
            });
        }
        if let Some(document) = self.read.last_mut() {
            document.refused.get_or_insert(error);
        }
    }
}

fn error(file: &str, text: &str, document: usize, fault: Fault) -> ImportError {
    match fault {
        Fault::Cut => ImportError::Cut {
            file: file.to_owned(),
            line: document,
            missing: "the end of its JSON is not there".to_owned(),
        },
        Fault::Damaged { line, wanted } => {
            let damaged = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            ImportError::line(file, line, wanted, damaged)
        }
    }
}
