//! The parser: states, what they extract, and where they go.

use super::Builder;
use super::expr::Scope;
use super::json::{Json, Result};
use super::layout::place;
use crate::bits;
use crate::num::{MAX_WIDTH, ones};
use crate::program::{Case, Expr, Lookahead, ParserStep, SelectKey, State, Target, VarbitLength};
use std::collections::BTreeMap;

impl Builder {
    /// The states of the parser named `parser`, and the one it begins with.
    pub(super) fn parser(&mut self, root: &Json<'_>) -> Result<Option<u32>> {
        let parsers = root.get("parsers")?.items()?;
        let is_parser = |node: &&Json<'_>| node.name().is_ok_and(|name| name == "parser");
        let parser = parsers
            .iter()
            .find(is_parser)
            .ok_or_else(|| root.invalid("has no parser named parser"))?;
        let states = parser.get("parse_states")?.items()?;
        let mut names = BTreeMap::new();
        for (at, node) in states.iter().enumerate() {
            names.insert(node.name()?, place(at));
        }
        for node in &states {
            let state = self.state(node, &names)?;
            self.states.push(state);
        }
        next(parser, "init_state", &names)
    }

    fn state(&mut self, node: &Json<'_>, names: &BTreeMap<String, u32>) -> Result<State> {
        let mut steps = Vec::new();
        for op in node.get("parser_ops")?.items()? {
            steps.push(self.parser_step(&op)?);
        }
        let mut key = Vec::new();
        for part in node.list("transition_key")? {
            key.push(self.select_key(&part)?);
        }
        let (mut cases, mut default) = (Vec::new(), None);
        for transition in node.list("transitions")? {
            let to = next(&transition, "next_state", names)?;
            let value = transition.find("value");
            let is_default = value
                .as_ref()
                .is_none_or(|value| value.value() == "default");
            if is_default
                || transition
                    .find("type")
                    .is_some_and(|kind| kind.value() == "default")
            {
                default = to;
                continue;
            }
            let value = transition.get("value")?;
            let mask = transition.find("mask");
            if transition
                .find("type")
                .is_some_and(|kind| kind.value() == "parse_vset")
            {
                let set = super::by_name(&value, "value set", &self.value_sets, |set| &set.name)?;
                let mask = mask.map(|mask| split(&mask, &key)).transpose()?;
                cases.push(Case::Set {
                    set,
                    mask,
                    next: to,
                });
                continue;
            }
            let all = key.iter().flat_map(|part| ones(part.width())).collect();
            let mask = mask.map_or(Ok(all), |mask| split(&mask, &key))?;
            let value = split(&value, &key)?
                .iter()
                .zip(&mask)
                .map(|(value, mask)| value & mask)
                .collect();
            cases.push(Case::Value {
                value,
                mask,
                next: to,
            });
        }
        let start = self.parser_steps.len();
        self.parser_steps.extend(steps);
        Ok(State {
            name: node.name()?,
            steps: start..self.parser_steps.len(),
            key,
            cases,
            default,
        })
    }

    fn select_key(&mut self, part: &Json<'_>) -> Result<SelectKey> {
        let value = part.get("value")?;
        let width = match part.get("type")?.text()? {
            "field" => self.layout.field(&value)?.width,
            "stack_field" => {
                let (stack, field) = value.pair()?;
                let like = self.layout.stacks[self.layout.stack_of(&stack)? as usize].elements[0];
                self.layout
                    .field_at(like, self.layout.field_of(like, &field)?)
                    .width
            }
            "union_stack_field" => {
                let items = value.items()?;
                let [stack, member, field] = items.as_slice() else {
                    return Err(value.invalid("is not a stack, a member and a field"));
                };
                let like = self
                    .union_member(self.layout.union_stack_of(stack)?, member)?
                    .1;
                self.layout
                    .field_at(like, self.layout.field_of(like, field)?)
                    .width
            }
            "lookahead" => return Ok(SelectKey::Lookahead(lookahead(&value)?)),
            other => return Err(part.lacks(format!("a select on {other:?}"))),
        };
        Ok(SelectKey::Value {
            value: self.value(part, Scope::None)?,
            width,
        })
    }

    fn parser_step(&mut self, node: &Json<'_>) -> Result<ParserStep> {
        let parameters = node.get("parameters")?.items()?;
        let op = node.get("op")?.text()?;
        let first = parameters
            .first()
            .ok_or_else(|| node.invalid(format!("{op} has no parameters")))?;
        let second = || {
            parameters
                .get(1)
                .ok_or_else(|| node.invalid(format!("{op} has one parameter only")))
        };
        Ok(match op {
            "extract" => self.extract(first, None)?,
            "extract_VL" => {
                let length = self.value(second()?, Scope::None)?;
                self.extract(first, Some(length))?
            }
            "set" => self.set(&first.get("value")?, second()?)?,
            "verify" => ParserStep::Verify {
                condition: self.value(first, Scope::None)?,
                error: self.value(second()?, Scope::None)?,
            },
            "advance" => ParserStep::Advance(self.value(first, Scope::None)?),
            "shift" => {
                let bytes = first
                    .value()
                    .as_u64()
                    .or_else(|| first.find("value")?.value().as_u64());
                let bytes = bytes
                    .and_then(|bytes| i64::try_from(bytes).ok())
                    .filter(|bytes| *bytes < 1 << 20);
                let bytes = bytes.ok_or_else(|| first.invalid("is not a number of bytes"))?;
                let start = place(self.steps.len());
                self.steps.push(crate::program::Step::Small(bytes * 8));
                ParserStep::Advance(Expr {
                    start,
                    end: start + 1,
                    wide: false,
                })
            }
            "primitive" => {
                let start = place(self.primitives.len());
                self.primitives(std::slice::from_ref(first), Scope::None)?;
                ParserStep::Primitive {
                    start,
                    end: place(self.primitives.len()),
                }
            }
            other => return Err(node.lacks(format!("the parser operation {other:?}"))),
        })
    }

    fn extract(&mut self, what: &Json<'_>, length: Option<Expr>) -> Result<ParserStep> {
        let value = what.get("value")?;
        let varbit = |bits: Option<Expr>, header: u32| {
            let max = self.longest(header);
            bits.map(|bits| VarbitLength { bits, max })
        };
        Ok(match what.get("type")?.text()? {
            "regular" => {
                let header = self.layout.header(&value)?;
                let own = self.layout.headers[header as usize].length;
                match varbit(length.or(own), header) {
                    Some(length) => ParserStep::ExtractVarbit {
                        header: Target::Fixed(header),
                        length,
                    },
                    None => ParserStep::Extract(header),
                }
            }
            "stack" => {
                let stack = self.layout.stack_of(&value)?;
                let like = self.layout.stacks[stack as usize].elements[0];
                ParserStep::ExtractNext {
                    stack,
                    length: varbit(length, like),
                }
            }
            "union_stack" => {
                let (stack, member) = value.pair()?;
                let stack = self.layout.union_stack_of(&stack)?;
                let (member, like) = self.union_member(stack, &member)?;
                ParserStep::ExtractNextUnion {
                    stack,
                    member,
                    length: varbit(length, like),
                }
            }
            other => return Err(what.lacks(format!("an extract to {other:?}"))),
        })
    }

    /// The most bytes that a header with a variable-length field has.
    fn longest(&self, header: u32) -> u32 {
        let header = &self.layout.headers[header as usize];
        header.bits / 8 + header.varbit.map_or(0, |varbit| varbit.max)
    }

    fn set(&mut self, to: &Json<'_>, value: &Json<'_>) -> Result<ParserStep> {
        let kind = value.get("type")?.text()?;
        if let Some(to) = self.layout.varbit(to)? {
            let from = self.layout.varbit(&value.get("value")?)?;
            let from = from.ok_or_else(|| value.invalid("is not a variable-length field"))?;
            return Ok(ParserStep::SetVarbit { to, from });
        }
        let to = self.layout.field(to)?;
        if kind == "lookahead" {
            return Ok(ParserStep::SetLookahead {
                to,
                from: lookahead(&value.get("value")?)?,
            });
        }
        let mut value = self.value(value, Scope::None)?;
        value.wide |= to.width > 64;
        Ok(ParserStep::Set { to, value })
    }
}

fn lookahead(value: &Json<'_>) -> Result<Lookahead> {
    let (offset, width) = value.pair()?;
    let found = Lookahead {
        offset: offset.small()?,
        width: width.small()?,
    };
    if found.width == 0 || found.width > MAX_WIDTH {
        return Err(width.lacks(format!(
            "a lookahead of {} bits (1 to {MAX_WIDTH})",
            found.width
        )));
    }
    Ok(found)
}

fn next(node: &Json<'_>, key: &str, names: &BTreeMap<String, u32>) -> Result<Option<u32>> {
    let Some(to) = node.find(key) else {
        return Ok(None);
    };
    let name = to.text()?;
    let state = names.get(name).copied();
    Ok(Some(state.ok_or_else(|| {
        to.invalid(format!("there is no state {name:?}"))
    })?))
}

/// A value of a transition: each part of the key is filled up to whole bytes.
fn split(value: &Json<'_>, key: &[SelectKey]) -> Result<Vec<u64>> {
    let (mut bytes, _) = value.hex()?;
    let length: usize = key
        .iter()
        .map(|part| part.width().div_ceil(8) as usize)
        .sum();
    let extra = bytes.len().saturating_sub(length);
    if bytes[..extra].iter().any(|byte| *byte != 0) {
        return Err(value.invalid(format!("has {} bytes for a key of {length}", bytes.len())));
    }
    bytes.drain(..extra);
    let mut padded = vec![0; length - bytes.len()];
    padded.append(&mut bytes);
    let (mut words, mut rest) = (Vec::new(), padded.as_slice());
    for part in key {
        let (own, after) = rest.split_at(part.width().div_ceil(8) as usize);
        rest = after;
        let value_of = bits::from_bytes(own, part.width().next_multiple_of(8));
        words.extend(value_of.into_iter().flatten());
    }
    Ok(words)
}
