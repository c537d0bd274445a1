//! Completions of commands and options for shells.

use crate::{Named, command_line};
use clap::Command;
use clap_complete::{Shell, generate};
use std::fmt::Write as _;

/// Shells, each with the folder that it reads completions from, below `/usr/share`.
pub const SHELLS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions"),
    (Shell::Zsh, "zsh/vendor-completions"),
    (Shell::Fish, "fish/vendor_completions.d"),
];

/// The completions of the programs for `shell`, by the names that it looks for.
pub fn files(shell: Shell) -> Vec<Named> {
    let own = [("linerate".to_owned(), command_line::linerate())];
    let beside = command_line::companions();
    let beside = beside.map(|one| (one.program(), one.command()));
    let all = own.into_iter().chain(beside);
    all.map(|(program, command)| (file_name(shell, &program), text(shell, &program, command)))
        .collect()
}

fn text(shell: Shell, program: &str, mut command: Command) -> Vec<u8> {
    let mut text = Vec::new();
    generate(shell, &mut command, program, &mut text);
    if shell == Shell::Fish {
        text.extend(deep_fish(program, &command).into_bytes());
    }
    text
}

/// Options of commands below the second level, which the generator for fish leaves out.
fn deep_fish(program: &str, root: &Command) -> String {
    let helper = format!("__fish_{}_using_subcommand", program.replace('-', "_"));
    let mut text = String::new();
    for (path, command) in command_line::walk(root) {
        let [_, first, rest @ ..] = &path[..] else {
            continue;
        };
        if rest.len() < 2 {
            continue;
        }
        let below = rest
            .iter()
            .map(|name| format!("; and __fish_seen_subcommand_from {name}"));
        let when = format!("{helper} {first}{}", below.collect::<String>());
        for option in command.get_arguments().filter(|one| !one.is_hide_set()) {
            let Some(long) = option.get_long() else {
                continue;
            };
            let value = if option.get_action().takes_values() {
                " -r"
            } else {
                ""
            };
            let help = option
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let help = help
                .replace('\n', " ")
                .replace('\\', "\\\\")
                .replace('\'', "\\'");
            let _ = writeln!(
                text,
                "complete -c {program} -n \"{when}\" -l {long}{value} -d '{help}'"
            );
        }
    }
    text
}

fn file_name(shell: Shell, program: &str) -> String {
    match shell {
        Shell::Zsh => format!("_{program}"),
        Shell::Fish => format!("{program}.fish"),
        _ => program.to_owned(),
    }
}
