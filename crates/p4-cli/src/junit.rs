//! Results in the XML form of JUnit, as CI systems read it.

use linerate_p4::escape_xml;
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
    let name = escape_xml(&program.to_string_lossy());
    let _ = writeln!(
        text,
        "<testsuites tests=\"{0}\" failures=\"{failed}\">\n<testsuite name=\"{name}\" tests=\"{0}\" failures=\"{failed}\">",
        results.len()
    );
    for (path, report) in results {
        let _ = writeln!(
            text,
            "<testcase classname=\"{name}\" name=\"{}\">",
            escape_xml(&path.to_string_lossy())
        );
        for mismatch in &report.mismatches {
            let first = mismatch.what.lines().next().unwrap_or_default();
            let detail = format!("{}\n{}", mismatch.what, mismatch.trace.lines().join("\n"));
            let _ = writeln!(
                text,
                "<failure message=\"{}\">{}</failure>",
                escape_xml(first),
                escape_xml(&detail)
            );
        }
        text.push_str("</testcase>\n");
    }
    text + "</testsuite>\n</testsuites>\n"
}
