//! Completions of commands and options for shells.

use crate::{Named, command_line};
use clap::Command;
use clap_complete::{Shell, generate};

/// Shells, each with the folder that it reads completions from, below `/usr/share`.
pub const SHELLS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions"),
    (Shell::Zsh, "zsh/vendor-completions"),
    (Shell::Fish, "fish/vendor_completions.d"),
];

/// The completions of both programs for `shell`, by the names that it looks for.
pub fn files(shell: Shell) -> [Named; 2] {
    [
        ("linerate", command_line::linerate()),
        ("linerate-p4", command_line::linerate_p4()),
    ]
    .map(|(program, command)| (file_name(shell, program), text(shell, program, command)))
}

fn text(shell: Shell, program: &str, mut command: Command) -> Vec<u8> {
    let mut text = Vec::new();
    generate(shell, &mut command, program, &mut text);
    text
}

fn file_name(shell: Shell, program: &str) -> String {
    match shell {
        Shell::Zsh => format!("_{program}"),
        Shell::Fish => format!("{program}.fish"),
        _ => program.to_owned(),
    }
}
