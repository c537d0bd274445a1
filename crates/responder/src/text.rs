//! Text output into memory of fixed size: a part of it at a time, or only its length.

use core::fmt;
use core::time::Duration;

/// Keeps the bytes of a text from `skip` on, as far as there is room. A message is generated again for each part of it
/// that is sent, so that none needs memory of its own.
pub(crate) struct Window<'a> {
    skip: usize,
    room: &'a mut [u8],
    filled: usize,
}

impl<'a> Window<'a> {
    pub(crate) const fn new(skip: usize, room: &'a mut [u8]) -> Self {
        Self {
            skip,
            room,
            filled: 0,
        }
    }

    pub(crate) const fn filled(&self) -> usize {
        self.filled
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        let rest = bytes.get(skipped..).unwrap_or_default();
        let room = self.room.get_mut(self.filled..).unwrap_or_default();
        let count = rest.len().min(room.len());
        for (to, from) in room.iter_mut().zip(rest) {
            *to = *from;
        }
        self.filled += count;
    }
}

impl fmt::Write for Window<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text.as_bytes());
        Ok(())
    }
}

/// Counts the bytes of a text.
#[derive(Debug, Default)]
pub(crate) struct Length(pub(crate) usize);

impl fmt::Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// A time in the format of the protocol's `_s` keys.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0.as_secs(), self.0.subsec_nanos())
    }
}

/// Writer for the inside of a JSON string.
pub(crate) struct Escaped<'a>(pub(crate) &'a mut dyn fmt::Write);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                '"' | '\\' => self.0.write_char('\\')?,
                _ => {}
            }
            let is_plain = !character.is_ascii_control();
            self.0.write_char(if is_plain { character } else { ' ' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::fmt::Write as _;

    #[test]
    fn a_text_comes_whole_in_windows_of_any_size() {
        let (text, two) = ("one two three", "two");
        for size in 1..20 {
            let mut whole = Vec::new();
            while whole.len() < text.len() {
                let mut room = vec![0; size];
                let mut window = Window::new(whole.len(), &mut room);
                write!(window, "one {two} ").unwrap();
                window.put(b"three");
                let filled = window.filled();
                whole.extend_from_slice(&room[..filled]);
            }
            assert_eq!(whole, text.as_bytes());
        }
    }

    #[test]
    fn what_json_cannot_hold_is_escaped() {
        let mut text = String::new();
        Escaped(&mut text).write_str("a \"b\"\\\n").unwrap();
        assert_eq!(text, r#"a \"b\"\\ "#);
    }
}
