//! P4Info from files: text protobuf as compilers write it, or binary.

use super::schema::InfoError;
use crate::proto::p4::config::v1::P4Info;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};

/// The definitions as a `FileDescriptorSet`.
const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// Reads a P4Info in text or binary form.
pub fn parse_p4info(bytes: &[u8]) -> Result<P4Info, InfoError> {
    let syntax = |what: String| InfoError::new("it", format!("is not a P4Info: {what}"));
    // No binary P4Info is text: its first byte is the key of a field, and lengths and nested keys follow.
    let text = std::str::from_utf8(bytes).ok().filter(|text| {
        !text
            .chars()
            .any(|one| one.is_control() && !one.is_whitespace())
    });
    let info = match text {
        Some(text) => {
            if depth(text) > MAX_DEPTH {
                return Err(syntax(format!(
                    "messages are nested deeper than {MAX_DEPTH}"
                )));
            }
            let pool =
                DescriptorPool::decode(DESCRIPTORS).map_err(|error| syntax(error.to_string()))?;
            let kind = pool
                .get_message_by_name("p4.config.v1.P4Info")
                .ok_or_else(|| syntax("its definition is missing".to_owned()))?;
            let message = DynamicMessage::parse_text_format(kind, text)
                .map_err(|error| syntax(error.to_string()))?;
            message
                .transcode_to()
                .map_err(|error| syntax(error.to_string()))?
        }
        None => P4Info::decode(bytes).map_err(|error| syntax(error.to_string()))?,
    };
    if info == P4Info::default() {
        return Err(syntax("it is empty".to_owned()));
    }
    Ok(info)
}

/// Messages within messages: those of the definitions are 20 deep, and readers of text call themselves for each.
const MAX_DEPTH: usize = 100;

/// The deepest brackets outside of strings; a comment counts too.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut quote, mut escaped) = (None, false);
    for one in text.chars() {
        match (quote, one) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if one == open => quote = None,
            (Some(_), '\n') => quote = None,
            (None, '"' | '\'') => quote = Some(one),
            (None, '{' | '<' | '[') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (None, '}' | '>' | ']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_binary_say_the_same() {
        let text = "pkg_info { arch: \"v1model\" }\ntables { preamble { id: 33554433 name: \"a.t\" } size: 9 }";
        let info = parse_p4info(text.as_bytes()).unwrap();
        assert_eq!(info.tables[0].size, 9);
        assert_eq!(parse_p4info(&info.encode_to_vec()).unwrap(), info);
    }

    #[test]
    fn what_is_nested_for_ever_is_refused() {
        for (open, close) in [("{ ", " } } "), ("< ", " > > ")] {
            let inner = format!("tuple {open} members {open}").repeat(20_000);
            let text = format!(
                "digests {{ type_spec {{ {inner}{} }} }}",
                close.repeat(20_000)
            );
            let error = parse_p4info(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("nested deeper than 100"), "{error}");
        }
    }

    #[test]
    fn what_is_something_else_is_refused() {
        for bytes in [
            &b""[..],
            b"tables {",
            b"frobnicate: 1",
            b"{\"a\": 1}",
            &[0xff, 0, 1],
        ] {
            let error = parse_p4info(bytes).unwrap_err().to_string();
            assert!(error.contains("not a P4Info"), "{error}");
        }
    }
}
