//! A shell on a board, by the system's ssh.

use crate::tools::not_started;
use crate::{BoardName, Boards};
use linerate_model::exit::Failure;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// A board has a new key at every start, and can be reached from its host only: its key tells nothing.
const OPTIONS: &[&str] = &[
    "-o",
    "StrictHostKeyChecking=no",
    "-o",
    "UserKnownHostsFile=/dev/null",
    "-o",
    "LogLevel=ERROR",
    "-l",
    "root",
];

/// Becomes `ssh` to the board: a shell, or `words` run by one. Returns only if it does not start.
pub fn enter_shell(boards: &Boards, name: &BoardName, words: &[String]) -> Result<(), Failure> {
    let record = boards.reach(name)?;
    let mut ssh = Command::new("ssh");
    ssh.args(OPTIONS)
        .arg(record.address.to_string())
        .args(words);
    let error = ssh.exec();
    Err(not_started(ssh.get_program(), &error))
}
