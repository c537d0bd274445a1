//! Expressions: from trees to steps over a stack.

use super::Builder;
use super::json::{Json, Result};
use super::layout::place;
use crate::bits;
use crate::num::MAX_WIDTH;
use crate::program::{Binary, Expr, Parameter, Place, Step, Target};

/// The most operands that may wait on the stack; deeper expressions are no compiler's.
const MAX_DEPTH: usize = 256;

/// What `local` and `runtime_data` refer to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scope<'a> {
    None,
    /// The parameters of an action.
    Action(&'a [Parameter]),
    /// The fields of a header whose length is computed.
    Header(u32),
}

/// What an expression yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Value,
    /// A header, of the type that this one has.
    Header(u32),
    Union(u32),
    /// The variable-length field of a header.
    Varbit,
}

/// The steps of one expression.
#[derive(Debug, Default)]
struct Code {
    steps: Vec<Step>,
    wide: bool,
}

impl Code {
    fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    fn operand(&mut self, step: Step, width: u32) {
        self.wide |= width > 64;
        self.push(step);
    }
}

const BINARY: &[(&str, Binary)] = &[
    ("+", Binary::Add),
    ("-", Binary::Sub),
    ("*", Binary::Mul),
    ("/", Binary::Div),
    ("%", Binary::Mod),
    ("<<", Binary::Shl),
    (">>", Binary::Shr),
    ("&", Binary::And),
    ("|", Binary::Or),
    ("^", Binary::Xor),
    ("<", Binary::Lt),
    ("<=", Binary::Le),
    (">", Binary::Gt),
    (">=", Binary::Ge),
    ("and", Binary::BothTrue),
    ("or", Binary::EitherTrue),
    ("two_comp_mod", Binary::WrapSigned),
    ("sat_cast", Binary::SaturateSigned),
    ("usat_cast", Binary::SaturateUnsigned),
];

impl Builder {
    /// A value or truth value.
    pub(super) fn value(&mut self, node: &Json<'_>, scope: Scope<'_>) -> Result<Expr> {
        let mut code = Code::default();
        self.operand(node, scope, &mut code)?;
        self.finish(node, &code)
    }

    /// A binary operation on two operands given apart, as in the primitives of P4-14.
    pub(super) fn operation(
        &mut self,
        of: Binary,
        left: &Json<'_>,
        right: &Json<'_>,
        scope: Scope<'_>,
    ) -> Result<Expr> {
        let mut code = Code::default();
        self.operand(left, scope, &mut code)?;
        self.operand(right, scope, &mut code)?;
        code.push(Step::Binary(of));
        self.finish(left, &code)
    }

    /// A header that is known, or found by an expression.
    pub(super) fn header(&mut self, node: &Json<'_>, scope: Scope<'_>) -> Result<Target> {
        self.target(node, scope, |kind| matches!(kind, Kind::Header(_)))
    }

    /// A union that is known, or found by an expression.
    pub(super) fn union(&mut self, node: &Json<'_>, scope: Scope<'_>) -> Result<Target> {
        self.target(node, scope, |kind| matches!(kind, Kind::Union(_)))
    }

    fn target(
        &mut self,
        node: &Json<'_>,
        scope: Scope<'_>,
        is: fn(Kind) -> bool,
    ) -> Result<Target> {
        let mut code = Code::default();
        let kind = self.emit(node, scope, &mut code)?;
        if !is(kind) {
            return Err(node.invalid("is not the kind of header that is needed"));
        }
        match code.steps.as_slice() {
            [Step::Header(at) | Step::Union(at)] => Ok(Target::Fixed(*at)),
            _ => Ok(Target::Computed(self.finish(node, &code)?)),
        }
    }

    /// An operand that is a value or truth value.
    fn operand(&mut self, node: &Json<'_>, scope: Scope<'_>, code: &mut Code) -> Result<()> {
        match self.emit(node, scope, code)? {
            Kind::Value => Ok(()),
            Kind::Header(_) | Kind::Union(_) => {
                Err(node.invalid("is a header where a value is needed"))
            }
            Kind::Varbit => {
                Err(node.lacks("the value of a variable-length field in an expression"))
            }
        }
    }

    /// What can be assigned to.
    pub(super) fn place(&mut self, node: &Json<'_>, scope: Scope<'_>) -> Result<Place> {
        let mut code = Code::default();
        let kind = self.emit(node, scope, &mut code)?;
        match (kind, code.steps.split_last()) {
            (Kind::Value, Some((Step::Field(field), []))) => Ok(Place::Field(*field)),
            (Kind::Value, Some((Step::AccessField(field), header))) => {
                let header = Code {
                    steps: header.to_vec(),
                    wide: false,
                };
                let Some(Kind::Header(like)) = self.kind_of(&header.steps) else {
                    return Err(node.invalid("cannot be assigned to"));
                };
                let width = self.layout.field_at(like, *field).width;
                let header = self.finish(node, &header)?;
                Ok(Place::Computed {
                    header,
                    field: *field,
                    width,
                })
            }
            _ => Err(node.invalid("cannot be assigned to")),
        }
    }

    /// What the last step leaves, if it is a header.
    fn kind_of(&self, steps: &[Step]) -> Option<Kind> {
        let last = |elements: &[u32]| elements.first().copied();
        Some(match *steps.last()? {
            Step::Header(header) => Kind::Header(header),
            Step::Union(union) => Kind::Union(union),
            Step::LastOf(stack) | Step::Element(stack) => {
                Kind::Header(last(&self.layout.stacks[stack as usize].elements)?)
            }
            Step::LastUnionOf(stack) | Step::UnionElement(stack) => {
                Kind::Union(last(&self.layout.union_stacks[stack as usize].elements)?)
            }
            Step::AccessMember(member) => {
                let Some(Kind::Union(union)) = self.kind_of(&steps[..steps.len() - 1]) else {
                    return None;
                };
                Kind::Header(
                    *self.layout.unions[union as usize]
                        .headers
                        .get(member as usize)?,
                )
            }
            _ => return None,
        })
    }

    fn finish(&mut self, node: &Json<'_>, code: &Code) -> Result<Expr> {
        let depth = code
            .steps
            .iter()
            .fold((0_usize, 0_usize), |(now, most), step| {
                let now = now.saturating_add_signed(effect(*step));
                (now, most.max(now))
            });
        if depth.1 > MAX_DEPTH {
            return Err(node.lacks(format!(
                "an expression with {} operands on the stack",
                depth.1
            )));
        }
        self.depth = self.depth.max(depth.1);
        let start = place(self.steps.len());
        self.steps.extend(&code.steps);
        Ok(Expr {
            start,
            end: place(self.steps.len()),
            wide: code.wide,
        })
    }

    fn emit(&mut self, node: &Json<'_>, scope: Scope<'_>, code: &mut Code) -> Result<Kind> {
        if node.find("op").is_some() {
            return self.operator(node, scope, code);
        }
        let value = node.get("value")?;
        match node.get("type")?.text()? {
            "expression" => return self.emit(&value, scope, code),
            "field" if value.pair()?.0.value().is_object() => {
                self.computed_validity(&value, scope, code)?;
            }
            "field" => {
                if let Some(header) = self.layout.varbit(&value)? {
                    code.push(Step::Header(header));
                    return Ok(Kind::Varbit);
                }
                let field = self.layout.field(&value)?;
                code.operand(Step::Field(field), field.width);
            }
            "hexstr" => self.constant(&value, code)?,
            "bool" => {
                let truth = value
                    .value()
                    .as_bool()
                    .ok_or_else(|| value.invalid("is not true or false"))?;
                code.push(Step::Small(truth.into()));
            }
            "local" | "runtime_data" => self.local(&value, scope, code)?,
            "header" => {
                let header = self.layout.header(&value)?;
                code.push(Step::Header(header));
                return Ok(Kind::Header(header));
            }
            "header_union" => {
                let union = self.layout.union_of(&value)?;
                code.push(Step::Union(union));
                return Ok(Kind::Union(union));
            }
            "stack_field" => return self.stack_field(&value, code),
            "union_stack_field" => self.union_stack_field(&value, code)?,
            "register" => {
                let (array, index) = value.pair()?;
                let array = self.register(&array)?;
                self.operand(&index, scope, code)?;
                code.operand(Step::Register(array), self.registers[array as usize].width);
            }
            other => {
                return Err(node.lacks(format!("an operand of type {other:?} in an expression")));
            }
        }
        Ok(Kind::Value)
    }

    /// Whether a header that an expression finds is valid, as p4c writes `stack[index].isValid()`.
    fn computed_validity(
        &mut self,
        value: &Json<'_>,
        scope: Scope<'_>,
        code: &mut Code,
    ) -> Result<()> {
        let (header, name) = value.pair()?;
        let kind = self.emit(&header, scope, code)?;
        if !matches!(kind, Kind::Header(_)) || name.text()? != "$valid$" {
            return Err(value.lacks("a field of what an expression finds, but whether it is valid"));
        }
        code.push(Step::IsValid);
        Ok(())
    }

    /// A field of the element of a stack that was extracted last, or, as `last`, that element itself.
    fn stack_field(&self, value: &Json<'_>, code: &mut Code) -> Result<Kind> {
        let (stack, field) = value.pair()?;
        let stack = self.layout.stack_of(&stack)?;
        let like = self.layout.stacks[stack as usize].elements[0];
        code.push(Step::LastOf(stack));
        let found = self.layout.field_of(like, &field);
        if found.is_err() && field.text()? == "last" {
            return Ok(Kind::Header(like));
        }
        let field = found?;
        let width = self.layout.field_at(like, field).width;
        code.operand(Step::AccessField(field), width);
        Ok(Kind::Value)
    }

    fn union_stack_field(&mut self, value: &Json<'_>, code: &mut Code) -> Result<()> {
        let items = value.items()?;
        let [stack, member, field] = items.as_slice() else {
            return Err(value.invalid("is not a stack, a member and a field"));
        };
        let stack = self.layout.union_stack_of(stack)?;
        let (member, like) = self.union_member(stack, member)?;
        let field = self.layout.field_of(like, field)?;
        code.push(Step::LastUnionOf(stack));
        code.push(Step::AccessMember(member));
        code.operand(
            Step::AccessField(field),
            self.layout.field_at(like, field).width,
        );
        Ok(())
    }

    /// The place of a member of the unions in this stack, and the first union's header of it.
    pub(super) fn union_member(&self, stack: u32, member: &Json<'_>) -> Result<(u32, u32)> {
        let name = member.text()?;
        let union = self.layout.union_stacks[stack as usize].elements[0];
        let headers = &self.layout.unions[union as usize].headers;
        let members = &self.layout.members[union as usize];
        let at = members
            .iter()
            .position(|known| known == name)
            .filter(|at| *at < headers.len());
        let at = at.ok_or_else(|| member.invalid(format!("the union has no member {name:?}")))?;
        Ok((place(at), headers[at]))
    }

    fn local(&mut self, value: &Json<'_>, scope: Scope<'_>, code: &mut Code) -> Result<()> {
        let at = value.small()?;
        match scope {
            Scope::Action(parameters) => {
                let parameter = parameters.get(at as usize);
                let parameter = parameter
                    .ok_or_else(|| value.invalid(format!("the action has no parameter {at}")))?;
                code.operand(
                    Step::Data {
                        at: parameter.at,
                        width: parameter.width,
                    },
                    parameter.width,
                );
            }
            Scope::Header(header) => {
                let fields = &self.layout.headers[header as usize].fields;
                let field = fields
                    .get(at as usize)
                    .ok_or_else(|| value.invalid(format!("the header has no field {at}")))?
                    .1;
                code.operand(Step::Field(field), field.width);
            }
            Scope::None => return Err(value.invalid("refers to action data outside an action")),
        }
        Ok(())
    }

    fn constant(&mut self, value: &Json<'_>, code: &mut Code) -> Result<()> {
        let (bytes, negative) = value.hex()?;
        let words = bits::from_bytes(&bytes, MAX_WIDTH)
            .ok_or_else(|| value.lacks(format!("a constant above {MAX_WIDTH} bits")))?;
        let used = words
            .iter()
            .rposition(|word| *word != 0)
            .map_or(0, |at| at + 1);
        if let (0 | 1, Ok(small)) = (used, i64::try_from(words[0])) {
            code.push(Step::Small(if negative { -small } else { small }));
            return Ok(());
        }
        code.wide |= used > 1;
        // One more word, so that the sign is not taken for a digit.
        let mut words = words[..=used].to_vec();
        if negative {
            let mut carry = true;
            for word in &mut words {
                (*word, carry) = (!*word).overflowing_add(carry.into());
            }
        }
        let at = place(self.constants.len());
        self.constants.extend(&words);
        code.push(Step::Constant {
            at,
            words: place(words.len()),
        });
        Ok(())
    }

    #[expect(clippy::too_many_lines, reason = "one arm per operator")]
    fn operator(&mut self, node: &Json<'_>, scope: Scope<'_>, code: &mut Code) -> Result<Kind> {
        let op = node.get("op")?.text()?;
        if let Some((_, binary)) = BINARY.iter().find(|(name, _)| *name == op) {
            // A missing left operand is a sign.
            match node.find("left") {
                Some(left) => self.operand(&left, scope, code)?,
                None => code.push(Step::Small(0)),
            }
            self.operand(&node.get("right")?, scope, code)?;
            code.push(Step::Binary(*binary));
            return Ok(Kind::Value);
        }
        match op {
            "==" | "!=" => self.equality(node, op == "==", scope, code),
            "not" => self.unary(node, scope, code, Step::Not),
            "~" => self.unary(node, scope, code, Step::Invert),
            "d2b" => self.unary(node, scope, code, Step::ToBool),
            "b2d" => {
                self.operand(&node.get("right")?, scope, code)?;
                Ok(Kind::Value)
            }
            "valid" => self.unary(node, scope, code, Step::IsValid),
            "valid_union" => self.unary(node, scope, code, Step::IsUnionValid),
            "?" => self.choice(node, scope, code),
            "dereference_header_stack" | "dereference_stack" => {
                let stack = self.layout.stack_of(&node.get("left")?.get("value")?)?;
                self.operand(&node.get("right")?, scope, code)?;
                code.push(Step::Element(stack));
                Ok(Kind::Header(self.layout.stacks[stack as usize].elements[0]))
            }
            "dereference_union_stack" => {
                let stack = self
                    .layout
                    .union_stack_of(&node.get("left")?.get("value")?)?;
                self.operand(&node.get("right")?, scope, code)?;
                code.push(Step::UnionElement(stack));
                Ok(Kind::Union(
                    self.layout.union_stacks[stack as usize].elements[0],
                ))
            }
            "last_stack_index" | "size_stack" => {
                let right = node.get("right")?;
                let stack = self.layout.stack_of(&right.get("value")?)?;
                code.push(if op == "size_stack" {
                    Step::Count(stack)
                } else {
                    Step::LastIndex(stack)
                });
                Ok(Kind::Value)
            }
            "access_field" => {
                let Kind::Header(like) = self.emit(&node.get("left")?, scope, code)? else {
                    return Err(node.invalid("accesses a field of what is not a header"));
                };
                let at = node.get("right")?;
                let field = at.small()?;
                let known = self.layout.headers[like as usize]
                    .fields
                    .get(field as usize);
                let width = known
                    .ok_or_else(|| at.invalid(format!("the header has no field {field}")))?
                    .1
                    .width;
                if self.layout.headers[like as usize]
                    .varbit
                    .is_some_and(|varbit| varbit.index == field)
                {
                    return Ok(Kind::Varbit);
                }
                code.operand(Step::AccessField(field), width);
                Ok(Kind::Value)
            }
            "access_union_header" => {
                let Kind::Union(union) = self.emit(&node.get("left")?, scope, code)? else {
                    return Err(node.invalid("accesses a member of what is not a union"));
                };
                let at = node.get("right")?;
                let member = at.small()?;
                let header = self.layout.unions[union as usize]
                    .headers
                    .get(member as usize);
                let header = *header
                    .ok_or_else(|| at.invalid(format!("the union has no member {member}")))?;
                code.push(Step::AccessMember(member));
                Ok(Kind::Header(header))
            }
            other => Err(node.lacks(format!("the operator {other:?}"))),
        }
    }

    fn unary(
        &mut self,
        node: &Json<'_>,
        scope: Scope<'_>,
        code: &mut Code,
        step: Step,
    ) -> Result<Kind> {
        let right = node.get("right")?;
        let before = code.steps.len();
        let kind = self.emit(&right, scope, code)?;
        let fits = match step {
            Step::IsValid => matches!(kind, Kind::Header(_)),
            Step::IsUnionValid => matches!(kind, Kind::Union(_)),
            _ => kind == Kind::Value,
        };
        if !fits {
            return Err(right.invalid("is not the kind of operand that the operator takes"));
        }
        match (step, &mut code.steps[before..]) {
            // The validity of a header that is known is a field of it.
            (Step::IsValid, [operand @ Step::Header(_)]) => {
                if let Kind::Header(header) = kind {
                    let fields = &self.layout.headers[header as usize].fields;
                    *operand = Step::Field(fields[fields.len() - 1].1);
                }
            }
            // One bit is a truth value already.
            (Step::ToBool, [Step::Field(field)]) if field.width == 1 && !field.signed => {}
            _ => code.push(step),
        }
        Ok(Kind::Value)
    }

    fn equality(
        &mut self,
        node: &Json<'_>,
        equal: bool,
        scope: Scope<'_>,
        code: &mut Code,
    ) -> Result<Kind> {
        let left = self.emit(&node.get("left")?, scope, code)?;
        let right = self.emit(&node.get("right")?, scope, code)?;
        if std::mem::discriminant(&left) != std::mem::discriminant(&right) {
            return Err(node.invalid("compares a header with a value"));
        }
        let step = match left {
            Kind::Value if equal => Step::Binary(Binary::Eq),
            Kind::Value => Step::Binary(Binary::Ne),
            Kind::Header(_) => Step::HeadersEqual,
            Kind::Union(_) => Step::UnionsEqual,
            Kind::Varbit => Step::VarbitsEqual,
        };
        code.push(step);
        if left != Kind::Value && !equal {
            code.push(Step::Not);
        }
        Ok(Kind::Value)
    }

    fn choice(&mut self, node: &Json<'_>, scope: Scope<'_>, code: &mut Code) -> Result<Kind> {
        self.operand(&node.get("cond")?, scope, code)?;
        let (mut yes, mut no) = (Code::default(), Code::default());
        let kind = self.emit(&node.get("left")?, scope, &mut yes)?;
        let other = self.emit(&node.get("right")?, scope, &mut no)?;
        if std::mem::discriminant(&kind) != std::mem::discriminant(&other) {
            return Err(node.invalid("is a header or a value, depending on the condition"));
        }
        code.push(Step::JumpIfZero(place(yes.steps.len() + 1)));
        code.steps.extend(&yes.steps);
        code.push(Step::Jump(place(no.steps.len())));
        code.steps.extend(&no.steps);
        code.wide |= yes.wide || no.wide;
        Ok(kind)
    }
}

/// How many operands a step leaves more than it takes.
fn effect(step: Step) -> isize {
    match step {
        Step::Field(_)
        | Step::Small(_)
        | Step::Constant { .. }
        | Step::Data { .. }
        | Step::Header(_)
        | Step::Union(_)
        | Step::LastOf(_)
        | Step::LastUnionOf(_)
        | Step::LastIndex(_)
        | Step::Count(_) => 1,
        Step::Binary(_)
        | Step::HeadersEqual
        | Step::VarbitsEqual
        | Step::UnionsEqual
        | Step::JumpIfZero(_) => -1,
        Step::Register(_)
        | Step::AccessField(_)
        | Step::AccessMember(_)
        | Step::Element(_)
        | Step::UnionElement(_)
        | Step::Invert
        | Step::Not
        | Step::ToBool
        | Step::IsValid
        | Step::IsUnionValid
        | Step::Jump(_) => 0,
    }
}
