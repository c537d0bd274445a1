//! The report in a real browser: every chart is drawn, nothing is logged, nothing is requested.

use crate::comparison::{as_file, comparison};
use crate::messages::{apart, rising};
use crate::poison::{self, HOSTILE};
use crate::runs::{bare, board_receives, board_sends, board_sends_tcp, demo, report, sweep};
use crate::sampled::sampled;
use crate::studies::study;
use linerate_model::run::Run;
use linerate_report::document::DocumentFormat;
use linerate_report::renderers;
use linerate_testkit::browser::Page;
use std::path::Path;

fn page(runs: &[Run]) -> Page {
    let html = renderers::ALL.iter().find(|r| r.id == "html").unwrap();
    Page::from_html(&html.render(&report(runs)).unwrap())
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

/// Opens all that is folded, in the order of the page.
const UNFOLD: &str = "document.querySelectorAll('details').forEach((one) => { one.open = true; });";

/// The page's document with all folds open.
fn unfolded(page: &Page, size: &str) -> String {
    page.add_script(UNFOLD);
    page.dom(&[size])
}

fn assert_all_drawn(dom: &str, at_least: usize) {
    let figures = count(dom, "<figure class=\"chart\"");
    assert!(figures >= at_least, "{figures} charts");
    assert_eq!(count(dom, "data-rendered=\"true\""), figures);
    assert_eq!(count(dom, "data-ready=\"true\""), 1);
}

#[test]
#[ignore = "needs chromium"]
fn the_demo_s_charts_are_drawn_without_error_and_without_request() {
    let page = page(&[demo()]);
    assert_all_drawn(&unfolded(&page, "--window-size=1280,900"), 20);
}

#[test]
#[ignore = "needs chromium"]
fn the_published_study_s_figures_are_drawn() {
    let page = page(&[board_sends(), board_receives(), board_sends_tcp(), sweep()]);
    assert_all_drawn(&unfolded(&page, "--window-size=390,844"), 10);
}

/// Adds a script that presses every button, and returns the page's document afterwards.
fn probed(page: &Page) -> String {
    page.add_script(UNFOLD);
    page.add_script(include_str!("probe.js"));
    page.dom(&["--window-size=1280,900"])
}

fn assert_all_saved(dom: &str) {
    let said = dom.split("data-probe=\"").nth(1).unwrap();
    let said = said.split('"').next().unwrap();
    let n = count(dom, "<figure class=\"chart\"");
    assert_eq!(
        said,
        format!("png {n} svg {n} csv {n} tables {n} requests 0")
    );
}

#[test]
#[ignore = "needs chromium"]
fn every_chart_can_be_saved_as_png_svg_and_csv_and_switched() {
    let page = page(&[demo(), board_receives(), sweep(), apart(), rising()]);
    assert_all_saved(&probed(&page));
}

#[test]
#[ignore = "needs chromium"]
fn hostile_text_stays_text_in_the_browser() {
    let dom = probed(&page(&[poison::demo()]));
    assert_all_saved(&dom);
    assert!(count(&dom, "data-rendered=\"true\"") >= 10);
    assert!(
        !dom.contains("data-owned"),
        "a script from a run was executed"
    );
}

/// Were text of a run ever to become markup, it would still not run.
#[test]
#[ignore = "needs chromium"]
#[should_panic(expected = "Content Security Policy")]
fn a_script_that_is_not_the_page_s_own_is_refused() {
    let html = renderers::ALL.iter().find(|r| r.id == "html").unwrap();
    let html = html.render(&report(&[demo()])).unwrap();
    let owned = "<script>document.documentElement.dataset.owned = 1</script></main>";
    Page::from_html(&html.replacen("</main>", owned, 1)).dom(&[]);
}

/// Styles of an element and in its attribute.
#[test]
#[ignore = "needs chromium"]
fn a_style_that_is_not_the_page_s_own_is_refused() {
    for owned in [
        "<style>main { color: red }</style>",
        "<p style=\"color: red\"></p>",
    ] {
        let html = renderers::ALL.iter().find(|r| r.id == "html").unwrap();
        let html = html.render(&report(&[demo()])).unwrap();
        let page = Page::from_html(&html.replacen("</main>", &format!("{owned}</main>"), 1));
        let shown = std::panic::catch_unwind(|| page.dom(&[])).unwrap_err();
        let said = shown.downcast_ref::<String>().unwrap();
        assert!(said.contains("Content Security Policy"), "{said}");
    }
}

#[test]
#[ignore = "needs chromium"]
fn the_charts_of_a_comparison_are_drawn_and_its_text_stays_text() {
    for text in ["block, idle", HOSTILE] {
        let page = Page::from_html(&as_file(&comparison(text), DocumentFormat::Html));
        let dom = page.dom(&["--window-size=1280,900"]);
        assert_all_drawn(&dom, 2);
        assert!(!dom.contains("data-owned"), "a script was executed");
    }
}

#[test]
#[ignore = "needs chromium"]
fn a_flame_graph_is_widened_by_a_click_and_drawn_for_print() {
    let page = page(&[sampled()]);
    page.add_script("document.querySelector('.box.l9').dispatchEvent(new MouseEvent('click'))");
    let dom = page.dom(&["--window-size=390,844"]);
    assert_eq!(count(&dom, "data-flame=\"ready\""), 1);
    let copy = dom.split("<svg class=\"box l9\"").nth(1).unwrap();
    assert!(copy.split('>').next().unwrap().contains("width=\"100%\""));
    // What was beside it is gone.
    let user = dom.split("<svg class=\"box l0\"").nth(1).unwrap();
    assert!(user.split('>').next().unwrap().contains("display: none"));
    assert!(!dom.contains("data-owned"), "a name was executed");
}

#[test]
#[ignore = "needs chromium"]
fn pages_without_charts_are_quiet_too() {
    for runs in [vec![], vec![bare(linerate_model::run::RunKind::Udp)]] {
        page(&runs).dom(&[]);
    }
}

/// Where pages and pictures are kept for looking at, if they are.
fn keep(page: &Page, name: &str) {
    if let Some(folder) = std::option_env!("LINERATE_PICTURES") {
        std::fs::copy(page.file(), Path::new(folder).join(name)).unwrap();
    }
}

#[test]
#[ignore = "needs chromium"]
fn studies_of_any_size_and_many_runs_are_drawn() {
    let many: Vec<Run> = study(&[None], 1).parts().to_vec();
    let long = {
        let mut run = board_receives();
        let trials = run.trials.clone();
        run.trials = (0..200_u32)
            .map(|index| {
                let mut trial = trials[index as usize % trials.len()].clone();
                trial.index = index;
                trial
            })
            .collect();
        run
    };
    for (name, runs, charts) in [
        ("study.html", vec![study(&[None], 4)], 2),
        (
            "study-sizes.html",
            vec![study(&[Some(64), Some(512), Some(1448)], 10)],
            6,
        ),
        ("several.html", many, 1),
        ("trials-200.html", vec![long], 1),
    ] {
        let page = page(&runs);
        keep(&page, name);
        assert_all_drawn(&unfolded(&page, "--window-size=1280,900"), charts);
    }
}
