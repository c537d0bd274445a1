//! Names of kernel addresses, from `/proc/kallsyms`.
//!
//! Read twice, so that of some 200 000 symbols only the addresses and the needed names are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};

const PATH: &str = "/proc/kallsyms";
/// Maximum symbols; a large kernel with all modules has 300 000.
const MAX_SYMBOLS: usize = 1_000_000;
/// Maximum length read of the file: 300 000 lines have 16 MB.
const MAX_BYTES: u64 = 128 * 1024 * 1024;
/// Maximum length of a function: an address further behind a symbol belongs to code without one.
const MAX_FUNCTION: u64 = 1024 * 1024;

/// Function that contains each of `addresses`, as far as the kernel shows it.
pub(super) fn names(addresses: &BTreeSet<u64>, remarks: &mut Vec<String>) -> BTreeMap<u64, String> {
    if addresses.is_empty() {
        return BTreeMap::new();
    }
    let open = || File::open(PATH).map(|file| BufReader::new(file.take(MAX_BYTES)));
    let found = open()
        .and_then(starts)
        .and_then(|starts| matched(addresses, &starts, open()?));
    let names = found.unwrap_or_default();
    if names.is_empty() {
        remarks.push(format!(
            "kernel functions have no names: {PATH} hides its addresses; set `sysctl kernel.kptr_restrict=0` or run with CAP_SYSLOG"
        ));
    }
    names
}

/// Addresses of all functions, sorted.
fn starts(text: impl BufRead) -> io::Result<Vec<u64>> {
    let mut starts = Vec::new();
    each_function(text, |address, _| {
        if starts.len() < MAX_SYMBOLS {
            starts.push(address);
        }
    })?;
    starts.sort_unstable();
    Ok(starts)
}

fn matched(
    addresses: &BTreeSet<u64>,
    starts: &[u64],
    text: impl BufRead,
) -> io::Result<BTreeMap<u64, String>> {
    let start_of = |address: u64| {
        let after = starts.partition_point(|start| *start <= address);
        let start = *starts.get(after.checked_sub(1)?)?;
        (address - start < MAX_FUNCTION).then_some(start)
    };
    let wanted: BTreeSet<u64> = addresses.iter().copied().filter_map(start_of).collect();
    let mut by_start: BTreeMap<u64, String> = BTreeMap::new();
    each_function(text, |start, name| {
        if wanted.contains(&start) {
            let kept = by_start.entry(start).or_default();
            // Aliases: the kernel's own entry points start with underscores, `_stext` marks a section.
            if kept.is_empty() || kept.starts_with('_') {
                name.clone_into(kept);
            }
        }
    })?;
    let name = |address: &u64| Some((*address, by_start.get(&start_of(*address)?)?.clone()));
    Ok(addresses.iter().filter_map(name).collect())
}

/// Calls `take` with each function whose address is visible: `ffffffff81000000 T _text [module]`.
fn each_function(mut text: impl BufRead, mut take: impl FnMut(u64, &str)) -> io::Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        if text.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split_ascii_whitespace();
        let address = words
            .next()
            .and_then(|word| u64::from_str_radix(word, 16).ok());
        let is_code = words
            .next()
            .is_some_and(|kind| matches!(kind, "T" | "t" | "W" | "w"));
        if let (Some(address), true, Some(name)) = (address, is_code, words.next())
            && address > 0
        {
            take(address, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
ffffffff81000000 T _stext
ffffffff81000000 T startup_64
ffffffff81000000 T _text
ffffffff81000100 t udp_sendmsg
ffffffff81000080 T ip_output
ffffffff81000090 D some_data
ffffffffc0000000 t veth_xmit\t[veth]
";

    fn look_up(addresses: &[u64]) -> BTreeMap<u64, String> {
        let starts = starts(TEXT.as_bytes()).unwrap();
        let addresses = addresses.iter().copied().collect();
        matched(&addresses, &starts, TEXT.as_bytes()).unwrap()
    }

    #[test]
    fn an_address_belongs_to_the_function_that_starts_before_it() {
        let names = look_up(&[
            0xffff_ffff_8100_0000,
            0xffff_ffff_8100_0095,
            0xffff_ffff_8100_0fff,
            0xffff_ffff_c000_0001,
        ]);
        let names: Vec<_> = names.values().map(String::as_str).collect();
        assert_eq!(
            names,
            ["startup_64", "ip_output", "udp_sendmsg", "veth_xmit"]
        );
    }

    #[test]
    fn an_address_far_from_any_function_has_no_name() {
        assert_eq!(look_up(&[0x1000, 0xffff_ffff_a000_0000]).len(), 0);
    }

    #[test]
    fn hidden_addresses_name_nothing() {
        let text = "0000000000000000 T _text\n0000000000000000 t udp_sendmsg\n";
        assert_eq!(starts(text.as_bytes()).unwrap().len(), 0);
    }
}
