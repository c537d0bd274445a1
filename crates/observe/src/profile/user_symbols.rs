//! Names of user addresses in this process and in programs that it started: functions, else the module's name.

use crate::text::whole_lines;
use object::read::ReadCache;
use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};

/// Function or module of `process` that contains each of `addresses`.
pub(super) fn names(
    process: u32,
    addresses: &BTreeSet<u64>,
    remarks: &mut Vec<String>,
) -> BTreeMap<u64, String> {
    let of = |what: &str| format!("/proc/{process}/{what}");
    let maps = fs::read_to_string(of("maps")).unwrap_or_default();
    let program = fs::read_link(of("exe")).ok();
    let program = program.as_deref().and_then(|path| path.to_str());
    // An agent started by `ssh://` deletes its file.
    let program = program.map(|path| path.strip_suffix(" (deleted)").unwrap_or(path));
    let mut names = BTreeMap::new();
    let mut modules: BTreeMap<&str, BTreeMap<u64, u64>> = BTreeMap::new();
    for address in addresses {
        let Some((path, offset)) = located(&maps, *address) else {
            continue;
        };
        let module = path.rsplit('/').next().unwrap_or(path);
        names.insert(*address, module.to_owned());
        modules.entry(path).or_default().insert(*address, offset);
    }
    for (path, offsets) in modules {
        let is_program = Some(path) == program;
        let file = if is_program {
            of("exe")
        } else {
            of(&format!("root{path}"))
        };
        let functions = functions(&file, &offsets).unwrap_or_default();
        if is_program && process == std::process::id() && functions.is_empty() {
            remarks.push("this program has no symbols, so its functions have no names".to_owned());
        }
        names.extend(functions);
    }
    names
}

/// The file mapped at `address`, and the offset in it.
fn located(maps: &str, address: u64) -> Option<(&str, u64)> {
    whole_lines(maps).find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let from = u64::from_str_radix(from, 16).ok()?;
        if !(from..u64::from_str_radix(to, 16).ok()?).contains(&address) {
            return None;
        }
        let offset = u64::from_str_radix(words.nth(1)?, 16).ok()?;
        Some((words.nth(2)?, offset.checked_add(address - from)?))
    })
}

/// Names of the functions at offsets in an ELF file.
fn functions(path: &str, offsets: &BTreeMap<u64, u64>) -> Option<BTreeMap<u64, String>> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let file = object::File::parse(&cache).ok()?;
    let linked = |offset: u64| {
        file.segments().find_map(|segment| {
            let (start, length) = segment.file_range();
            let inside = offset
                .checked_sub(start)
                .filter(|inside| *inside < length)?;
            segment.address().checked_add(inside)
        })
    };
    let wanted: BTreeMap<u64, u64> = offsets
        .iter()
        .filter_map(|(address, offset)| Some((linked(*offset)?, *address)))
        .collect();
    let mut names = BTreeMap::new();
    // A library without its table of symbols still has those that others link to.
    let symbols = file.dynamic_symbols().chain(file.symbols());
    for symbol in symbols.filter(|symbol| symbol.kind() == SymbolKind::Text) {
        let start = symbol.address();
        let end = start.saturating_add(symbol.size());
        for address in wanted.range(start..end).map(|(_, address)| *address) {
            if let Ok(name) = symbol.name() {
                names.insert(address, format!("{:#}", rustc_demangle::demangle(name)));
            }
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c0002000 r--p 00000000 fe:00 1234 /usr/bin/linerate
55d0c0002000-55d0c0009000 r-xp 00002000 fe:00 1234 /usr/bin/linerate
7ffd5a7f0000-7ffd5a7f2000 r-xp 00000000 00:00 0 [vdso]
7ffd5a8f0000-7ffd5a8f2000 rw-p 00000000 00:00 0 
";

    #[test]
    fn an_address_lies_in_a_mapped_file() {
        let found = located(MAPS, 0x55d0_c000_2010);
        assert_eq!(found, Some(("/usr/bin/linerate", 0x2010)));
        assert_eq!(located(MAPS, 0x7ffd_5a7f_0004), Some(("[vdso]", 4)));
        assert_eq!(located(MAPS, 0x7ffd_5a8f_0004), None);
        assert_eq!(located(MAPS, 1), None);
    }

    #[test]
    fn an_own_function_is_found_by_its_address() {
        let here: fn(&str, u64) -> Option<(&str, u64)> = located;
        let address = here as usize as u64;
        let own = std::process::id();
        let names = names(own, &BTreeSet::from([address]), &mut Vec::new());
        assert!(names[&address].contains("located"), "{names:?}");
    }
}
