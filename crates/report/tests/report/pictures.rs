//! A report as people see it: on a desktop, on a phone, in the dark, on paper. `make pictures` keeps
//! these in `docs`, of a demo that it makes.

use crate::runs::{board_receives, board_sends, demo, report, sweep};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use linerate_model::run::Run;
use linerate_report::renderers;
use linerate_testkit::browser::Page;
use linerate_testkit::devtools::Driven;
use serde_json::{Value, json};
use std::path::Path;

fn page(runs: &[Run]) -> Page {
    let html = renderers::ALL.iter().find(|r| r.id == "html").unwrap();
    Page::from_html(&html.render(&report(runs)).unwrap())
}

/// How a page is looked at.
struct Look {
    name: &'static str,
    width: u32,
    height: u32,
    media: &'static str,
    scheme: &'static str,
}

const fn look(
    name: &'static str,
    (width, height): (u32, u32),
    media: &'static str,
    scheme: &'static str,
) -> Look {
    Look {
        name,
        width,
        height,
        media,
        scheme,
    }
}

/// Small enough to stand in a page of text: half of what a screen shows.
const SCALE: f64 = 0.6;

/// Paper is A4 within its margins.
const LOOKS: [Look; 4] = [
    look("desktop", (1180, 1300), "screen", "light"),
    look("phone", (390, 1300), "screen", "light"),
    look("dark", (1180, 1300), "screen", "dark"),
    look("print", (680, 1010), "print", "light"),
];

/// The beginning of the page, as a PNG.
fn picture(page: &mut Driven, look: &Look) -> Vec<u8> {
    let &Look {
        width,
        height,
        media,
        scheme,
        ..
    } = look;
    let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
    page.call("Emulation.setDeviceMetricsOverride", &size);
    let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
    page.call(
        "Emulation.setEmulatedMedia",
        &json!({"media": media, "features": features}),
    );
    // As `beforeprint` does, which only a print job has.
    let is_print = media == "print";
    page.eval(&format!(
        "dispatchEvent(new Event('{}'))",
        if is_print {
            "beforeprint"
        } else {
            "afterprint"
        }
    ));
    page.eval(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))",
    );
    let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": SCALE});
    let shot = page.call(
        "Page.captureScreenshot",
        &json!({"format": "png", "clip": clip}),
    );
    STANDARD.decode(shot["data"].as_str().unwrap()).unwrap()
}

#[test]
#[ignore = "needs chromium"]
fn desktop_phone_dark_and_print_can_be_pictured() {
    let page = match option_env!("LINERATE_REPORT") {
        Some(report) => Page::from_html(&std::fs::read_to_string(report).unwrap()),
        None => page(&[board_receives()]),
    };
    let mut shown = Driven::open(page.file(), "", &["--hide-scrollbars"]);
    for look in &LOOKS {
        let png = picture(&mut shown, look);
        assert!(
            png.starts_with(b"\x89PNG") && png.len() > 10_000,
            "{}",
            look.name
        );
        if let Some(folder) = option_env!("LINERATE_PICTURES") {
            let file = Path::new(folder).join(format!("report-{}.png", look.name));
            std::fs::write(file, png).unwrap();
        }
        let wide = shown.eval("document.documentElement.scrollWidth");
        let is_fit = wide
            .as_u64()
            .is_some_and(|wide| wide <= u64::from(look.width));
        assert!(is_fit, "{} is {wide} wide", look.name);
    }
    assert_eq!(shown.complaints(), [""; 0]);
}

#[test]
#[ignore = "needs chromium"]
fn a_report_of_several_runs_is_printed() {
    let page = page(&[demo(), board_sends(), board_receives(), sweep()]);
    let mut shown = Driven::open(page.file(), "", &[]);
    let pdf = shown.call("Page.printToPDF", &json!({}));
    let pdf = STANDARD.decode(pdf["data"].as_str().unwrap()).unwrap();
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 50_000);
    assert_eq!(
        shown.eval("document.documentElement.classList.contains('printing')"),
        Value::Bool(false)
    );
}

#[test]
#[ignore = "needs chromium"]
fn both_directions_are_printed_on_at_most_six_pages() {
    let page = page(&[board_sends(), board_receives()]);
    let mut shown = Driven::open(page.file(), "", &[]);
    let pages = |shown: &mut Driven| {
        let pdf = shown.call("Page.printToPDF", &json!({}));
        let pdf = STANDARD.decode(pdf["data"].as_str().unwrap()).unwrap();
        let text = String::from_utf8_lossy(&pdf).into_owned();
        let all = text.matches("/Type /Page").count();
        all - text.matches("/Type /Pages").count()
    };
    let folded = pages(&mut shown);
    assert!((1..=6).contains(&folded), "{folded} pages");
    // What a reader opens is on paper too.
    shown.eval("document.querySelectorAll('details').forEach((fold) => { fold.open = true })");
    let unfolded = pages(&mut shown);
    assert!(unfolded > folded, "{unfolded} pages");
}
