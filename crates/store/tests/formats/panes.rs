//! Two panes of a terminal, copied together.

use super::{all, read};
use linerate_store::import::import;

/// The texts side by side, as wide as they are.
fn beside(left: &str, right: &str) -> String {
    let width = left.lines().map(|line| line.chars().count()).max();
    let width = width.unwrap_or_default() + 1;
    let count = left.lines().count().max(right.lines().count());
    let mut lines = (
        left.lines().chain(std::iter::repeat("")),
        right.lines().chain(std::iter::repeat("")),
    );
    let mut text = String::new();
    for _ in 0..count {
        let (left, right) = (lines.0.next().unwrap(), lines.1.next().unwrap());
        text += format!("{left:width$}│{right}").trim_end();
        text.push('\n');
    }
    text
}

#[test]
fn panes_side_by_side_are_read_as_the_logs_that_they_are() {
    let texts = all().into_iter().filter_map(|(name, bytes)| {
        let text = String::from_utf8(bytes).ok()?;
        // Documents of JSON have tabs, of which a terminal makes blanks; no terminal is as wide as two long lines.
        let is_narrow = text.lines().all(|line| line.len() < 500);
        let is_shown = is_narrow && !text.contains(['\t', '\r', '\u{1b}']);
        is_shown.then_some((name, text))
    });
    let texts: Vec<_> = texts.collect();
    let mut failed = Vec::new();
    for pair in texts.chunks_exact(2) {
        let [(left, a), (right, b)] = pair else {
            unreachable!("chunks of two");
        };
        let logs = [(1, a), (2, b)].map(|(pane, text)| {
            let lines = text.lines().map(|line| line.trim_end().to_owned() + "\n");
            (
                format!("log (pane {pane})"),
                lines.collect::<String>().into_bytes(),
            )
        });
        let apart = import(&logs).map(|read| read.runs);
        let together = import(&[("log".to_owned(), beside(a, b).into_bytes())]);
        let together = together.map(|read| read.runs);
        if apart.is_ok() && apart != together {
            failed.push(format!("{left} beside {right}"));
        }
    }
    assert!(texts.len() > 50 && failed.is_empty(), "{failed:#?}");
}

#[test]
fn panes_that_cannot_be_told_apart_are_named() {
    let text = |name| String::from_utf8(read(name).1).unwrap();
    let client = text("formats/iperf3-3.12-nat-tcp.client.txt");
    let server = text("formats/iperf3-3.12-nat-tcp.server.txt");
    let together = beside(&client, &server);
    // Copied without the blanks before the bar.
    let ragged: String = together
        .lines()
        .map(|line| line.replacen("   │", "│", 1) + "\n")
        .collect();
    let skewed: String = together
        .lines()
        .enumerate()
        .map(|(at, line)| " ".repeat(at) + line + "\n")
        .collect();
    for text in [ragged, skewed] {
        let error = match import(&[("log".to_owned(), text.into_bytes())]) {
            Ok(read) => panic!("{:#?}", read.runs),
            Err(error) => error.to_string(),
        };
        assert!(
            error.contains("side by side") && error.contains("capture-pane"),
            "{error}"
        );
    }
}
