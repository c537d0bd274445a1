//! Stacks that a plan names: `[stacks.NAME]`, the options of `stack://command` one a line.

use super::Places;
use linerate_model::exit::Failure;
use linerate_stacks::StackSpec;
use std::collections::BTreeMap;
use toml::Spanned;

/// As the file has them.
pub(super) type Tables = BTreeMap<Spanned<String>, BTreeMap<String, Spanned<String>>>;

/// Each by its name, as `stack` takes it.
pub(super) type Named = BTreeMap<String, String>;

/// The kind of stack that these are.
const COMMAND: &str = "command";

/// Checks every table.
pub(super) fn read(tables: &Tables, place: Places<'_>) -> Result<Named, Failure> {
    let one = |(name, options): (&Spanned<String>, &BTreeMap<String, Spanned<String>>)| {
        let fail = |at: usize, why: &str| {
            place.fail(Some(at), &format!("stacks.{}: {why}", name.get_ref()))
        };
        let at = name.span().start;
        if name.get_ref().parse::<StackSpec>().is_ok() {
            return Err(fail(
                at,
                "a stack of this name is built in; name it otherwise",
            ));
        }
        let mut written = Vec::new();
        for (option, value) in options {
            let text = value.get_ref();
            if text.contains('&') {
                let why = format!("{option}: \"&\" is not possible; put it in a script");
                return Err(fail(value.span().start, &why));
            }
            written.push(format!("{option}={text}"));
        }
        let text = format!("{COMMAND}?{}", written.join("&"));
        let spec: StackSpec = text.parse().map_err(|why: String| fail(at, &why))?;
        Ok((name.get_ref().clone(), spec.to_string()))
    };
    tables.iter().map(one).collect()
}
