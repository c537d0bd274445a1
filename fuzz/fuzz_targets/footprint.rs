//! Whatever the files of a build hold, they are refused with a sentence, or make a tree that can be shown and compared.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_footprint::{Group, Input, Options, difference, examine};
use linerate_model::footprint::{Footprint, FootprintContent};
use linerate_report::document::{Document as _, as_text};
use linerate_report::{FootprintPage, FootprintView, Style};

fuzz_target!(|data: &[u8]| {
    // As one file, and as two: a program and its map, or objects.
    let half = data.len() / 2;
    let files = [data, &data[..half], &data[half..]].map(|bytes| Input { name: "file", bytes });
    let options = Options {
        groups: Group::parse("TCP").into_iter().collect(),
        ..Options::default()
    };
    for inputs in [&files[..1], &files[1..]] {
        match examine(inputs, &options) {
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(footprint) => show(footprint),
        }
    }
});

fn show(footprint: Footprint) {
    let change = FootprintContent::Difference(difference(&Footprint::default(), &footprint));
    for content in [FootprintContent::Footprint(footprint), change] {
        let page = FootprintPage { content: &content, view: FootprintView { depth: 9, rows: 9, lines: 99 } };
        let _ = (as_text(&page, 80, Style::Plain), page.csv());
    }
}
