//! A P4Info with the program that it describes.

use super::schema::{
    ActionSchema, ArraySchema, FieldKind, FieldSchema, InfoError, PacketSchema, Schema,
    TableSchema, Translation,
};
use crate::proto::p4::config::v1::P4Info;
use linerate_p4::{Array, KeyField, MatchKind, Program, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

type Result<T> = std::result::Result<T, InfoError>;

/// Checks that a P4Info, in text or binary form, describes this program.
pub fn check_p4info(program: &Program, bytes: &[u8]) -> Result<()> {
    let schema = Schema::new(&super::parse_p4info(bytes)?)?;
    Places::new(&schema, program).map(drop)
}

/// Where the elements of a P4Info are in a program.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) tables: BTreeMap<u32, usize>,
    /// By table and action.
    pub(crate) actions: BTreeMap<(u32, u32), usize>,
    /// By action profile and action.
    pub(crate) profile_actions: BTreeMap<(u32, u32), usize>,
    pub(crate) profiles: BTreeMap<u32, usize>,
    pub(crate) counters: BTreeMap<u32, usize>,
    pub(crate) meters: BTreeMap<u32, usize>,
    pub(crate) registers: BTreeMap<u32, usize>,
    pub(crate) digests: BTreeMap<u32, String>,
    pub(crate) value_sets: BTreeMap<u32, usize>,
    /// The P4Info's number of a program's action.
    pub(crate) action_ids: BTreeMap<usize, u32>,
}

/// A program with its P4Info, ready for a control plane.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) info: P4Info,
    pub(crate) schema: Schema,
    pub(crate) places: Places,
    pub(crate) program: Arc<Program>,
}

fn misfit<T>(element: impl Into<String>, what: &str) -> Result<T> {
    let what = format!("{what}; compile program and P4Info in one run of p4c");
    Err(InfoError::new(element, what))
}

impl Pipeline {
    /// Checks every element of the P4Info against the program.
    pub(crate) fn new(info: P4Info, mut program: Program) -> Result<Self> {
        let schema = Schema::new(&info)?;
        let places = Places::new(&schema, &program)?;
        for (id, table) in &schema.tables {
            // The compiled program does not tell entries that it starts with from those that stay.
            program.tables[places.tables[id]].constant = table.constant;
        }
        Ok(Self {
            info,
            schema,
            places,
            program: Arc::new(program),
        })
    }

    /// Table with this number, and its place in the program.
    pub(crate) fn table(&self, id: u32) -> Option<(&TableSchema, usize)> {
        Some((self.schema.tables.get(&id)?, *self.places.tables.get(&id)?))
    }
}

impl Places {
    fn new(schema: &Schema, program: &Program) -> Result<Self> {
        let mut places = Self::default();
        if schema.tables.is_empty() && program.tables.iter().any(is_of_source) {
            let what = "has no table, the program has some";
            return misfit("the P4Info", what);
        }
        for table in schema.tables.values() {
            places.table(schema, table, program)?;
        }
        places.profiles(schema, program)?;
        for counter in schema.counters.values() {
            places.array(counter, "counter", &program.counters)?;
        }
        for meter in schema.meters.values() {
            places.array(meter, "meter", &program.meters)?;
        }
        for register in schema.registers.values() {
            places.array(register, "register", &program.registers)?;
        }
        for digest in schema.digests.values() {
            let element = format!("digest {}", digest.name);
            let known = program
                .digests()
                .find(|(name, _)| same_name(name, &digest.name));
            let Some((name, widths)) = known else {
                return misfit(element, "is not in the program");
            };
            let data = digest.data.as_ref().map_err(Clone::clone)?;
            if widths != data.widths {
                let what = format!(
                    "has fields of {:?} bits, the program {widths:?}",
                    data.widths
                );
                return misfit(element, &what);
            }
            places.digests.insert(digest.id, name.to_owned());
        }
        for set in schema.value_sets.values() {
            let element = format!("value set {}", set.name);
            let at = program
                .value_sets
                .iter()
                .position(|known| same_name(&known.name, &set.name));
            let Some(at) = at else {
                return misfit(element, "is not in the program");
            };
            let width: u32 = set.fields.iter().map(|field| field.width).sum();
            if program.value_sets[at].width != width {
                let what = format!(
                    "has {width} bits, the program {}",
                    program.value_sets[at].width
                );
                return misfit(element, &what);
            }
            places.value_sets.insert(set.id, at);
        }
        check_packet("packet_in", &schema.packet_in, program)?;
        check_packet("packet_out", &schema.packet_out, program)?;
        Ok(places)
    }

    fn table(&mut self, schema: &Schema, table: &TableSchema, program: &Program) -> Result<()> {
        let element = format!("table {}", table.name);
        let at = program
            .tables
            .iter()
            .position(|known| known.name == table.name);
        let Some(at) = at else {
            return misfit(element, "is not in the program");
        };
        let known = &program.tables[at];
        if known.key.len() != table.fields.len() {
            let what = format!(
                "has {} key fields, the program {}",
                table.fields.len(),
                known.key.len()
            );
            return misfit(element, &what);
        }
        for (field, known) in table.fields.iter().zip(&known.key) {
            check_field(&element, field, known)?;
        }
        if known.profile().is_some() != table.profile.is_some() {
            return misfit(element, "has an action profile only on one side");
        }
        if table.meter.is_some() && !known.is_metered() {
            return misfit(element, "has a direct meter, in the program it has not");
        }
        for (id, _) in &table.actions {
            let action = &schema.actions[id];
            let mut of_table = known.actions().iter().map(|place| *place as usize);
            let place = of_table.find(|place| program.actions[*place].name == action.name);
            let Some(place) = place else {
                return misfit(
                    element,
                    &format!("has action {}, in the program it has not", action.name),
                );
            };
            check_parameters(action, program, place)?;
            self.actions.insert((table.id, *id), place);
            self.action_ids.insert(place, *id);
        }
        self.tables.insert(table.id, at);
        Ok(())
    }

    fn profiles(&mut self, schema: &Schema, program: &Program) -> Result<()> {
        for profile in schema.profiles.values() {
            let element = format!("action profile {}", profile.name);
            let at = program
                .profiles
                .iter()
                .position(|known| same_name(&known.name, &profile.name));
            let Some(at) = at else {
                return misfit(element, "is not in the program");
            };
            if program.profiles[at].has_selector() != profile.message.with_selector {
                return misfit(element, "has a selector only on one side");
            }
            self.profiles.insert(profile.id, at);
            for table in schema
                .tables
                .values()
                .filter(|table| table.profile == Some(profile.id))
            {
                if program.tables[self.tables[&table.id]].profile() != Some(at) {
                    let what = format!(
                        "belongs to table {}, in the program it does not",
                        table.name
                    );
                    return misfit(element, &what);
                }
                for (action, _) in &table.actions {
                    let place = self.actions[&(table.id, *action)];
                    self.profile_actions
                        .entry((profile.id, *action))
                        .or_insert(place);
                }
            }
        }
        Ok(())
    }

    fn array(&mut self, of: &ArraySchema, kind: &str, arrays: &[Array]) -> Result<()> {
        let element = format!("{kind} {}", of.name);
        // Compilers name the direct resources of one table after it, or as the source does: the table decides.
        if of.table.is_some() {
            return Ok(());
        }
        let at = arrays
            .iter()
            .position(|known| known.table.is_none() && same_name(&known.name, &of.name));
        let Some(at) = at else {
            return misfit(element, "is not in the program");
        };
        let known = &arrays[at];
        if i64::try_from(known.size) != Ok(of.size) {
            let what = format!("has {} cells, the program {}", of.size, known.size);
            return misfit(element, &what);
        }
        if kind == "register" && of.width != known.width() {
            let what = format!(
                "has cells of {} bits, the program {}",
                of.width,
                known.width()
            );
            return misfit(element, &what);
        }
        let places = match kind {
            "counter" => &mut self.counters,
            "meter" => &mut self.meters,
            _ => &mut self.registers,
        };
        places.insert(of.id, at);
        Ok(())
    }
}

/// Whether a table has a key and is not one that p4c makes of statements, which no P4Info has.
fn is_of_source(table: &Table) -> bool {
    let name = table.name.rsplit('.').next().unwrap_or_default();
    let is_made = ["tbl_", "switch_"]
        .iter()
        .any(|made| name.starts_with(made));
    !table.key.is_empty() && !is_made
}

/// Compilers leave a leading dot, or the control that an extern is in.
fn same_name(program: &str, info: &str) -> bool {
    program.trim_start_matches('.') == info.trim_start_matches('.')
}

fn check_field(element: &str, field: &FieldSchema, known: &KeyField) -> Result<()> {
    let fits = matches!(
        (field.kind, known.kind),
        (FieldKind::Exact, MatchKind::Exact | MatchKind::Valid)
            | (FieldKind::Lpm, MatchKind::Lpm)
            | (FieldKind::Ternary | FieldKind::Optional, MatchKind::Ternary)
            | (FieldKind::Range, MatchKind::Range)
    );
    if !fits {
        let what = format!(
            "matches {} as {:?}, the program as {:?}",
            field.name, field.kind, known.kind
        );
        return misfit(element, &what);
    }
    let width = if known.kind == MatchKind::Valid {
        1
    } else {
        known.width
    };
    if field.width != width && !field.is_translated(element)? {
        let what = format!(
            "has {} of {} bits, the program of {width}",
            field.name, field.width
        );
        return misfit(element, &what);
    }
    Ok(())
}

impl FieldSchema {
    /// Whether a controller has it in another width than the program; that of strings is not known here.
    fn is_translated(&self, element: &str) -> Result<bool> {
        match self.translation {
            Translation::None => Ok(false),
            Translation::Width => Ok(true),
            Translation::Text => Err(InfoError::new(
                element,
                format!(
                    "has {}, whose values are strings to a controller: this switch has numbers alone",
                    self.name
                ),
            )),
        }
    }
}

fn check_parameters(action: &ActionSchema, program: &Program, place: usize) -> Result<()> {
    let element = format!("action {}", action.name);
    let known: Vec<_> = program.actions[place].parameters().collect();
    if known.len() != action.parameters.len() {
        let what = format!(
            "has {} parameters, the program {}",
            action.parameters.len(),
            known.len()
        );
        return misfit(element, &what);
    }
    for (parameter, (name, width)) in action.parameters.iter().zip(known) {
        let translated = parameter.is_translated(&element)?;
        if parameter.name != name || (parameter.width != width && !translated) {
            let what = format!(
                "has {} of {} bits, the program {name} of {width}",
                parameter.name, parameter.width
            );
            return misfit(element, &what);
        }
    }
    Ok(())
}

/// A header of the program has just the fields that are in front of packets.
fn check_packet(name: &str, packet: &PacketSchema, program: &Program) -> Result<()> {
    let element = format!("controller packet metadata {name}");
    let mut translated = false;
    for field in &packet.fields {
        translated |= field.is_translated(&element)?;
    }
    let (fields, bits) = packet.header();
    if fields.is_empty() {
        return Ok(());
    }
    let widths: Vec<_> = fields.iter().map(|field| Some(field.width)).collect();
    let fits = program
        .headers
        .iter()
        .filter(|header| !header.metadata)
        .any(|header| {
            // What the executor keeps beside the fields is not in the packet.
            let fields = header.fields().filter(|(name, _)| *name != "$valid$");
            let known: Vec<_> = fields.map(|(_, width)| width).collect();
            known == widths || (translated && known.len() == widths.len())
        });
    if !fits {
        let what = format!("has fields of {bits} bits together, as no header of the program has");
        return misfit(element, &what);
    }
    Ok(())
}
