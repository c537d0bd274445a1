//! Rules that every log format keeps.

use super::text::{Lines, Pieces as _};
use super::*;
use std::collections::BTreeSet;

#[test]
fn ids_are_unique_sorted_and_kebab_case() {
    let ids: Vec<_> = ALL.iter().map(|format| format.id).collect();
    assert!(ids.is_sorted());
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    for id in ids {
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(id.chars().all(kebab), "{id}");
    }
}

#[test]
fn summaries_are_one_phrase() {
    for format in ALL {
        let summary = format.summary;
        assert!(!summary.is_empty() && !summary.ends_with('.'), "{summary}");
        assert!(!summary.contains('\n'), "{summary}");
    }
}

/// The tests that a format finds in a text, whether or not it would have recognised it.
pub(super) fn parse(
    format: &LogFormat,
    file: &str,
    text: &str,
    hints: Hints,
) -> Result<Vec<ParsedTest>, ImportError> {
    let log = (file.to_owned(), text.as_bytes().to_vec());
    let mut lines = Lines::open(&log)?;
    let mut reader = (format.reader)(file, &hints);
    while let Some(line) = lines.next()? {
        reader.take(&line);
    }
    reader.finish();
    Ok(std::mem::take(reader.tests()))
}

#[test]
fn no_format_claims_or_reads_another_s_text() {
    for format in ALL {
        assert_eq!((format.recognise)("dear diary,"), 0, "{}", format.id);
        let tests = parse(format, "a", "dear diary,\n", Hints::default()).unwrap();
        assert_eq!(tests, [], "{}", format.id);
    }
}

#[test]
fn counts_beyond_reason_are_no_overflow() {
    const HUGE: &str = "18446744073709551615";
    let text = format!(
        "Connecting to host b, port 1\n\
         [  5] local a port 1 connected to b port 1\n\
         [ ID] Interval Transfer Bitrate Total Datagrams\n\
         [  5] 0.00-1.00 sec 1 Bytes 8 bits/sec {HUGE}\n\
         [  5] 1.00-2.00 sec 1 Bytes 8 bits/sec {HUGE}\n\
         - - - - - - -\n\
         [  5] 0.00-2.00 sec 2 Bytes 8 bits/sec 0.000 ms 0/{HUGE} (0%) sender\n\
         [  5] 0.00-2.00 sec 2 Bytes 8 bits/sec 0.000 ms 9223372036854775807/{HUGE} (0%) receiver\n\
         iperf Done.\n"
    );
    let runs = import(&[("a".to_owned(), text.into_bytes())]).unwrap().runs;
    assert_eq!(runs[0].trials.len(), 1);
}
