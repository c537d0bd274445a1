//! `serve --config FILE`: options in a file. Its keys are the options of the command line, and their values are read as
//! there: nothing is written twice.

use super::ServeArgs;
use crate::commands::Cli;
use anyhow::{Context as _, Result};
use clap::parser::ValueSource;
use clap::{
    Arg, ArgAction, ArgMatches, Args as _, Command, CommandFactory as _, FromArgMatches as _,
};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::text::line_at;
use linerate_sys::bounded;
use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use toml::{Spanned, Value};

/// Options as words of a command line, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Options(BTreeMap<String, Vec<String>>);

/// Keys of the file that hold from the next reading on; the others from the next start.
const RELOADED: [&str; 14] = [
    "allow",
    "allow-intrusive",
    "allow-mesh",
    "allow-unproved",
    "budget",
    "facts",
    "key",
    "login-key",
    "login-padding",
    "logins",
    "max-clients",
    "max-duration",
    "max-rate",
    "only",
];

/// Most bytes of a configuration.
const MAX_BYTES: u64 = 1 << 20;

impl Options {
    /// Those of the file at `path`.
    ///
    /// # Errors
    ///
    /// What is wrong in which line, as [`ExitCode::Plan`].
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |line: Option<usize>, why: &str| {
            let line = line.map_or_else(String::new, |line| format!(", line {line}"));
            Failure::new(ExitCode::Plan, format!("{}{line}: {why}", path.display()))
        };
        let text = bounded::read_text_file(path, MAX_BYTES).map_err(|error| {
            wrong(
                None,
                &format!("{error}; --config takes a TOML file of options of `linerate serve`"),
            )
        })?;
        Self::parse(&text).map_err(|(line, why)| wrong(line, &why))
    }

    /// Those of a text; an error is its line, if it has one, and what is wrong.
    fn parse(text: &str) -> Result<Self, (Option<usize>, String)> {
        let keys: BTreeMap<Spanned<String>, Spanned<Value>> =
            toml::from_str(text).map_err(|error| {
                let at = error.span().map(|span| line_at(text, span.start));
                (at, error.message().to_owned())
            })?;
        let command = command();
        let mut options = BTreeMap::new();
        for (key, value) in &keys {
            let name = key.get_ref();
            let at = |why| (Some(line_at(text, key.span().start)), why);
            let arg = option(&command, name).map_err(at)?;
            let words = words(arg, name, value.get_ref()).map_err(at)?;
            check(&command, &words).map_err(|why| at(format!("{name}: {why}")))?;
            options.insert(name.clone(), words);
        }
        Ok(Self(options))
    }

    /// The names of options that differ, those that a reload changes and those that only a restart does.
    pub(super) fn changed_to(&self, new: &Self) -> (Vec<String>, Vec<String>) {
        let names = self.0.keys().chain(new.0.keys());
        let mut changed: Vec<_> = names
            .filter(|name| self.0.get(*name) != new.0.get(*name))
            .cloned()
            .collect();
        changed.sort();
        changed.dedup();
        let is_reloaded = |name: &String| RELOADED.contains(&name.as_str());
        changed.into_iter().partition(is_reloaded)
    }

    /// The arguments of this process with these options, where the command line does not give them itself.
    pub(super) fn with_command_line(&self, path: &Path) -> Result<ServeArgs> {
        let given = Cli::command().try_get_matches_from(env::args_os())?;
        let given = served(&given).context("bug in linerate: `serve` is not the command")?;
        let command = command();
        let is_given =
            |name: &str| given.value_source(id(&command, name)) == Some(ValueSource::CommandLine);
        let from_file = self.0.iter().filter(|(name, _)| !is_given(name));
        let from_file = from_file.flat_map(|(_, words)| words.iter().map(Into::into));
        let words = env::args_os().chain(from_file);
        let matches = Cli::command().try_get_matches_from(words);
        let matches = matches.map_err(|error| {
            let message = format!("{}: {}", path.display(), sentence(&error));
            Failure::new(ExitCode::Plan, message)
        })?;
        let matches = served(&matches).context("bug in linerate: `serve` is not the command")?;
        Ok(ServeArgs::from_arg_matches(matches)?)
    }
}

fn served(matches: &ArgMatches) -> Option<&ArgMatches> {
    matches.subcommand_matches("serve")
}

/// How clap calls the option of a name: by its field, or by the name of a protocol's setting.
fn id<'a>(command: &'a Command, name: &'a str) -> &'a str {
    option(command, name).map_or(name, |arg| arg.get_id().as_str())
}

/// The options of `serve` alone.
fn command() -> Command {
    ServeArgs::augment_args(Command::new("serve").disable_help_flag(true))
}

/// The option of a key.
fn option<'a>(command: &'a Command, name: &str) -> Result<&'a Arg, String> {
    let is_key = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "config";
    let keys = || command.get_arguments().filter(is_key);
    let named = |name: &str| keys().find(|arg| arg.get_long() == Some(name));
    if let Some(arg) = named(name) {
        return Ok(arg);
    }
    let meant = name.trim_start_matches('-').replace('_', "-");
    if named(&meant).is_some() {
        return Err(format!("there is no key \"{name}\": write {meant}"));
    }
    let all: Vec<_> = keys().filter_map(Arg::get_long).collect();
    Err(format!(
        "there is no key \"{name}\"; there are {}",
        all.join(", ")
    ))
}

/// A key and its value as words of a command line.
fn words(arg: &Arg, name: &str, value: &Value) -> Result<Vec<String>, String> {
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return match value {
            Value::Boolean(true) => Ok(vec![format!("--{name}")]),
            Value::Boolean(false) => Ok(Vec::new()),
            other => Err(format!(
                "{name} is a {}: write true or false",
                other.type_str()
            )),
        };
    }
    let word = |value: &Value| match value {
        Value::String(text) => Ok(format!("--{name}={text}")),
        Value::Integer(number) => Ok(format!("--{name}={number}")),
        Value::Float(number) => Ok(format!("--{name}={number}")),
        other => Err(format!(
            "{name}: a {} is neither text nor a number",
            other.type_str()
        )),
    };
    match value {
        Value::Array(values) if matches!(arg.get_action(), ArgAction::Append) => {
            values.iter().map(word).collect()
        }
        Value::Array(_) => Err(format!("{name}: takes one value, not a list")),
        one => Ok(vec![word(one)?]),
    }
}

/// What is wrong with the value of one option. What it needs beside it is looked at when all are there.
fn check(command: &Command, words: &[String]) -> Result<(), String> {
    use clap::error::ErrorKind::{ArgumentConflict, MissingRequiredArgument};
    let words = std::iter::once("serve").chain(words.iter().map(String::as_str));
    match command.clone().try_get_matches_from(words) {
        Err(error) if !matches!(error.kind(), MissingRequiredArgument | ArgumentConflict) => {
            Err(sentence(&error))
        }
        _ => Ok(()),
    }
}

/// What clap says of a mistake, in a line.
fn sentence(error: &clap::Error) -> String {
    let text = error.to_string();
    let mistake = text.split("\n\n").next().unwrap_or_default();
    let lines = mistake.trim_start_matches("error: ").lines();
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_options_and_values_are_read_as_theirs() {
        let text = "listen = \"127.0.0.1:0\"\nspeak = [\"native\", \"iperf3:5202\"]\nmax-clients = 3\none-port = true\nfacts = false\n";
        let options = Options::parse(text).unwrap();
        let words: Vec<_> = options.0.values().flatten().map(String::as_str).collect();
        let wanted = [
            "--listen=127.0.0.1:0",
            "--max-clients=3",
            "--one-port",
            "--speak=native",
            "--speak=iperf3:5202",
        ];
        assert_eq!(words, wanted);
    }

    #[test]
    fn every_key_that_a_reload_changes_is_one() {
        let command = command();
        for name in RELOADED {
            option(&command, name).unwrap();
        }
    }

    #[test]
    fn a_mistake_is_said_with_its_line_and_what_to_write() {
        for (text, line, said) in [
            ("\nmax_clients = 3\n", 2, "write max-clients"),
            ("color = \"red\"\n", 1, "there are listen"),
            ("config = \"x\"\n", 1, "no key \"config\""),
            ("# one\n\nmax-clients = 0\n", 3, "max-clients"),
            ("max-clients = [1, 2]\n", 1, "not a list"),
            ("one-port = \"yes\"\n", 1, "true or false"),
            (
                "allow = [\"10.0.0.0/8\", \"here\"]\n",
                1,
                "is not a network",
            ),
            ("allow = [{a = 1}]\n", 1, "neither text nor a number"),
            ("speak = \"quic\"\n", 1, "this version answers"),
            ("max-duration = \"soon\"\n", 1, "max-duration"),
            ("listen = \n", 1, ""),
        ] {
            let (at, why) = Options::parse(text).unwrap_err();
            assert_eq!(at, Some(line), "{text}: {why}");
            assert!(why.contains(said), "{text}: {why}");
        }
    }

    #[test]
    fn a_change_is_at_once_or_at_the_next_start() {
        let old = Options::parse("listen = \"[::]:5301\"\nallow = \"192.0.2.1\"\n").unwrap();
        let new = Options::parse("listen = \"[::]:5302\"\nmax-clients = 3\n").unwrap();
        let (at_once, later) = old.changed_to(&new);
        assert_eq!(at_once, ["allow", "max-clients"]);
        assert_eq!(later, ["listen"]);
        assert_eq!(old.changed_to(&old), (Vec::new(), Vec::new()));
    }
}
