//! Characters that HTML writes by their names or numbers: `&gt;`, `&#39;`, `&#x27;`, `&nbsp;`.
//!
//! # References
//! - HTML Living Standard §13.5, "Named character references"

/// Longest name or number.
pub(super) const MAX_LEN: usize = 10;

/// The names that pages use in texts of programs.
const NAMES: &[(&str, char)] = &[
    ("Tab", '\t'),
    ("NewLine", '\n'),
    ("amp", '&'),
    ("apos", '\''),
    ("ast", '*'),
    ("bsol", '\\'),
    ("bull", '•'),
    ("colon", ':'),
    ("comma", ','),
    ("commat", '@'),
    ("copy", '©'),
    ("dash", '‐'),
    ("deg", '°'),
    ("dollar", '$'),
    ("emsp", ' '),
    ("ensp", ' '),
    ("equals", '='),
    ("excl", '!'),
    ("grave", '`'),
    ("gt", '>'),
    ("hellip", '…'),
    ("hyphen", '-'),
    ("laquo", '«'),
    ("lbrace", '{'),
    ("lbrack", '['),
    ("lcub", '{'),
    ("ldquo", '“'),
    ("lowbar", '_'),
    ("lpar", '('),
    ("lsqb", '['),
    ("lsquo", '‘'),
    ("lt", '<'),
    ("mdash", '—'),
    ("micro", 'µ'),
    ("middot", '·'),
    ("minus", '-'),
    ("nbsp", '\u{a0}'),
    ("ndash", '–'),
    ("num", '#'),
    ("percnt", '%'),
    ("period", '.'),
    ("plus", '+'),
    ("plusmn", '±'),
    ("quest", '?'),
    ("quot", '"'),
    ("raquo", '»'),
    ("rbrace", '}'),
    ("rbrack", ']'),
    ("rcub", '}'),
    ("rdquo", '”'),
    ("reg", '®'),
    ("rpar", ')'),
    ("rsqb", ']'),
    ("rsquo", '’'),
    ("semi", ';'),
    ("shy", '\u{ad}'),
    ("sol", '/'),
    ("thinsp", ' '),
    ("times", '×'),
    ("verbar", '|'),
    ("vert", '|'),
    ("zwj", '\u{200d}'),
    ("zwnj", '\u{200c}'),
];

/// The character of what stands between `&` and `;`; `None` if that is none that a text may have.
pub(super) fn character(name: &str) -> Option<char> {
    let Some(number) = name.strip_prefix('#') else {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        return found.map(|(_, c)| *c);
    };
    let number = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    let c = char::from_u32(number.ok()?)?;
    (!c.is_control() || matches!(c, '\t' | '\n')).then_some(c)
}

/// Whether a line has a character that is written so.
pub(super) fn are_in(line: &str) -> bool {
    line.split('&').skip(1).any(|rest| {
        let name = rest.split_once(';').map(|(name, _)| name);
        name.is_some_and(|name| name.len() <= MAX_LEN && character(name).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_characters() {
        for (name, c) in [
            ("gt", Some('>')),
            ("#39", Some('\'')),
            ("#x27", Some('\'')),
            ("nbsp", Some('\u{a0}')),
            ("#160", Some('\u{a0}')),
            ("#27", None),
            ("#xD800", None),
            ("#", None),
            ("GT", None),
            ("", None),
        ] {
            assert_eq!(character(name), c, "{name}");
        }
        assert!(are_in("a &amp; b") && !are_in("run & wait; done") && !are_in("&;"));
    }
}
