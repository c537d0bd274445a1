//! Places in a text.

/// Number of the line, from 1, that the byte at `offset` of a text is in: of the last one where the text is shorter.
pub fn line_at(text: &str, offset: usize) -> usize {
    let before = text.bytes().take(offset);
    before.filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_begins_behind_its_line_break() {
        let lines = [0, 1, 2, 3, 9].map(|offset| line_at("a\nb\n", offset));
        assert_eq!(lines, [1, 1, 2, 2, 3]);
    }
}
