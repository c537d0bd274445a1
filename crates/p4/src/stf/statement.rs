//! Statements of STF, one a line.

use super::words::{Digits, split};
use crate::program::DROP_PORT;

/// A line that is not a statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct StfError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

/// A name with a value as it is written.
pub(super) type Pair = (String, String);

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// A packet comes in.
    Packet {
        /// The port.
        port: u32,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// A packet goes out.
    Expect {
        /// The port.
        port: u32,
        /// Nibbles from the first on; `None` may be anything. Without them any packet will do.
        nibbles: Option<Vec<Option<u8>>>,
        /// Whether nothing may follow them.
        exact: bool,
    },
    /// An entry of a table.
    Add {
        /// The table.
        table: String,
        /// The larger wins.
        priority: i64,
        /// Fields of the key.
        key: Vec<Pair>,
        /// The action.
        action: String,
        /// Its arguments.
        arguments: Vec<Pair>,
        /// What counter checks call the entry.
        name: Option<String>,
    },
    /// What a table does on a miss.
    SetDefault {
        /// The table.
        table: String,
        /// The action.
        action: String,
        /// Its arguments.
        arguments: Vec<Pair>,
    },
    /// A multicast group.
    Group(u32),
    /// A node of multicast groups.
    Node {
        /// What its copies get as `egress_rid`.
        instance: u16,
        /// The ports of its copies.
        ports: Vec<u32>,
    },
    /// A node joins a group.
    Associate {
        /// The group.
        group: u32,
        /// The node, counted from 0.
        node: usize,
    },
    /// Clones of a session go to a port.
    Mirror {
        /// The session.
        session: u32,
        /// The port.
        port: u32,
    },
    /// Clones of a session go to a multicast group.
    MirrorGroup {
        /// The session.
        session: u32,
        /// The group.
        group: u32,
    },
    /// A counter is compared.
    CheckCounter {
        /// The counter, or the table whose entry counts.
        name: String,
        /// A cell, or `$` and the name of an entry.
        index: String,
        /// Whether bytes are compared, not packets.
        bytes: bool,
        /// The comparison.
        operator: String,
        /// With what.
        value: u64,
    },
    /// Nothing has to be waited for.
    Wait,
}

/// Reads a test. Lines keep their numbers, from 1.
pub fn parse(text: &str) -> Result<Vec<(usize, Statement)>, StfError> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let mut line = Line {
            words: split(line),
            at: 0,
            number: at + 1,
        };
        if line.words.is_empty() {
            continue;
        }
        let statement = line.statement()?;
        if let Some(extra) = line.words.get(line.at) {
            return Err(line.error(format!("{extra:?} is too much")));
        }
        found.push((at + 1, statement));
    }
    Ok(found)
}

/// The words of a line, and how many were read.
struct Line {
    words: Vec<String>,
    at: usize,
    number: usize,
}

type Result<T, E = StfError> = std::result::Result<T, E>;

impl Line {
    fn error(&self, what: impl Into<String>) -> StfError {
        StfError {
            line: self.number,
            what: what.into(),
        }
    }

    fn peek(&self, ahead: usize) -> Option<&str> {
        self.words.get(self.at + ahead).map(String::as_str)
    }

    fn next(&mut self, what: &str) -> Result<String> {
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        word.ok_or_else(|| self.error(format!("{what} is missing")))
    }

    fn number<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T> {
        let word = self.next(what)?;
        let number = Digits::parse(&word).and_then(|digits| digits.number());
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.error(format!("{word:?} is not {what}")))
    }

    /// A port that packets come in at or leave at.
    fn port(&mut self) -> Result<u32> {
        let port = self.number("a port")?;
        if port >= DROP_PORT {
            let last = DROP_PORT - 1;
            return Err(self.error(format!("there is no port {port}: they are 0 to {last}")));
        }
        Ok(port)
    }

    fn skip(&mut self, word: &str) -> Result<()> {
        let found = self.next(&format!("{word:?}"))?;
        if found == word {
            Ok(())
        } else {
            Err(self.error(format!("{word:?} expected, {found:?} found")))
        }
    }

    /// All words that are left, as one.
    fn rest(&mut self) -> String {
        let rest = self.words[self.at.min(self.words.len())..].concat();
        self.at = self.words.len();
        rest
    }

    #[expect(clippy::too_many_lines, reason = "one arm per command")]
    fn statement(&mut self) -> Result<Statement> {
        let command = self.next("a command")?.to_ascii_lowercase();
        Ok(match command.as_str() {
            "packet" => {
                let port = self.port()?;
                let digits = self.rest();
                let nibbles = nibbles(&digits)
                    .and_then(|nibbles| nibbles.into_iter().collect::<Option<Vec<u8>>>());
                let nibbles = nibbles.filter(|nibbles| nibbles.len() % 2 == 0);
                let nibbles = nibbles.ok_or_else(|| {
                    self.error("the packet is not whole bytes in hexadecimal digits")
                })?;
                Statement::Packet {
                    port,
                    bytes: nibbles
                        .chunks(2)
                        .map(|pair| pair[0] << 4 | pair[1])
                        .collect(),
                }
            }
            "expect" => {
                let port = self.port()?;
                let digits = self.rest();
                let (digits, exact) = digits
                    .strip_suffix('$')
                    .map_or((digits.as_str(), false), |digits| (digits, true));
                let nibbles = nibbles(digits)
                    .ok_or_else(|| self.error("the packet is not in hexadecimal digits and *"))?;
                Statement::Expect {
                    port,
                    nibbles: (!nibbles.is_empty()).then_some(nibbles),
                    exact,
                }
            }
            "add" => self.add()?,
            "setdefault" => {
                let table = self.next("a table")?;
                let (action, arguments) = self.call()?;
                Statement::SetDefault {
                    table,
                    action,
                    arguments,
                }
            }
            "mc_mgrp_create" => Statement::Group(self.number("a group")?),
            "mc_node_create" => {
                let instance = self.number("an egress_rid")?;
                let mut ports = Vec::new();
                while self.peek(0).is_some() {
                    ports.push(self.number("a port")?);
                }
                Statement::Node { instance, ports }
            }
            "mc_node_associate" => Statement::Associate {
                group: self.number("a group")?,
                node: self.number("a node")?,
            },
            "mirroring_add" => Statement::Mirror {
                session: self.number("a session")?,
                port: self.number("a port")?,
            },
            "mirroring_add_mc" => Statement::MirrorGroup {
                session: self.number("a session")?,
                group: self.number("a group")?,
            },
            "check_counter" => self.check_counter()?,
            "wait" => {
                self.rest();
                Statement::Wait
            }
            "no_packet" => Statement::Wait,
            other => {
                return Err(self.error(format!("{other:?} is not a command that linerate runs")));
            }
        })
    }

    fn add(&mut self) -> Result<Statement> {
        let table = self.next("a table")?;
        let has_priority = self.peek(1) != Some(":")
            && self.peek(1) != Some("(")
            && self
                .peek(0)
                .is_some_and(|word| Digits::parse(word).is_some());
        let priority = if has_priority {
            self.number::<u32>("a priority")?.into()
        } else {
            0
        };
        let mut key = Vec::new();
        while self.peek(1) == Some(":") {
            key.push(self.pair()?);
        }
        let (action, arguments) = self.call()?;
        let name = if self.peek(0) == Some("=") {
            self.skip("=")?;
            Some(self.next("a name")?)
        } else {
            None
        };
        Ok(Statement::Add {
            table,
            priority,
            key,
            action,
            arguments,
            name,
        })
    }

    fn pair(&mut self) -> Result<Pair> {
        let name = self.next("a name")?;
        self.skip(":")?;
        Ok((name, self.next("a value")?))
    }

    fn call(&mut self) -> Result<(String, Vec<Pair>)> {
        let action = self.next("an action")?;
        let mut arguments = Vec::new();
        if self.peek(0) != Some("(") {
            return Ok((action, arguments));
        }
        self.skip("(")?;
        while self.peek(0) != Some(")") {
            arguments.push(self.pair()?);
            if self.peek(0) == Some(",") {
                self.skip(",")?;
            }
        }
        self.skip(")")?;
        Ok((action, arguments))
    }

    fn check_counter(&mut self) -> Result<Statement> {
        let name = self.next("a counter")?;
        self.skip("(")?;
        let index = self.next("an index")?;
        self.skip(")")?;
        let mut check = (false, "==".to_owned(), 0);
        if let Some(unit @ ("packets" | "bytes")) = self.peek(0) {
            let bytes = unit == "bytes";
            self.at += 1;
            let operator = self.next("an operator")?;
            if !["==", "!=", "<", "<=", ">", ">="].contains(&operator.as_str()) {
                return Err(self.error(format!("{operator:?} is not an operator")));
            }
            check = (bytes, operator, self.number("a number")?);
        }
        Ok(Statement::CheckCounter {
            name,
            index,
            bytes: check.0,
            operator: check.1,
            value: check.2,
        })
    }
}

/// Hexadecimal digits; `*` is one that may be anything.
fn nibbles(digits: &str) -> Option<Vec<Option<u8>>> {
    let nibble = |digit: char| match digit {
        '*' => Some(None),
        digit => Some(Some(u8::try_from(digit.to_digit(16)?).ok()?)),
    };
    digits.chars().map(nibble).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        for (line, words) in [
            ("packet", "a port is missing"),
            ("packet x 00", "\"x\" is not a port"),
            ("packet 511 00", "they are 0 to 510"),
            ("expect 600 00", "no port 600"),
            ("packet 1 0", "not whole bytes"),
            ("expect 1 0g", "hexadecimal digits and *"),
        ] {
            let error = parse(&format!("# a comment\n{line}\n")).unwrap_err();
            assert_eq!(error.line, 2);
            assert!(error.what.contains(words), "{line}: {error}");
        }
        assert_eq!(parse("packet 510 00").unwrap().len(), 1);
    }
}
