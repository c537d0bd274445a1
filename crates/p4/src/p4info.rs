//! Whether a P4Info, as the compiler writes it in text, is of the same program.

use crate::program::Program;

/// Why a P4Info is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum P4InfoError {
    /// Braces do not match, or nothing is described.
    #[error("not a P4Info in text form: {0}")]
    Syntax(&'static str),
    /// It describes another program, or another version of it.
    #[error("does not fit the program: {0}; compile both in one run of p4c")]
    Misfit(String),
}

/// A table as a P4Info describes it.
#[derive(Debug, Default)]
struct Described {
    name: String,
    fields: usize,
}

/// Checks that every table of the P4Info is in the program, with as many key fields.
pub fn check_p4info(program: &Program, text: &str) -> Result<(), P4InfoError> {
    for table in tables(text)? {
        let known = program.tables.iter().find(|known| known.name == table.name);
        let Some(known) = known else {
            return Err(P4InfoError::Misfit(format!(
                "it has no table {}",
                table.name
            )));
        };
        if known.key.len() != table.fields {
            let (name, has) = (&table.name, known.key.len());
            return Err(P4InfoError::Misfit(format!(
                "table {name} has {has} key fields, not {}",
                table.fields
            )));
        }
    }
    Ok(())
}

fn tables(text: &str) -> Result<Vec<Described>, P4InfoError> {
    let (mut found, mut path, mut last) = (Vec::new(), Vec::new(), String::new());
    let mut described = false;
    for word in words(text) {
        match word.as_str() {
            "{" => {
                path.push(std::mem::take(&mut last));
                described = true;
                match path
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .as_slice()
                {
                    ["tables"] => found.push(Described::default()),
                    ["tables", "match_fields"] => {
                        if let Some(table) = found.last_mut() {
                            table.fields += 1;
                        }
                    }
                    _ => {}
                }
            }
            "}" => {
                path.pop()
                    .ok_or(P4InfoError::Syntax("a brace is closed that was not opened"))?;
            }
            word => {
                let is_name = last == "name" && path == ["tables", "preamble"];
                if let (true, Some(table)) = (is_name, found.last_mut()) {
                    word.trim_matches('"').clone_into(&mut table.name);
                }
                word.clone_into(&mut last);
            }
        }
    }
    if !path.is_empty() || !described {
        return Err(P4InfoError::Syntax("it ends too early"));
    }
    Ok(found)
}

/// Names, values, strings with their quotes, and braces; colons and comments are left out.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(first) = chars.next() {
        let mut word = String::from(first);
        match first {
            '#' => while chars.next_if(|next| *next != '\n').is_some() {},
            '{' | '}' => words.push(word),
            '"' => {
                while let Some(next) = chars.next() {
                    word.push(next);
                    match next {
                        '"' => break,
                        '\\' => word.extend(chars.next()),
                        _ => {}
                    }
                }
                words.push(word);
            }
            first if first.is_whitespace() || matches!(first, ':' | ',' | ';' | '<' | '>') => {}
            _ => {
                let inside = |next: &char| !next.is_whitespace() && !"{}\":,;#".contains(*next);
                while let Some(next) = chars.next_if(inside) {
                    word.push(next);
                }
                words.push(word);
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_with_their_keys() {
        let text = "pkg_info { arch: \"v1model\" }\ntables {\n  preamble {\n    id: 3\n    name: \"a.t\" # name: \"b\"\n  }\n  \
                    match_fields { id: 1 name: \"x\" }\n  match_fields { id: 2 name: \"y{\" }\n}\n";
        let found = tables(text).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].fields), ("a.t", 2));
    }

    #[test]
    fn what_is_cut_or_something_else_is_refused() {
        assert!(tables("tables { preamble {").is_err());
        assert!(tables("tables } {").is_err());
        assert!(tables("").is_err());
    }
}
