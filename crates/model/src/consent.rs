//! What a file that anybody may have written would do if it were carried out, and what of it the user allows.
//!
//! ```text
//!  plan, package, run document ──► Foreign<T> ──allow(Consent)──► Allowed<T> ──► what starts, connects, opens
//! ```
//!
//! Invariant: whatever carries out takes an [`Allowed`], and a value of a file becomes one by [`Foreign::allow`] alone.

use crate::exit::{ExitCode, Failure};
use std::collections::BTreeSet;
use std::ops::Deref;

/// One thing that carrying out a value does outside of linerate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Contacts this peer, as addresses are written: over the network, a serial line or ssh with the user's configuration.
    Connects(String),
    /// Starts one of linerate's own stacks, which may fetch and build its source first.
    Starts(String),
    /// Starts this command as the user, or uses files that decide what is started.
    Runs(String),
}

/// A value that something can be done by.
pub trait Effects {
    /// Everything that carrying it out does outside of linerate.
    fn effects(&self) -> Vec<Effect>;
}

/// What of a file the user allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consent {
    connects: bool,
    starts: bool,
    runs: bool,
}

impl Consent {
    /// For a plan that the user gave to be measured: its hosts and stacks are what was asked for, its commands only with
    /// `runs`.
    pub const fn to_plan(runs: bool) -> Self {
        Self {
            connects: true,
            starts: true,
            runs,
        }
    }

    /// For what came with results, such as a package or a run document: nothing but, with `runs`, its programs.
    pub const fn to_results(runs: bool) -> Self {
        Self {
            connects: false,
            starts: runs,
            runs,
        }
    }

    /// This consent and contact with the host, which the user named.
    #[must_use]
    pub const fn and_host(self) -> Self {
        Self {
            connects: true,
            ..self
        }
    }

    const fn holds(self, effect: &Effect) -> bool {
        match effect {
            Effect::Connects(_) => self.connects,
            Effect::Starts(_) => self.starts,
            Effect::Runs(_) => self.runs,
        }
    }
}

/// A value of a file: it can be looked at and changed, and carried out once the user has allowed what it does.
#[derive(Debug, Clone)]
pub struct Foreign<T> {
    value: T,
    file: String,
}

impl<T: Effects> Foreign<T> {
    /// A value that was read of `file`.
    pub const fn new(value: T, file: String) -> Self {
        Self { value, file }
    }

    /// Changes it, such as by options of the command line.
    pub fn change<E>(&mut self, change: impl FnOnce(&mut T) -> Result<(), E>) -> Result<(), E> {
        change(&mut self.value)
    }

    /// Another value of the same file.
    pub fn replace<E>(self, other: impl FnOnce(T) -> Result<T, E>) -> Result<Self, E> {
        let value = other(self.value)?;
        Ok(Self { value, ..self })
    }

    /// The commands that carrying it out starts, each once, on one line without control characters.
    pub fn programs(&self) -> Vec<String> {
        let effects = self.value.effects().into_iter();
        let mut programs = BTreeSet::new();
        for effect in effects {
            if let Effect::Runs(text) | Effect::Starts(text) = effect {
                programs.insert(shown(&text));
            }
        }
        programs.into_iter().collect()
    }

    /// The value, to be carried out; an error that names what the user did not allow.
    pub fn allow(self, consent: Consent) -> Result<Allowed<T>, Failure> {
        let effects = self.value.effects().into_iter();
        let refused: BTreeSet<_> = effects.filter(|effect| !consent.holds(effect)).collect();
        let mut hosts = Vec::new();
        let mut programs = Vec::new();
        for effect in refused {
            match effect {
                Effect::Connects(peer) => hosts.push(shown(&peer)),
                Effect::Starts(text) | Effect::Runs(text) => programs.push(shown(&text)),
            }
        }
        let file = &self.file;
        let message = match (hosts.is_empty(), programs.is_empty()) {
            (true, true) => return Ok(Allowed(self.value)),
            (false, true) => format!(
                "{file} measured at {}, which is not contacted for a file; give --host HOST, a peer of yours or the same",
                some(&hosts)
            ),
            (true, false) => format!(
                "{file} starts programs on this host: {}; if you trust them, add --run-programs",
                some(&programs)
            ),
            (false, false) => format!(
                "{file} measured at {} and starts programs on this host: {}; give --host HOST, a peer of yours or the same, \
                 and if you trust the programs --run-programs",
                some(&hosts),
                some(&programs)
            ),
        };
        Err(Failure::new(ExitCode::Usage, message))
    }
}

impl<T> Deref for Foreign<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A value that may be carried out: the user wrote it on the command line, or allowed what it does.
#[derive(Debug, Clone)]
pub struct Allowed<T>(T);

impl<T> Allowed<T> {
    /// What the user asked for by options and arguments, or a program of linerate's own made.
    pub const fn of_user(value: T) -> Self {
        Self(value)
    }

    /// Completes it by what its preparation made, such as the program of a stack.
    pub const fn prepare(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Deref for Allowed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Most entries of a list in a message.
const MAX_SHOWN: usize = 8;

/// Most characters of one of them.
const MAX_CHARACTERS: usize = 300;

/// On one line, with everything that a terminal would obey escaped.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(MAX_CHARACTERS) {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        shown.push('…');
    }
    shown
}

fn some(all: &[String]) -> String {
    let (first, rest) = all.split_at(all.len().min(MAX_SHOWN));
    let text = first
        .iter()
        .map(|one| format!("`{one}`"))
        .collect::<Vec<_>>()
        .join(", ");
    match rest.len() {
        0 => text,
        more => text + &format!(" and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Asked(Vec<Effect>);

    impl Effects for Asked {
        fn effects(&self) -> Vec<Effect> {
            self.0.clone()
        }
    }

    fn asked() -> Foreign<Asked> {
        let effects = vec![
            Effect::Connects("10.0.0.2:5301".to_owned()),
            Effect::Starts("stack://lwip".to_owned()),
            Effect::Runs("sh -c \u{1b}[2Jx\nid".to_owned()),
            Effect::Runs("sh -c \u{1b}[2Jx\nid".to_owned()),
        ];
        Foreign::new(Asked(effects), "answer.tar".to_owned())
    }

    #[test]
    fn each_kind_of_effect_needs_its_own_word_of_the_user() {
        let refused = |consent: Consent| asked().allow(consent).map(|_| ()).unwrap_err().message;
        let all = refused(Consent::to_results(false));
        for part in ["answer.tar", "10.0.0.2", "lwip", "--host", "--run-programs"] {
            assert!(all.contains(part), "{all}");
        }
        let programs = refused(Consent::to_results(false).and_host());
        assert!(!programs.contains("10.0.0.2") && programs.contains("`stack://lwip`"));
        let host = refused(Consent::to_results(true));
        assert!(
            host.contains("10.0.0.2") && !host.contains("lwip"),
            "{host}"
        );
        let plan = refused(Consent::to_plan(false));
        assert!(!plan.contains("lwip") && plan.contains("id"), "{plan}");
        assert!(asked().allow(Consent::to_plan(true)).is_ok());
        assert!(asked().allow(Consent::to_results(true).and_host()).is_ok());
    }

    #[test]
    fn a_file_s_words_are_shown_on_one_line_without_control_characters_and_not_without_end() {
        let programs = asked().programs();
        assert_eq!(programs, ["sh -c \\u{1b}[2Jx\\nid", "stack://lwip"]);
        let many = (0..50).map(|number| Effect::Runs(format!("{number}{}", "x".repeat(10_000))));
        let many = Foreign::new(Asked(many.collect()), "plan.toml".to_owned());
        let message = many
            .allow(Consent::to_plan(false))
            .map(|_| ())
            .unwrap_err()
            .message;
        assert!(
            message.contains("and 42 more") && message.len() < 4000,
            "{message}"
        );
    }
}
