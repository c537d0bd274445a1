//! The report under axe-core, which is not part of this repository: `npm pack axe-core`, then build this test with
//! `LINERATE_AXE=/path/to/axe.min.js`.

use crate::path::placed;
use crate::runs::{board_receives, demo, report};
use crate::studies::study;
use linerate_model::run::Run;
use linerate_report::renderers;
use linerate_testkit::browser::Page;

/// Opens what is folded, asks axe-core, and leaves the rules that were broken, with an example of each.
const ASK: &str = r#"
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  axe.run(document, { resultTypes: ["violations"] }).then((found) => {
    const broken = found.violations.map((rule) => `${rule.id}: ${rule.nodes[0].html}`);
    document.documentElement.dataset.axe = `done ${broken.join(" ")}`;
  });
"#;

fn broken(runs: &[Run], options: &[&str]) -> String {
    let axe = std::option_env!("LINERATE_AXE").expect("LINERATE_AXE names axe.min.js");
    let axe = std::fs::read_to_string(axe).unwrap();
    let html = renderers::ALL.iter().find(|r| r.id() == "html").unwrap();
    let page = Page::from_html(&html.render(&report(runs)).unwrap());
    page.add_script(&axe);
    page.add_script(ASK);
    let dom = page.dom(options);
    let said = dom.split("data-axe=\"").nth(1).unwrap();
    said.split('"').next().unwrap().trim().to_owned()
}

#[test]
#[ignore = "needs chromium and axe-core"]
fn axe_finds_no_violation() {
    let dark = "--blink-settings=preferredColorScheme=0";
    for (runs, option) in [
        (vec![demo()], "--window-size=1280,900"),
        (vec![study(&[None], 2)], "--window-size=1280,900"),
        (vec![placed(), board_receives()], "--window-size=500,900"),
        (vec![placed()], dark),
    ] {
        assert_eq!(broken(&runs, &[option]), "done");
    }
}
