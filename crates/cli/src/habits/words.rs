//! The words of a command line: options of iperf, options of linerate, and what is none.

use super::table::{ALL, Habit};
use clap::{Arg, Command};

/// A word, with the value that belongs to it.
#[derive(Debug, Clone)]
pub(super) enum Word {
    /// None of both: a host.
    Free(String),
    /// An option of iperf.
    Habit(&'static Habit, Option<String>),
    /// An option of linerate, as it was written.
    Own(Vec<String>),
}

/// The option that is written so, without its value: `-b`, `--bitrate`.
pub(super) fn find(name: &str) -> Option<&'static Habit> {
    if let Some(word) = name.strip_prefix("--") {
        return ALL.iter().find(|habit| habit.long.contains(&word));
    }
    let mut letters = name.strip_prefix('-')?.chars();
    let letter = letters.next().filter(|_| letters.next().is_none())?;
    ALL.iter().find(|habit| habit.short == Some(letter))
}

/// Reads `args`, in which options of `own` may stand too.
pub(super) fn read(args: &[String], own: Option<&Command>) -> Vec<Word> {
    let mut args = args.iter();
    let mut words = Vec::new();
    while let Some(arg) = args.next() {
        if let Some(long) = arg.strip_prefix("--") {
            let (name, given) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let mut value = |takes: bool| {
                given
                    .clone()
                    .or_else(|| takes.then(|| args.next().cloned())?)
            };
            words.push(if let Some(habit) = find(&format!("--{name}")) {
                Word::Habit(habit, value(habit.value))
            } else {
                let takes = own.is_some_and(|own| has_value(own, |arg| is_long(arg, name)));
                let mut written = vec![arg.clone()];
                if given.is_none() {
                    written.extend(value(takes));
                }
                Word::Own(written)
            });
        } else if let Some(letters) = arg.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            words.extend(letters_of(letters, own, &mut args));
        } else {
            words.push(Word::Free(arg.clone()));
        }
    }
    words
}

/// `-uRt5`, `-t 5`: the first with a value takes what is left, or the next word.
fn letters_of<'a>(
    letters: &str,
    own: Option<&Command>,
    next: &mut impl Iterator<Item = &'a String>,
) -> Vec<Word> {
    let mut words = Vec::new();
    for (at, letter) in letters.char_indices() {
        let habit = find(&format!("-{letter}"));
        let takes = match habit {
            Some(habit) => habit.value,
            None => own.is_some_and(|own| has_value(own, |arg| arg.get_short() == Some(letter))),
        };
        let rest = letters[at + letter.len_utf8()..].trim_start_matches('=');
        let value = match (takes, rest) {
            (false, _) => None,
            (true, "") => next.next().cloned(),
            (true, rest) => Some(rest.to_owned()),
        };
        words.push(match habit {
            Some(habit) => Word::Habit(habit, value),
            None => Word::Own(
                [Some(format!("-{letter}")), value]
                    .into_iter()
                    .flatten()
                    .collect(),
            ),
        });
        if takes {
            break;
        }
    }
    words
}

fn is_long(arg: &Arg, name: &str) -> bool {
    arg.get_long() == Some(name)
        || arg
            .get_all_aliases()
            .is_some_and(|aliases| aliases.contains(&name))
}

/// Whether the option of `command` that `is` finds takes a value.
fn has_value(command: &Command, is: impl Fn(&Arg) -> bool) -> bool {
    let found = command.get_arguments().find(|arg| is(arg));
    found.is_some_and(|arg| arg.get_action().takes_values())
}
