//! The text of an extension that is chosen by name, with parameters of its own: `router,rules=100`.

use std::collections::BTreeMap;
use std::fmt;

/// Reads the name of an extension and its parameters: `name` or `name,key=value,key=value`.
pub(crate) fn parse_choice(text: &str) -> Option<(String, BTreeMap<String, String>)> {
    let mut parts = text.split(',');
    let name = parts.next().filter(|name| !name.is_empty())?.to_owned();
    let param = |part: &str| {
        let (key, value) = part.split_once('=')?;
        (!key.is_empty()).then(|| (key.to_owned(), value.to_owned()))
    };
    Some((name, parts.map(param).collect::<Option<_>>()?))
}

/// Writes what [`parse_choice`] reads.
pub(crate) fn write_choice(
    name: &str,
    params: &BTreeMap<String, String>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    f.write_str(name)?;
    for (key, value) in params {
        write!(f, ",{key}={value}")?;
    }
    Ok(())
}
