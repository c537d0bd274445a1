//! Actions: their parameters and primitives.

use super::Builder;
use super::expr::Scope;
use super::json::{Json, Result};
use super::layout::place;
use crate::num::{MAX_WIDTH, limbs};
use crate::program::{Action, Binary, Message, Parameter, Place, Primitive, Step};

impl Builder {
    pub(super) fn actions(&mut self, root: &Json<'_>) -> Result<()> {
        for node in root.get("actions")?.items()? {
            let parameters = parameters(&node)?;
            let start = self.primitives.len();
            self.primitives(
                &node.get("primitives")?.items()?,
                Scope::Action(&parameters),
            )?;
            let id = node.get("id")?.number()?;
            if self
                .action_ids
                .insert(id, place(self.actions.len()))
                .is_some()
            {
                return Err(node.invalid(format!("has the id {id}, as another action")));
            }
            let source = node.source();
            self.actions.push(Action {
                name: node.name()?,
                source,
                parameters,
                body: start..self.primitives.len(),
            });
        }
        Ok(())
    }

    pub(super) fn primitives(&mut self, nodes: &[Json<'_>], scope: Scope<'_>) -> Result<()> {
        for node in nodes {
            let found = self.primitive(node, scope)?;
            let source = node.source();
            self.primitives.push((found, source));
        }
        Ok(())
    }

    #[expect(clippy::too_many_lines, reason = "one arm per primitive")]
    fn primitive(&mut self, node: &Json<'_>, scope: Scope<'_>) -> Result<Primitive> {
        let parameters = node.list("parameters")?;
        let op = node.get("op")?.text()?;
        let short = || node.invalid(format!("{op} has only {} parameters", parameters.len()));
        let argument = |at: usize| parameters.get(at).ok_or_else(short);
        let named = |at: usize| argument(at)?.get("value");
        if let Some(of) = heritage(op) {
            let (to, left, right) = (argument(0)?, argument(1)?, argument(2)?);
            return Ok(Primitive::Assign {
                to: self.place(to, scope)?,
                value: self.operation(of, left, right, scope)?,
            });
        }
        Ok(match op {
            "assign" | "modify_field" => self.assign(argument(0)?, argument(1)?, scope)?,
            "add_to_field" | "subtract_from_field" => {
                let of = if op == "add_to_field" {
                    Binary::Add
                } else {
                    Binary::Sub
                };
                let value = self.operation(of, argument(0)?, argument(1)?, scope)?;
                Primitive::Assign {
                    to: self.place(argument(0)?, scope)?,
                    value,
                }
            }
            "assign_VL" => self.assign_varbit(&named(0)?, &named(1)?)?,
            "assign_header" | "copy_header" => Primitive::AssignHeader {
                to: self.header(argument(0)?, scope)?,
                from: self.header(argument(1)?, scope)?,
            },
            "assign_union" => Primitive::AssignUnion {
                to: self.union(argument(0)?, scope)?,
                from: self.union(argument(1)?, scope)?,
            },
            "assign_header_stack" => Primitive::AssignStack {
                to: self.layout.stack_of(&named(0)?)?,
                from: self.layout.stack_of(&named(1)?)?,
                unions: false,
            },
            "assign_union_stack" => {
                let (to, from) = (
                    self.layout.union_stack_of(&named(0)?)?,
                    self.layout.union_stack_of(&named(1)?)?,
                );
                Primitive::AssignStack {
                    to,
                    from,
                    unions: true,
                }
            }
            "add_header" | "add_header_fast" => {
                Primitive::AddHeader(self.header(argument(0)?, scope)?)
            }
            "remove_header" => Primitive::RemoveHeader(self.header(argument(0)?, scope)?),
            "push" | "pop" => {
                let unions = argument(0)?.get("type")?.text()? == "header_union_stack";
                let stack = if unions {
                    self.layout.union_stack_of(&named(0)?)?
                } else {
                    self.layout.stack_of(&named(0)?)?
                };
                let count = self.value(argument(1)?, scope)?;
                if op == "push" {
                    Primitive::Push {
                        stack,
                        count,
                        unions,
                    }
                } else {
                    Primitive::Pop {
                        stack,
                        count,
                        unions,
                    }
                }
            }
            "_jump" => Primitive::Jump(self.value(argument(0)?, scope)?),
            "_jump_if_zero" => Primitive::JumpIfZero {
                condition: self.value(argument(0)?, scope)?,
                to: self.value(argument(1)?, scope)?,
            },
            "exit" => Primitive::Exit,
            "drop" | "mark_to_drop" => Primitive::Drop,
            "count" => Primitive::Count {
                array: self.counter(&named(0)?)?,
                index: self.value(argument(1)?, scope)?,
            },
            "execute_meter" => Primitive::Meter {
                array: self.meter(&named(0)?)?,
                index: self.value(argument(1)?, scope)?,
                to: self.place(argument(2)?, scope)?,
            },
            "register_read" => Primitive::ReadRegister {
                to: self.place(argument(0)?, scope)?,
                array: self.register(&named(1)?)?,
                index: self.value(argument(2)?, scope)?,
            },
            "register_write" => Primitive::WriteRegister {
                array: self.register(&named(0)?)?,
                index: self.value(argument(1)?, scope)?,
                value: self.value(argument(2)?, scope)?,
            },
            "modify_field_with_hash_based_offset" => Primitive::Hash {
                to: self.place(argument(0)?, scope)?,
                base: self.value(argument(1)?, scope)?,
                calculation: self.calculation(&named(2)?)?,
                size: self.value(argument(3)?, scope)?,
            },
            "modify_field_rng_uniform" => Primitive::Random {
                to: self.place(argument(0)?, scope)?,
                low: self.value(argument(1)?, scope)?,
                high: self.value(argument(2)?, scope)?,
            },
            "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress" => Primitive::Clone {
                session: self.value(argument(0)?, scope)?,
                list: self.value(argument(1)?, scope)?,
            },
            "resubmit" => Primitive::Resubmit(self.value(argument(0)?, scope)?),
            "recirculate" => Primitive::Recirculate(self.value(argument(0)?, scope)?),
            "generate_digest" => Primitive::Digest {
                list: self.value(argument(1)?, scope)?,
            },
            "truncate" => Primitive::Truncate(self.value(argument(0)?, scope)?),
            "log_msg" => Primitive::Log(self.message(argument(0)?, parameters.get(1), scope)?),
            "assert" | "assume" => {
                let condition = self.value(argument(0)?, scope)?;
                self.messages.push(Message {
                    text: format!("{op} failed"),
                    arguments: Vec::new(),
                });
                Primitive::Assert {
                    condition,
                    message: place(self.messages.len() - 1),
                }
            }
            "no_op" => {
                let zero = place(self.steps.len());
                self.steps.push(Step::Small(1));
                let always = crate::program::Expr {
                    start: zero,
                    end: zero + 1,
                    wide: false,
                };
                Primitive::JumpIfZero {
                    condition: always,
                    to: always,
                }
            }
            other => return Err(node.lacks(format!("the primitive {other:?}"))),
        })
    }

    fn assign(&mut self, to: &Json<'_>, value: &Json<'_>, scope: Scope<'_>) -> Result<Primitive> {
        let is_field = |node: &Json<'_>| node.value()["type"] == "field";
        if is_field(to) && is_field(value) {
            let (left, right) = (to.get("value")?, value.get("value")?);
            if self.layout.varbit(&left)?.is_some() {
                return self.assign_varbit(&left, &right);
            }
            let (to, from) = (self.layout.field(&left)?, self.layout.field(&right)?);
            if to.width == from.width && to.signed == from.signed {
                return Ok(Primitive::Copy { to, from });
            }
        }
        let to = self.place(to, scope)?;
        let mut value = self.value(value, scope)?;
        let width = match to {
            Place::Field(field) => field.width,
            Place::Computed { width, .. } => width,
        };
        value.wide |= width > 64;
        Ok(Primitive::Assign { to, value })
    }

    fn assign_varbit(&mut self, to: &Json<'_>, from: &Json<'_>) -> Result<Primitive> {
        let header = |node: &Json<'_>| {
            let found = self.layout.varbit(node)?;
            found.ok_or_else(|| node.invalid("is not a variable-length field"))
        };
        Ok(Primitive::AssignVarbit {
            to: header(to)?,
            from: header(from)?,
        })
    }

    fn message(
        &mut self,
        format: &Json<'_>,
        vector: Option<&Json<'_>>,
        scope: Scope<'_>,
    ) -> Result<u32> {
        let text = format.get("value")?.text()?.to_owned();
        let items = vector.map_or(Ok(Vec::new()), |vector| {
            let list = vector.get("value")?;
            // p4c writes `{}` where there are none.
            let is_none = list
                .value()
                .as_object()
                .is_some_and(serde_json::Map::is_empty);
            if is_none {
                Ok(Vec::new())
            } else {
                list.items()
            }
        })?;
        let mut arguments = Vec::new();
        for item in items {
            arguments.push(self.value(&item, scope)?);
        }
        self.messages.push(Message { text, arguments });
        Ok(place(self.messages.len() - 1))
    }
}

/// The arithmetic primitives of P4-14.
fn heritage(op: &str) -> Option<Binary> {
    Some(match op {
        "add" => Binary::Add,
        "subtract" => Binary::Sub,
        "bit_xor" => Binary::Xor,
        "bit_or" => Binary::Or,
        "bit_and" => Binary::And,
        "shift_left" => Binary::Shl,
        "shift_right" => Binary::Shr,
        _ => return None,
    })
}

fn parameters(node: &Json<'_>) -> Result<Vec<Parameter>> {
    let (mut found, mut at) = (Vec::new(), 0);
    for parameter in node.list("runtime_data")? {
        let width = parameter.get("bitwidth")?;
        let bits = width.small()?;
        if bits == 0 || bits > MAX_WIDTH {
            return Err(width.lacks(format!("a parameter of {bits} bits (1 to {MAX_WIDTH})")));
        }
        found.push(Parameter {
            name: parameter.name()?,
            width: bits,
            at: place(at),
        });
        at += limbs(bits);
    }
    Ok(found)
}
