//! Quoted-printable of mails, and of pages that a browser saved in one file: `=20`, and `=` where a line goes on.
//!
//! # References
//! - Quoted-printable: RFC 2045 §6.7; MHTML: RFC 2557

use super::{Decoder, Enclosure, Output};
use crate::import::text::{MAX_PIECE_BYTES, shown};

pub(super) static ENCLOSURE: Enclosure = Enclosure {
    what: "written in quoted-printable, as a mail or a page saved as MHTML is",
    command: "python3 -c 'import quopri,sys; quopri.decode(sys.stdin.buffer, sys.stdout.buffer)' < FILE > log.txt",
    is_in,
    decoder: || Box::new(QuotedPrintable::default()),
};

/// The header field that names how a part is written.
const FIELD: &str = "content-transfer-encoding:";

fn is_in(line: &str) -> bool {
    line.ends_with('=') || encoding(line).is_some()
}

/// What a part that follows is written in, if this line is the header field that says it.
fn encoding(line: &str) -> Option<&str> {
    let name = line.get(..FIELD.len())?;
    name.eq_ignore_ascii_case(FIELD)
        .then(|| line[FIELD.len()..].trim())
}

/// How the lines are written that come.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Nothing says so: every `=` must be part of quoted-printable.
    #[default]
    Undeclared,
    Quoted,
    /// Pictures and the like.
    Base64,
    Plain,
}

#[derive(Default)]
struct QuotedPrintable {
    part: Part,
    /// An `=` that no quoted-printable has.
    has_fault: bool,
    /// A line went on in the next.
    is_soft: bool,
    /// The line as far as it was read.
    bytes: Vec<u8>,
    /// The piece before did not end its line.
    is_inside: bool,
}

impl QuotedPrintable {
    /// Takes the bytes of a piece, with which a line may end; whether the line goes on in the next.
    fn decode(&mut self, piece: &str, has_end: bool) -> bool {
        let mut rest = piece.as_bytes();
        while let [byte, after @ ..] = rest {
            rest = after;
            if *byte != b'=' {
                self.bytes.push(*byte);
                continue;
            }
            if after.is_empty() && has_end {
                self.is_soft = true;
                return true;
            }
            match after {
                [high, low, after @ ..] if digit(*high).is_some() && digit(*low).is_some() => {
                    let digits = digit(*high).zip(digit(*low));
                    self.bytes.extend(digits.map(|(high, low)| high * 16 + low));
                    rest = after;
                }
                _ => {
                    self.has_fault |= self.part == Part::Undeclared;
                    self.bytes.push(b'=');
                }
            }
        }
        false
    }

    fn hand_out(&mut self, output: &mut Output) {
        let bytes = std::mem::take(&mut self.bytes);
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            // Western mails are in Latin-1, or in what is much like it.
            Err(error) => error.into_bytes().into_iter().map(char::from).collect(),
        };
        for c in shown(&text).chars() {
            match c {
                '\n' => output.end_line(),
                '\r' => {}
                c if c.is_control() && c != '\t' => self.has_fault |= self.part == Part::Undeclared,
                c => output.push(c),
            }
        }
    }
}

/// The value of a digit of quoted-printable.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

impl Decoder for QuotedPrintable {
    fn take(&mut self, piece: &str, has_end: bool, output: &mut Output) {
        let is_first = !std::mem::replace(&mut self.is_inside, !has_end);
        if let Some(encoding) = encoding(piece).filter(|_| is_first) {
            self.part = if encoding.eq_ignore_ascii_case("quoted-printable") {
                Part::Quoted
            } else if encoding.eq_ignore_ascii_case("base64") {
                Part::Base64
            } else {
                Part::Plain
            };
            // It says nothing of what comes out.
            return;
        }
        if self.part == Part::Base64 && piece.starts_with("--") {
            self.part = Part::Plain;
        }
        let goes_on = match self.part {
            Part::Base64 => return,
            Part::Plain => {
                self.bytes.extend_from_slice(piece.as_bytes());
                false
            }
            Part::Quoted | Part::Undeclared => self.decode(piece, has_end),
        };
        if goes_on && has_end && self.bytes.len() < MAX_PIECE_BYTES {
            return;
        }
        self.hand_out(output);
        if has_end && !goes_on {
            output.end_line();
        }
    }

    fn finish(&mut self, output: &mut Output) -> bool {
        self.hand_out(output);
        self.part != Part::Undeclared || self.is_soft && !self.has_fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::enclosed::decoded;

    #[test]
    fn lines_are_joined_and_bytes_decoded() {
        let text = "[  5]   0.00-1.00 =\n  sec=C2=\n=A0 1=3D1=20\nna=EFve\n";
        assert_eq!(
            decoded(&ENCLOSURE, text).unwrap(),
            ["[  5]   0.00-1.00   sec  1=1 ", "naïve"]
        );
    }

    #[test]
    fn a_mail_says_what_its_parts_are_written_in() {
        let text = "Content-Type: multipart/related; boundary=\"--x=_1\"\n\n--x=_1\n\
                    Content-Transfer-Encoding: quoted-printable\n\na=3Db\n\
                    --x=_1\ncontent-transfer-encoding: BASE64\n\niVBORw0KGgo=\n\
                    --x=_1\nContent-Transfer-Encoding: 8bit\n\nc=3Dd\n";
        let lines = decoded(&ENCLOSURE, text).unwrap();
        assert!(lines.contains(&"a=b".to_owned()) && lines.contains(&"c=3Dd".to_owned()));
        assert!(
            !lines.iter().any(|line| line.contains("iVBOR")),
            "{lines:?}"
        );
    }

    #[test]
    fn other_texts_with_equals_signs_are_refuted() {
        for text in [
            "THROUGHPUT=941.22\nPROTOCOL=TCP\nEMPTY=\n",
            "run --len=20\n",
            "a=\nb=01c\n",
            "plain\n",
        ] {
            assert_eq!(decoded(&ENCLOSURE, text), None, "{text}");
        }
    }
}
