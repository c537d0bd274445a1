//! From the compiler's JSON to a program that can be executed: everything is looked up, checked and numbered once.
//!
//! Order: layout of headers, stateful arrays and calculations, actions, parser, pipelines, deparser. What a program uses
//! and the executor does not have is refused here, by name.

mod action;
mod expr;
mod json;
mod layout;
mod parser;
mod pipeline;

pub use json::LoadError;
pub(crate) use pipeline::prefix_mask;

use crate::hash::Algorithm;
use crate::num::{MAX_WIDTH, limbs};
use crate::program::{
    Action, Array, Calculation, Checksum, ErrorCodes, FieldList, Input, Message, Node, ParserStep,
    Primitive, Profile, Program, Source, State, Step, Table, ValueSet,
};
use expr::Scope;
use json::{Json, Result};
use layout::{Layout, place};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;

/// The newest format that is known.
const NEWEST: (u64, u64) = (2, 24);
/// The most that all arrays together may hold: 64-bit words.
const MAX_CELLS: u64 = 1 << 26;

/// What has been built so far, with the names that later parts refer to.
#[derive(Debug, Default)]
struct Builder {
    layout: Layout,
    steps: Vec<Step>,
    constants: Vec<u64>,
    depth: usize,
    actions: Vec<Action>,
    action_ids: BTreeMap<u64, u32>,
    primitives: Vec<(Primitive, Option<Source>)>,
    counters: Vec<Array>,
    meters: Vec<Array>,
    meter_results: BTreeMap<u32, Option<crate::program::Field>>,
    registers: Vec<Array>,
    calculations: Vec<Calculation>,
    value_sets: Vec<ValueSet>,
    messages: Vec<Message>,
    parser_steps: Vec<ParserStep>,
    states: Vec<State>,
    tables: Vec<Table>,
    profiles: Vec<Profile>,
    nodes: Vec<Node>,
}

impl Program {
    /// Reads a program that the P4 compiler's BMv2 back end wrote, for the architecture `v1model`.
    pub fn from_json(text: &[u8]) -> Result<Self> {
        let value: Value =
            serde_json::from_slice(text).map_err(|error| LoadError::Syntax(error.to_string()))?;
        load(&Json::root(&value))
    }
}

#[expect(clippy::too_many_lines, reason = "one value, spelled out")]
fn load(root: &Json<'_>) -> Result<Program> {
    let version = check_version(root)?;
    check_architecture(root)?;
    let mut builder = Builder {
        layout: Layout::new(root)?,
        ..Builder::default()
    };
    let intrinsic = builder.layout.intrinsic(root)?;
    for (header, length) in builder.layout.length_expressions(root)? {
        let length = builder.value(&length, Scope::Header(header))?;
        builder.layout.headers[header as usize].length = Some(length);
    }
    builder.arrays(root)?;
    builder.calculations(root)?;
    let (errors, error_codes) = errors(root)?;
    for set in root.list("parse_vsets")? {
        builder.value_sets.push(ValueSet {
            name: set.name()?,
            width: set.get("compressed_bitwidth")?.small()?,
        });
    }
    builder.actions(root)?;
    let first_state = builder.parser(root)?;
    let ingress = builder.pipeline(root, "ingress")?;
    let ingress_tables = builder.tables.len();
    let egress = builder.pipeline(root, "egress")?;
    let checksums = builder.checksums(root)?;
    let (deparser, deparser_primitives) = builder.deparser(root)?;
    Ok(Program {
        name: root
            .find("program")
            .and_then(|name| Some(name.text().ok()?.to_owned())),
        version,
        errors,
        error_codes,
        field_lists: builder.field_lists(root, "field_lists")?,
        digests: builder.field_lists(root, "learn_lists")?,
        headers: builder.layout.headers,
        stacks: builder.layout.stacks,
        unions: builder.layout.unions,
        union_stacks: builder.layout.union_stacks,
        words: builder.layout.words,
        varbits: builder.layout.varbits,
        actions: builder.actions,
        tables: builder.tables,
        profiles: builder.profiles,
        counters: builder.counters,
        meters: builder.meters,
        registers: builder.registers,
        value_sets: builder.value_sets,
        steps: builder.steps,
        constants: builder.constants,
        primitives: builder.primitives,
        parser_steps: builder.parser_steps,
        states: builder.states,
        first_state,
        nodes: builder.nodes,
        ingress,
        egress,
        ingress_tables,
        deparser,
        deparser_primitives,
        calculations: builder.calculations,
        checksums,
        messages: builder.messages,
        intrinsic,
        depth: builder.depth,
    })
}

fn check_version(root: &Json<'_>) -> Result<Option<(u64, u64)>> {
    if !root.value().is_object() {
        return Err(root.invalid("is not a JSON object; give the file that p4c-bm2-ss writes"));
    }
    let Some(version) = root.find("__meta__").and_then(|meta| meta.find("version")) else {
        return Ok(None);
    };
    let (major, minor) = version.pair()?;
    let found = (major.number()?, minor.number()?);
    if found.0 != NEWEST.0 || found.1 > NEWEST.1 {
        return Err(version.lacks(format!(
            "version {}.{} of the format (known are 2.0 to {}.{})",
            found.0, found.1, NEWEST.0, NEWEST.1
        )));
    }
    Ok(Some(found))
}

/// `v1model` has one parser, two pipelines and one deparser, under these names.
fn check_architecture(root: &Json<'_>) -> Result<()> {
    for (kind, needed) in [
        ("parsers", "parser"),
        ("pipelines", "ingress"),
        ("pipelines", "egress"),
        ("deparsers", "deparser"),
    ] {
        let mut names = Vec::new();
        for node in root.get(kind)?.items()? {
            names.push(node.name()?);
        }
        if names.iter().any(|name| name == needed) {
            continue;
        }
        let architecture = match names.first().map(String::as_str) {
            Some("ingress_parser" | "ingress_deparser") => "PSA",
            Some("main_parser" | "main_control" | "main_deparser") => "PNA",
            _ => "an architecture other than v1model",
        };
        return Err(root.lacks(format!(
            "{architecture} (its {kind} are {}); compile for v1model",
            names.join(", ")
        )));
    }
    let instances = root.list("extern_instances")?;
    match instances.first() {
        Some(instance) => {
            let kind = instance.get("type")?;
            Err(instance.lacks(format!("the extern {}", kind.text()?)))
        }
        None => Ok(()),
    }
}

fn errors(root: &Json<'_>) -> Result<(BTreeMap<u64, String>, ErrorCodes)> {
    let mut names = BTreeMap::new();
    for node in root.list("errors")? {
        let (name, code) = node.pair()?;
        names.insert(code.number()?, name.text()?.to_owned());
    }
    // The errors of P4's core library have a number even where the program does not list them.
    let code = |known: &str, otherwise: u64| {
        names
            .iter()
            .find(|(_, name)| *name == known)
            .map_or(otherwise, |(code, _)| *code)
    };
    let codes = ErrorCodes {
        none: code("NoError", 0),
        packet_too_short: code("PacketTooShort", 1),
        stack_out_of_bounds: code("StackOutOfBounds", 3),
        header_too_short: code("HeaderTooShort", 4),
        parser_timeout: code("ParserTimeout", 5),
        parser_invalid_argument: code("ParserInvalidArgument", 6),
    };
    for (name, code) in [
        ("NoError", codes.none),
        ("PacketTooShort", codes.packet_too_short),
        ("StackOutOfBounds", codes.stack_out_of_bounds),
        ("HeaderTooShort", codes.header_too_short),
        ("ParserTimeout", codes.parser_timeout),
        ("ParserInvalidArgument", codes.parser_invalid_argument),
    ] {
        names.entry(code).or_insert_with(|| name.to_owned());
    }
    Ok((names, codes))
}

impl Builder {
    fn arrays(&mut self, root: &Json<'_>) -> Result<()> {
        let mut cells = 0;
        let mut array = |node: &Json<'_>, words_per_cell: u64| -> Result<Array> {
            let table = if node.flag("is_direct") {
                Some(node.get("binding")?.text()?.to_owned())
            } else {
                None
            };
            let size = if table.is_some() {
                0
            } else {
                node.get("size")?.number()?
            };
            cells += size.saturating_mul(words_per_cell);
            if cells > MAX_CELLS {
                return Err(node.lacks(format!(
                    "arrays of {cells} words in all (at most {MAX_CELLS})"
                )));
            }
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            Ok(Array {
                name: node.name()?,
                size,
                table,
                width: 0,
                bytes: false,
            })
        };
        for node in root.list("counter_arrays")? {
            self.counters.push(array(&node, 2)?);
        }
        for node in root.list("meter_arrays")? {
            let kind = node.get("type")?;
            let bytes = match kind.text()? {
                "bytes" => true,
                "packets" => false,
                other => return Err(kind.lacks(format!("meters of {other}"))),
            };
            let result = node
                .find("result_target")
                .map(|target| self.layout.field(&target))
                .transpose()?;
            self.meter_results.insert(place(self.meters.len()), result);
            self.meters.push(Array {
                bytes,
                ..array(&node, 16)?
            });
        }
        for node in root.list("register_arrays")? {
            let width = node.get("bitwidth")?;
            let bits = width.small()?;
            if bits == 0 || bits > MAX_WIDTH {
                return Err(width.lacks(format!("registers of {bits} bits (1 to {MAX_WIDTH})")));
            }
            self.registers.push(Array {
                width: bits,
                ..array(&node, limbs(bits) as u64)?
            });
        }
        Ok(())
    }

    fn register(&self, node: &Json<'_>) -> Result<u32> {
        by_name(node, "register array", &self.registers, |array| &array.name)
    }

    fn counter(&self, node: &Json<'_>) -> Result<u32> {
        by_name(node, "counter array", &self.counters, |array| &array.name)
    }

    fn meter(&self, node: &Json<'_>) -> Result<u32> {
        by_name(node, "meter array", &self.meters, |array| &array.name)
    }

    fn calculation(&self, node: &Json<'_>) -> Result<u32> {
        by_name(node, "calculation", &self.calculations, |one| &one.name)
    }

    fn calculations(&mut self, root: &Json<'_>) -> Result<()> {
        for node in root.list("calculations")? {
            let name = node.name()?;
            self.add_calculation(&node, name)?;
        }
        Ok(())
    }

    fn add_calculation(&mut self, node: &Json<'_>, name: String) -> Result<u32> {
        let algo = node.get("algo")?;
        let known = Algorithm::from_name(algo.text()?);
        let algorithm = known.ok_or_else(|| algo.lacks(format!("the hash {:?}", algo.value())))?;
        let mut input = Vec::new();
        for part in node.get("input")?.items()? {
            let value = part.find("value");
            let value = || value.clone().ok_or_else(|| part.invalid("has no value"));
            input.push(match part.get("type")?.text()? {
                "field" => match self.layout.varbit(&value()?)? {
                    Some(header) => Input::Varbit(header),
                    None => Input::Field {
                        header: self.layout.field_place(&value()?)?.0,
                        field: self.layout.field(&value()?)?,
                    },
                },
                "header" => Input::Header(self.layout.header(&value()?)?),
                "payload" => Input::Payload,
                "hexstr" => {
                    let (bytes, _) = value()?.hex()?;
                    let width = part.get("bitwidth")?.small()?.min(MAX_WIDTH);
                    let words = crate::bits::from_bytes(&bytes, width);
                    Input::Constant {
                        words: words.ok_or_else(|| part.invalid("does not fit in its width"))?,
                        width,
                    }
                }
                other => return Err(part.lacks(format!("a hash over {other:?}"))),
            });
        }
        self.calculations.push(Calculation {
            name,
            algorithm,
            input,
        });
        Ok(place(self.calculations.len() - 1))
    }

    fn checksums(&mut self, root: &Json<'_>) -> Result<Vec<Checksum>> {
        let mut found = Vec::new();
        for node in root.list("checksums")? {
            let kind = node.get("type")?;
            if kind.text()? != "generic" {
                return Err(kind.lacks(format!("the checksum {}", kind.value())));
            }
            let target = node.get("target")?;
            let condition = node
                .find("if_cond")
                .map(|condition| self.value(&condition, Scope::None))
                .transpose()?;
            let unless_false = |key| node.find(key).is_none_or(|flag| flag.value() != false);
            found.push(Checksum {
                name: node.name()?,
                header: self.layout.field_place(&target)?.0,
                field: self.layout.field(&target)?,
                calculation: self.calculation(&node.get("calculation")?)?,
                condition,
                verify: unless_false("verify"),
                update: unless_false("update"),
            });
        }
        Ok(found)
    }

    fn deparser(&mut self, root: &Json<'_>) -> Result<(Vec<u32>, Range<usize>)> {
        let deparsers = root.get("deparsers")?.items()?;
        let named = |node: &&Json<'_>| node.name().is_ok_and(|name| name == "deparser");
        let node = deparsers
            .iter()
            .find(named)
            .ok_or_else(|| root.invalid("has no deparser"))?;
        let mut order = Vec::new();
        for header in node.get("order")?.items()? {
            order.push(self.layout.header(&header)?);
        }
        let start = self.primitives.len();
        self.primitives(&node.list("primitives")?, Scope::None)?;
        Ok((order, start..self.primitives.len()))
    }

    fn field_lists(&self, root: &Json<'_>, key: &str) -> Result<Vec<FieldList>> {
        let mut lists = Vec::new();
        for node in root.list(key)? {
            let mut fields = Vec::new();
            for element in node.get("elements")?.items()? {
                let kind = element.get("type")?;
                match kind.text()? {
                    "field" => fields.push(self.layout.field(&element.get("value")?)?),
                    // A constant is not kept by a copy.
                    "hexstr" if key == "field_lists" => {}
                    other => return Err(kind.lacks(format!("a field list with {other:?}"))),
                }
            }
            lists.push(FieldList {
                id: node.get("id")?.number()?,
                name: node.name()?,
                fields,
            });
        }
        Ok(lists)
    }
}

fn by_name<T>(node: &Json<'_>, kind: &str, all: &[T], name: fn(&T) -> &str) -> Result<u32> {
    let wanted = node.text()?;
    let at = all.iter().position(|one| name(one) == wanted);
    at.map(place)
        .ok_or_else(|| node.invalid(format!("there is no {kind} {wanted:?}")))
}
