//! Makes documents, and tests of these, of what is found in a log.

use super::document::{Document, part};
use super::scanner::{Broken, JsonItem, Piece, Scanner, Why};
use super::sums::Sums;
use super::test;
use super::value::{Fault, Object, Parser};
use crate::import::reader::{Log, LogReader};
use crate::import::{Command, ImportError, Line, ParsedTest};

/// Reads the documents of a log.
pub(super) struct Reader {
    scanner: Scanner,
    documents: Documents,
}

/// The documents of a file while it is read.
struct Documents {
    log: Log,
    /// The last one: what follows may belong to it.
    open: Option<Document>,
    /// It comes as one object per line.
    streams: bool,
    /// Intervals of the object that is being read, and of the server's inside it.
    intervals: [Sums; 2],
    /// What is wrong with one of them.
    damage: Option<ImportError>,
}

impl Reader {
    pub(super) fn new(file: &str) -> Self {
        Self {
            scanner: Scanner::new(),
            documents: Documents {
                log: Log::new(file),
                open: None,
                streams: false,
                intervals: <[Sums; 2]>::default(),
                damage: None,
            },
        }
    }
}

impl LogReader for Reader {
    fn take(&mut self, line: &Line<'_>) {
        let documents = &mut self.documents;
        self.scanner.take(line, &mut |found| documents.take(found));
    }

    fn finish(&mut self) {
        let documents = &mut self.documents;
        self.scanner.finish(&mut |found| documents.take(found));
        documents.hand_out();
    }

    fn tests(&mut self) -> &mut Vec<ParsedTest> {
        &mut self.documents.log.tests
    }
}

impl Documents {
    fn take(&mut self, found: JsonItem<'_>) {
        match found {
            JsonItem::Text(text) => {
                self.torn(text);
                let command = Command::find(text, &["iperf3"]);
                self.log.command = command.or_else(|| self.log.command.take());
            }
            JsonItem::Interval(list, piece) => match self.object(piece) {
                Ok(interval) => self.intervals[list as usize].add(&interval),
                Err(error) => {
                    self.damage.get_or_insert(error);
                }
            },
            JsonItem::Document(piece) => {
                let read = match self.damage.take() {
                    Some(damage) => Err(damage),
                    None => self.object(piece),
                };
                match read {
                    Ok(object) => self.add(piece.line, object),
                    Err(error) => self.refuse(piece.line, error),
                }
                self.intervals = <[Sums; 2]>::default();
            }
            JsonItem::Fault(broken) => {
                let error = self.damage.take().unwrap_or_else(|| self.broken(&broken));
                self.refuse(broken.line, error);
                self.intervals = <[Sums; 2]>::default();
            }
        }
    }

    /// Refuses the last document if what follows it is of it: then one of its braces is gone.
    fn torn(&mut self, text: &str) {
        let after = text.trim_start_matches(',').trim_start();
        let is_member = after.starts_with('"') && after.contains("\":");
        if let Some(document) = &mut self.open
            && (is_member || after.starts_with('}'))
        {
            let wanted = "the document to go on: a line with a brace is gone";
            let error = ImportError::line(&self.log.file, document.line, wanted, text);
            document.refused.get_or_insert(error);
        }
    }

    fn object(&self, piece: Piece<'_>) -> Result<Object, ImportError> {
        let mut parser = Parser::new(piece.text, piece.line, piece.jumps);
        parser.document().map_err(|fault| {
            let text = parser.stopped();
            self.broken(&Broken {
                line: piece.line,
                why: Why::Fault(fault),
                text,
            })
        })
    }

    fn broken(&self, broken: &Broken<'_>) -> ImportError {
        let file = &self.log.file;
        match broken.why {
            Why::Fault(Fault::Cut) => self
                .log
                .cut(broken.line, "the end of its JSON is not there"),
            Why::Fault(Fault::Damaged { line, wanted }) => {
                ImportError::line(file, line, wanted, broken.text)
            }
            Why::TooLarge => ImportError::TooLarge {
                file: file.clone(),
                line: broken.line,
                what: "a document without its intervals",
                limit: "16 MiB",
                hint: "have iperf3 print --json-stream, or leave out --get-server-output",
            },
        }
    }

    fn add(&mut self, line: usize, mut object: Object) {
        let [own, server] = std::mem::take(&mut self.intervals);
        let Some(event) = object.string("event") else {
            if let Some(path) = object.document_inside() {
                let error = ImportError::Inside {
                    file: self.log.file.clone(),
                    line,
                    tool: super::FORMAT.tool,
                    path: if path.starts_with('[') {
                        format!(".{path}")
                    } else {
                        path
                    },
                };
                return self.refuse(line, error);
            }
            let whole = Document::whole(object, own, server);
            let inner = whole
                .server
                .as_ref()
                .is_some_and(|server| server.is_misplaced);
            if whole.is_misplaced || inner {
                let wanted = "streams and sums inside of \"intervals\" and \"end\"";
                let error = ImportError::line(&self.log.file, line, wanted, "{");
                return self.refuse(line, error);
            }
            // `--json-stream-full-output` prints it all once more.
            if self.streams && self.open.as_ref().is_some_and(|last| last.is_same(&whole)) {
                let streamed = self.open.take();
                self.log.command = streamed.and_then(|streamed| streamed.command);
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
        if let Some(document) = &mut self.open {
            document.event(&event, object, server);
        }
    }

    fn begin(&mut self, document: Document) {
        self.hand_out();
        self.open = Some(Document {
            command: self.log.command.take(),
            ..document
        });
    }

    /// Makes tests of the last document.
    fn hand_out(&mut self) {
        if let Some(document) = self.open.take() {
            test::add_tests(&mut self.log, document);
        }
    }

    /// Marks what begins at `line`, which may be a line of the last document, as not readable.
    fn refuse(&mut self, line: usize, error: ImportError) {
        // What follows the end of a stream is the whole document once more, or another test.
        let is_over = self.open.as_ref().is_none_or(|last| last.end.is_some());
        if !self.streams || is_over {
            self.streams = false;
            self.begin(Document {
                line,
                ..Document::default()
            });
        }
        if let Some(document) = &mut self.open {
            document.refused.get_or_insert(error);
        }
    }
}
