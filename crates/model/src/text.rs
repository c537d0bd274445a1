//! Places in a text, and values as texts for people.

use std::time::Duration;

/// Number of the line, from 1, that the byte at `offset` of a text is in: of the last one where the text is shorter.
pub fn line_at(text: &str, offset: usize) -> usize {
    let before = text.bytes().take(offset);
    before.filter(|byte| *byte == b'\n').count() + 1
}

/// A length of time in two units at most, cut to whole seconds: `48 s`, `3 min 12 s`, `1 h 24 min`, `89 d 3 h`.
pub fn spoken_time(time: Duration) -> String {
    let seconds = time.as_secs();
    let hours = seconds / 3600;
    match (hours / 24, hours % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds} s"),
        (0, 0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
        (days, hours, ..) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_two_units() {
        let told =
            [48, 192, 5040, 7_700_400].map(|seconds| spoken_time(Duration::from_secs(seconds)));
        assert_eq!(told, ["48 s", "3 min 12 s", "1 h 24 min", "89 d 3 h"]);
    }

    #[test]
    fn a_line_begins_behind_its_line_break() {
        let lines = [0, 1, 2, 3, 9].map(|offset| line_at("a\nb\n", offset));
        assert_eq!(lines, [1, 1, 2, 2, 3]);
    }
}
