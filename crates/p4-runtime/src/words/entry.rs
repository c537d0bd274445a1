//! Entries: `TABLE [PRIORITY] FIELD:VALUE… ACTION(PARAMETER:VALUE,…)`, a line of packet tests, or JSON.

use super::value::{parse, parse_for, show, show_mask};
use crate::convert::bits;
use crate::info::{ActionSchema, FieldKind, FieldSchema, Schema, TableSchema, Translation};
use crate::proto::p4::v1::{
    Action, FieldMatch, TableAction, TableEntry, action, field_match, field_match::FieldMatchType,
    table_action,
};
use linerate_p4::hex;

type Result<T> = std::result::Result<T, String>;

/// An entry in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryWords {
    /// The table.
    pub table: String,
    /// Fields of the key that do not match anything, with what they match.
    pub key: Vec<(String, String)>,
    /// The priority, where the table has priorities; the larger wins.
    pub priority: Option<i32>,
    /// Whether it is what the table does on a miss.
    pub default: bool,
    /// The action, member or group.
    pub action: String,
    /// Its parameters.
    pub parameters: Vec<(String, String)>,
}

/// The only element whose name is this one, or ends in it after a dot.
fn find<'a, T>(
    all: impl Iterator<Item = &'a T> + Clone,
    name: &str,
    of: impl Fn(&T) -> &str,
    what: &str,
) -> Result<&'a T> {
    let ends = |full: &str| {
        full == name
            || full
                .strip_suffix(name)
                .is_some_and(|rest| rest.ends_with('.'))
    };
    let exact = all.clone().find(|one| of(one) == name);
    let mut found = all.clone().filter(|one| ends(of(one)));
    match (exact, found.next(), found.next()) {
        (Some(one), ..) | (None, Some(one), None) => Ok(one),
        (None, Some(_), Some(_)) => {
            Err(format!("{what} {name} is not unique: write its whole name"))
        }
        _ => {
            let known: Vec<_> = all.map(|one| of(one).to_owned()).collect();
            Err(format!(
                "there is no {what} {name}; there are: {}",
                known.join(", ")
            ))
        }
    }
}

fn table_of<'a>(schema: &'a Schema, name: &str) -> Result<&'a TableSchema> {
    find(schema.tables.values(), name, |table| &table.name, "table")
}

fn number(field: &FieldSchema, text: &str) -> Result<Vec<u8>> {
    let name = &field.name;
    let value = parse_for(field, text).ok_or_else(|| {
        format!(
            "{text:?} is not a value for {name}: give a number, 0x…, an IPv4, IPv6 or MAC address"
        )
    })?;
    fitting(field, text, value)
}

/// The value, if it has as many bits as the field or fewer.
fn fitting(field: &FieldSchema, text: &str, value: Vec<u8>) -> Result<Vec<u8>> {
    let (name, width) = (&field.name, field.width);
    if field.translation != Translation::Text && bits(&value) > width as usize {
        return Err(format!(
            "{text:?} does not fit in the {width} bits of {name}"
        ));
    }
    Ok(value)
}

fn ones(width: u32, count: u32) -> Vec<u8> {
    let mut bytes = vec![0_u8; (width as usize).div_ceil(8)];
    let surplus = u32::try_from(bytes.len() * 8).unwrap_or(0) - width;
    for bit in surplus..surplus + count.min(width) {
        bytes[(bit / 8) as usize] |= 0x80 >> (bit % 8);
    }
    bytes
}

/// The bits of a value that a mask keeps.
fn masked(value: &[u8], mask: &[u8]) -> Vec<u8> {
    let mut kept = mask.to_vec();
    let length = kept.len();
    for (at, byte) in kept.iter_mut().enumerate() {
        let from_end = length - at;
        let of = value
            .len()
            .checked_sub(from_end)
            .and_then(|at| value.get(at));
        *byte &= of.copied().unwrap_or(0);
    }
    kept
}

/// Digits of packet tests where `*` is any: value and mask.
fn starred(text: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let (prefix, rest) = text.split_at_checked(2)?;
    if !rest.contains('*') || !matches!(prefix, "0x" | "0b") {
        return None;
    }
    let full = if prefix == "0x" { "f" } else { "1" };
    let value = parse(&format!("{prefix}{}", rest.replace('*', "0")))?;
    let mask: String = rest
        .chars()
        .map(|digit| if digit == '*' { "0" } else { full })
        .collect();
    Some((value, parse(&format!("{prefix}{mask}"))?))
}

/// A value and the bits of its prefix; none where it has no bits.
fn lpm(
    field: &FieldSchema,
    text: &str,
    prefix: Option<(&str, u32)>,
) -> Result<Option<field_match::Lpm>> {
    let (value, length) = match (prefix, starred(text)) {
        (Some((value, length)), _) => (number(field, value)?, length),
        (None, Some((value, mask))) => {
            let ones = mask.iter().map(|byte| byte.count_ones()).sum();
            (fitting(field, text, value)?, ones)
        }
        (None, None) if text == "*" => return Ok(None),
        (None, None) => (number(field, text)?, field.width),
    };
    let of = field_match::Lpm {
        value: masked(&value, &ones(field.width, length)),
        prefix_len: i32::try_from(length).unwrap_or(i32::MAX),
    };
    Ok(Some(of).filter(|_| length > 0))
}

/// The match of a field; `None` for one that matches anything.
fn field_match(field: &FieldSchema, text: &str) -> Result<Option<FieldMatch>> {
    let name = &field.name;
    let is_text = field.translation == Translation::Text;
    let prefix = match text.rsplit_once('/').filter(|_| !is_text) {
        Some((value, length)) => {
            let length: Option<u32> = length.parse().ok().filter(|length| *length <= field.width);
            let length = length
                .ok_or_else(|| format!("a prefix of {name} has 0 to {} bits", field.width))?;
            Some((value, length))
        }
        None => None,
    };
    let masks = text.split_once("&&&");
    let kind = match field.kind {
        FieldKind::Exact => FieldMatchType::Exact(field_match::Exact {
            value: number(field, text)?,
        }),
        FieldKind::Optional if text == "*" => return Ok(None),
        FieldKind::Optional => FieldMatchType::Optional(field_match::Optional {
            value: number(field, text)?,
        }),
        FieldKind::Lpm => match lpm(field, text, prefix)? {
            Some(lpm) => FieldMatchType::Lpm(lpm),
            None => return Ok(None),
        },
        FieldKind::Ternary => {
            let (value, mask) = match (masks, prefix, starred(text)) {
                (Some((value, mask)), ..) => (number(field, value)?, number(field, mask)?),
                (None, Some((value, length)), _) => {
                    (number(field, value)?, ones(field.width, length))
                }
                (None, None, Some((value, mask))) => (fitting(field, text, value)?, mask),
                (None, None, None) if text == "*" => return Ok(None),
                (None, None, None) => (number(field, text)?, ones(field.width, field.width)),
            };
            if mask.iter().all(|byte| *byte == 0) {
                return Ok(None);
            }
            let value = masked(&value, &mask);
            FieldMatchType::Ternary(field_match::Ternary { value, mask })
        }
        FieldKind::Range => {
            let (low, high) = match text.split_once("..").or_else(|| text.split_once("->")) {
                Some((low, high)) => (number(field, low)?, number(field, high)?),
                None if text == "*" => return Ok(None),
                None => (number(field, text)?, number(field, text)?),
            };
            FieldMatchType::Range(field_match::Range { low, high })
        }
    };
    Ok(Some(FieldMatch {
        field_id: field.id,
        field_match_type: Some(kind),
    }))
}

fn matches(table: &TableSchema, key: &[(String, String)]) -> Result<Vec<FieldMatch>> {
    let mut matches = Vec::new();
    for (name, text) in key {
        let field = find(table.fields.iter(), name, |field| &field.name, "key field")?;
        matches.extend(field_match(field, text)?);
    }
    Ok(matches)
}

fn call(
    schema: &Schema,
    table: &TableSchema,
    (name, given): (&str, &[(Option<String>, String)]),
) -> Result<TableAction> {
    // Members and groups of an action profile, as they are shown.
    if let (Some(_), [(None, id)]) = (table.profile, given)
        && let ("member" | "group", Ok(id)) = (name, id.parse())
    {
        let kind = match name {
            "member" => table_action::Type::ActionProfileMemberId(id),
            _ => table_action::Type::ActionProfileGroupId(id),
        };
        return Ok(TableAction { r#type: Some(kind) });
    }
    let actions: Vec<&ActionSchema> = table
        .actions
        .iter()
        .filter_map(|(id, _)| schema.actions.get(id))
        .collect();
    let known = find(
        actions.iter().copied(),
        name,
        |action| &action.name,
        "action",
    )?;
    if given.len() != known.parameters.len() {
        let (takes, has) = (known.parameters.len(), given.len());
        return Err(format!(
            "action {} takes {takes} parameters, {has} given",
            known.name
        ));
    }
    let mut params = Vec::new();
    for (parameter, (name, value)) in known.parameters.iter().zip(given) {
        let parameter = match name {
            Some(name) => find(
                known.parameters.iter(),
                name,
                |parameter| &parameter.name,
                "parameter",
            )?,
            None => parameter,
        };
        params.push(action::Param {
            param_id: parameter.id,
            value: number(parameter, value)?,
        });
    }
    let action = Action {
        action_id: known.id,
        params,
    };
    Ok(TableAction {
        r#type: Some(table_action::Type::Action(action)),
    })
}

/// The entry of a line such as `routes ipv4.dst:10.0.0.0/8 send(port:3)`; without an action it names an entry.
/// `default` in place of the key is what the table does on a miss.
pub fn parse_entry(schema: &Schema, line: &str) -> Result<TableEntry> {
    let spaced = line.replace('(', " (");
    let (head, arguments) = match spaced.split_once(" (") {
        Some((head, rest)) => {
            let inside = rest.trim().strip_suffix(')');
            (head, Some(inside.ok_or("a bracket is not closed")?))
        }
        None => (spaced.as_str(), None),
    };
    let mut words: Vec<&str> = head.split_whitespace().collect();
    let name = match arguments {
        Some(_) => Some(words.pop().ok_or("the action has no name")?),
        None => None,
    };
    let mut words = words.into_iter().peekable();
    let table = table_of(schema, words.next().ok_or("the table is missing")?)?;
    let mut entry = TableEntry {
        table_id: table.id,
        ..TableEntry::default()
    };
    if words.next_if_eq(&"default").is_some() {
        entry.is_default_action = true;
    }
    let is_number = |word: &&str| word.bytes().all(|digit| digit.is_ascii_digit());
    if let Some(word) = words.next_if(is_number) {
        let priority: Result<i32> = word
            .parse()
            .map_err(|_| format!("priority {word}: at most {}", i32::MAX));
        let priority = priority?;
        // Packet tests give one to every entry.
        entry.priority = if table.has_priorities() { priority } else { 0 };
    }
    let mut key = Vec::new();
    for word in words {
        let (field, value) = word.split_once(':').ok_or_else(|| {
            format!("{word:?} is not FIELD:VALUE; an action has brackets, as in drop()")
        })?;
        key.push((field.to_owned(), value.to_owned()));
    }
    entry.r#match = matches(table, &key)?;
    if let (Some(name), Some(arguments)) = (name, arguments) {
        let one = |argument: &str| match argument.trim().split_once([':', '=']) {
            // A colon may be that of an address without a name before it.
            Some((name, value))
                if name.starts_with(|first: char| first.is_alphabetic() || first == '_')
                    && parse(argument).is_none() =>
            {
                (Some(name.trim().to_owned()), value.trim().to_owned())
            }
            _ => (None, argument.trim().to_owned()),
        };
        let given: Vec<_> = arguments
            .split(',')
            .filter(|part| !part.trim().is_empty())
            .map(one)
            .collect();
        entry.action = Some(call(schema, table, (name, &given))?);
    }
    Ok(entry)
}

/// The entries of a document as `table list --json` prints it.
pub(super) fn json_entries(schema: &Schema, text: &str) -> Result<Vec<TableEntry>> {
    let document: serde_json::Value =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let list = document.get("entries").unwrap_or(&document).as_array();
    let list = list.ok_or("a list of entries, or an object with \"entries\", is expected")?;
    let entry = |(place, value): (usize, &serde_json::Value)| {
        json_entry(schema, value).map_err(|error| format!("entry {place}: {error}"))
    };
    list.iter().enumerate().map(entry).collect()
}

fn json_entry(schema: &Schema, value: &serde_json::Value) -> Result<TableEntry> {
    let text = |value: &serde_json::Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let pairs = |key: &str| {
        let object = value.get(key).and_then(serde_json::Value::as_object);
        let pairs = object.into_iter().flatten();
        pairs
            .map(|(name, value)| (name.clone(), text(value)))
            .collect::<Vec<_>>()
    };
    let name = value["table"].as_str().ok_or("\"table\" is missing")?;
    let table = table_of(schema, name)?;
    let priority = value["priority"].as_i64().unwrap_or(0);
    let mut entry = TableEntry {
        table_id: table.id,
        r#match: matches(table, &pairs("match"))?,
        priority: i32::try_from(priority).map_err(|_| "the priority has more than 32 bits")?,
        is_default_action: value["default"].as_bool().unwrap_or(false),
        ..TableEntry::default()
    };
    if let Some(name) = value["action"].as_str() {
        let given: Vec<_> = pairs("parameters")
            .into_iter()
            .map(|(name, value)| (Some(name), value))
            .collect();
        let (name, given) = match name.split_once('(') {
            Some((name, id)) => (name, vec![(None, id.trim_end_matches(')').to_owned())]),
            None => (name, given),
        };
        entry.action = Some(call(schema, table, (name, &given))?);
    }
    Ok(entry)
}

fn show_match(field: &FieldSchema, of: &FieldMatchType) -> String {
    match of {
        FieldMatchType::Exact(one) => show(field, &one.value),
        FieldMatchType::Optional(one) => show(field, &one.value),
        FieldMatchType::Lpm(one) => format!("{}/{}", show(field, &one.value), one.prefix_len),
        FieldMatchType::Ternary(one) => {
            format!(
                "{}&&&{}",
                show(field, &one.value),
                show_mask(field, &one.mask)
            )
        }
        FieldMatchType::Range(one) => {
            format!("{}..{}", show(field, &one.low), show(field, &one.high))
        }
        FieldMatchType::Other(other) => hex(&other.value),
    }
}

/// An entry in words; numbers stand where the P4Info has no name.
pub fn describe(schema: &Schema, entry: &TableEntry) -> EntryWords {
    let table = schema.tables.get(&entry.table_id);
    let field = |one: &FieldMatch| {
        let known =
            table.and_then(|table| table.fields.iter().find(|field| field.id == one.field_id));
        let shown = known.zip(one.field_match_type.as_ref());
        let name = known.map_or_else(|| one.field_id.to_string(), |field| field.name.clone());
        (
            name,
            shown.map_or(String::new(), |(field, of)| show_match(field, of)),
        )
    };
    let (action, parameters) = match entry
        .action
        .as_ref()
        .and_then(|action| action.r#type.as_ref())
    {
        Some(table_action::Type::Action(action)) => describe_call(schema, action),
        Some(table_action::Type::ActionProfileMemberId(id)) => {
            (format!("member({id})"), Vec::new())
        }
        Some(table_action::Type::ActionProfileGroupId(id)) => (format!("group({id})"), Vec::new()),
        Some(table_action::Type::ActionProfileActionSet(set)) => {
            let one = |of: &crate::proto::p4::v1::ActionProfileAction| {
                let (name, parameters) = of
                    .action
                    .as_ref()
                    .map(|action| describe_call(schema, action))
                    .unwrap_or_default();
                let parameters: Vec<_> = parameters
                    .iter()
                    .map(|(name, value)| format!("{name}:{value}"))
                    .collect();
                format!("{}×{name}({})", of.weight, parameters.join(", "))
            };
            let all: Vec<_> = set.action_profile_actions.iter().map(one).collect();
            (all.join(" | "), Vec::new())
        }
        None => ("nothing".to_owned(), Vec::new()),
    };
    EntryWords {
        table: table.map_or_else(
            || format!("{:#x}", entry.table_id),
            |table| table.name.clone(),
        ),
        key: entry.r#match.iter().map(field).collect(),
        priority: Some(entry.priority).filter(|priority| *priority != 0),
        default: entry.is_default_action,
        action,
        parameters,
    }
}

fn describe_call(schema: &Schema, call: &Action) -> (String, Vec<(String, String)>) {
    let known = schema.actions.get(&call.action_id);
    let parameter = |one: &action::Param| {
        let of = known.and_then(|known| known.parameters.iter().find(|of| of.id == one.param_id));
        match of {
            Some(of) => (of.name.clone(), show(of, &one.value)),
            None => (one.param_id.to_string(), hex(&one.value)),
        }
    };
    let name = known.map_or_else(
        || format!("{:#x}", call.action_id),
        |known| known.name.clone(),
    );
    (name, call.params.iter().map(parameter).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::parse_p4info;
    use crate::words::parse_entries;

    const P4INFO: &[u8] = include_bytes!("../../../../p4/control_plane/control_plane.p4info.txt");

    fn schema() -> Schema {
        Schema::new(&parse_p4info(P4INFO).unwrap()).unwrap()
    }

    /// The entry of a line, in words.
    fn shown(line: &str) -> String {
        let schema = schema();
        let words = describe(&schema, &parse_entry(&schema, line).unwrap());
        let join = |pairs: &[(String, String)]| {
            let pairs = pairs.iter().map(|(name, value)| format!("{name}:{value}"));
            pairs.collect::<Vec<_>>().join(",")
        };
        let priority = words
            .priority
            .map_or(String::new(), |priority| format!("{priority} "));
        format!(
            "{} {priority}{} {}({})",
            words.table,
            join(&words.key),
            words.action,
            join(&words.parameters)
        )
    }

    #[test]
    fn entries_are_written_in_words_and_shown_in_words() {
        for (line, expected) in [
            (
                "stations ethernet.dst:0a:00:00:00:00:01 send(3)",
                "ingress.stations hdr.ethernet.dst:0a:00:00:00:00:01 ingress.send(port:3)",
            ),
            (
                "ingress.routes dst:10.1.2.3/8 counted(port:3)",
                "ingress.routes hdr.ipv4.dst:10.0.0.0/8 ingress.counted(port:3)",
            ),
            (
                "routes 5 ipv4.dst:0x0a0000** counted(3)",
                "ingress.routes hdr.ipv4.dst:10.0.0.0/24 ingress.counted(port:3)",
            ),
            (
                "rules 7 src:10.0.0.0&&&255.0.0.0 ttl:3..5 protocol:17 drop()",
                "ingress.rules 7 hdr.ipv4.src:10.0.0.0&&&255.0.0.0,hdr.ipv4.ttl:3..5,hdr.ipv4.protocol:17 ingress.drop()",
            ),
            (
                "rules 1 protocol:* drop()",
                "ingress.rules 1  ingress.drop()",
            ),
            (
                "groups dst:1 group(4)",
                "ingress.groups hdr.ethernet.dst:00:00:00:00:00:01 group(4)()",
            ),
            (
                "stations default NoAction()",
                "ingress.stations  NoAction()",
            ),
            (
                "stations dst:9",
                "ingress.stations hdr.ethernet.dst:00:00:00:00:00:09 nothing()",
            ),
        ] {
            assert_eq!(shown(line), expected);
        }
    }

    /// As switches have it whose ports have names.
    #[test]
    fn values_may_be_strings_to_a_controller() {
        let info = br#"
            tables {
              preamble { id: 33554433 name: "ingress.by_port" alias: "by_port" }
              match_fields { id: 1 name: "in_port" match_type: EXACT type_name { name: "port_id_t" } }
              match_fields { id: 2 name: "dst" bitwidth: 48 match_type: TERNARY }
              action_refs { id: 16777217 }
            }
            actions {
              preamble { id: 16777217 name: "ingress.send" alias: "send" }
              params { id: 1 name: "port" type_name { name: "port_id_t" } }
            }
            type_info {
              new_types { key: "port_id_t" value { translated_type { uri: "" sdn_string {} } } }
            }"#;
        let schema = Schema::new(&parse_p4info(info).unwrap()).unwrap();
        let line = "by_port 3 dst:1&&&1 in_port:Ethernet1/1/4 send(Ethernet8)";
        let entry = parse_entry(&schema, line).unwrap();
        let words = describe(&schema, &entry);
        let (key, parameters) = (&words.key[1].1, &words.parameters[0].1);
        assert_eq!((&key[..], &parameters[..]), ("Ethernet1/1/4", "Ethernet8"));
        let json = r#"[{"table": "by_port", "priority": 3, "match": {"in_port": "Ethernet1/1/4", "dst": "1&&&1"},
            "action": "send", "parameters": {"port": "Ethernet8"}}]"#;
        assert_eq!(parse_entries(&schema, json).unwrap(), [entry]);
        assert!(parse_entry(&schema, "by_port 3 in_port: send(x)").is_err());
        let masked = String::from_utf8_lossy(info).replace("EXACT", "TERNARY");
        let refused = Schema::new(&parse_p4info(masked.as_bytes()).unwrap());
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("its values are strings")
        );
    }

    #[test]
    fn what_is_wrong_with_an_entry_is_said() {
        for (line, words) in [
            ("", "table is missing"),
            ("nowhere drop()", "no table nowhere"),
            ("stations colour:1 send(1)", "no key field colour"),
            ("stations dst:red send(1)", "\"red\" is not a value"),
            ("stations dst:0x1000000000000 send(1)", "fit in the 48 bits"),
            ("routes dst:2001:db8::1 counted(1)", "fit in the 32 bits"),
            ("routes dst:0x100000000/8 counted(1)", "fit in the 32 bits"),
            ("routes dst:0x10a0000** counted(1)", "fit in the 32 bits"),
            ("rules 1 src:0x1ffffffff&&&1 drop()", "fit in the 32 bits"),
            ("rules 1 src:1&&&0x1ffffffff drop()", "fit in the 32 bits"),
            ("rules 1 ttl:3..256 drop()", "fit in the 8 bits"),
            ("stations dst:1 fly(1)", "no action fly"),
            ("stations dst:1 send()", "takes 1 parameters, 0 given"),
            ("stations dst:1 send(1", "not closed"),
            ("routes dst:10.0.0.0/33 counted(1)", "0 to 32 bits"),
            ("stations send", "not FIELD:VALUE"),
            ("rules 99999999999 drop()", "at most 2147483647"),
        ] {
            let error = parse_entry(&schema(), line).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn files_have_lines_of_packet_tests_or_json() {
        let schema = schema();
        let text = "# comment\nadd routes 0 ipv4.dst:0x0a000000/8 counted(port:3) = A\nsetdefault stations send(port:9)\n";
        let lines = parse_entries(&schema, text).unwrap();
        assert!(lines.len() == 2 && lines[1].is_default_action);
        let json = r#"{"entries": [
            {"table": "routes", "match": {"dst": "10.0.0.0/8"}, "action": "counted", "parameters": {"port": 3}},
            {"table": "ingress.stations", "default": true, "action": "send", "parameters": {"port": 9}}]}"#;
        assert_eq!(parse_entries(&schema, json).unwrap(), lines);
        for (text, words) in [
            ("packet 1 00\nmc_mgrp_create 1", "line 2"),
            ("[{\"table\": 5}]", "entry 0"),
            ("{", "EOF"),
        ] {
            let error = parse_entries(&schema, text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
