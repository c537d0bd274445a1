//! A program in the making: what all generated programs share, and parts that families add.
//!
//! ```text
//!  start: ethernet ─► states of the family ─► ingress: forward, tables … ─► egress: tables … ─► deparser
//! ```

use super::Generated;
use super::info;
use super::parts::{Arrays, Direct, HIT, TableDraft};
use super::rules::{Rule, RuleAction, Traffic};
use super::terms::{assign, constant, standard};
use crate::exec::{Match, MeterConfig};
use serde_json::{Map, Value, json};

/// Bytes of every packet, unless the length is what is varied.
pub(super) const PACKET_BYTES: usize = 256;
/// The `EtherType` of packets that carry headers of the family: one for local experiments (IEEE 802).
pub(super) const ETHERTYPE: u64 = 0x88b5;

/// A step of a pipeline.
#[derive(Debug)]
enum Step {
    /// A statement: an action that always runs.
    Statement(Value),
    /// A table with entries.
    Table(Value),
    /// The step behind it runs if the condition holds.
    If(Value),
}

/// Which pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pipeline {
    Egress,
    Ingress,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Draft {
    name: String,
    scalars: Vec<Value>,
    header_types: Vec<Value>,
    headers: Vec<Value>,
    states: Vec<Value>,
    order: Vec<String>,
    actions: Vec<Value>,
    pub(super) tables: Vec<TableDraft>,
    steps: [Vec<Step>; 2],
    pub(super) arrays: Arrays,
    calculations: Vec<Value>,
    checksums: Vec<Value>,
    field_lists: Vec<Value>,
    pub(super) rules: Vec<Rule>,
    header_bytes: Vec<u8>,
    pub(super) traffic: Traffic,
}

const STANDARD: [(&str, u32); 17] = [
    ("ingress_port", 9),
    ("egress_spec", 9),
    ("egress_port", 9),
    ("instance_type", 32),
    ("packet_length", 32),
    ("enq_timestamp", 32),
    ("enq_qdepth", 19),
    ("deq_timedelta", 32),
    ("deq_qdepth", 19),
    ("ingress_global_timestamp", 48),
    ("egress_global_timestamp", 48),
    ("mcast_grp", 16),
    ("egress_rid", 16),
    ("checksum_error", 1),
    ("parser_error", 32),
    ("priority", 3),
    ("_padding", 3),
];

/// Names under which targets know fields of `standard_metadata`.
const ALIASES: [(&str, &str); 9] = [
    ("queueing_metadata.enq_timestamp", "enq_timestamp"),
    ("queueing_metadata.enq_qdepth", "enq_qdepth"),
    ("queueing_metadata.deq_timedelta", "deq_timedelta"),
    ("queueing_metadata.deq_qdepth", "deq_qdepth"),
    (
        "intrinsic_metadata.ingress_global_timestamp",
        "ingress_global_timestamp",
    ),
    (
        "intrinsic_metadata.egress_global_timestamp",
        "egress_global_timestamp",
    ),
    ("intrinsic_metadata.mcast_grp", "mcast_grp"),
    ("intrinsic_metadata.egress_rid", "egress_rid"),
    ("intrinsic_metadata.priority", "priority"),
];

const ERRORS: [&str; 7] = [
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
];

impl Draft {
    /// A program that parses Ethernet and sends every packet to port 1.
    pub(super) fn new(name: String) -> Self {
        let mut draft = Self {
            name,
            scalars: Vec::new(),
            header_types: Vec::new(),
            headers: Vec::new(),
            states: Vec::new(),
            order: Vec::new(),
            actions: Vec::new(),
            tables: Vec::new(),
            steps: [Vec::new(), Vec::new()],
            arrays: Arrays::default(),
            calculations: Vec::new(),
            checksums: Vec::new(),
            field_lists: Vec::new(),
            rules: Vec::new(),
            header_bytes: vec![0x0a, 0, 0, 0, 0, 2, 0x0a, 0, 0, 0, 0, 1, 0x88, 0xb5],
            traffic: Traffic {
                packet: Vec::new(),
                outputs: 1,
                keys: None,
            },
        };
        draft.header("ethernet", &[("dst", 48), ("src", 48), ("type", 16)]);
        draft.statement(
            Pipeline::Ingress,
            "forward",
            [assign(standard("egress_spec"), constant(1))],
        );
        draft
    }

    /// A field of metadata, in bits.
    pub(super) fn scalar(&mut self, name: &str, width: u32) {
        self.scalars.push(json!([name, width, false]));
    }

    /// A header that no state takes yet; the deparser emits it where it is valid.
    pub(super) fn header(&mut self, name: &str, fields: &[(&str, u32)]) {
        let kind = format!("{name}_t");
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, width)| json!([name, width, false]))
            .collect();
        let (types, headers) = (self.header_types.len() + 2, self.headers.len() + 2);
        self.header_types
            .push(json!({"name": kind, "id": types, "fields": fields}));
        self.headers.push(json!({"name": name, "id": headers, "header_type": kind, "metadata": false, "pi_omit": true}));
        self.order.push(name.to_owned());
    }

    /// A parser state that takes a header. The first one follows `start` by the `EtherType`.
    pub(super) fn state(&mut self, name: &str, header: &str, key: &[Value], transitions: &[Value]) {
        let id = self.states.len() + 1;
        let extract =
            json!({"op": "extract", "parameters": [{"type": "regular", "value": header}]});
        self.states.push(json!({
            "name": name, "id": id, "parser_ops": [extract], "transition_key": key, "transitions": transitions,
        }));
    }

    /// A header that follows those before it, with its bytes in the packet.
    pub(super) fn parsed(&mut self, name: &str, fields: &[(&str, u32)], bytes: &[u8]) {
        self.header(name, fields);
        self.state(name, name, &[], &[otherwise(None)]);
        self.bytes(bytes);
    }

    /// The next bytes of the packet.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.header_bytes.extend(bytes);
    }

    /// The header `key` with a key of 32 bits, whose value is this in the packet.
    pub(super) fn key(&mut self, value: u32) {
        self.parsed("key", &[("value", 32)], &value.to_be_bytes());
    }

    /// From now on packets differ in the header that follows: as many keys.
    pub(super) fn keys(&mut self, count: u32) {
        self.traffic.keys = Some((self.header_bytes.len(), count));
        self.key(super::rules::scattered(0));
    }

    pub(super) fn action(&mut self, name: &str, primitives: &[Value]) -> usize {
        let id = self.actions.len();
        self.actions
            .push(json!({"name": name, "id": id, "runtime_data": [], "primitives": primitives}));
        id
    }

    /// An action that always runs at this place.
    pub(super) fn statement(
        &mut self,
        pipeline: Pipeline,
        name: &str,
        primitives: impl IntoIterator<Item = Value>,
    ) {
        let primitives: Vec<_> = primitives.into_iter().collect();
        let action = self.action(name, &primitives);
        let default = json!({"action_id": action, "action_const": true, "action_data": [], "action_entry_const": true});
        let id = self.tables_so_far();
        let step = Step::Statement(json!({
            "name": format!("tbl_{name}"), "id": id, "key": [], "match_type": "exact", "type": "simple", "max_size": 1024,
            "with_counters": false, "support_timeout": false, "direct_meters": null,
            "action_ids": [action], "actions": [name], "default_entry": default,
        }));
        self.steps[pipeline as usize].push(step);
    }

    /// The next step runs only if this holds.
    pub(super) fn condition(&mut self, pipeline: Pipeline, condition: Value) {
        self.steps[pipeline as usize].push(Step::If(condition));
    }

    fn tables_so_far(&self) -> usize {
        let is_table = |step: &&Step| !matches!(step, Step::If(_));
        self.steps.iter().flatten().filter(is_table).count()
    }

    /// A table in ingress by `key.value`, whose entries do [`HIT`].
    pub(super) fn table(&mut self, table: TableDraft) {
        let hit = self.hit();
        let miss = self.named("miss");
        let TableDraft {
            name,
            kind,
            size,
            direct,
        } = &table;
        let mut document = json!({
            "name": name, "id": self.tables_so_far(), "match_type": kind.as_str(), "type": "simple", "max_size": size,
            "key": [{"match_type": kind.as_str(), "name": "key.value", "target": ["key", "value"], "mask": null}],
            "with_counters": *direct == Direct::Counter, "support_timeout": false, "direct_meters": null,
            "action_ids": [hit, miss], "actions": [HIT, "miss"],
        });
        let default = json!({"action_id": miss, "action_const": false, "action_data": [], "action_entry_const": false});
        match direct {
            Direct::Nothing => {}
            Direct::Counter => {
                let array = json!({"name": format!("{name}_counter"), "id": self.arrays.counters.len(), "is_direct": true,
                    "binding": name});
                self.arrays.counters.push(array);
            }
            Direct::Meter => {
                let meter = format!("{name}_meter");
                document["direct_meters"] = json!(meter);
                self.arrays.meters.push(
                    json!({"name": meter, "id": self.arrays.meters.len(), "is_direct": true,
                    "rate_count": 2, "type": "packets", "size": size, "binding": name,
                    "result_target": ["scalars", "colour"]}),
                );
            }
            Direct::Profile | Direct::Selector => {
                let profile = format!("{name}_profile");
                document["action_profile"] = json!(profile);
                document["type"] = json!(if *direct == Direct::Profile {
                    "indirect"
                } else {
                    "indirect_ws"
                });
                let mut known =
                    json!({"name": profile, "id": self.arrays.profiles.len(), "max_size": 64});
                if *direct == Direct::Selector {
                    let input = [json!({"type": "field", "value": ["key", "value"]})];
                    known["selector"] = json!({"algo": "crc16", "input": input});
                }
                self.arrays.profiles.push(known);
            }
        }
        if !matches!(direct, Direct::Profile | Direct::Selector) {
            document["default_entry"] = default;
        }
        self.tables.push(table);
        self.steps[Pipeline::Ingress as usize].push(Step::Table(document));
    }

    fn hit(&mut self) -> usize {
        self.named(HIT)
    }

    /// The action without effect of this name, made when it is first asked for.
    fn named(&mut self, name: &str) -> usize {
        let known = self
            .actions
            .iter()
            .position(|action| action["name"] == name);
        known.unwrap_or_else(|| self.action(name, &[]))
    }

    /// An entry of a table that does [`HIT`].
    pub(super) fn entry(&mut self, table: &str, key: Match, priority: i64) {
        let does = RuleAction::Action(HIT, Vec::new());
        self.rule(table, key, priority, does, None);
    }

    pub(super) fn rule(
        &mut self,
        table: &str,
        key: Match,
        priority: i64,
        does: RuleAction,
        meter: Option<MeterConfig>,
    ) {
        self.rules.push(Rule::Entry {
            table: table.to_owned(),
            key: vec![key],
            priority,
            does,
            meter,
        });
    }

    /// A calculation over fields; its name.
    pub(super) fn calculation(
        &mut self,
        algorithm: &str,
        header: &str,
        fields: &[(&str, u32)],
    ) -> String {
        let name = format!("calc_{}", self.calculations.len());
        let input: Vec<_> = fields
            .iter()
            .map(|(field, _)| json!({"type": "field", "value": [header, field]}))
            .collect();
        self.calculations.push(
            json!({"name": name, "id": self.calculations.len(), "algo": algorithm, "input": input}),
        );
        name
    }

    /// A checksum that is made anew in every packet.
    pub(super) fn checksum(
        &mut self,
        [header, field]: [&str; 2],
        calculation: &str,
        condition: &Value,
    ) {
        let id = self.checksums.len();
        self.checksums.push(json!({
            "name": format!("cksum_{id}"), "id": id, "target": [header, field], "type": "generic",
            "calculation": calculation, "verify": false, "update": true, "if_cond": condition,
        }));
    }

    /// The list of fields that a packet keeps through another pass.
    pub(super) fn keeps(&mut self, scalar: &str) {
        let kept = json!({"type": "field", "value": ["scalars", scalar]});
        self.field_lists
            .push(json!({"id": 1, "name": "kept", "elements": [kept]}));
    }

    /// The pipeline's tables and conditions, each with what follows it.
    fn pipeline(&self, pipeline: Pipeline) -> Value {
        let steps = &self.steps[pipeline as usize];
        let of = |table: &Value| table["name"].clone();
        let name = |at: usize| match steps.get(at) {
            None => Value::Null,
            Some(Step::Statement(table) | Step::Table(table)) => of(table),
            Some(Step::If(_)) => json!(format!("node_{pipeline:?}_{at}")),
        };
        let (mut tables, mut conditionals) = (Vec::new(), Vec::new());
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::If(expression) => conditionals.push(json!({
                    "name": name(at), "id": conditionals.len(), "expression": expression,
                    "true_next": name(at + 1), "false_next": name(at + 2),
                })),
                Step::Statement(table) | Step::Table(table) => {
                    let mut table = table.clone();
                    let actions = table["actions"].as_array().cloned().unwrap_or_default();
                    let next: Map<String, Value> = actions
                        .iter()
                        .filter_map(|action| Some((action.as_str()?.to_owned(), name(at + 1))))
                        .collect();
                    table["next_tables"] = json!(next);
                    table["base_default_next"] = name(at + 1);
                    tables.push(table);
                }
            }
        }
        let (word, profiles): (_, &[Value]) = match pipeline {
            Pipeline::Ingress => ("ingress", &self.arrays.profiles),
            Pipeline::Egress => ("egress", &[]),
        };
        json!({"name": word, "id": u8::from(pipeline == Pipeline::Egress), "init_table": name(0), "tables": tables,
            "action_profiles": profiles, "conditionals": conditionals})
    }

    fn parser(&self) -> Value {
        let extract =
            json!({"op": "extract", "parameters": [{"type": "regular", "value": "ethernet"}]});
        let mut transitions = vec![otherwise(None)];
        if let Some(first) = self.states.first() {
            transitions.insert(0, on(ETHERTYPE, first["name"].as_str()));
        }
        let key = [json!({"type": "field", "value": ["ethernet", "type"]})];
        let start = json!({"name": "start", "id": 0, "parser_ops": [extract], "transition_key": key,
            "transitions": transitions});
        let states: Vec<_> = std::iter::once(&start).chain(&self.states).collect();
        json!({"name": "parser", "id": 0, "init_state": "start", "parse_states": states})
    }

    /// The program.
    pub(super) fn finish(mut self) -> Generated {
        let standard = STANDARD.map(|(name, width)| json!([name, width, false]));
        let own = [
            json!({"name": "scalars_0", "id": 0, "fields": self.scalars}),
            json!({"name": "standard_metadata", "id": 1, "fields": standard}),
        ];
        let metadata = |name: &str, id: u8, kind: &str| json!({"name": name, "id": id, "header_type": kind, "metadata": true, "pi_omit": true});
        let instances = [
            metadata("scalars", 0, "scalars_0"),
            metadata("standard_metadata", 1, "standard_metadata"),
        ];
        let types: Vec<_> = own.iter().chain(&self.header_types).collect();
        let headers: Vec<_> = instances.iter().chain(&self.headers).collect();
        let aliases = ALIASES.map(|(alias, field)| json!([alias, ["standard_metadata", field]]));
        let errors: Vec<_> = ERRORS
            .iter()
            .zip(0..)
            .map(|(name, code)| json!([name, code]))
            .collect();
        let document = json!({
            "program": format!("{}.p4", self.name), "__meta__": {"version": [2, 23], "compiler": "linerate"},
            "header_types": types, "headers": headers, "header_stacks": [], "header_union_types": [],
            "header_unions": [], "header_union_stacks": [], "field_lists": self.field_lists, "errors": errors,
            "enums": [], "parsers": [self.parser()], "parse_vsets": [],
            "deparsers": [{"name": "deparser", "id": 0, "order": self.order, "primitives": []}],
            "meter_arrays": self.arrays.meters, "counter_arrays": self.arrays.counters,
            "register_arrays": self.arrays.registers, "calculations": self.calculations,
            "learn_lists": self.arrays.digests, "actions": self.actions,
            "pipelines": [self.pipeline(Pipeline::Ingress), self.pipeline(Pipeline::Egress)],
            "checksums": self.checksums, "force_arith": [], "extern_instances": [], "field_aliases": aliases,
        });
        if self.traffic.packet.is_empty() {
            self.traffic.packet = vec![0; PACKET_BYTES];
        }
        let length = self.traffic.packet.len().max(self.header_bytes.len());
        self.header_bytes.resize(length, 0);
        self.traffic.packet = self.header_bytes;
        let p4info = info::text(&self.tables, &self.arrays);
        Generated {
            name: self.name,
            json: document.to_string(),
            p4info,
            rules: self.rules,
            traffic: self.traffic,
        }
    }
}

/// A transition on a value of the key; `None` accepts.
pub(super) fn on(value: u64, state: Option<&str>) -> Value {
    json!({"type": "hexstr", "value": format!("{value:#06x}"), "mask": null, "next_state": state})
}

/// The transition of all other values; `None` accepts.
pub(super) fn otherwise(state: Option<&str>) -> Value {
    json!({"type": "default", "value": null, "mask": null, "next_state": state})
}
