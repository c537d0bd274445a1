//! What the page and the program say to each other, as bytes.

use crate::explain::{Answer, ExplainOptions, InputFile};
use linerate_model::WallTime;
use serde::Deserialize;

/// Why a question could not be read: a fault of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameError {
    /// The first line is not what it should be, and why.
    Head(String),
    /// The files are not as long as the first line says.
    Length,
}

/// The first line of a question.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    now: WallTime,
    files: Vec<FileHead>,
    #[serde(default)]
    asked: ExplainOptions,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileHead {
    name: String,
    bytes: usize,
}

/// Reads a question: a line of JSON that names the files and their lengths, then the files one after the other.
pub fn question(bytes: &[u8]) -> Result<(Vec<InputFile>, ExplainOptions, WallTime), FrameError> {
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .ok_or(FrameError::Length)?;
    let head: Head = serde_json::from_slice(&bytes[..end])
        .map_err(|error| FrameError::Head(error.to_string()))?;
    let mut rest = &bytes[end + 1..];
    let mut files = Vec::with_capacity(head.files.len());
    for FileHead { name, bytes } in head.files {
        let (file, after) = rest.split_at_checked(bytes).ok_or(FrameError::Length)?;
        files.push((name, file.to_vec()));
        rest = after;
    }
    if rest.is_empty() {
        Ok((files, head.asked, head.now))
    } else {
        Err(FrameError::Length)
    }
}

/// The answer as JSON.
pub fn answer(answer: &Answer) -> Vec<u8> {
    serde_json::to_vec(answer).expect("invariant: texts and a count are JSON values")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"now":"2026-11-24T10:00:00.123Z","files":[{"name":"a","bytes":2},{"name":"b","bytes":0}],"asked":{"link_speed":"1G"}}"#;

    #[test]
    fn files_follow_the_line_that_names_them() {
        let (files, asked, now) = question(format!("{HEAD}\nx\n").as_bytes()).unwrap();
        let expected: Vec<InputFile> =
            vec![("a".to_owned(), b"x\n".to_vec()), ("b".to_owned(), vec![])];
        assert_eq!(files, expected);
        assert_eq!(asked.link_speed, "1G");
        assert_eq!(now.as_unix(), 1_795_514_400);
    }

    #[test]
    fn a_question_that_is_cut_or_too_long_is_refused() {
        for text in ["", HEAD, &format!("{HEAD}\nx"), &format!("{HEAD}\nx\nmore")] {
            assert_eq!(question(text.as_bytes()), Err(FrameError::Length));
        }
        assert!(matches!(question(b"{}\n"), Err(FrameError::Head(_))));
    }
}
