//! A document of JSON that a logger wrote as one quoted text: `level=info msg="{\"start\": …}"`.

use super::{Decoder, Enclosure, Output};

pub(super) static ENCLOSURE: Enclosure = Enclosure {
    what: "a log of JSON documents in quotes",
    command: "sed -n 's/.*\"\\({\\\\\".*}\\)\".*/\"\\1\"/p' FILE | jq -r . > log.json",
    is_in: |line| line.contains(MARK),
    decoder: || Box::new(Quoted::default()),
};

/// Begins a document in quotes: a brace, and an escape sequence.
const MARK: &str = "\"{\\";

/// What a character is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Inside {
    Document,
    Escape,
    #[default]
    Nothing,
}

#[derive(Default)]
struct Quoted {
    inside: Inside,
    /// The line has a document, which is all that is taken of it.
    has_document: bool,
    /// The piece before did not end its line.
    is_inside_line: bool,
    has_fault: bool,
}

impl Decoder for Quoted {
    fn take(&mut self, piece: &str, has_end: bool, output: &mut Output) {
        let is_first = !std::mem::replace(&mut self.is_inside_line, !has_end);
        let mut rest = piece;
        if is_first {
            let begun = piece.find(MARK);
            self.has_document = begun.is_some();
            if let Some(at) = begun {
                rest = &piece[at + 1..];
                self.inside = Inside::Document;
            }
        }
        for c in rest.chars() {
            match (self.inside, c) {
                (Inside::Document, '\\') => self.inside = Inside::Escape,
                (Inside::Document, '"') => self.inside = Inside::Nothing,
                (Inside::Document, c) => output.push(c),
                (Inside::Escape, c) => {
                    self.inside = Inside::Document;
                    match c {
                        'n' => output.end_line(),
                        't' => output.push('\t'),
                        'r' => {}
                        c => output.push(c),
                    }
                }
                (Inside::Nothing, c) if !self.has_document => output.push(c),
                (Inside::Nothing, _) => {}
            }
        }
        if has_end {
            self.has_fault |= self.inside != Inside::Nothing;
            self.inside = Inside::Nothing;
            output.end_line();
        }
    }

    fn finish(&mut self, _output: &mut Output) -> bool {
        !self.has_fault && self.inside == Inside::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::enclosed::decoded;

    #[test]
    fn a_document_is_taken_out_of_its_quotes() {
        let text = "level=info msg=start\nlevel=info msg=\"{\\\"a\\\": \\\"b\\\\\\\"c\\\",\\n\\\"d\\\": 1}\" pod=\"x\"\n";
        assert_eq!(
            decoded(&ENCLOSURE, text).unwrap(),
            ["level=info msg=start", "{\"a\": \"b\\\"c\",", "\"d\": 1}"]
        );
        assert_eq!(decoded(&ENCLOSURE, "msg=\"{\\\"a\\\": 1\n"), None);
    }
}
