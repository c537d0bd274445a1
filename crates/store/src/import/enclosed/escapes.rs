//! Text with the backslashes that Markdown writes before its own signs: `\[  5\]`.

use super::{Decoder, Enclosure, Output};

pub(super) static ENCLOSURE: Enclosure = Enclosure {
    what: "written with the escapes of Markdown",
    command: "pandoc -t plain --wrap=preserve FILE -o log.txt",
    is_in,
    decoder: || Box::new(Escapes::default()),
};

/// Signs that Markdown reads, and no escape sequence of JSON, of C or of a path has.
const SIGNS: &str = "[]_*#>~`+-|().!{}<&";

fn is_in(line: &str) -> bool {
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\\') {
        if after.starts_with(|c| SIGNS.contains(c)) && !is_drive(before) {
            return true;
        }
        rest = after.strip_prefix('\\').unwrap_or(after);
    }
    false
}

/// Whether a backslash behind this is that of a drive: `C:\>` is a prompt of Windows.
fn is_drive(before: &str) -> bool {
    let mut letters = before.chars().rev();
    letters.next() == Some(':')
        && letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.next().is_none_or(|c| !c.is_alphanumeric())
}

#[derive(Default)]
struct Escapes {
    is_escaped: bool,
}

impl Decoder for Escapes {
    fn take(&mut self, piece: &str, has_end: bool, output: &mut Output) {
        for c in piece.chars() {
            if std::mem::take(&mut self.is_escaped) {
                if !SIGNS.contains(c) {
                    output.push('\\');
                }
                output.push(c);
            } else if c == '\\' {
                self.is_escaped = true;
            } else {
                output.push(c);
            }
        }
        if has_end {
            // One at the end of a line is a line end.
            self.is_escaped = false;
            output.end_line();
        }
    }

    fn finish(&mut self, _output: &mut Output) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::enclosed::decoded;

    #[test]
    fn backslashes_before_signs_are_taken_off() {
        let text = "\\[  5\\]   0.00-1.00 sec\\\n\\- - -\nC:\\iperf\\x\n";
        assert_eq!(
            decoded(&ENCLOSURE, text).unwrap(),
            ["[  5]   0.00-1.00 sec", "- - -", "C:\\iperf\\x"]
        );
        assert!(is_in("\\[  5\\]") && !is_in("C:\\iperf3\\n") && !is_in("a\\\\"));
        assert!(!is_in("C:\\> ntttcp.exe -s") && is_in("see:\\[1\\]"));
    }
}
