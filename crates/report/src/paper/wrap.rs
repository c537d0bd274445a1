//! Lines that fit a width: broken between words, a number kept with its unit.

/// Lines of at most `width` characters: broken at spaces, and within a word that is longer. Nothing is left out.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words(text) {
        let line = lines.last_mut().expect("invariant: never empty");
        let gap = usize::from(!line.is_empty());
        if length(line) + gap + length(&word) <= width {
            line.push_str(&" ".repeat(gap));
            line.push_str(&word);
            continue;
        }
        let is_first = line.is_empty();
        let mut pieces = pieces(&word, width);
        if is_first {
            line.push_str(&pieces.remove(0));
        }
        lines.append(&mut pieces);
    }
    lines
}

/// A word in pieces of at most `width` characters.
fn pieces(word: &str, width: usize) -> Vec<String> {
    if length(word) <= width {
        return vec![word.to_owned()];
    }
    let letters: Vec<char> = word.chars().collect();
    letters
        .chunks(width.max(1))
        .map(|piece| piece.iter().collect())
        .collect()
}

pub(crate) fn length(text: &str) -> usize {
    text.chars().count()
}

/// The words of a text; a number stays with its unit.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let digit = |c: char| c.is_ascii_digit();
        match words.last_mut() {
            Some(last)
                if last.ends_with(['≤', '·', '='])
                    || word == "="
                    || (last.ends_with(digit) && is_unit(word)) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Whether a word reads as a unit after a number.
fn is_unit(word: &str) -> bool {
    let bare = word.trim_end_matches([',', ';', '.', ')', ':']);
    matches!(
        bare,
        "%" | "ns" | "µs" | "ms" | "s" | "B" | "KiB" | "MiB" | "GiB"
    ) || bare.ends_with("bit/s")
}
