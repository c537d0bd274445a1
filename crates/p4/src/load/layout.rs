//! Headers, stacks and unions: every field gets its words.

use super::json::{Json, Result};
use crate::num::{MAX_WIDTH, limbs};
use crate::program::{Field, Header, Intrinsic, Stack, Union, Varbit};
use std::collections::BTreeMap;

/// The most words of a packet: what a hostile file may make every packet cost.
const MAX_WORDS: usize = 1 << 16;
/// The most bytes of a header with a variable-length field, and of one that says nothing: RFC 791's largest IPv4 header
/// is 60.
const MAX_VARBIT_HEADER: u32 = 1 << 14;
const DEFAULT_VARBIT_HEADER: u32 = 256;

#[derive(Debug)]
struct HeaderType<'a> {
    node: Json<'a>,
    fields: Vec<(String, FieldType)>,
    max_length: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
enum FieldType {
    Fixed {
        width: u32,
        signed: bool,
        saturating: bool,
    },
    Variable,
}

/// Everything that holds values of a packet, by name.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) headers: Vec<Header>,
    pub(super) stacks: Vec<Stack>,
    pub(super) unions: Vec<Union>,
    pub(super) union_stacks: Vec<Stack>,
    /// What the types of the unions call their members.
    pub(super) members: Vec<Vec<String>>,
    pub(super) words: usize,
    pub(super) varbits: usize,
    header_names: BTreeMap<String, u32>,
    stack_names: BTreeMap<String, u32>,
    union_names: BTreeMap<String, u32>,
    union_stack_names: BTreeMap<String, u32>,
    aliases: BTreeMap<String, (String, String)>,
}

/// A place in a list, as programs refer to it.
pub(super) fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Layout {
    pub(super) fn new(root: &Json<'_>) -> Result<Self> {
        let mut types = BTreeMap::new();
        for node in root.get("header_types")?.items()? {
            types.insert(node.name()?, HeaderType::new(node)?);
        }
        let mut layout = Self::default();
        let mut ids = BTreeMap::new();
        let unions = root.list("header_union_types")?;
        for node in root.get("headers")?.items()? {
            let of = node.get("header_type")?.text()?;
            if unions
                .iter()
                .any(|union| union.name().is_ok_and(|name| name == of))
            {
                return Err(node.lacks(format!("a variable of the header union type {of:?}")));
            }
            ids.insert(node.get("id")?.number()?, place(layout.headers.len()));
            layout.add_header(&node, &types)?;
        }
        layout.add_unions(root, &ids)?;
        for alias in root.list("field_aliases")? {
            let (name, target) = alias.pair()?;
            let (header, field) = target.pair()?;
            let target = (header.text()?.to_owned(), field.text()?.to_owned());
            layout.aliases.insert(name.text()?.to_owned(), target);
        }
        Ok(layout)
    }

    /// The types of the headers with a variable-length field whose length the type says.
    pub(super) fn length_expressions<'a>(&self, root: &Json<'a>) -> Result<Vec<(u32, Json<'a>)>> {
        let mut found = Vec::new();
        for node in root.get("header_types")?.items()? {
            let Some(length) = node.find("length_exp") else {
                continue;
            };
            let name = node.name()?;
            let headers = self.headers.iter().enumerate();
            let of_type =
                headers.filter(|(_, header)| header.type_name == name && header.varbit.is_some());
            found.extend(of_type.map(|(at, _)| (place(at), length.clone())));
        }
        Ok(found)
    }

    #[expect(clippy::too_many_lines, reason = "one header, field by field")]
    fn add_header(
        &mut self,
        node: &Json<'_>,
        types: &BTreeMap<String, HeaderType<'_>>,
    ) -> Result<()> {
        let type_name = node.get("header_type")?.text()?;
        let of = types
            .get(type_name)
            .ok_or_else(|| node.invalid(format!("has the unknown type {type_name:?}")))?;
        let (first, metadata) = (self.words, node.flag("metadata"));
        self.words += 1;
        let (mut fields, mut varbit, mut bits) = (Vec::new(), None, 0);
        for (index, (name, field)) in of.fields.iter().enumerate() {
            let mut field_of = Field {
                at: place(self.words),
                width: 0,
                signed: false,
                saturating: false,
            };
            match *field {
                FieldType::Fixed {
                    width,
                    signed,
                    saturating,
                } => {
                    field_of = Field {
                        width,
                        signed,
                        saturating,
                        ..field_of
                    };
                    self.words += limbs(width);
                    bits += width;
                }
                FieldType::Variable => {
                    varbit = Some(Varbit {
                        index: place(index),
                        at: place(self.varbits),
                        max: 0,
                        length: place(self.words),
                    });
                    self.words += 1;
                }
            }
            fields.push((name.clone(), field_of));
        }
        if let Some(varbit) = &mut varbit {
            let longest = of.max_length.unwrap_or(DEFAULT_VARBIT_HEADER);
            if longest > MAX_VARBIT_HEADER {
                return Err(of.node.lacks(format!("headers of {longest} bytes")));
            }
            varbit.max = longest.saturating_sub(bits / 8);
            self.varbits += varbit.max as usize;
        }
        if !metadata && bits % 8 != 0 {
            return Err(node.invalid(format!("has {bits} bits, which are not whole bytes")));
        }
        if self.words > MAX_WORDS || self.varbits > MAX_WORDS * 8 {
            return Err(node.lacks(format!("more than {MAX_WORDS} fields")));
        }
        let valid = Field {
            at: place(first),
            width: 1,
            signed: false,
            saturating: false,
        };
        fields.push(("$valid$".to_owned(), valid));
        let name = node.name()?;
        self.header_names
            .insert(name.clone(), place(self.headers.len()));
        self.headers.push(Header {
            name,
            metadata,
            type_name: type_name.to_owned(),
            fields,
            words: first..self.words,
            bits,
            varbit,
            union: None,
            length: None,
        });
        Ok(())
    }

    fn add_unions(&mut self, root: &Json<'_>, ids: &BTreeMap<u64, u32>) -> Result<()> {
        let mut union_ids = BTreeMap::new();
        for node in root.list("header_unions")? {
            let headers = elements(&node, "header_ids", ids)?;
            let at = place(self.unions.len());
            for header in &headers {
                self.headers[*header as usize].union = Some(at);
            }
            union_ids.insert(node.get("id")?.number()?, at);
            self.union_names.insert(node.name()?, at);
            self.members.push(members(root, &node)?);
            self.unions.push(Union { headers });
        }
        for node in root.list("header_stacks")? {
            let stack = self.stack(&node, "header_ids", ids)?;
            self.stack_names
                .insert(stack.name.clone(), place(self.stacks.len()));
            self.stacks.push(stack);
        }
        for node in root.list("header_union_stacks")? {
            let stack = self.stack(&node, "header_union_ids", &union_ids)?;
            self.union_stack_names
                .insert(stack.name.clone(), place(self.union_stacks.len()));
            self.union_stacks.push(stack);
        }
        Ok(())
    }

    fn stack(&mut self, node: &Json<'_>, key: &str, ids: &BTreeMap<u64, u32>) -> Result<Stack> {
        let next = place(self.words);
        self.words += 1;
        Ok(Stack {
            name: node.name()?,
            elements: elements(node, key, ids)?,
            next,
        })
    }

    pub(super) fn header(&self, node: &Json<'_>) -> Result<u32> {
        find(&self.header_names, node, "header")
    }

    pub(super) fn stack_of(&self, node: &Json<'_>) -> Result<u32> {
        find(&self.stack_names, node, "header stack")
    }

    pub(super) fn union_of(&self, node: &Json<'_>) -> Result<u32> {
        find(&self.union_names, node, "header union")
    }

    pub(super) fn union_stack_of(&self, node: &Json<'_>) -> Result<u32> {
        find(&self.union_stack_names, node, "stack of header unions")
    }

    /// The header and the place of the field in it, of `[header, field]`.
    pub(super) fn field_place(&self, node: &Json<'_>) -> Result<(u32, u32)> {
        let (header, field) = node.pair()?;
        let at = self.header(&header)?;
        Ok((at, self.field_of(at, &field)?))
    }

    pub(super) fn field_of(&self, header: u32, name: &Json<'_>) -> Result<u32> {
        let (header, field) = (&self.headers[header as usize], name.text()?);
        let found = header.fields.iter().position(|(name, _)| name == field);
        found
            .map(place)
            .ok_or_else(|| name.invalid(format!("header {:?} has no field {field:?}", header.name)))
    }

    pub(super) fn field(&self, node: &Json<'_>) -> Result<Field> {
        let (header, field) = self.field_place(node)?;
        Ok(self.field_at(header, field))
    }

    pub(super) fn field_at(&self, header: u32, field: u32) -> Field {
        self.headers[header as usize].fields[field as usize].1
    }

    /// The header of which `[header, field]` is the variable-length field.
    pub(super) fn varbit(&self, node: &Json<'_>) -> Result<Option<u32>> {
        let (header, field) = self.field_place(node)?;
        let varbit = self.headers[header as usize].varbit;
        Ok(varbit
            .filter(|varbit| varbit.index == field)
            .map(|_| header))
    }

    /// A field by the name that the switch knows it by.
    fn known(&self, header: &str, field: &str) -> Option<Field> {
        let alias = self.aliases.get(&format!("{header}.{field}"));
        let (header, field) = alias.map_or((header, field), |(header, field)| (header, field));
        let header = &self.headers[*self.header_names.get(header)? as usize];
        let found = header.fields.iter().find(|(name, _)| name == field);
        found
            .map(|(_, field)| *field)
            .filter(|field| (1..=64).contains(&field.width))
    }

    pub(super) fn intrinsic(&self, root: &Json<'_>) -> Result<Intrinsic> {
        let standard = |field: &str| self.known("standard_metadata", field);
        let other = |field: &str| self.known("intrinsic_metadata", field);
        let queueing = |field: &str| self.known("queueing_metadata", field);
        let needed = |field: &str| {
            standard(field).ok_or_else(|| {
                root.lacks(format!("an architecture without standard_metadata.{field}"))
            })
        };
        Ok(Intrinsic {
            ingress_port: needed("ingress_port")?,
            egress_spec: needed("egress_spec")?,
            egress_port: needed("egress_port")?,
            instance_type: standard("instance_type"),
            packet_length: standard("packet_length"),
            parser_error: standard("parser_error"),
            checksum_error: standard("checksum_error"),
            ingress_timestamp: other("ingress_global_timestamp"),
            egress_timestamp: other("egress_global_timestamp"),
            mcast_grp: other("mcast_grp"),
            egress_rid: other("egress_rid"),
            priority: other("priority"),
            enq_timestamp: queueing("enq_timestamp"),
            enq_qdepth: queueing("enq_qdepth"),
            deq_timedelta: queueing("deq_timedelta"),
            deq_qdepth: queueing("deq_qdepth"),
            qid: queueing("qid"),
        })
    }
}

/// The names of a union's members, in the order of its headers.
fn members(root: &Json<'_>, union: &Json<'_>) -> Result<Vec<String>> {
    let wanted = union.get("union_type")?;
    for of in root.list("header_union_types")? {
        if of.name()? == wanted.text()? {
            let headers = of.get("headers")?.items()?;
            let name = |header: &Json<'_>| Ok(header.pair()?.0.text()?.to_owned());
            return headers.iter().map(name).collect();
        }
    }
    Err(wanted.invalid("is not a type of header unions"))
}

fn find(names: &BTreeMap<String, u32>, node: &Json<'_>, kind: &str) -> Result<u32> {
    let name = node.text()?;
    names
        .get(name)
        .copied()
        .ok_or_else(|| node.invalid(format!("there is no {kind} {name:?}")))
}

fn elements(node: &Json<'_>, key: &str, ids: &BTreeMap<u64, u32>) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for id in node.get(key)?.items()? {
        let number = id.number()?;
        found.push(
            *ids.get(&number)
                .ok_or_else(|| id.invalid(format!("there is no element {number}")))?,
        );
    }
    if found.is_empty() {
        return Err(node.invalid("has no elements"));
    }
    Ok(found)
}

impl<'a> HeaderType<'a> {
    fn new(node: Json<'a>) -> Result<Self> {
        let mut fields = Vec::new();
        for field in node.get("fields")?.items()? {
            let (name, width) = field.pair()?;
            let flag = |at: usize| {
                field
                    .value()
                    .get(at)
                    .and_then(serde_json::Value::as_bool)
                    .unwrap_or(false)
            };
            let kind = if width.value() == "*" {
                FieldType::Variable
            } else {
                let bits = width.small()?;
                if bits == 0 {
                    return Err(width.invalid("is a field of no bits"));
                }
                if bits > MAX_WIDTH {
                    return Err(
                        width.lacks(format!("a field of {bits} bits (at most {MAX_WIDTH})"))
                    );
                }
                FieldType::Fixed {
                    width: bits,
                    signed: flag(2),
                    saturating: flag(3),
                }
            };
            fields.push((name.text()?.to_owned(), kind));
        }
        let variable = fields
            .iter()
            .filter(|(_, kind)| matches!(kind, FieldType::Variable))
            .count();
        if variable > 1 {
            return Err(node.invalid("has two variable-length fields"));
        }
        let max_length = node
            .find("max_length")
            .map(|length| length.small())
            .transpose()?;
        Ok(Self {
            node,
            fields,
            max_length,
        })
    }
}
