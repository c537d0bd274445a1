//! A P4 program as the executor runs it: flat lists of instructions over one array of 64-bit words per packet.
//!
//! ```text
//!  words of a packet:  | header 0: valid, field, field, … | header 1: … | next of stack 0 | next of stack 1 | …
//! ```
//!
//! A field of up to 64 bits is one word, a wider one has several, least significant first. Bytes of variable-length
//! fields stand in an array of their own. Nothing in here changes once loaded.

use crate::hash::Algorithm;
use crate::num::ones;
use std::collections::BTreeMap;
use std::ops::Range;

/// The port that means drop, as in `simple_switch`.
pub const DROP_PORT: u32 = 511;

/// Where in the P4 source an element stands, as the compiled program says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The P4 file.
    pub file: String,
    /// Its line, from 1.
    pub line: u64,
    /// The text there, cut by the compiler.
    pub text: String,
}

/// A field of a header: its words within a packet's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) at: u32,
    pub(crate) width: u32,
    pub(crate) signed: bool,
    pub(crate) saturating: bool,
}

impl Field {
    pub(crate) fn words(self) -> Range<usize> {
        let at = self.at as usize;
        at..at + crate::num::limbs(self.width)
    }
}

/// The variable-length field of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Varbit {
    /// Its place among the header's fields.
    pub(crate) index: u32,
    /// Where its bytes begin.
    pub(crate) at: u32,
    /// How many bytes it may have.
    pub(crate) max: u32,
    /// The word with its length in bits.
    pub(crate) length: u32,
}

/// A header or metadata instance.
#[derive(Debug, Clone)]
pub struct Header {
    /// As the program names it.
    pub name: String,
    /// Whether it is metadata: always valid, zero when a packet comes in.
    pub metadata: bool,
    pub(crate) type_name: String,
    pub(crate) fields: Vec<(String, Field)>,
    /// Its words; the first says whether it is valid.
    pub(crate) words: Range<usize>,
    /// Bits without the variable-length field.
    pub(crate) bits: u32,
    pub(crate) varbit: Option<Varbit>,
    pub(crate) union: Option<u32>,
    /// The length of the variable-length field in bits, where the header type says it.
    pub(crate) length: Option<Expr>,
}

impl Header {
    /// The word that says whether the header is valid.
    pub(crate) fn valid(&self) -> usize {
        self.words.start
    }

    /// Names and widths in bits of the fields; a variable-length field has no width.
    pub fn fields(&self) -> impl Iterator<Item = (&str, Option<u32>)> {
        self.fields.iter().enumerate().map(|(at, (name, field))| {
            let varbit = self
                .varbit
                .is_some_and(|varbit| varbit.index as usize == at);
            (name.as_str(), (!varbit).then_some(field.width))
        })
    }
}

/// A stack of headers, or of header unions.
#[derive(Debug, Clone)]
pub(crate) struct Stack {
    pub(crate) name: String,
    /// Headers, or unions.
    pub(crate) elements: Vec<u32>,
    /// The word with the number of elements that were pushed or extracted.
    pub(crate) next: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Union {
    pub(crate) headers: Vec<u32>,
}

/// One step of an expression; operands stand on a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Field(Field),
    Small(i64),
    /// Words among the program's constants, two's complement.
    Constant {
        at: u32,
        words: u32,
    },
    /// Action data.
    Data {
        at: u32,
        width: u32,
    },
    /// A cell of a register array; the index is on the stack.
    Register(u32),
    Header(u32),
    Union(u32),
    /// The last header of a stack.
    LastOf(u32),
    LastUnionOf(u32),
    /// A field by its place in the header on the stack.
    AccessField(u32),
    /// A member by its place in the union on the stack.
    AccessMember(u32),
    Element(u32),
    UnionElement(u32),
    LastIndex(u32),
    Count(u32),
    Binary(Binary),
    Invert,
    Not,
    ToBool,
    IsValid,
    IsUnionValid,
    HeadersEqual,
    /// The variable-length fields of two headers.
    VarbitsEqual,
    UnionsEqual,
    Jump(u32),
    JumpIfZero(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Shl,
    Shr,
    And,
    Or,
    Xor,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    BothTrue,
    EitherTrue,
    WrapSigned,
    SaturateSigned,
    SaturateUnsigned,
}

/// A range of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expr {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Whether an operand exceeds 64 bits.
    pub(crate) wide: bool,
}

/// What can be assigned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Field(Field),
    /// A field of the header that an expression finds.
    Computed {
        header: Expr,
        field: u32,
        width: u32,
    },
}

/// A header, union or stack element: known when loaded, or computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Fixed(u32),
    Computed(Expr),
}

/// A primitive of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Primitive {
    /// Fields of one width.
    Copy {
        to: Field,
        from: Field,
    },
    Assign {
        to: Place,
        value: Expr,
    },
    AssignVarbit {
        to: u32,
        from: u32,
    },
    AssignHeader {
        to: Target,
        from: Target,
    },
    AssignUnion {
        to: Target,
        from: Target,
    },
    AssignStack {
        to: u32,
        from: u32,
        unions: bool,
    },
    AddHeader(Target),
    RemoveHeader(Target),
    Push {
        stack: u32,
        count: Expr,
        unions: bool,
    },
    Pop {
        stack: u32,
        count: Expr,
        unions: bool,
    },
    /// To this primitive, counted from the action's first.
    Jump(Expr),
    JumpIfZero {
        condition: Expr,
        to: Expr,
    },
    Exit,
    Drop,
    Count {
        array: u32,
        index: Expr,
    },
    Meter {
        array: u32,
        index: Expr,
        to: Place,
    },
    ReadRegister {
        to: Place,
        array: u32,
        index: Expr,
    },
    WriteRegister {
        array: u32,
        index: Expr,
        value: Expr,
    },
    Hash {
        to: Place,
        base: Expr,
        calculation: u32,
        size: Expr,
    },
    Random {
        to: Place,
        low: Expr,
        high: Expr,
    },
    Clone {
        session: Expr,
        list: Expr,
    },
    Resubmit(Expr),
    Recirculate(Expr),
    Digest {
        list: Expr,
    },
    Truncate(Expr),
    Log(u32),
    Assert {
        condition: Expr,
        message: u32,
    },
}

/// An action with its parameters.
#[derive(Debug, Clone)]
pub struct Action {
    /// As the program names it; several actions may share a name.
    pub name: String,
    /// Where it stands.
    pub source: Option<Source>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Range<usize>,
}

impl Action {
    /// Names and widths in bits of the parameters.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, u32)> {
        self.parameters
            .iter()
            .map(|parameter| (parameter.name.as_str(), parameter.width))
    }

    /// Words of action data.
    pub(crate) fn words(&self) -> usize {
        self.parameters
            .last()
            .map_or(0, |last| last.at as usize + crate::num::limbs(last.width))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) width: u32,
    pub(crate) at: u32,
}

linerate_model::named_enum! {
    /// How one field of a key is compared.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MatchKind {
        /// Equal.
        Exact = "exact",
        /// Equal in the leading bits.
        Lpm = "lpm",
        /// Equal where the mask has ones; P4's `optional` too.
        Ternary = "ternary",
        /// Between two values, both included.
        Range = "range",
        /// Whether a header is valid.
        Valid = "valid",
    }
}

/// One field of a table's key.
#[derive(Debug, Clone)]
pub struct KeyField {
    /// As the program or its annotation names it.
    pub name: String,
    /// How it is compared.
    pub kind: MatchKind,
    /// Bits.
    pub width: u32,
    pub(crate) source: Field,
    /// The bits of the field that are looked up: all, but for a mask of the program's own.
    pub(crate) mask: Vec<u64>,
    /// Its first word in a key.
    pub(crate) at: usize,
}

/// A node, or the end of the pipeline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Next(pub(crate) Option<u32>);

/// Which node follows.
#[derive(Debug, Clone)]
pub(crate) struct NextNodes {
    /// In the order of the table's actions.
    pub(crate) by_action: Vec<Option<u32>>,
    pub(crate) hit: Option<Next>,
    pub(crate) miss: Option<Next>,
    pub(crate) default: Option<u32>,
}

/// What a table does where no entry matches, as the program gives it.
#[derive(Debug, Clone)]
pub(crate) struct DefaultAction {
    /// The place in the table's list of actions.
    pub(crate) action: u32,
    pub(crate) data: Vec<u64>,
    pub(crate) constant: bool,
}

/// An entry that the program brings.
#[derive(Debug, Clone)]
pub(crate) struct ConstantEntry {
    pub(crate) key: Vec<KeyMatch>,
    pub(crate) priority: i64,
    pub(crate) action: u32,
    pub(crate) data: Vec<u64>,
}

/// How one field of an entry's key matches. Values are words, least significant first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyMatch {
    Mask { value: Vec<u64>, mask: Vec<u64> },
    Range { low: Vec<u64>, high: Vec<u64> },
}

impl KeyMatch {
    /// A value of which the bits of `mask` count; the others are cleared.
    pub(crate) fn masked(mut value: Vec<u64>, mask: Vec<u64>) -> Self {
        for (word, mask) in value.iter_mut().zip(&mask) {
            *word &= mask;
        }
        Self::Mask { value, mask }
    }

    /// A value of `width` bits that all count.
    pub(crate) fn exact(value: Vec<u64>, width: u32) -> Self {
        Self::masked(value, ones(width))
    }
}

/// A match-action table.
#[derive(Debug, Clone)]
pub struct Table {
    /// As the program names it.
    pub name: String,
    /// Where it stands.
    pub source: Option<Source>,
    /// The fields of its key; a table without is always missed.
    pub key: Vec<KeyField>,
    /// How many entries it may have.
    pub size: usize,
    /// Whether its entries may age out.
    pub ages: bool,
    /// Whether its entries come with the program and cannot be changed.
    pub constant: bool,
    /// Places in the program's list of actions.
    pub(crate) actions: Vec<u32>,
    pub(crate) next: NextNodes,
    pub(crate) default: Option<DefaultAction>,
    pub(crate) entries: Vec<ConstantEntry>,
    pub(crate) profile: Option<u32>,
    /// The direct meter array and where its colour goes.
    pub(crate) meter: Option<(u32, Option<Field>)>,
}

impl Table {
    /// Whether priorities decide between entries.
    pub fn has_priorities(&self) -> bool {
        self.key
            .iter()
            .any(|field| matches!(field.kind, MatchKind::Ternary | MatchKind::Range))
    }

    /// Words of a key.
    pub(crate) fn key_words(&self) -> usize {
        self.key
            .last()
            .map_or(0, |last| last.at + crate::num::limbs(last.width))
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Node {
    Table(u32),
    Condition {
        name: String,
        source: Option<Source>,
        condition: Expr,
        yes: Option<u32>,
        no: Option<u32>,
    },
    Call {
        action: u32,
        next: Option<u32>,
    },
}

/// An action profile, with a selector where its tables choose among the members of a group.
#[derive(Debug, Clone)]
pub struct Profile {
    /// As the program names it.
    pub name: String,
    /// How many members it may have.
    pub size: usize,
    pub(crate) selector: Option<u32>,
}

/// An array of counters, meters or registers.
#[derive(Debug, Clone)]
pub struct Array {
    /// As the program names it.
    pub name: String,
    /// Cells; none where the array belongs to a table.
    pub size: usize,
    /// The table whose entries the cells belong to.
    pub table: Option<String>,
    /// Bits of a register's cell.
    pub(crate) width: u32,
    /// Of a meter: whether it counts bytes.
    pub(crate) bytes: bool,
}

/// One part of what a hash or checksum is computed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    Field { header: u32, field: Field },
    Varbit(u32),
    Constant { words: Vec<u64>, width: u32 },
    Header(u32),
    Payload,
}

#[derive(Debug, Clone)]
pub(crate) struct Calculation {
    pub(crate) name: String,
    pub(crate) algorithm: Algorithm,
    pub(crate) input: Vec<Input>,
}

#[derive(Debug, Clone)]
pub(crate) struct Checksum {
    pub(crate) name: String,
    pub(crate) header: u32,
    pub(crate) field: Field,
    pub(crate) calculation: u32,
    pub(crate) condition: Option<Expr>,
    pub(crate) verify: bool,
    pub(crate) update: bool,
}

/// The bits ahead of what was parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lookahead {
    pub(crate) offset: u32,
    pub(crate) width: u32,
}

/// The length of a header's variable-length field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VarbitLength {
    pub(crate) bits: Expr,
    /// Largest length of the whole header in bytes.
    pub(crate) max: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParserStep {
    Extract(u32),
    ExtractVarbit {
        header: Target,
        length: VarbitLength,
    },
    ExtractNext {
        stack: u32,
        length: Option<VarbitLength>,
    },
    ExtractNextUnion {
        stack: u32,
        member: u32,
        length: Option<VarbitLength>,
    },
    Set {
        to: Field,
        value: Expr,
    },
    SetVarbit {
        to: u32,
        from: u32,
    },
    SetLookahead {
        to: Field,
        from: Lookahead,
    },
    Verify {
        condition: Expr,
        error: Expr,
    },
    /// Bits.
    Advance(Expr),
    Primitive {
        start: u32,
        end: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SelectKey {
    Value { value: Expr, width: u32 },
    Lookahead(Lookahead),
}

impl SelectKey {
    pub(crate) fn width(&self) -> u32 {
        match self {
            Self::Value { width, .. } | Self::Lookahead(Lookahead { width, .. }) => *width,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Case {
    Value {
        value: Vec<u64>,
        mask: Vec<u64>,
        next: Option<u32>,
    },
    Set {
        set: u32,
        mask: Option<Vec<u64>>,
        next: Option<u32>,
    },
}

impl Case {
    /// The state that follows where it matches.
    pub(crate) fn next(&self) -> Option<u32> {
        match self {
            Self::Value { next, .. } | Self::Set { next, .. } => *next,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) steps: Range<usize>,
    pub(crate) key: Vec<SelectKey>,
    pub(crate) cases: Vec<Case>,
    pub(crate) default: Option<u32>,
}

/// A set of values that the control plane fills and the parser asks.
#[derive(Debug, Clone)]
pub struct ValueSet {
    /// As the program names it.
    pub name: String,
    /// Bits of a value.
    pub width: u32,
}

/// A list of fields that a copy of a packet keeps, or that a digest tells.
#[derive(Debug, Clone)]
pub(crate) struct FieldList {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
}

/// A message with its arguments.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) arguments: Vec<Expr>,
}

/// The numbers of the errors that a parser may raise itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ErrorCodes {
    pub(crate) none: u64,
    pub(crate) packet_too_short: u64,
    pub(crate) stack_out_of_bounds: u64,
    pub(crate) header_too_short: u64,
    pub(crate) parser_timeout: u64,
    pub(crate) parser_invalid_argument: u64,
}

/// The fields between program and switch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Intrinsic {
    pub(crate) ingress_port: Field,
    pub(crate) egress_spec: Field,
    pub(crate) egress_port: Field,
    pub(crate) instance_type: Option<Field>,
    pub(crate) packet_length: Option<Field>,
    pub(crate) parser_error: Option<Field>,
    pub(crate) checksum_error: Option<Field>,
    pub(crate) ingress_timestamp: Option<Field>,
    pub(crate) egress_timestamp: Option<Field>,
    pub(crate) mcast_grp: Option<Field>,
    pub(crate) egress_rid: Option<Field>,
    pub(crate) priority: Option<Field>,
    pub(crate) enq_timestamp: Option<Field>,
    pub(crate) enq_qdepth: Option<Field>,
    pub(crate) deq_timedelta: Option<Field>,
    pub(crate) deq_qdepth: Option<Field>,
    pub(crate) qid: Option<Field>,
}

/// A compiled P4 program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The file it was compiled from, if the compiler says it.
    pub name: Option<String>,
    /// Version of the JSON format; old files have none.
    pub version: Option<(u64, u64)>,
    /// Header and metadata instances.
    pub headers: Vec<Header>,
    /// All actions.
    pub actions: Vec<Action>,
    /// All tables, those of ingress first.
    pub tables: Vec<Table>,
    /// Action profiles.
    pub profiles: Vec<Profile>,
    /// Counter arrays.
    pub counters: Vec<Array>,
    /// Meter arrays.
    pub meters: Vec<Array>,
    /// Register arrays.
    pub registers: Vec<Array>,
    /// Parser value sets.
    pub value_sets: Vec<ValueSet>,
    /// Parser errors by number.
    pub errors: BTreeMap<u64, String>,
    pub(crate) stacks: Vec<Stack>,
    pub(crate) unions: Vec<Union>,
    pub(crate) union_stacks: Vec<Stack>,
    pub(crate) steps: Vec<Step>,
    pub(crate) constants: Vec<u64>,
    pub(crate) primitives: Vec<(Primitive, Option<Source>)>,
    pub(crate) parser_steps: Vec<ParserStep>,
    pub(crate) states: Vec<State>,
    pub(crate) first_state: Option<u32>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) ingress: Option<u32>,
    pub(crate) egress: Option<u32>,
    pub(crate) ingress_tables: usize,
    pub(crate) deparser: Vec<u32>,
    pub(crate) deparser_primitives: Range<usize>,
    pub(crate) calculations: Vec<Calculation>,
    pub(crate) checksums: Vec<Checksum>,
    pub(crate) field_lists: Vec<FieldList>,
    pub(crate) digests: Vec<FieldList>,
    pub(crate) messages: Vec<Message>,
    pub(crate) error_codes: ErrorCodes,
    pub(crate) intrinsic: Intrinsic,
    /// Words of a packet.
    pub(crate) words: usize,
    /// Bytes of all variable-length fields.
    pub(crate) varbits: usize,
    /// The deepest stack of any expression.
    pub(crate) depth: usize,
}

impl Program {
    /// The steps of an expression.
    pub(crate) fn code(&self, expr: Expr) -> &[Step] {
        &self.steps[expr.start as usize..expr.end as usize]
    }

    /// The action of a table by its name: its place among the program's, where names may occur more than once.
    pub fn action_of(&self, table: usize, name: &str) -> Option<usize> {
        let actions = self.tables.get(table)?.actions.iter();
        let mut places = actions.map(|place| *place as usize);
        places.find(|place| self.actions[*place].name == name)
    }

    /// What the program calls a parser error.
    pub fn error_name(&self, code: u64) -> &str {
        self.errors
            .get(&code)
            .map_or("unnamed error", String::as_str)
    }
}
