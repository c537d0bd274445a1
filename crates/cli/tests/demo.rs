//! What a new user does first: `linerate demo`, and its report in a real browser.

use linerate_testkit::browser::Page;
use std::process::Command;

#[test]
#[ignore = "needs user namespaces and chromium; takes a minute"]
fn the_report_of_the_demo_is_drawn_and_asks_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.html");
    let demo = Command::new(env!("CARGO_BIN_EXE_linerate"))
        .args(["demo", "-o"])
        .arg(&report)
        .args(["--store".as_ref(), folder.path().join("store").as_os_str()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&demo.stderr);
    assert!(demo.status.success(), "{said}");
    let shown = String::from_utf8_lossy(&demo.stdout);
    assert!(shown.lines().count() <= 23, "{shown}");
    assert!(
        shown.contains("TCP carries ") && shown.contains("report.html"),
        "{shown}"
    );
    let page = Page::from_html(&std::fs::read_to_string(&report).unwrap());
    page.add_script("document.querySelectorAll('details').forEach((one) => { one.open = true; });");
    let dom = page.dom(&["--window-size=1280,900"]);
    let charts = dom.matches("<figure class=\"chart\"").count();
    assert!(charts >= 10, "{charts} charts");
    assert_eq!(dom.matches("data-rendered=\"true\"").count(), charts);
}
