//! Strings of a run stay text, wherever they come from.

use crate::poison::{self, HOSTILE};
use crate::runs::{board_sends, report};
use linerate_report::{Style, details_text, renderers};

const LIBRARY: &str = include_str!("../../vendor/echarts-6.1.0/echarts.common.min.js");

const SCRIPT: &str = include_str!("../../assets/report.js");
const STYLE: &str = include_str!("../../assets/report.css");

fn render(id: &str) -> String {
    let runs = [poison::demo()];
    let mut report = report(&runs);
    report.title = HOSTILE.to_owned();
    let renderer = renderers::ALL.iter().find(|r| r.id == id).unwrap();
    renderer.render(&report).unwrap()
}

#[test]
fn no_string_becomes_markup() {
    let page = render("html").replace(LIBRARY, "");
    assert!(!page.contains("<script>document"));
    assert!(!page.contains("<img"));
    assert!(!page.contains("<!--"));
    assert!(!page.contains("onerror=alert(1)>"), "only as escaped text");
    assert!(page.contains("&lt;script&gt;document"));
    let page = page.replace(SCRIPT, "").replace(STYLE, "");
    assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{2028}']));
    let scripts = page.matches("<script").count();
    assert_eq!(scripts, 3, "data, library, report");
    assert_eq!(page.matches("</script").count(), scripts);
    assert_eq!(page.matches("</style").count(), 1);
}

#[test]
fn chart_data_is_json_without_anything_that_ends_a_script() {
    let page = render("html");
    let data = page.split("id=\"chart-data\">").nth(1).unwrap();
    let data = data.split("</script>").next().unwrap();
    assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
    let parsed: serde_json::Value = serde_json::from_str(data).unwrap();
    assert!(parsed.as_object().unwrap().len() > 15);
    assert!(
        parsed.to_string().contains("onerror"),
        "it is there, as text"
    );
}

#[test]
fn the_policy_allows_no_request() {
    let page = render("html").replace(LIBRARY, "");
    assert!(page.contains("default-src 'none'"));
    for directive in ["script-src ", "style-src "] {
        let sources = page.split(directive).nth(1).unwrap();
        let sources = sources.split(';').next().unwrap();
        let is_hash = |source: &str| source.trim_matches('\'').starts_with("sha256-");
        assert!(sources.split(' ').all(is_hash), "{directive}{sources}");
    }
    for scheme in [
        "src=\"http",
        "href=\"http",
        "url(http",
        "@import",
        "fetch(",
        "XMLHttpRequest",
    ] {
        assert!(!page.contains(scheme), "{scheme}");
    }
}

#[test]
fn terminals_are_not_commanded() {
    let text = details_text(&poison::demo(), 80, Style::Plain) + &render("text");
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{2028}']));
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn spreadsheets_compute_nothing() {
    let mut run = board_sends();
    run.id = "=1+1".to_owned();
    run.trials.truncate(1);
    run.trials[0].label = Some("@SUM(A1)\n\"x\"".to_owned());
    let runs = [run];
    let csv = renderers::ALL.iter().find(|r| r.id == "csv").unwrap();
    let text = csv.render(&report(&runs)).unwrap();
    assert!(text.contains("\n'=1+1,"));
    assert!(text.contains(",\"'@SUM(A1)\n\"\"x\"\"\","));
}
