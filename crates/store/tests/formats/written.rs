//! Texts as other programs write them into YAML and tables of comma-separated values.

/// Where YAML breaks lines.
const WIDTH: usize = 80;

/// The line broken at blanks that stand alone, as folding allows; what begins with a blank is not folded.
fn broken(line: &str, end: &str) -> String {
    let mut text = String::new();
    let mut length = 0;
    let is_kept = line.starts_with([' ', '\t']);
    let words: Vec<&str> = line.split(' ').collect();
    for (at, word) in words.iter().enumerate() {
        let is_alone = at > 0 && !word.is_empty() && !words[at - 1].is_empty();
        if at > 0 && is_alone && !is_kept && length + word.len() > WIDTH {
            text += end;
            length = 0;
        } else if at > 0 {
            text.push(' ');
        }
        text += word;
        length += word.len() + 1;
    }
    text
}

/// A block that is folded: of two lines without blanks before them an empty one stands between.
pub(crate) fn folded(text: &str) -> String {
    const END: &str = "\n    ";
    let mut block = "data:\n  out.log: >2".to_owned();
    let mut was_plain = false;
    for line in text.trim_end().lines() {
        if line.trim().is_empty() {
            block.push('\n');
            continue;
        }
        let is_plain = !line.starts_with([' ', '\t']);
        if is_plain && was_plain {
            block.push('\n');
        }
        was_plain = is_plain;
        block = block + END + &broken(line, END);
    }
    block + "\nkind: ConfigMap\n"
}

/// A block of the lines as they are.
pub(crate) fn literal(text: &str) -> String {
    let lines = text.trim_end().replace('\n', "\n    ");
    format!("- hosts: lab\n  stdout: |2\n    {lines}\n  rc: 0\n")
}

/// One text in quotes, with its line ends as escape sequences.
pub(crate) fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    let text = text.replace('\n', "\\n").replace('\t', "\\t");
    let text = broken(&text, "\n  ");
    format!("changed: true\nstdout: \"{text}\"\nrc: 0\n")
}

/// A list of lines in quotes.
pub(crate) fn list(text: &str) -> String {
    let item = |line: &str| {
        let line = broken(&line.replace('\'', "''"), "\n    ");
        format!("  - '{line}'\n")
    };
    let items: String = text.lines().map(item).collect();
    format!("result:\n  rc: 0\n  stdout_lines:\n{items}")
}

/// A cell as it is written where needed, or always, in quotes.
pub(crate) fn cell(text: &str, is_always: bool) -> String {
    if is_always || text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
