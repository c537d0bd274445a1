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
}

impl<'a> Document<'a> {
    /// Of one object that holds it all.
    fn whole(mut object: Object<'a>) -> Self {
        Self {
            line: object.line,
            command: None,
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

/// Reads every document of a file.
pub(super) fn read<'a>(file: &str, text: &'a str) -> Result<Vec<Document<'a>>, ImportError> {
    let mut parser = Parser::new(text);
    let mut documents: Vec<Document<'a>> = Vec::new();
    let mut command = None;
    let mut streams = false;
    loop {
        while let Some(line) = parser.other_line() {
            command = Command::find(line, &["iperf3"]).or(command);
        }
        let line = parser.line();
        let Some(read) = parser.document() else {
            return Ok(documents);
        };
        let mut object = read.map_err(|fault| error(file, text, line, fault))?;
        let Some(event) = object.string("event") else {
            documents.push(Document {
                command: command.take(),
                ..Document::whole(object)
            });
            streams = false;
            continue;
        };
        if event == "start" || !streams {
            documents.push(Document {
                line,
                command: command.take(),
                start: match event.as_str() {
                    "start" => part(&mut object, "data").unwrap_or_default(),
                    _ => Object::default(),
                },
                ..Document::default()
            });
            streams = true;
        }
        if let Some(document) = documents.last_mut() {
            document.event(&event, object);
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
