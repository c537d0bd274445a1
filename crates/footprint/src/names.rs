//! Readable symbol names, in bounded memory.

use cpp_demangle::BorrowedSymbol;
use std::fmt::{self, Write as _};

/// Maximum length of a name, bytes: C++ templates can be longer without more information.
const MAX_NAME: usize = 400;

/// Demangled name of Rust or C++, truncated if too long.
pub(crate) fn readable(raw: &str) -> String {
    let mut text = Bounded::default();
    let written = if is_rust(raw) {
        write!(text, "{:#}", rustc_demangle::demangle(raw))
    } else if raw.starts_with("_Z") {
        cpp(raw, &mut text)
    } else {
        Err(fmt::Error)
    };
    match written {
        Ok(()) if !text.name.is_empty() => text.name,
        Err(_) if text.is_full => format!("{}…", text.name),
        _ => cut(raw),
    }
}

fn cpp(raw: &str, text: &mut Bounded) -> fmt::Result {
    let parsed = BorrowedSymbol::with_tail(raw.as_bytes());
    let (symbol, tail) = parsed.map_err(|_| fmt::Error)?;
    symbol.structured_demangle(text, &cpp_demangle::DemangleOptions::default())?;
    // Such as `.constprop.0`.
    let tail = str::from_utf8(tail).map_err(|_| fmt::Error)?;
    text.write_str(tail)
}

/// Crate of a Rust symbol, by its readable name: `core` of `<core::fmt::Error as …>::fmt`.
pub(crate) fn crate_of<'a>(raw: &str, readable: &'a str) -> Option<&'a str> {
    if !is_rust(raw) {
        return None;
    }
    let path = readable.trim_start_matches(['<', '&', '*', '[', '(']);
    let path = ["mut ", "const ", "dyn ", "impl "]
        .iter()
        .fold(path, |path, word| path.strip_prefix(word).unwrap_or(path));
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    let (name, rest) = path.split_at(end);
    (rest.starts_with("::") && !name.is_empty()).then_some(name)
}

/// Whether a name is mangled by Rust: `_R…`, or `_ZN…17h` with a hash of 16 digits and `E`.
pub(crate) fn is_rust(raw: &str) -> bool {
    let legacy = || {
        let raw = raw.strip_prefix("_ZN")?;
        let (_, hash) = raw.rsplit_once("17h")?;
        let (digits, rest) = hash.split_at_checked(16)?;
        let is_hash = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(is_hash && rest.starts_with('E'))
    };
    raw.starts_with("_R") || legacy().unwrap_or(false)
}

/// Truncates a name visibly if it is too long.
pub(crate) fn cut(name: &str) -> String {
    if name.len() <= MAX_NAME {
        return name.to_owned();
    }
    let end = (0..=MAX_NAME).rfind(|at| name.is_char_boundary(*at));
    format!("{}…", &name[..end.unwrap_or(0)])
}

/// Text buffer with a maximum length.
#[derive(Default)]
struct Bounded {
    name: String,
    is_full: bool,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_NAME - self.name.len();
        let end = (0..=room.min(text.len())).rfind(|at| text.is_char_boundary(*at));
        let fits = &text[..end.unwrap_or(0)];
        self.name.push_str(fits);
        self.is_full = fits.len() < text.len();
        if self.is_full {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rust_and_cpp_are_readable_and_c_stays() {
        let cases = [
            ("tcp_input", "tcp_input"),
            (
                "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                "core::fmt::Write::write_fmt",
            ),
            ("_RNvCsbDqzXfLQacH_4main4main", "main::main"),
            ("_ZN3net6SocketC1Ev", "net::Socket::Socket()"),
            ("_ZN3net4pollEi.constprop.0", "net::poll(int)"),
            ("_Z", "_Z"),
            ("_ZNnonsense", "_ZNnonsense"),
            ("_R", "_R"),
        ];
        for (raw, want) in cases {
            let shown = readable(raw);
            assert!(shown.starts_with(want), "{raw}: {shown}");
        }
    }

    #[test]
    fn a_crate_is_the_first_of_a_path() {
        let raw = "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE";
        let cases = [
            ("core::fmt::Write::write_fmt", Some("core")),
            (
                "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
                Some("alloc"),
            ),
            ("<&mut serde_json::Value as X>::f", Some("serde_json")),
            ("main", None),
            ("<u8 as core::fmt::Debug>::fmt", None),
        ];
        for (readable, want) in cases {
            assert_eq!(crate_of(raw, readable), want, "{readable}");
        }
        assert_eq!(crate_of("tcp_input", "a::b"), None);
    }

    #[test]
    fn no_name_takes_more_than_its_bound() {
        let long = "é".repeat(MAX_NAME);
        assert!(cut(&long).len() <= MAX_NAME + '…'.len_utf8());
        // Substitutions that double: 2^40 characters when written out.
        let mut bomb = "_Z1fI1AS_E".to_owned();
        for at in 0..40 {
            bomb.extend(["1gIS", &at.to_string(), "_S", &at.to_string(), "_E"]);
        }
        assert!(readable(&bomb).len() <= MAX_NAME + bomb.len());
        assert!(readable(&"_ZN".repeat(5000)).len() <= MAX_NAME + 3);
    }
}
