//! What mails, web pages, chats and word processors make of a terminal's characters: blanks of other widths, dashes,
//! quotes, marks without a width, a line or a figure in bold.

use std::borrow::Cow;

/// How Markdown and chats mark a whole line.
const MARKS: &[&str] = &["**", "__", "*", "`"];

/// The line as it was typed.
pub(in crate::import) fn typed(text: &str) -> Cow<'_, str> {
    let line = plain_figures(unmarked(text));
    if line.is_ascii() {
        return line;
    }
    // A line of JSON with quotes of its own has these inside of a text.
    let has_quotes = line.contains('"');
    let quote = |c: char| match c {
        '\u{201c}'..='\u{201e}' if !has_quotes => '"',
        other => other,
    };
    Cow::Owned(line.chars().filter_map(plain).map(quote).collect())
}

/// The character of a terminal in place of that of a typesetter, if it has a width.
const fn plain(c: char) -> Option<char> {
    match c {
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Some(' '),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => None,
        other => Some(other),
    }
}

/// The line without the marks of figures in bold: `sec  94.2 MBytes  **791 Mbits/sec**`.
fn plain_figures(line: &str) -> Cow<'_, str> {
    const BOLD: &str = "**";
    let is_figure = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    let parts = line.split(BOLD);
    let count = parts.clone().count();
    let are_figures = count > 1 && count % 2 == 1 && {
        let mut bold = parts.clone().skip(1).step_by(2);
        bold.all(is_figure)
    };
    if are_figures {
        return Cow::Owned(parts.collect());
    }
    Cow::Borrowed(line)
}

/// The line between marks that it has at both ends.
fn unmarked(text: &str) -> &str {
    let line = text.trim();
    let between = MARKS.iter().find_map(|mark| {
        let inner = line.strip_prefix(mark)?.strip_suffix(mark)?;
        // A line of nothing else is a rule, or a fence.
        let is_text = !inner.contains(mark)
            && !inner.starts_with(&mark[..1])
            && inner.contains(|c: char| !"*_`-= ".contains(c));
        is_text.then_some(inner)
    });
    between.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn typesetting_is_undone() {
        for (text, plain) in [
            ("0.00\u{2013}1.00\u{a0}sec", "0.00-1.00 sec"),
            ("94.1\u{202f}Mbits/sec\u{200b}", "94.1 Mbits/sec"),
            ("**[  5] 0.00-1.00 sec**", "[  5] 0.00-1.00 sec"),
            ("`[SUM] 1 GBytes` ", "[SUM] 1 GBytes"),
            ("**bold** and **bold**", "**bold** and **bold**"),
            ("103 MBytes **860 Mbits/sec**", "103 MBytes 860 Mbits/sec"),
            (
                "= **1.5 Mbps** 3 %TX **0** retrans",
                "= 1.5 Mbps 3 %TX 0 retrans",
            ),
            ("2 ** 3", "2 ** 3"),
            ("*[  5] 1 GBytes*", "[  5] 1 GBytes"),
            ("*** done ***", "*** done ***"),
            ("* one * two *", "* one * two *"),
            ("________", "________"),
            ("```", "```"),
            ("  2 ms \u{e4}", "  2 ms \u{e4}"),
            ("\u{201c}end\u{201d}: {", "\"end\": {"),
            (
                "\"title\": \"\u{201c}a\u{201d}\"",
                "\"title\": \"\u{201c}a\u{201d}\"",
            ),
        ] {
            assert_eq!(typed(text), plain, "{text}");
        }
    }
}
