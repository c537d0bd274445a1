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

#[derive(Default)]
struct Quoted {
    /// A document is open.
    is_inside: bool,
    is_escaped: bool,
    /// The piece before did not end its line.
    is_inside_line: bool,
    has_fault: bool,
}

impl Decoder for Quoted {
    fn take(&mut self, piece: &str, has_end: bool, output: &mut Output) {
        let is_first = !std::mem::replace(&mut self.is_inside_line, !has_end);
        let mut rest = piece;
        let begun = piece.find(MARK).filter(|_| is_first);
        if let Some(at) = begun {
            // What stands around it is the logger's.
            rest = &piece[at + 1..];
            self.is_inside = true;
        }
        let is_document = self.is_inside;
        for c in rest.chars() {
            match (self.is_inside, std::mem::take(&mut self.is_escaped)) {
                (true, true) => match c {
                    'n' => output.end_line(),
                    't' => output.push('\t'),
                    'r' => {}
                    c => output.push(c),
                },
                (true, false) if c == '\\' => self.is_escaped = true,
                (true, false) if c == '"' => self.is_inside = false,
                (true, false) => output.push(c),
                (false, _) if is_document => {}
                (false, _) => output.push(c),
            }
        }
        if has_end {
            self.has_fault |= std::mem::take(&mut self.is_inside);
            output.end_line();
        }
    }

    fn finish(&mut self, _output: &mut Output) -> bool {
        !self.has_fault && !self.is_inside
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
