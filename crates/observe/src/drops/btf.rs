//! The kernel's type information (BTF): offsets of members, names of enumeration values.
//!
//! # References
//! - Linux `Documentation/bpf/btf.rst`; `include/uapi/linux/btf.h`

use std::collections::BTreeMap;

const MAGIC: u16 = 0xeb9f;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;

/// Maximum nesting of structures.
const DEPTH: u32 = 8;

/// One type: its name, kind, and where its members are.
#[derive(Clone, Copy)]
struct Type {
    name: u32,
    kind: u32,
    /// Members' offsets carry a bit-field size in their upper byte.
    packed: bool,
    members: usize,
    at: usize,
}

/// Parsed type information.
pub(super) struct Btf<'a> {
    /// Types by number; number 0 is `void`.
    types: Vec<Type>,
    body: &'a [u8],
    strings: &'a [u8],
}

impl<'a> Btf<'a> {
    /// Parses the bytes of `/sys/kernel/btf/vmlinux`; `None` if they are invalid.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        if u16::from_ne_bytes(*bytes.first_chunk()?) != MAGIC {
            return None;
        }
        let header = |at| usize::try_from(word(bytes, at)?).ok();
        let start = header(4)?;
        let part = |offset: usize, length: usize| {
            let from = start.checked_add(offset)?;
            bytes.get(from..from.checked_add(length)?)
        };
        let body = part(header(8)?, header(12)?)?;
        let strings = part(header(16)?, header(20)?)?;
        let mut types = vec![Type {
            name: 0,
            kind: 0,
            packed: false,
            members: 0,
            at: 0,
        }];
        let mut at = 0;
        while at < body.len() {
            let info = word(body, at + 4)?;
            let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            types.push(Type {
                name: word(body, at)?,
                kind,
                packed: info >> 31 == 1,
                members,
                at: at + 12,
            });
            at += 12 + tail(kind, members)?;
        }
        Some(Self {
            types,
            body,
            strings,
        })
    }

    /// Offset in bytes of `member` in `structure`, also inside members without a name.
    pub(super) fn offset(&self, structure: &str, member: &str) -> Option<i32> {
        let wanted =
            |t: &&Type| t.kind == STRUCT && self.text(t.name) == Some(structure.as_bytes());
        let mut bits = self.types.iter().filter(wanted);
        let bits = bits.find_map(|t| self.member(t, member.as_bytes(), DEPTH))?;
        i32::try_from(bits / 8).ok()
    }

    /// Names of the values of `enumeration`, by value.
    pub(super) fn values(&self, enumeration: &str) -> BTreeMap<u32, String> {
        let wanted =
            |t: &&Type| t.kind == ENUM && self.text(t.name) == Some(enumeration.as_bytes());
        let Some(found) = self.types.iter().find(wanted) else {
            return BTreeMap::new();
        };
        let value = |index: usize| {
            let at = found.at + index * 8;
            let name = self.text(word(self.body, at)?)?;
            Some((
                word(self.body, at + 4)?,
                String::from_utf8(name.to_vec()).ok()?,
            ))
        };
        (0..found.members).filter_map(value).collect()
    }

    /// Offset in bits.
    fn member(&self, structure: &Type, name: &[u8], depth: u32) -> Option<u32> {
        let depth = depth.checked_sub(1)?;
        for index in 0..structure.members {
            let at = structure.at + index * 12;
            let own = self.text(word(self.body, at)?)?;
            let mask = if structure.packed {
                0xff_ffff
            } else {
                u32::MAX
            };
            let offset = word(self.body, at + 8)? & mask;
            if own == name {
                return Some(offset);
            }
            let inner = self
                .types
                .get(usize::try_from(word(self.body, at + 4)?).ok()?)?;
            if own.is_empty()
                && matches!(inner.kind, STRUCT | UNION)
                && let Some(inside) = self.member(inner, name, depth)
            {
                return offset.checked_add(inside);
            }
        }
        None
    }

    fn text(&self, at: u32) -> Option<&'a [u8]> {
        let rest = self.strings.get(usize::try_from(at).ok()?..)?;
        rest.split(|byte| *byte == 0).next()
    }
}

/// Length in bytes of a type's data after its first twelve; `None` for an unknown kind.
fn tail(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        2 | 7..=12 | 16 | 18 => 0,
        1 | 14 | 17 => 4,
        3 => 12,
        STRUCT | UNION | 15 | 19 => members * 12,
        ENUM | 13 => members * 8,
        _ => return None,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `struct a { u32 x; union { struct { u16 y, z; }; }; }` and `enum e { ONE = 1, TWO = 2 }`.
    fn sample() -> Vec<u8> {
        let strings = b"\0a\0x\0y\0z\0e\0ONE\0TWO\0";
        let name = |text: &str| {
            let with_nul = format!("\0{text}\0");
            let found = strings
                .windows(with_nul.len())
                .position(|w| w == with_nul.as_bytes());
            u32::try_from(found.unwrap() + 1).unwrap()
        };
        let info = |kind: u32, members: u32| kind << 24 | members;
        let words = [
            vec![name("x"), info(1, 0), 4, 32],
            vec![0, info(STRUCT, 2), 4, name("y"), 1, 0, name("z"), 1, 16],
            vec![0, info(UNION, 1), 4, 0, 2, 0],
            vec![name("a"), info(STRUCT, 2), 8, name("x"), 1, 0, 0, 3, 32],
            vec![name("e"), info(ENUM, 2), 4, name("ONE"), 1, name("TWO"), 2],
        ]
        .concat();
        let body: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let length = |n: usize| u32::try_from(n).unwrap().to_ne_bytes();
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        for field in [24, 0, body.len(), body.len(), strings.len()] {
            bytes.extend(length(field));
        }
        [bytes, body, strings.to_vec()].concat()
    }

    #[test]
    fn members_are_found_also_inside_members_without_a_name() {
        let bytes = sample();
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(btf.offset("a", "x"), Some(0));
        assert_eq!(btf.offset("a", "z"), Some(6));
        assert_eq!(btf.offset("a", "none"), None);
        assert_eq!(btf.offset("b", "x"), None);
    }

    #[test]
    fn values_have_names() {
        let bytes = sample();
        let values = Btf::parse(&bytes).unwrap().values("e");
        let expected = [(1, "ONE".to_owned()), (2, "TWO".to_owned())];
        assert_eq!(values, expected.into());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(cut in 0..300_usize, at in 0..300_usize, byte in any::<u8>()) {
            let mut bytes = sample();
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(cut);
            if let Some(btf) = Btf::parse(&bytes) {
                let _ = (btf.offset("a", "z"), btf.values("e"));
            }
        }
    }
}
