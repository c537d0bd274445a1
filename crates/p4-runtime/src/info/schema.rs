//! A P4Info to look things up in.

use crate::proto::p4::config::v1::{
    self as config, ActionProfile, ControllerPacketMetadata, MatchField, P4Info, P4NamedType,
    Preamble, action_ref, match_field::MatchType, p4_data_type_spec::TypeSpec,
    p4_new_type_spec::Representation, p4_new_type_translation::SdnType,
};
use std::collections::BTreeMap;

/// Why a P4Info is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("P4Info: {element} {what}")]
pub struct InfoError {
    element: String,
    what: String,
}

impl InfoError {
    pub(crate) fn new(element: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            element: element.into(),
            what: what.into(),
        }
    }
}

type Result<T> = std::result::Result<T, InfoError>;

/// How a field of a key is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// Equal.
    Exact,
    /// Equal in the leading bits.
    Lpm,
    /// Equal where a mask has ones.
    Ternary,
    /// Between two values.
    Range,
    /// Equal, or anything.
    Optional,
}

/// What values of a field are to a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Translation {
    /// What they are to the program.
    None,
    /// Numbers of another width.
    Width,
    /// Strings, `Ethernet0` for a port say: matched exactly or optionally, and of no width.
    Text,
}

/// A field with a number: of a key, of an action's parameters, of a packet's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSchema {
    /// Its number within what it belongs to.
    pub id: u32,
    /// As the program names it.
    pub name: String,
    /// Bits of its values; 0 of strings.
    pub width: u32,
    /// How it is matched; parameters and metadata are exact.
    pub kind: FieldKind,
    /// What its values are to a controller.
    pub translation: Translation,
    /// Whether its values are addresses or the like, as its annotations say (`IPV4_ADDRESS`, `MAC_ADDRESS`).
    pub format: Option<String>,
}

/// An action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionSchema {
    /// Its number.
    pub id: u32,
    /// As the program names it.
    pub name: String,
    /// A short name that is unique among actions.
    pub alias: String,
    /// Its parameters.
    pub parameters: Vec<FieldSchema>,
}

/// Where a table may use an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In entries and as the default.
    Everywhere,
    /// In entries.
    Entries,
    /// As the default.
    Default,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// Its number.
    pub id: u32,
    /// As the program names it.
    pub name: String,
    /// A short name that is unique among tables.
    pub alias: String,
    /// The fields of its key.
    pub fields: Vec<FieldSchema>,
    /// The numbers of its actions.
    pub actions: Vec<(u32, Scope)>,
    /// The number of its action profile.
    pub profile: Option<u32>,
    /// The number of its direct counter.
    pub counter: Option<u32>,
    /// The number of its direct meter.
    pub meter: Option<u32>,
    /// How many entries it has room for.
    pub size: i64,
    /// Whether entries that no packet uses are told.
    pub ages: bool,
    /// Whether its entries come with the program and stay.
    pub constant: bool,
    /// Whether its default action stays.
    pub constant_default: bool,
}

impl TableSchema {
    /// Whether entries have priorities.
    pub fn has_priorities(&self) -> bool {
        let masked = [FieldKind::Ternary, FieldKind::Range, FieldKind::Optional];
        self.fields.iter().any(|field| masked.contains(&field.kind))
    }
}

/// An action profile.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileSchema {
    /// Its number.
    pub id: u32,
    /// As the program names it.
    pub name: String,
    /// The numbers of its tables.
    pub tables: Vec<u32>,
    /// What groups may be.
    pub message: ActionProfile,
}

/// An array of counters, meters or registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArraySchema {
    /// Its number.
    pub id: u32,
    /// As the program names it.
    pub name: String,
    /// How many cells it has; none where it belongs to a table.
    pub size: i64,
    /// The table whose entries have the cells.
    pub table: Option<u32>,
    /// Bits of a register's cell; what a meter counts does not matter here.
    pub width: u32,
    /// Of a meter: which rates it may have.
    pub meter_type: config::meter_spec::Type,
    /// What a meter counts.
    pub meter_unit: config::meter_spec::Unit,
}

/// A digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestSchema {
    /// Its number.
    pub id: u32,
    /// As the program names it.
    pub name: String,
    /// What it tells, or why linerate's own switch cannot: a controller of another needs no more than the number.
    pub data: Result<DigestData>,
}

/// What a digest tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestData {
    /// Bits of its fields.
    pub widths: Vec<u32>,
    /// Whether it is one value, not a structure.
    pub single: bool,
}

/// A value set of the parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSetSchema {
    /// Its number.
    pub id: u32,
    /// As the program names it.
    pub name: String,
    /// The fields of a member.
    pub fields: Vec<FieldSchema>,
    /// How many members it has room for.
    pub size: usize,
}

/// The metadata of packets to or from the controller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PacketSchema {
    /// Its fields, in the order of the header's.
    pub fields: Vec<FieldSchema>,
}

impl PacketSchema {
    /// The fields in front of a packet, and their bits together. Those that do not fill whole bytes are of a header that the
    /// compiler has left out: no packet begins with it.
    pub(crate) fn header(&self) -> (&[FieldSchema], u32) {
        let width: u32 = self.fields.iter().map(|field| field.width).sum();
        if width.is_multiple_of(8) {
            (&self.fields, width)
        } else {
            (&[], 0)
        }
    }
}

/// Everything that a P4Info numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schema {
    /// Tables by number.
    pub tables: BTreeMap<u32, TableSchema>,
    /// Actions by number.
    pub actions: BTreeMap<u32, ActionSchema>,
    /// Action profiles by number.
    pub profiles: BTreeMap<u32, ProfileSchema>,
    /// Counters by number, direct ones too.
    pub counters: BTreeMap<u32, ArraySchema>,
    /// Meters by number, direct ones too.
    pub meters: BTreeMap<u32, ArraySchema>,
    /// Registers by number.
    pub registers: BTreeMap<u32, ArraySchema>,
    /// Digests by number.
    pub digests: BTreeMap<u32, DigestSchema>,
    /// Value sets by number.
    pub value_sets: BTreeMap<u32, ValueSetSchema>,
    /// Metadata of packets to the controller.
    pub packet_in: PacketSchema,
    /// Metadata of packets from the controller.
    pub packet_out: PacketSchema,
}

/// Number and name of an element.
fn named<'a>(kind: &str, preamble: Option<&'a Preamble>) -> Result<&'a Preamble> {
    let preamble = preamble.ok_or_else(|| InfoError::new(kind, "has no preamble"))?;
    if preamble.id == 0 {
        return Err(InfoError::new(
            format!("{kind} {}", preamble.name),
            "has the number 0",
        ));
    }
    Ok(preamble)
}

fn put<T>(map: &mut BTreeMap<u32, T>, kind: &str, id: u32, value: T) -> Result<()> {
    match map.insert(id, value) {
        None => Ok(()),
        Some(_) => Err(InfoError::new(kind, format!("{id:#x} is there twice"))),
    }
}

/// More bits than any value of a header has.
const MAX_WIDTH: u32 = 1 << 16;

fn width(element: &str, name: &str, bits: i32) -> Result<u32> {
    let width = u32::try_from(bits)
        .ok()
        .filter(|width| (1..=MAX_WIDTH).contains(width));
    width.ok_or_else(|| InfoError::new(element, format!("has {name} of {bits} bits")))
}

/// Types of a P4Info's fields.
struct Types<'a>(&'a P4Info);

impl Types<'_> {
    /// Width of a field, and how it is translated.
    fn of(
        &self,
        element: &str,
        name: &str,
        bits: i32,
        kind: Option<&P4NamedType>,
    ) -> Result<(u32, Translation)> {
        let types = self.0.type_info.as_ref();
        let new = kind.and_then(|kind| types?.new_types.get(&kind.name));
        match new.and_then(|new| new.representation.as_ref()) {
            Some(Representation::TranslatedType(translated)) => match &translated.sdn_type {
                Some(SdnType::SdnBitwidth(bits)) => {
                    Ok((width(element, name, *bits)?, Translation::Width))
                }
                Some(SdnType::SdnString(_)) => Ok((0, Translation::Text)),
                None => Err(InfoError::new(
                    element,
                    format!("has {name}, which is translated to nothing"),
                )),
            },
            _ => Ok((width(element, name, bits)?, Translation::None)),
        }
    }

    fn field(&self, element: &str, field: &MatchField) -> Result<FieldSchema> {
        let (width, translation) = self.of(
            element,
            &field.name,
            field.bitwidth,
            field.type_name.as_ref(),
        )?;
        let kind = match &field.r#match {
            Some(config::match_field::Match::MatchType(kind)) => match MatchType::try_from(*kind) {
                Ok(MatchType::Exact) => Some(FieldKind::Exact),
                Ok(MatchType::Lpm) => Some(FieldKind::Lpm),
                Ok(MatchType::Ternary) => Some(FieldKind::Ternary),
                Ok(MatchType::Range) => Some(FieldKind::Range),
                Ok(MatchType::Optional) => Some(FieldKind::Optional),
                Ok(MatchType::Unspecified) | Err(_) => None,
            },
            _ => None,
        };
        let kind = kind.ok_or_else(|| {
            InfoError::new(
                element,
                format!("matches {} in a way that is not supported", field.name),
            )
        })?;
        let equals = matches!(kind, FieldKind::Exact | FieldKind::Optional);
        if translation == Translation::Text && !equals {
            let name = &field.name;
            let what = format!("matches {name} as {kind:?}, though its values are strings");
            return Err(InfoError::new(element, what));
        }
        Ok(FieldSchema {
            id: field.id,
            name: field.name.clone(),
            width,
            kind,
            translation,
            format: format_of(&field.annotations),
        })
    }

    /// Widths of the parts of a type that digests and registers have, and whether it is one value.
    #[expect(clippy::too_many_lines, reason = "one arm per kind of type")]
    fn widths(
        &self,
        element: &str,
        spec: Option<&config::P4DataTypeSpec>,
    ) -> Result<(Vec<u32>, bool)> {
        let unsupported = |what: &str| {
            Err(InfoError::new(
                element,
                format!("has data of {what}: not supported"),
            ))
        };
        let types = self.0.type_info.as_ref();
        match spec.and_then(|spec| spec.type_spec.as_ref()) {
            Some(TypeSpec::Bitstring(bits)) => match bits.type_spec {
                Some(
                    config::p4_bitstring_like_type_spec::TypeSpec::Bit(config::P4BitTypeSpec {
                        bitwidth,
                    })
                    | config::p4_bitstring_like_type_spec::TypeSpec::Int(config::P4IntTypeSpec {
                        bitwidth,
                    }),
                ) => Ok((vec![width(element, "data", bitwidth)?], true)),
                _ => unsupported("variable length"),
            },
            Some(TypeSpec::Bool(_)) => Ok((vec![1], true)),
            Some(TypeSpec::Tuple(tuple)) => {
                let mut widths = Vec::new();
                for member in &tuple.members {
                    widths.extend(self.widths(element, Some(member))?.0);
                }
                Ok((widths, false))
            }
            Some(TypeSpec::Struct(named)) => {
                let members = types.and_then(|types| types.structs.get(&named.name));
                let Some(members) = members else {
                    return unsupported(&format!("an unknown structure {}", named.name));
                };
                let mut widths = Vec::new();
                for member in &members.members {
                    widths.extend(self.widths(element, member.type_spec.as_ref())?.0);
                }
                Ok((widths, false))
            }
            Some(TypeSpec::SerializableEnum(named)) => {
                let known = types.and_then(|types| types.serializable_enums.get(&named.name));
                let bits = known.and_then(|known| known.underlying_type);
                Ok((
                    vec![width(
                        element,
                        "data",
                        bits.map_or(0, |bits| bits.bitwidth),
                    )?],
                    true,
                ))
            }
            Some(TypeSpec::NewType(named)) => {
                let known = types.and_then(|types| types.new_types.get(&named.name));
                match known.and_then(|known| known.representation.as_ref()) {
                    Some(Representation::OriginalType(spec)) => self.widths(element, Some(spec)),
                    Some(Representation::TranslatedType(translated)) => match translated.sdn_type {
                        Some(SdnType::SdnBitwidth(bits)) => {
                            Ok((vec![width(element, "data", bits)?], true))
                        }
                        _ => unsupported("a type that is translated to strings"),
                    },
                    None => unsupported("an unknown type"),
                }
            }
            _ => unsupported("a type other than bits, Booleans and structures"),
        }
    }

    fn packet(&self, of: &ControllerPacketMetadata) -> Result<PacketSchema> {
        let name = &named("controller packet metadata", of.preamble.as_ref())?.name;
        let mut fields = Vec::new();
        for field in &of.metadata {
            let (width, translation) =
                self.of(name, &field.name, field.bitwidth, field.type_name.as_ref())?;
            fields.push(FieldSchema {
                id: field.id,
                name: field.name.clone(),
                width,
                kind: FieldKind::Exact,
                translation,
                format: None,
            });
        }
        Ok(PacketSchema { fields })
    }

    fn action(&self, action: &config::Action) -> Result<ActionSchema> {
        let preamble = named("an action", action.preamble.as_ref())?;
        let mut parameters = Vec::new();
        for parameter in &action.params {
            let (width, translation) = self.of(
                &format!("action {}", preamble.name),
                &parameter.name,
                parameter.bitwidth,
                parameter.type_name.as_ref(),
            )?;
            parameters.push(FieldSchema {
                id: parameter.id,
                name: parameter.name.clone(),
                width,
                kind: FieldKind::Exact,
                translation,
                format: format_of(&parameter.annotations),
            });
        }
        Ok(ActionSchema {
            id: preamble.id,
            name: preamble.name.clone(),
            alias: preamble.alias.clone(),
            parameters,
        })
    }

    fn table(&self, table: &config::Table) -> Result<TableSchema> {
        let preamble = named("a table", table.preamble.as_ref())?;
        let element = format!("table {}", preamble.name);
        let fields = table
            .match_fields
            .iter()
            .map(|field| self.field(&element, field));
        let scope = |of: &config::ActionRef| match action_ref::Scope::try_from(of.scope) {
            Ok(action_ref::Scope::TableOnly) => Scope::Entries,
            Ok(action_ref::Scope::DefaultOnly) => Scope::Default,
            _ => Scope::Everywhere,
        };
        let resource = |known: &[u32]| {
            let mut ids = table.direct_resource_ids.iter();
            ids.find(|id| known.contains(id)).copied()
        };
        let id = |preamble: &Option<Preamble>| preamble.as_ref().map(|preamble| preamble.id);
        let counters = self
            .0
            .direct_counters
            .iter()
            .filter_map(|known| id(&known.preamble));
        let meters = self
            .0
            .direct_meters
            .iter()
            .filter_map(|known| id(&known.preamble));
        Ok(TableSchema {
            id: preamble.id,
            name: preamble.name.clone(),
            alias: preamble.alias.clone(),
            fields: fields.collect::<Result<_>>()?,
            actions: table
                .action_refs
                .iter()
                .map(|of| (of.id, scope(of)))
                .collect(),
            profile: Some(table.implementation_id).filter(|id| *id != 0),
            counter: resource(&counters.collect::<Vec<_>>()),
            meter: resource(&meters.collect::<Vec<_>>()),
            size: table.size,
            ages: table.idle_timeout_behavior != 0,
            constant: table.is_const_table,
            constant_default: table.const_default_action_id != 0,
        })
    }
}

/// `@format(IPV4_ADDRESS)` and the like.
fn format_of(annotations: &[String]) -> Option<String> {
    let inside = |text: &String| {
        let rest = text.strip_prefix("@format(")?.strip_suffix(')')?;
        Some(rest.to_owned())
    };
    annotations.iter().find_map(inside)
}

fn array(preamble: &Preamble, size: i64, table: Option<u32>) -> ArraySchema {
    ArraySchema {
        id: preamble.id,
        name: preamble.name.clone(),
        size,
        table,
        width: 0,
        meter_type: config::meter_spec::Type::TwoRateThreeColor,
        meter_unit: config::meter_spec::Unit::Unspecified,
    }
}

impl Schema {
    /// The elements of a P4Info, checked to be consistent in themselves.
    pub fn new(info: &P4Info) -> Result<Self> {
        let types = Types(info);
        let mut schema = Self::default();
        for action in &info.actions {
            let action = types.action(action)?;
            put(&mut schema.actions, "action", action.id, action)?;
        }
        for table in &info.tables {
            let table = types.table(table)?;
            put(&mut schema.tables, "table", table.id, table)?;
        }
        for profile in &info.action_profiles {
            let preamble = named("an action profile", profile.preamble.as_ref())?;
            let known = ProfileSchema {
                id: preamble.id,
                name: preamble.name.clone(),
                tables: profile.table_ids.clone(),
                message: profile.clone(),
            };
            put(&mut schema.profiles, "action profile", preamble.id, known)?;
        }
        schema.arrays(info, &types)?;
        schema.digests_and_sets(info, &types)?;
        for packet in &info.controller_packet_metadata {
            let of = types.packet(packet)?;
            match packet
                .preamble
                .as_ref()
                .map(|preamble| preamble.name.as_str())
            {
                Some("packet_in") => schema.packet_in = of,
                Some("packet_out") => schema.packet_out = of,
                name => {
                    let name = name.unwrap_or_default();
                    return Err(InfoError::new(
                        format!("controller packet metadata {name}"),
                        "is neither packet_in nor packet_out",
                    ));
                }
            }
        }
        schema.check()?;
        Ok(schema)
    }

    fn digests_and_sets(&mut self, info: &P4Info, types: &Types<'_>) -> Result<()> {
        for digest in &info.digests {
            let preamble = named("a digest", digest.preamble.as_ref())?;
            let element = format!("digest {}", preamble.name);
            let data = types.widths(&element, digest.type_spec.as_ref());
            let known = DigestSchema {
                id: preamble.id,
                name: preamble.name.clone(),
                data: data.map(|(widths, single)| DigestData { widths, single }),
            };
            put(&mut self.digests, "digest", preamble.id, known)?;
        }
        for set in &info.value_sets {
            let preamble = named("a value set", set.preamble.as_ref())?;
            let fields = set
                .r#match
                .iter()
                .map(|field| types.field(&preamble.name, field));
            let known = ValueSetSchema {
                id: preamble.id,
                name: preamble.name.clone(),
                fields: fields.collect::<Result<_>>()?,
                size: usize::try_from(set.size).unwrap_or(0),
            };
            put(&mut self.value_sets, "value set", preamble.id, known)?;
        }
        Ok(())
    }

    fn arrays(&mut self, info: &P4Info, types: &Types<'_>) -> Result<()> {
        let set = |known: &mut ArraySchema, spec: Option<config::MeterSpec>| {
            let spec = spec.unwrap_or_default();
            (known.meter_type, known.meter_unit) = (spec.r#type(), spec.unit());
        };
        for counter in &info.counters {
            let preamble = named("a counter", counter.preamble.as_ref())?;
            let known = array(preamble, counter.size, None);
            put(&mut self.counters, "counter", preamble.id, known)?;
        }
        for counter in &info.direct_counters {
            let preamble = named("a direct counter", counter.preamble.as_ref())?;
            let known = array(preamble, 0, Some(counter.direct_table_id));
            put(&mut self.counters, "counter", preamble.id, known)?;
        }
        for meter in &info.meters {
            let preamble = named("a meter", meter.preamble.as_ref())?;
            let mut known = array(preamble, meter.size, None);
            set(&mut known, meter.spec);
            put(&mut self.meters, "meter", preamble.id, known)?;
        }
        for meter in &info.direct_meters {
            let preamble = named("a direct meter", meter.preamble.as_ref())?;
            let mut known = array(preamble, 0, Some(meter.direct_table_id));
            set(&mut known, meter.spec);
            put(&mut self.meters, "meter", preamble.id, known)?;
        }
        for register in &info.registers {
            let preamble = named("a register", register.preamble.as_ref())?;
            let element = format!("register {}", preamble.name);
            let mut known = array(preamble, register.size.into(), None);
            let (widths, _) = types.widths(&element, register.type_spec.as_ref())?;
            known.width = widths.iter().sum();
            put(&mut self.registers, "register", preamble.id, known)?;
        }
        Ok(())
    }

    /// References lead somewhere.
    fn check(&self) -> Result<()> {
        for table in self.tables.values() {
            let element = || format!("table {}", table.name);
            for (action, _) in &table.actions {
                if !self.actions.contains_key(action) {
                    return Err(InfoError::new(
                        element(),
                        format!("has the action {action:#x}, which is missing"),
                    ));
                }
            }
            if let Some(profile) = table.profile
                && !self.profiles.contains_key(&profile)
            {
                let what = format!("has the action profile {profile:#x}, which is missing");
                return Err(InfoError::new(element(), what));
            }
        }
        for array in self.counters.values().chain(self.meters.values()) {
            if let Some(table) = array.table
                && !self.tables.contains_key(&table)
            {
                let what = format!("belongs to the table {table:#x}, which is missing");
                return Err(InfoError::new(array.name.clone(), what));
            }
        }
        Ok(())
    }

    /// The table with this name or alias.
    pub fn table(&self, name: &str) -> Option<&TableSchema> {
        let mut tables = self.tables.values();
        tables.find(|table| table.name == name || table.alias == name)
    }

    /// The action of a table with this name or alias.
    pub fn action_of(&self, table: &TableSchema, name: &str) -> Option<&ActionSchema> {
        let actions = table
            .actions
            .iter()
            .filter_map(|(id, _)| self.actions.get(id));
        actions
            .into_iter()
            .find(|action| action.name == name || action.alias == name)
    }
}
