//! Files that a compiler makes, and what binutils say of them.

use linerate_footprint::{Input, Options, examine};
use linerate_model::ByteCount;
use linerate_model::footprint::{Footprint, FootprintNode, SectionPlace};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A source with something in every class of section, with local names that two files share.
pub(crate) const A: &str = "\
#include <string.h>
static int counter; int shared = 7; static const char text[] = \"a constant of some length\";
const int table[100] = {1, 2, 3}; char zero[5000]; _Thread_local int own = 3; _Thread_local char own_zero[40];
extern int b_entry(int);
static int helper(int x) { counter += x; return text[x & 7] + table[x % 100]; }
int a_entry(int x) { memset(zero, x, sizeof zero); own += x; own_zero[1] = 1; return helper(x) + shared + b_entry(x); }
";
pub(crate) const B: &str = "\
static int counter = 5; static volatile char zero[300];
static int helper(int x) { zero[x & 255] = x; return counter += x; }
int b_entry(int x) { return helper(x) * 3; }
";
pub(crate) const MAIN: &str =
    "extern int a_entry(int); int main(int c, char **v) { (void)v; return a_entry(c); }\n";

/// A folder that is gone after the test.
pub(crate) struct Workshop(tempfile::TempDir);

impl Workshop {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Runs a program here; what it prints.
    #[track_caller]
    pub(crate) fn run(&self, program: &str, args: &[&str]) -> String {
        let output = Command::new(program)
            .args(args)
            .current_dir(self.folder())
            .output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{program} {args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// `a.o`, `b.o` and `main.o`, by this compiler.
    pub(crate) fn objects(&self, cc: &str, options: &[&str]) {
        for (name, text) in [("a", A), ("b", B), ("main", MAIN)] {
            self.write(&format!("{name}.c"), text);
            let source = format!("{name}.c");
            self.run(cc, &[&["-c", &source], options].concat());
        }
    }

    /// The footprint of these files together.
    #[track_caller]
    pub(crate) fn examine(&self, names: &[&str]) -> Footprint {
        let files: Vec<_> = names
            .iter()
            .map(|name| fs::read(self.folder().join(name)).unwrap())
            .collect();
        let inputs = names
            .iter()
            .zip(&files)
            .map(|(name, bytes)| Input { name, bytes });
        let inputs: Vec<_> = inputs.collect();
        let footprint = examine(&inputs, &Options::default()).unwrap();
        adds_up(&footprint);
        footprint
    }

    /// The totals of these files are those that `size` prints.
    #[track_caller]
    pub(crate) fn equals_size(&self, size: &str, names: &[&str]) -> Footprint {
        let footprint = self.examine(names);
        let told = self.run(size, &[&["-t"], names].concat());
        let last = told.lines().next_back().unwrap();
        let numbers: Vec<u64> = last
            .split_whitespace()
            .map_while(|word| word.parse().ok())
            .collect();
        let totals = footprint.totals;
        let ours = [totals.text, totals.data, totals.bss, totals.dec()].map(ByteCount::get);
        assert_eq!(ours, numbers[..4], "{told}");
        assert_eq!(totals.flash.get(), ours[0] + ours[1]);
        assert_eq!(totals.ram.get(), ours[1] + ours[2]);
        footprint
    }
}

/// Every size is the sum of its parts.
#[track_caller]
pub(crate) fn adds_up(footprint: &Footprint) {
    for region in &footprint.regions {
        let sizes = region.sections.iter().map(|section| section.size.get());
        assert_eq!(
            region.size.get(),
            sizes.fold(0, u64::saturating_add),
            "{}",
            region.name
        );
        for section in &region.sections {
            assert_eq!(section.size.get(), sum(&section.parts), "{}", section.name);
        }
    }
}

#[track_caller]
fn sum(parts: &[FootprintNode]) -> u64 {
    for part in parts.iter().filter(|part| !part.parts.is_empty()) {
        assert_eq!(part.size.get(), sum(&part.parts), "{}", part.name);
    }
    parts
        .iter()
        .map(|part| part.size.get())
        .fold(0, u64::saturating_add)
}

/// The paths of all smallest parts that are used where they are, with slashes between, and their sizes.
pub(crate) fn leaves(footprint: &Footprint) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for region in &footprint.regions {
        for section in region
            .sections
            .iter()
            .filter(|section| section.place == SectionPlace::Run)
        {
            let head = format!("{}/{}", region.name, section.name);
            section
                .parts
                .iter()
                .for_each(|part| walk(part, &head, &mut all));
        }
    }
    all
}

fn walk(part: &FootprintNode, above: &str, all: &mut Vec<(String, u64)>) {
    let path = format!("{above}/{}", part.name);
    if part.parts.is_empty() {
        all.push((path.clone(), part.size.get()));
    }
    part.parts.iter().for_each(|inner| walk(inner, &path, all));
}

/// The size of the smallest part at this path.
#[track_caller]
pub(crate) fn size_of(footprint: &Footprint, path: &str) -> u64 {
    let all = leaves(footprint);
    let found = all.iter().find(|(known, _)| known == path);
    found
        .unwrap_or_else(|| panic!("{path} is not in {all:#?}"))
        .1
}
