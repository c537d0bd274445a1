//! A shell on a board, by the system's ssh.

use crate::tools::not_started;
use crate::{BoardName, Boards};
use linerate_model::exit::Failure;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// ssh options: a board has a new host key at every start, and is reachable only from its host, so the key is not
/// checked.
pub const SSH_OPTIONS: &[&str] = &[
    "-o",
    "StrictHostKeyChecking=no",
    "-o",
    "UserKnownHostsFile=/dev/null",
    "-o",
    "LogLevel=ERROR",
    "-l",
    "root",
];

/// Replaces this process by `ssh` to the board: a shell, or one that runs `words`. Returns only on an error.
pub fn enter_shell(boards: &Boards, name: &BoardName, words: &[String]) -> Result<(), Failure> {
    let record = boards.reach(name)?;
    let mut ssh = Command::new("ssh");
    ssh.args(SSH_OPTIONS)
        .arg(record.address.to_string())
        .args(words);
    let error = ssh.exec();
    Err(not_started(ssh.get_program(), &error))
}
