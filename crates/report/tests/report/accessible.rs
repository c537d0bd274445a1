//! What everybody needs to read a report: contrast of its colours in both schemes, and no two landmarks of one name.

use crate::path::placed;
use crate::runs::{board_receives, demo, report};
use crate::studies::study;
use linerate_report::renderers;
use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../assets/report.css");

/// The colours that a block of the style sheet gives names to, as red, green and blue.
fn colours(block: &str) -> BTreeMap<&str, [f64; 3]> {
    let end = block.find('}').unwrap();
    let declared = block[..end]
        .split(';')
        .filter_map(|one| one.trim().split_once(": #"));
    declared
        .map(|(name, digits)| {
            let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            let name = name.rsplit('{').next().unwrap().trim();
            (name, [0, 2, 4].map(|at| f64::from(part(at)) / 255.0))
        })
        .collect()
}

/// Relative luminance (WCAG 2.2).
fn luminance(colour: &[f64; 3]) -> f64 {
    let linear = colour.map(|part| {
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn every_colour_can_be_read_on_paper_and_on_wash_in_both_schemes() {
    let light = STYLE.split(":root {").nth(1).unwrap();
    let dark = STYLE.split(":root:not(.printing) {").nth(1).unwrap();
    for (scheme, block) in [("light", light), ("dark", dark)] {
        let colours = colours(block);
        for name in [
            "blue", "orange", "green", "purple", "red", "grey", "ink", "muted",
        ] {
            for ground in ["paper", "wash"] {
                let seen = contrast(
                    &colours[&*format!("--{name}")],
                    &colours[&*format!("--{ground}")],
                );
                // WCAG 2.2, success criterion 1.4.3.
                assert!(seen >= 4.5, "{name} on {ground}, {scheme}: {seen:.2}");
            }
        }
    }
}

#[test]
fn no_two_landmarks_have_one_name() {
    let html = renderers::ALL.iter().find(|r| r.id == "html").unwrap();
    for runs in [
        vec![demo()],
        vec![study(&[None], 2)],
        vec![placed(), board_receives()],
    ] {
        let page = html.render(&report(&runs)).unwrap();
        let mut names: Vec<&str> = page
            .match_indices("<section")
            .map(|(at, _)| page[at..].split('>').next().unwrap())
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{names:#?}");
        assert!(!page.contains("role=\"region\""));
        assert!(page.contains("<main") && page.contains("lang=\"en\""));
    }
}
