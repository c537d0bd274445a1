//! How much memory a document of anybody may take: what is read takes some sixty bytes for each value of the text.

/// Fewest bytes of text for each value. What linerate writes has 14 and more: most values have a key.
const MIN_BYTES_PER_VALUE: usize = 8;
/// Values that any document may have.
const FREE_VALUES: usize = 64 * 1024;

/// Why a JSON text is not read: it has so many values for its length that it would take many times that in memory.
pub(super) fn too_dense(text: &[u8]) -> Option<String> {
    let most = FREE_VALUES + text.len() / MIN_BYTES_PER_VALUE;
    let count = values(text);
    (count > most).then(|| {
        format!(
            "it has {count} values in {} bytes, where no document of linerate has more than one in \
             {MIN_BYTES_PER_VALUE}: it is not read, since it would take many times its length in memory",
            text.len()
        )
    })
}

/// How many values a JSON text has, in one pass and without memory; of text that is not JSON, a number.
fn values(text: &[u8]) -> usize {
    let mut count = 1;
    let (mut is_string, mut is_escaped) = (false, false);
    for byte in text {
        match (is_string, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => is_string = !is_string,
            // Each is followed by a value of its own, or by the end of one.
            (false, b',' | b'[' | b'{') => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (text, count) in [
            ("7", 1),
            ("[1,2]", 3),
            (r#"{"a,[":"\",{[\\","b":[]}"#, 4),
            ("", 1),
        ] {
            assert_eq!(values(text.as_bytes()), count, "{text}");
        }
    }

    #[test]
    fn a_text_of_many_small_values_is_refused_before_it_is_read() {
        let numbers = |count: usize| format!("[{}0]", "0,".repeat(count)).into_bytes();
        assert_eq!(too_dense(&numbers(FREE_VALUES)), None);
        let why = too_dense(&numbers(2 * FREE_VALUES)).unwrap();
        assert!(why.contains("values in 262147 bytes"), "{why}");
        let keyed = format!("[{}0]", r#"{"key":0},"#.repeat(2 * FREE_VALUES));
        assert!(too_dense(keyed.as_bytes()).is_some());
        let wide = format!("[{}0]", r#"{"received_bytes":10},"#.repeat(2 * FREE_VALUES));
        assert_eq!(too_dense(wide.as_bytes()), None);
    }
}
