//! Small parsers shared by the readers of `/proc`.

/// Lines that end with a newline. The kernel ends every line of a table, so a last line without one was truncated,
/// possibly within a number.
pub(crate) fn whole_lines(text: &str) -> impl Iterator<Item = &str> {
    let end = text.rfind('\n').map_or(0, |newline| newline + 1);
    text[..end].lines()
}

/// One line of text without control characters, at most 256 characters; `None` if it is empty.
pub(crate) fn tidy(text: &str) -> Option<String> {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(256)
        .collect();
    let clean = clean.trim();
    (!clean.is_empty()).then(|| clean.to_owned())
}

/// The value of the first line `key <separator> value` in a table such as `/proc/cpuinfo`.
pub(crate) fn field<'a>(text: &'a str, key: &str, separator: char) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(separator))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
        .filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_not_read() {
        let lines: Vec<_> = whole_lines("one 1\ntwo 2\nthree 3").collect();
        assert_eq!(lines, ["one 1", "two 2"]);
        assert_eq!(whole_lines("").count(), 0);
        assert_eq!(whole_lines("half").count(), 0);
    }

    #[test]
    fn tidied_text_is_one_short_line() {
        assert_eq!(tidy(" a\nb\0\x1b[31m ").as_deref(), Some("a b  [31m"));
        assert_eq!(tidy("\0\n"), None);
        assert_eq!(tidy(&"x".repeat(1000)).map(|s| s.len()), Some(256));
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 1\nmodel name\t: Fast CPU @ 2: GHz\nempty :\n";
        assert_eq!(field(text, "model name", ':'), Some("Fast CPU @ 2: GHz"));
        assert_eq!(field(text, "empty", ':'), None);
        assert_eq!(field(text, "name", ':'), None);
    }
}
