//! Results in the XML form of JUnit, as CI systems read it.

use linerate_p4::stf::Report;
use std::fmt::Write as _;
use std::path::Path;

/// One suite with a case for each test.
pub(crate) fn document(program: &Path, results: &[(&Path, Report)]) -> String {
    let failed = results
        .iter()
        .filter(|(_, report)| !report.mismatches.is_empty())
        .count();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = escape(&program.to_string_lossy());
    let _ = writeln!(
        text,
        "<testsuites tests=\"{0}\" failures=\"{failed}\">\n<testsuite name=\"{name}\" tests=\"{0}\" failures=\"{failed}\">",
        results.len()
    );
    for (path, report) in results {
        let _ = writeln!(
            text,
            "<testcase classname=\"{name}\" name=\"{}\">",
            escape(&path.to_string_lossy())
        );
        for mismatch in &report.mismatches {
            let first = mismatch.what.lines().next().unwrap_or_default();
            let detail = format!("{}\n{}", mismatch.what, mismatch.trace.lines().join("\n"));
            let _ = writeln!(
                text,
                "<failure message=\"{}\">{}</failure>",
                escape(first),
                escape(&detail)
            );
        }
        text.push_str("</testcase>\n");
    }
    text + "</testsuite>\n</testsuites>\n"
}

/// Text for elements and attributes; what XML 1.0 cannot hold is left out.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for one in text.chars() {
        match one {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            one if one < ' ' && !matches!(one, '\n' | '\t') => {}
            one => escaped.push(one),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_do_not_break_the_document() {
        assert_eq!(escape("a<b>&\"\u{1b}\n"), "a&lt;b&gt;&amp;&quot;\n");
    }
}
