//! Command lines as users of iperf3 and iperf 2 write them.
//!
//! What means the same here is understood by `tcp` and `udp` themselves, as aliases of their options. The rest is
//! answered with the exact command that does it: nothing is guessed and run.

mod table;
mod words;

use crate::context::quoted;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use linerate_model::BitRate;
use table::{Here, Role};
use words::Word;

/// What to say of a command line that is iperf's.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What was written, and the command to use.
    pub(crate) error: String,
    /// What is different, a line each.
    pub(crate) notes: Vec<String>,
}

/// The answer to arguments that were refused, if they are iperf's.
pub(crate) fn answer(
    args: &[String],
    refused: &clap::Error,
    known: &mut clap::Command,
) -> Option<Answer> {
    known.build();
    let command = args.first().and_then(|name| known.find_subcommand(name));
    let words = match command {
        Some(command) => {
            let is_traffic = ["tcp", "udp", "serve"].contains(&command.get_name());
            if !is_traffic || !is_unknown_habit(refused) {
                return None;
            }
            words::read(args.get(1..)?, Some(command))
        }
        None => words::read(args, None),
    };
    let mut asked = ForeignCommand::default();
    match command.map(clap::Command::get_name) {
        Some("serve") => asked.serves = true,
        Some("udp") => asked.udp = true,
        Some(_) => {}
        None => {
            let decides = |word: &Word| {
                matches!(word, Word::Habit(habit, _)
                    if matches!(habit.here, Here::Part(Role::Client | Role::Server, _)))
            };
            if !words.iter().any(decides) {
                return None;
            }
        }
    }
    for word in words {
        asked.take(word);
    }
    // A value such as `-1` looks like an option that is the same here.
    let is_other = !asked.changed.is_empty();
    is_other.then(|| asked.answer())
}

/// Whether what was refused is an option of the table.
fn is_unknown_habit(refused: &clap::Error) -> bool {
    if refused.kind() != ErrorKind::UnknownArgument {
        return false;
    }
    match refused.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(name)) => words::find(name).is_some(),
        _ => false,
    }
}

/// What a command line asks for.
#[derive(Debug, Default)]
struct ForeignCommand {
    serves: bool,
    udp: bool,
    host: Option<String>,
    port: Option<String>,
    load: Option<String>,
    streams: Option<u64>,
    /// Options of the command that is answered.
    rest: Vec<String>,
    /// Options as they were written that are said otherwise here.
    changed: Vec<String>,
    notes: Vec<String>,
}

impl ForeignCommand {
    fn take(&mut self, word: Word) {
        match word {
            Word::Free(host) if self.host.is_none() && !self.serves => self.host = Some(host),
            Word::Free(text) => self.rest.push(text),
            Word::Own(words) => self.rest.extend(words),
            Word::Habit(habit, value) => self.take_habit(habit, &value.unwrap_or_default()),
        }
    }

    fn take_habit(&mut self, habit: &table::Habit, value: &str) {
        let name = habit.name();
        match habit.here {
            Here::Same => {
                self.rest.push(name);
                self.rest
                    .extend((!value.is_empty()).then(|| value.to_owned()));
                return;
            }
            Here::Is(options) => {
                if name == "-P" {
                    self.streams = value.parse().ok();
                }
                let cores = options.starts_with("--cpu") && !value.contains(',');
                let value = if cores {
                    format!("{value},")
                } else {
                    value.to_owned()
                };
                let filled = options.split(' ').map(|word| word.replace("{}", &value));
                self.rest.extend(filled);
                if options.split(' ').next() == Some(&*name) {
                    return;
                }
            }
            Here::Missing(why) => self.notes.push(format!("left out {name}: {why}")),
            Here::Needless(why) => self.notes.push(format!("{name}: {why}")),
            Here::Part(Role::Client, _) => self.host = Some(value.to_owned()),
            Here::Part(Role::Load, _) => self.load = Some(value.to_owned()),
            Here::Part(Role::Port, _) => self.port = Some(value.to_owned()),
            Here::Part(Role::Server, _) => self.serves = true,
            Here::Part(Role::Udp, _) => self.udp = true,
        }
        self.changed.push(format!("`{name}`"));
    }

    fn answer(mut self) -> Answer {
        let mut command = vec!["linerate".to_owned()];
        if self.serves {
            command.push("serve".to_owned());
            let listen = self.port.take().map(|port| format!("[::]:{port}"));
            command.extend(
                listen
                    .into_iter()
                    .flat_map(|at| ["--listen".to_owned(), at]),
            );
            self.notes.push(
                "this answers linerate; stock clients too with `--speak native,iperf3` or `native,iperf2`"
                    .to_owned(),
            );
        } else {
            command.push(if self.udp { "udp" } else { "tcp" }.to_owned());
            command.push(self.peer());
            command.extend(self.rate());
        }
        command.append(&mut self.rest);
        let command: Vec<_> = command.iter().map(|word| quoted(word)).collect();
        Answer {
            error: format!(
                "{} as iperf has it; the same here is `{}`",
                self.changed.join(", "),
                command.join(" ")
            ),
            notes: self.notes,
        }
    }

    /// The peer's address.
    fn peer(&mut self) -> String {
        let host = self.host.take().unwrap_or_else(|| "HOST".to_owned());
        if !host.contains("://") {
            self.notes.push(format!(
                "{host} runs `linerate serve`; where it runs an iperf server, it is iperf3://{host} or iperf2://{host}"
            ));
        }
        match self.port.take() {
            Some(port) if host.contains(':') && !host.contains("://") => format!("[{host}]:{port}"),
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }

    /// The intended load of all streams.
    fn rate(&self) -> Vec<String> {
        let option = if self.udp { "--rate" } else { "--pace" };
        let is_given = |word: &String| ["--rate", "--pace"].iter().any(|own| word.starts_with(own));
        let load = match &self.load {
            Some(load) => total(load, self.streams.unwrap_or(1)),
            // What iperf sends unless it is told otherwise.
            None if self.udp && !self.rest.iter().any(is_given) => "1M".to_owned(),
            None => return Vec::new(),
        };
        if !self.udp && load == "max" {
            return Vec::new();
        }
        vec![option.to_owned(), load]
    }
}

/// The load of `streams` streams with `each`; as it was written where there is one.
fn total(each: &str, streams: u64) -> String {
    let Ok(rate) = each.parse::<BitRate>() else {
        return each.to_owned();
    };
    let bps = rate.bps().saturating_mul(streams);
    let prefixes = [(1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")];
    let fitting = prefixes.iter().find(|(step, _)| bps.is_multiple_of(*step));
    match fitting {
        _ if bps == 0 => "max".to_owned(),
        _ if streams == 1 => each.to_owned(),
        Some((step, prefix)) => format!("{}{prefix}", bps / step),
        None => bps.to_string(),
    }
}

#[cfg(test)]
mod tests;
