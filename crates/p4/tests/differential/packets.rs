//! Random packets that a program's parser goes deep into: a walk over its states, headers one after the other, with the
//! values that lead to the next state.

use crate::entries::{Pool, list, mask, number, text, widths};
use linerate_model::random::Random;
use serde_json::Value;
use std::collections::BTreeMap;

type Name = (String, String);

/// What packets of a program are made from.
pub(crate) struct Generator<'a> {
    document: &'a Value,
    pool: &'a Pool,
    widths: BTreeMap<Name, u32>,
    /// Fields of each header in their order.
    fields: BTreeMap<String, Vec<String>>,
    states: BTreeMap<String, &'a Value>,
    start: &'a str,
}

/// Bits, and where fields stand in them.
#[derive(Default)]
struct Draft {
    bits: Vec<bool>,
    places: BTreeMap<Name, usize>,
    /// The last header of a stack, and how many there are.
    stacks: BTreeMap<String, (String, usize)>,
    /// Bits ahead that a state has looked at.
    ahead: Vec<(usize, u32, u128)>,
}

impl Draft {
    fn put(&mut self, at: usize, width: u32, value: u128) {
        for bit in 0..width {
            let place = at + (width - 1 - bit) as usize;
            if let Some(to) = self.bits.get_mut(place) {
                *to = value.checked_shr(bit).unwrap_or(0) & 1 == 1;
            }
        }
    }

    fn get(&self, at: usize, width: u32) -> u128 {
        let bits = &self.bits[at..at + width as usize];
        bits.iter()
            .fold(0, |value, bit| value << 1 | u128::from(*bit))
    }
}

/// States of a walk.
const STEPS: usize = 24;

impl<'a> Generator<'a> {
    pub(crate) fn new(document: &'a Value, pool: &'a Pool) -> Self {
        let types = list(&document["header_types"]);
        let fields = list(&document["headers"]).iter().map(|header| {
            let of = types.iter().find(|of| of["name"] == header["header_type"]);
            let of = of.map_or(&[][..], |of| list(&of["fields"]));
            let names = of.iter().map(|field| text(&field[0]).to_owned());
            (text(&header["name"]).to_owned(), names.collect())
        });
        let parser = &document["parsers"][0];
        let states = list(&parser["parse_states"]).iter();
        Self {
            document,
            pool,
            widths: widths(document),
            fields: fields.collect(),
            states: states
                .map(|state| (text(&state["name"]).to_owned(), state))
                .collect(),
            start: text(&parser["init_state"]),
        }
    }

    pub(crate) fn packet(&self, random: &mut Random) -> Vec<u8> {
        let mut draft = Draft::default();
        let mut next = Some(self.start);
        for _ in 0..STEPS {
            let Some(state) = next.and_then(|name| self.states.get(name)) else {
                break;
            };
            for operation in list(&state["parser_ops"]) {
                self.extract(operation, &mut draft, random);
            }
            next = self.follow(state, &mut draft, random);
        }
        for _ in 0..random.below(40) * 8 {
            draft.bits.push(random.bits() & 1 == 1);
        }
        for (at, width, value) in std::mem::take(&mut draft.ahead) {
            draft.put(at, width, value);
        }
        if random.below(4) > 0 {
            self.checksums(&mut draft);
        }
        let byte = |bits: &[bool]| {
            bits.iter()
                .fold(0_u8, |byte, bit| byte << 1 | u8::from(*bit))
        };
        let mut bytes: Vec<u8> = draft.bits.chunks(8).map(byte).collect();
        bytes.resize(bytes.len().max(1), 0);
        let place = random.below(bytes.len());
        match random.below(8) {
            0 => bytes.truncate(place.max(1)),
            1 => bytes[place] ^= 1 << random.below(8),
            _ => {}
        }
        bytes
    }

    fn extract(&self, operation: &Value, draft: &mut Draft, random: &mut Random) {
        let parameter = &operation["parameters"][0];
        let name = text(&parameter["value"]);
        match (text(&operation["op"]), text(&parameter["type"])) {
            ("extract" | "extract_VL", "regular") => self.header(name, draft, random),
            ("extract" | "extract_VL", "stack") => {
                let at = draft.stacks.get(name).map_or(0, |(_, count)| *count);
                let header = format!("{name}[{at}]");
                self.header(&header, draft, random);
                draft.stacks.insert(name.to_owned(), (header, at + 1));
            }
            ("advance" | "shift", _) => {
                let bits = number(random, 5);
                draft.bits.resize(
                    draft.bits.len() + 8 * usize::try_from(bits).expect("a small number"),
                    false,
                );
            }
            _ => {}
        }
    }

    fn header(&self, header: &str, draft: &mut Draft, random: &mut Random) {
        for field in self.fields.get(header).into_iter().flatten() {
            let name = (header.to_owned(), field.clone());
            let width = self.widths[&name];
            let known = self.pool.get(&name).filter(|_| random.below(2) == 0);
            let value = match known {
                Some(values) => values[random.below(values.len())],
                None => number(random, width),
            };
            let at = draft.bits.len();
            draft.bits.resize(at + width as usize, false);
            draft.put(at, width, value);
            draft.places.insert(name, at);
        }
    }

    /// Chooses a transition, and writes what it wants.
    fn follow(&self, state: &'a Value, draft: &mut Draft, random: &mut Random) -> Option<&'a str> {
        let transitions = list(&state["transitions"]);
        let chosen = transitions.get(random.below(transitions.len()))?;
        if let Some(value) = number_of(&chosen["value"]) {
            let wanted = number_of(&chosen["mask"]).unwrap_or(u128::MAX);
            let mut below = 0;
            for part in list(&state["transition_key"]).iter().rev() {
                let (place, width) = self.place(part, draft)?;
                let part_of = |number: u128| number.checked_shr(below).unwrap_or(0) & mask(width);
                let old = place
                    .filter(|at| at + width as usize <= draft.bits.len())
                    .map_or(0, |at| draft.get(at, width));
                let new = old & !part_of(wanted) | part_of(value) & part_of(wanted);
                match (place, text(&part["type"])) {
                    (Some(at), "lookahead") => draft.ahead.push((at, width, new)),
                    (Some(at), _) => draft.put(at, width, new),
                    (None, _) => {}
                }
                below += width.next_multiple_of(8);
            }
        }
        chosen["next_state"].as_str()
    }

    /// Where a part of a key stands, if it is in the packet, and its width.
    fn place(&self, part: &Value, draft: &Draft) -> Option<(Option<usize>, u32)> {
        let value = &part["value"];
        if part["type"] == "lookahead" {
            let (offset, width) = (value[0].as_u64()?, value[1].as_u64()?);
            let at = draft.bits.len() + usize::try_from(offset).ok()?;
            return Some((Some(at), u32::try_from(width).ok()?));
        }
        let first = text(&value[0]);
        let header = draft.stacks.get(first).map_or(first, |(last, _)| last);
        let name = (header.to_owned(), text(&value[1]).to_owned());
        Some((draft.places.get(&name).copied(), *self.widths.get(&name)?))
    }

    /// Makes Internet checksums over fields right.
    fn checksums(&self, draft: &mut Draft) {
        let place = |node: &Value, draft: &Draft| {
            let name = (text(&node[0]).to_owned(), text(&node[1]).to_owned());
            Some((*draft.places.get(&name)?, *self.widths.get(&name)?))
        };
        for checksum in list(&self.document["checksums"]) {
            let Some((to, 16)) = place(&checksum["target"], draft) else {
                continue;
            };
            let calculations = list(&self.document["calculations"]).iter();
            let of = calculations
                .clone()
                .find(|of| of["name"] == checksum["calculation"]);
            let parts = of
                .filter(|of| of["algo"] == "csum16")
                .map(|of| list(&of["input"]));
            let parts = parts.unwrap_or_default().iter().map(|part| {
                let (at, width) = place(&part["value"], draft)?;
                Some(draft.bits[at..at + width as usize].to_vec())
            });
            let Some(parts) = parts.collect::<Option<Vec<_>>>() else {
                continue;
            };
            let word = |bits: &[bool]| {
                let value = bits
                    .iter()
                    .fold(0_u128, |value, bit| value << 1 | u128::from(*bit));
                value << (16 - bits.len())
            };
            let sum: u128 = parts.concat().chunks(16).map(word).sum();
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = (sum & 0xffff) + (sum >> 16);
            draft.put(to, 16, !sum & 0xffff);
        }
    }
}

fn number_of(node: &Value) -> Option<u128> {
    u128::from_str_radix(node.as_str()?.strip_prefix("0x")?, 16).ok()
}
