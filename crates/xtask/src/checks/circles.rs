//! No files of a crate use each other in a circle.
//!
//! An arrow runs from a file to the file that holds what a path names, in `use` or elsewhere: `crate::a::B`,
//! `super::a::B`. A name that a `mod.rs`, `lib.rs` or `main.rs` hands on from one of its files belongs to that file. What
//! such a file names of the files below it is no arrow: it lists them, and they may use what it defines for them. Test
//! modules are not looked at.

use super::{Check, Violation, violation};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const CHECK: Check = Check {
    id: "circles",
    summary: "no files of a crate use each other in a circle",
    run: |tree, _| check(tree),
};

fn check(tree: &Tree) -> Vec<Violation> {
    let members = tree.members();
    let sources = members.iter().map(|member| Source::of(tree, member));
    sources.flat_map(|source| source.circles()).collect()
}

/// The segments of a path; a module's begins at the crate's root.
type Path = Vec<String>;

/// The files of a crate by the modules they hold.
struct Source(BTreeMap<Path, File>);

struct File {
    place: String,
    names: Vec<Path>,
}

impl Source {
    fn of(tree: &Tree, member: &str) -> Self {
        let folder = format!("{member}/src/");
        let file = |(place, text): (&str, &str)| {
            let module = module(place.strip_prefix(&folder)?)?;
            let (place, names) = (place.to_owned(), names(text));
            Some((module, File { place, names }))
        };
        Self(tree.rust().filter_map(file).collect())
    }

    /// The modules that `module` uses, those below it left out.
    fn used_by(&self, module: &Path) -> BTreeSet<&Path> {
        let names = &self.0[module].names;
        let used = names
            .iter()
            .filter_map(|name| self.holder(&from_root(module, name)?));
        used.filter(|used| !used.starts_with(module)).collect()
    }

    /// The module whose file holds what `path`, from the root, names.
    fn holder(&self, path: &[String]) -> Option<&Path> {
        let is_module = |length: &usize| self.0.contains_key(&path[..*length]);
        let length = (0..=path.len()).rfind(is_module)?;
        let (module, file) = self.0.get_key_value(&path[..length])?;
        let Some(item) = path.get(length) else {
            return Some(module);
        };
        let below = |name: &&Path| {
            let file = [module.as_slice(), &name[..1]].concat();
            name.last() == Some(item) && self.0.contains_key(&file)
        };
        match file.names.iter().find(below) {
            Some(name) if name.len() > 1 => self.holder(&[module.as_slice(), name].concat()),
            _ => Some(module),
        }
    }

    /// Circles that share no file, each as the shortest way back to its first file.
    fn circles(&self) -> Vec<Violation> {
        let arrows = self.0.keys().map(|module| (module, self.used_by(module)));
        let arrows: BTreeMap<_, _> = arrows.collect();
        let mut reported = BTreeSet::new();
        let mut found = Vec::new();
        for start in self.0.keys() {
            let Some(way) = way_back(&arrows, start)
                .filter(|way| way.iter().all(|module| !reported.contains(*module)))
            else {
                continue;
            };
            reported.extend(way.iter().copied());
            let places: Vec<_> = way
                .iter()
                .map(|module| self.0[*module].place.as_str())
                .collect();
            found.push(violation(
                places[0],
                format!("uses {}", places[1..].join(", which uses ")),
                "move what both need into a file that needs neither",
            ));
        }
        found
    }
}

/// The shortest way along arrows from `start` to itself, both ends included.
fn way_back<'a>(
    arrows: &BTreeMap<&'a Path, BTreeSet<&'a Path>>,
    start: &'a Path,
) -> Option<Vec<&'a Path>> {
    let mut reached = BTreeSet::new();
    let mut ways = vec![vec![start]];
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for next in arrows.get(way.last()?).into_iter().flatten() {
                let on: Vec<_> = way.iter().chain([next]).copied().collect();
                if *next == start {
                    return Some(on);
                }
                if reached.insert(*next) {
                    longer.push(on);
                }
            }
        }
        ways = longer;
    }
    None
}

/// The module that a file below `src` holds; none for tests.
fn module(file: &str) -> Option<Path> {
    let mut module: Path = file
        .strip_suffix(".rs")?
        .split('/')
        .map(str::to_owned)
        .collect();
    if module.iter().any(|segment| segment == "tests") {
        return None;
    }
    module.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
    Some(module)
}

/// What `name`, in the file of `module`, is from the crate's root.
fn from_root(module: &Path, name: &Path) -> Option<Path> {
    let mut base = module.clone();
    let mut rest = name.as_slice();
    match rest.first()?.as_str() {
        "crate" => (base, rest) = (Path::new(), &rest[1..]),
        "self" => rest = &rest[1..],
        _ => {}
    }
    while rest.first().is_some_and(|segment| segment == "super") {
        base.pop();
        rest = &rest[1..];
    }
    Some([base.as_slice(), rest].concat())
}

/// Every path in a file's code that begins in its crate, as far as can be told from the text alone.
fn names(text: &str) -> Vec<Path> {
    let code = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text);
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut names = Vec::new();
    for begin in ["crate::", "super::", "self::", "use "] {
        for (at, _) in code.match_indices(begin) {
            // One that goes on from the left is found there.
            let left = code[..at].chars().next_back();
            if left.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let path = if begin == "use " {
                at + begin.len()
            } else {
                at
            };
            expand(&mut names, &Path::new(), &code[path..]);
        }
    }
    names
}

/// Adds the paths that `code` begins with, below `prefix`; returns what follows them.
fn expand<'a>(names: &mut Vec<Path>, prefix: &Path, code: &'a str) -> &'a str {
    let mut path = prefix.clone();
    let mut code = code.trim_start();
    loop {
        if let Some(mut list) = code.strip_prefix('{') {
            while !list.trim_start().starts_with('}') {
                let before = list.len();
                list = expand(names, &path, list)
                    .trim_start()
                    .trim_start_matches(',');
                if list.len() == before {
                    // No list of names after all.
                    return list;
                }
            }
            return list.trim_start().trim_start_matches('}');
        }
        let length = code
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(code.len());
        path.extend((length > 0).then(|| code[..length].to_owned()));
        code = &code[length..];
        match code.strip_prefix("::") {
            Some(rest) => code = rest,
            None => break,
        }
    }
    names.extend((!path.is_empty()).then_some(path));
    // `as NAME` in a list.
    code.find([',', '}']).map_or("", |end| &code[end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fake;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&fake(files))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle() {
        let files = [
            ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use a::A;\n"),
            (
                "crates/x/src/a.rs",
                "use crate::{\n    b::{C, B as D},\n};\n",
            ),
            (
                "crates/x/src/b.rs",
                "fn b() -> crate::A { super::a::new() }\n",
            ),
        ];
        assert_eq!(
            found(&files),
            [
                "crates/x/src/a.rs: uses crates/x/src/b.rs, which uses crates/x/src/a.rs; \
                 move what both need into a file that needs neither"
            ]
        );
    }

    #[test]
    fn a_circle_may_be_long_and_run_through_a_folder() {
        let files = [
            ("crates/x/src/plan.rs", "use crate::kinds::find;\n"),
            (
                "crates/x/src/kinds/mod.rs",
                "mod one;\npub fn find() {}\nuse crate::spec::Spec;\n",
            ),
            (
                "crates/x/src/spec.rs",
                "pub struct Spec(crate::plan::Plan);\n",
            ),
        ];
        assert_eq!(found(&files).len(), 1);
        assert!(
            found(&files)[0].contains("plan.rs, which uses"),
            "{:?}",
            found(&files)
        );
    }

    #[test]
    fn a_folder_lists_its_files_and_tests_may_use_all() {
        let files = [
            (
                "crates/x/src/kinds/mod.rs",
                "mod one;\nmod two;\npub use two::Two;\nstatic ALL: &[&dyn Kind] = &[&one::One];\n",
            ),
            ("crates/x/src/kinds/one.rs", "use super::{Kind, Two};\n"),
            (
                "crates/x/src/kinds/two.rs",
                "use super::Kind;\n//! [`super::one`]\n#[cfg(test)]\nmod tests {\n    use super::super::one::One;\n}\n",
            ),
            (
                "crates/x/src/kinds/tests.rs",
                "use super::one::One;\nuse crate::other::Other;\n",
            ),
            ("crates/x/src/other.rs", "use crate::kinds::tests;\n"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn other_crates_are_no_matter_of_it() {
        let files = [
            (
                "crates/x/src/a.rs",
                "use crate::b::B;\nuse std::fmt::{self, Debug};\n",
            ),
            (
                "crates/x/src/b.rs",
                "use other::a::A;\nfn b() { let _ = \"use {\"; }\n",
            ),
        ];
        assert_eq!(found(&files), [""; 0]);
    }
}
