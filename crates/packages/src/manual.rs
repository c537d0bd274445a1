//! Man pages: one for each command, so that `man linerate-tcp` and `git`'s users find it.
//!
//! # References
//! - man(7) of groff and of mandoc, for what both print without a warning

use crate::{Named, command_line};
use clap::Command;
use clap_mangen::Man;
use roff::{Roff, bold, roman};
use std::io;

/// The pages of the programs by file name, such as `linerate-board-up.1`; `date` (`2026-11-27`) is in each page's foot.
pub fn pages(date: &str) -> io::Result<Vec<Named>> {
    let linerate = command_line::linerate();
    let mut pages = Vec::new();
    for own in command_line::companions() {
        let own = own.command();
        pages.push((file_name(&own), page(&own, None, date)?));
    }
    for (path, command) in command_line::walk(&linerate) {
        let name = file_name(command);
        // `linerate p4` and `linerate-p4` are one page.
        if pages.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let parent = path.split_last().map(|(_, leading)| leading.join("-"));
        pages.push((name, page(command, parent.as_deref(), date)?));
    }
    pages.sort();
    Ok(pages)
}

fn page(command: &Command, parent: Option<&str>, date: &str) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone())
        .date(date)
        .source(format!("linerate {}", env!("CARGO_PKG_VERSION")))
        .manual("linerate");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    rest(command, parent).to_writer(&mut text)?;
    Ok(without_double_breaks(&text))
}

/// What help says after the options, line by line since it has tables; and where more is said.
fn rest(command: &Command, parent: Option<&str>) -> Roff {
    let mut roff = Roff::new();
    let after = command
        .get_after_long_help()
        .or_else(|| command.get_after_help());
    if let Some(after) = after {
        roff.control("SH", ["NOTES"]);
        roff.control("nf", []);
        for line in after.to_string().trim_end().lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    let guide = "The guide: /usr/share/doc/linerate, where a package installed linerate.";
    roff.control("SH", ["SEE ALSO"]);
    match parent.filter(|parent| !parent.is_empty()) {
        Some(parent) => roff.text([bold(parent), roman("(1). "), roman(guide)]),
        None => roff.text([roman(guide)]),
    };
    roff
}

/// Without line breaks beside an empty line or another break, which do nothing and are warned of.
fn without_double_breaks(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut kept = String::new();
    for (at, line) in lines.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| lines.get(at));
        let is_double =
            before == Some(&".br") || before == Some(&"") || lines.get(at + 1) == Some(&"");
        if *line != ".br" || !is_double {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept.into_bytes()
}

fn file_name(command: &Command) -> String {
    let name = command.get_display_name();
    let name = name.unwrap_or_else(|| command.get_name());
    format!("{name}.1")
}
