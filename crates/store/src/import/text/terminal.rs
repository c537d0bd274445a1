//! What a terminal was told beside the text: colours, the cursor's moves, titles, bells, corrections.
//!
//! # References
//! - ECMA-48: control sequences begin with CSI and end with a byte from `@` to `~`; strings (OSC, DCS, PM, APC, SOS)
//!   end with ST, titles also with a bell

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// Most blanks that a move to the right stands for: wider than any terminal.
const MAX_MOVE: usize = 1024;

/// The text that a terminal shows of a line.
pub(in crate::import) fn shown(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !c.is_control() || c == '\t';
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => escape(&mut rest, &mut shown),
            '\u{9b}' => sequence(&mut rest, &mut shown),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => string(&mut rest),
            '\u{8}' => drop(shown.pop()),
            // At the beginning of a line it corrects nothing: other files than texts begin with it.
            '\u{7f}' if !shown.is_empty() => drop(shown.pop()),
            // Bells, character sets, flow control of a serial line, pages.
            '\u{7}' | '\u{b}'..='\u{f}' | '\u{11}' | '\u{13}' => {}
            other => shown.push(other),
        }
    }
    Cow::Owned(shown)
}

/// What follows an escape character.
fn escape(rest: &mut Peekable<Chars<'_>>, shown: &mut String) {
    match rest.next() {
        Some('[') => sequence(rest, shown),
        Some(']' | 'P' | '^' | '_' | 'X') => string(rest),
        // A character set, and other functions of more than one character.
        Some(' '..='/') => {
            while rest.next_if(|c| (' '..='/').contains(c)).is_some() {}
            rest.next();
        }
        _ => {}
    }
}

/// A control sequence. Of its effects only a move to the right leaves blanks.
fn sequence(rest: &mut Peekable<Chars<'_>>, shown: &mut String) {
    let mut count = String::new();
    while let Some(c) = rest.next_if(|c| (' '..='?').contains(c)) {
        count.push(c);
    }
    if rest.next() == Some('C') {
        let count: usize = count.parse().unwrap_or(1);
        shown.extend(std::iter::repeat_n(' ', count.min(MAX_MOVE)));
    }
}

/// A string for the terminal, such as the title of its window.
fn string(rest: &mut Peekable<Chars<'_>>) {
    while let Some(c) = rest.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                rest.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn what_is_no_text_is_left_out() {
        for (line, text) in [
            ("plain\ttext", "plain\ttext"),
            ("\u{1b}[2;35mcolour\u{1b}[0m", "colour"),
            (
                "\u{1b}[?2004h\u{1b}]0;user@host: ~\u{7}user@host:~$ ls",
                "user@host:~$ ls",
            ),
            ("\u{1b}]2;title\u{1b}\\text", "text"),
            ("\u{9d}0;title\u{9c}text\u{9b}1m", "text"),
            ("\u{1b}P1$r0m\u{1b}\\text", "text"),
            ("\u{1b}(Btext\u{1b}=\u{1b}7\u{7}", "text"),
            ("a\u{1b}[3Cb", "a   b"),
            (
                "a\u{1b}[999999999Cb",
                &format!("a{}b", " ".repeat(super::MAX_MOVE)),
            ),
            ("ipx\u{8}erf3", "iperf3"),
            ("cut \u{1b}[12", "cut "),
            ("cut \u{1b}]0;tit", "cut "),
            ("\u{1b}", ""),
        ] {
            assert_eq!(shown(line), text, "{line:?}");
        }
    }

    #[test]
    fn other_control_characters_stay_for_the_reader_to_refuse() {
        assert_eq!(shown("a\0b\u{7}"), "a\0b");
        assert_eq!(shown("\u{1}"), "\u{1}");
    }
}
