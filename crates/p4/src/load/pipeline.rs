//! Pipelines: tables with their keys, actions and entries, and the nodes between them.

use super::Builder;
use super::expr::Scope;
use super::json::{Json, Result};
use super::layout::place;
use crate::bits;
use crate::num::{limbs, ones};
use crate::program::{
    ConstantEntry, DefaultAction, Field, KeyField, KeyMatch, MatchKind, Next, NextNodes, Node,
    Profile, Table,
};
use std::collections::BTreeMap;

/// Nodes of a pipeline by name.
type Names = BTreeMap<String, u32>;

/// The entries of a table whose size the program does not say.
const DEFAULT_SIZE: usize = 1024;

impl Builder {
    /// Adds a pipeline; the answer is its first node.
    pub(super) fn pipeline(&mut self, root: &Json<'_>, name: &str) -> Result<Option<u32>> {
        let pipelines = root.get("pipelines")?.items()?;
        let wanted = |node: &&Json<'_>| node.name().is_ok_and(|found| found == name);
        let node = pipelines
            .iter()
            .find(wanted)
            .ok_or_else(|| root.invalid(format!("has no pipeline {name}")))?;
        let (tables, conditions, calls) = (
            node.list("tables")?,
            node.list("conditionals")?,
            node.list("action_calls")?,
        );
        let mut names = Names::new();
        for (at, one) in tables.iter().chain(&conditions).chain(&calls).enumerate() {
            let number = place(self.nodes.len() + at);
            if names.insert(one.name()?, number).is_some() {
                return Err(one.invalid("has the name of another node"));
            }
        }
        for profile in node.list("action_profiles")? {
            let name = profile.name()?;
            let selector = profile
                .find("selector")
                .map(|selector| self.add_calculation(&selector, format!("selector of {name}")));
            let size = profile
                .find("max_size")
                .map_or(Ok(DEFAULT_SIZE), |size| Ok(size.small()? as usize))?;
            self.profiles.push(Profile {
                name,
                size,
                selector: selector.transpose()?,
            });
        }
        for table in &tables {
            let found = self.table(table, &names)?;
            self.nodes.push(Node::Table(place(self.tables.len())));
            self.tables.push(found);
        }
        for condition in &conditions {
            let expression = self.value(&condition.get("expression")?, Scope::None)?;
            let (yes, no) = (
                next(condition, "true_next", &names)?,
                next(condition, "false_next", &names)?,
            );
            self.nodes.push(Node::Condition {
                name: condition.name()?,
                source: condition.source(),
                condition: expression,
                yes,
                no,
            });
        }
        for call in &calls {
            let action = self.action_by_id(&call.get("action_id")?)?;
            self.nodes.push(Node::Call {
                action,
                next: next(call, "next_node", &names)?,
            });
        }
        next(node, "init_table", &names)
    }

    fn action_by_id(&self, node: &Json<'_>) -> Result<u32> {
        let id = node.number()?;
        self.action_ids
            .get(&id)
            .copied()
            .ok_or_else(|| node.invalid(format!("there is no action with the id {id}")))
    }

    fn table(&mut self, node: &Json<'_>, names: &Names) -> Result<Table> {
        let mut actions = self.table_actions(node)?;
        let default = node
            .find("default_entry")
            .map(|entry| self.default_action(&entry, &mut actions))
            .transpose()?;
        let key = self.key(node)?;
        let mut entries = Vec::new();
        for entry in node.list("entries")? {
            entries.push(self.entry(&entry, &key, &actions)?);
        }
        let meter = node
            .find("direct_meters")
            .map(|name| self.meter(&name))
            .transpose()?;
        let size = node
            .find("max_size")
            .map_or(Ok(DEFAULT_SIZE), |size| Ok(size.small()? as usize))?;
        Ok(Table {
            name: node.name()?,
            source: node.source(),
            next: self.next_nodes(node, &actions, names)?,
            profile: self.profile(node)?,
            meter: meter.map(|meter| (meter, self.meter_results.get(&meter).copied().flatten())),
            ages: node.flag("support_timeout"),
            constant: node.find("entries").is_some(),
            size,
            key,
            actions,
            default,
            entries,
        })
    }

    fn table_actions(&self, node: &Json<'_>) -> Result<Vec<u32>> {
        let mut actions = Vec::new();
        if let Some(ids) = node.find("action_ids") {
            for id in ids.items()? {
                actions.push(self.action_by_id(&id)?);
            }
            return Ok(actions);
        }
        for name in node.get("actions")?.items()? {
            actions.push(super::by_name(&name, "action", &self.actions, |action| {
                &action.name
            })?);
        }
        Ok(actions)
    }

    fn next_nodes(&self, node: &Json<'_>, actions: &[u32], names: &Names) -> Result<NextNodes> {
        let following = node.get("next_tables")?;
        let default = next(node, "base_default_next", names)?;
        let listed = |name: &str| {
            let known = following.value().get(name).is_some();
            known.then(|| next(&following, name, names)).transpose()
        };
        let mut by_action = Vec::new();
        for action in actions {
            by_action.push(listed(&self.actions[*action as usize].name)?.unwrap_or(default));
        }
        Ok(NextNodes {
            by_action,
            hit: listed("__HIT__")?.map(Next),
            miss: listed("__MISS__")?.map(Next),
            default,
        })
    }

    fn profile(&mut self, node: &Json<'_>) -> Result<Option<u32>> {
        let kind = node.find("type");
        let kind = kind.as_ref().map_or(Ok("simple"), Json::text)?;
        match kind {
            "simple" => Ok(None),
            "indirect" | "indirect_ws" => {
                if let Some(name) = node.find("action_profile") {
                    let found =
                        super::by_name(&name, "action profile", &self.profiles, |profile| {
                            &profile.name
                        })?;
                    return Ok(Some(found));
                }
                // Formats before 2.7 describe the profile in the table.
                let name = node.get("act_prof_name")?.text()?.to_owned();
                let selector = node
                    .find("selector")
                    .map(|selector| self.add_calculation(&selector, format!("selector of {name}")));
                self.profiles.push(Profile {
                    name,
                    size: DEFAULT_SIZE,
                    selector: selector.transpose()?,
                });
                Ok(Some(place(self.profiles.len() - 1)))
            }
            other => Err(node.lacks(format!("a table of type {other:?}"))),
        }
    }

    fn default_action(&self, entry: &Json<'_>, actions: &mut Vec<u32>) -> Result<DefaultAction> {
        let action = self.action_by_id(&entry.get("action_id")?)?;
        let at = actions
            .iter()
            .position(|known| *known == action)
            .unwrap_or_else(|| {
                actions.push(action);
                actions.len() - 1
            });
        Ok(DefaultAction {
            action: place(at),
            data: self.action_data(&entry.list("action_data")?, entry, action)?,
            constant: entry.flag("action_const"),
        })
    }

    fn action_data(&self, values: &[Json<'_>], entry: &Json<'_>, action: u32) -> Result<Vec<u64>> {
        let action = &self.actions[action as usize];
        if values.len() != action.parameters.len() {
            let needed = action.parameters.len();
            return Err(entry.invalid(format!(
                "gives {} values for the {needed} parameters of {:?}",
                values.len(),
                action.name
            )));
        }
        let mut data = Vec::new();
        for (value, parameter) in values.iter().zip(&action.parameters) {
            data.extend(constant(value, parameter.width)?);
        }
        Ok(data)
    }

    /// Where what a key looks at is.
    fn key_source(&self, kind: MatchKind, target: &Json<'_>) -> Result<Field> {
        if target.value().is_object() {
            return Err(target.lacks(
                "a key that an expression finds, as a header stack's element of an index at run time",
            ));
        }
        if kind == MatchKind::Valid {
            let header = self.layout.header(target)?;
            let valid = self.layout.headers[header as usize].valid();
            return Ok(Field {
                at: place(valid),
                width: 1,
                signed: false,
                saturating: false,
            });
        }
        if self.layout.varbit(target)?.is_some() {
            return Err(target.lacks("a variable-length field as key"));
        }
        self.layout.field(target)
    }

    fn key(&self, node: &Json<'_>) -> Result<Vec<KeyField>> {
        let (mut key, mut at) = (Vec::new(), 0);
        for part in node.get("key")?.items()? {
            let kind = part.get("match_type")?;
            let target = part.get("target")?;
            let kind = match kind.text()? {
                "exact" => MatchKind::Exact,
                "lpm" => MatchKind::Lpm,
                "ternary" | "optional" => MatchKind::Ternary,
                "range" => MatchKind::Range,
                "valid" => MatchKind::Valid,
                other => return Err(kind.lacks(format!("the match kind {other:?}"))),
            };
            let source = self.key_source(kind, &target)?;
            if kind == MatchKind::Range && source.width > 64 {
                return Err(part.lacks(format!(
                    "a range match on {} bits (at most 64)",
                    source.width
                )));
            }
            let mask = part.find("mask").map_or_else(
                || Ok(ones(source.width)),
                |mask| constant(&mask, source.width),
            )?;
            let name = part.find("name").map_or_else(
                || Ok(target_name(&target)),
                |name| name.text().map(str::to_owned),
            )?;
            key.push(KeyField {
                name,
                kind,
                width: source.width,
                source,
                mask,
                at,
            });
            at += limbs(source.width);
        }
        if key
            .iter()
            .filter(|part| part.kind == MatchKind::Lpm)
            .count()
            > 1
        {
            return Err(node.lacks("two lpm fields in one key"));
        }
        Ok(key)
    }

    fn entry(&self, entry: &Json<'_>, key: &[KeyField], actions: &[u32]) -> Result<ConstantEntry> {
        let matches = entry.get("match_key")?.items()?;
        if matches.len() != key.len() {
            return Err(entry.invalid(format!(
                "has {} fields for a key of {}",
                matches.len(),
                key.len()
            )));
        }
        let mut found = Vec::new();
        for (one, field) in matches.iter().zip(key) {
            found.push(key_match(one, field)?);
        }
        let chosen = entry.get("action_entry")?;
        let id = chosen.get("action_id")?;
        let action = self.action_by_id(&id)?;
        let at = actions.iter().position(|known| *known == action);
        let at = at.ok_or_else(|| id.invalid("is not an action of the table"))?;
        // In the JSON the smaller number wins.
        let priority = entry
            .find("priority")
            .and_then(|priority| priority.value().as_i64())
            .unwrap_or(0);
        Ok(ConstantEntry {
            key: found,
            priority: priority.saturating_neg(),
            action: place(at),
            data: self.action_data(&chosen.list("action_data")?, &chosen, action)?,
        })
    }
}

fn key_match(one: &Json<'_>, field: &KeyField) -> Result<KeyMatch> {
    let value = |key: &str| constant(&one.get(key)?, field.width);
    Ok(match one.get("match_type")?.text()? {
        "exact" => KeyMatch::exact(value("key")?, field.width),
        "valid" => KeyMatch::exact(vec![one.flag("key").into()], field.width),
        "ternary" | "optional" => KeyMatch::masked(value("key")?, value("mask")?),
        "lpm" => {
            let length = one.get("prefix_length")?;
            let prefix = length.small()?;
            if prefix > field.width {
                return Err(length.invalid(format!(
                    "is more than the {} bits of the field",
                    field.width
                )));
            }
            KeyMatch::masked(value("key")?, prefix_mask(field.width, prefix))
        }
        "range" => KeyMatch::Range {
            low: value("start")?,
            high: value("end")?,
        },
        other => return Err(one.lacks(format!("the match kind {other:?}"))),
    })
}

/// The mask of a prefix.
pub(crate) fn prefix_mask(width: u32, prefix: u32) -> Vec<u64> {
    let mut words = vec![0; limbs(width)];
    for bit in (width - prefix..width).map(|bit| bit as usize) {
        words[bit / 64] |= 1 << (bit % 64);
    }
    words
}

fn constant(value: &Json<'_>, width: u32) -> Result<Vec<u64>> {
    let (bytes, negative) = value.hex()?;
    if negative {
        return Err(value.lacks("a negative number here"));
    }
    bits::from_bytes(&bytes, width)
        .ok_or_else(|| value.invalid(format!("does not fit in {width} bits")))
}

fn target_name(target: &Json<'_>) -> String {
    let parts = target.value().as_array().map(|parts| {
        parts
            .iter()
            .filter_map(|part| part.as_str())
            .collect::<Vec<_>>()
    });
    parts.map_or_else(
        || target.value().as_str().unwrap_or_default().to_owned(),
        |parts| parts.join("."),
    )
}

fn next(node: &Json<'_>, key: &str, names: &Names) -> Result<Option<u32>> {
    let Some(to) = node.find(key) else {
        return Ok(None);
    };
    let name = to.text()?;
    let found = names.get(name).copied();
    Ok(Some(found.ok_or_else(|| {
        to.invalid(format!("there is no node {name:?} in the pipeline"))
    })?))
}
