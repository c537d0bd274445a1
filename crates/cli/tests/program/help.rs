//! The command line is a contract: a change of it shows in these files.

use crate::alone::alone;
use crate::harness::{Ended, linerate};
use std::process::{Command, Stdio};

/// The program without programs that its help would list, at the usual width.
fn by_itself() -> Command {
    let mut command = alone();
    command
        .stdin(Stdio::null())
        .env_remove("COLUMNS")
        .env_remove("LINES");
    command
}

/// Every command, as the help of the program lists them.
pub(crate) fn commands() -> Vec<String> {
    let help = Ended::spawn(by_itself().arg("--help")).done();
    let (_, list) = help.split_once("Commands:\n").unwrap();
    list.lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .filter(|name| name != "help")
        .collect()
}

#[test]
fn the_help_of_the_program() {
    insta::assert_snapshot!("linerate", Ended::spawn(by_itself().arg("--help")).done());
}

#[test]
fn the_help_of_each_command() {
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        let help = Ended::spawn(linerate().args([&command, "--help"])).done();
        let (own, _) = without_protocols(&help);
        insta::assert_snapshot!(command, own);
    }
}

/// The help of a command without the list of protocols at its end, and that list: it is what the protocols say, so that
/// one protocol more changes no contract.
fn without_protocols(help: &str) -> (&str, Option<&str>) {
    let heads = [
        "\nPeers that run another program, or no hardware:\n",
        "\nProtocols: ",
    ];
    let found = heads.iter().find_map(|head| help.split_once(head));
    found.map_or((help, None), |(own, list)| (own, Some(list)))
}

#[test]
fn help_lists_every_protocol_where_one_is_to_be_chosen() {
    for command in ["tcp", "udp", "latency", "saturate", "serve"] {
        let help = Ended::spawn(linerate().args([command, "--help"])).done();
        let (_, list) = without_protocols(&help);
        let list = list.unwrap_or_else(|| panic!("{command}: {help}"));
        for kind in linerate_peers::ALL {
            let is_listed = match command {
                "serve" => linerate_peers::served().any(|served| served.id() == kind.id()),
                _ => kind.about().is_foreign,
            };
            assert_eq!(
                list.contains(kind.id()),
                is_listed,
                "{command}: {}",
                kind.id()
            );
        }
    }
}

#[test]
fn short_help_is_one_screen_with_examples() {
    insta::assert_snapshot!("short", Ended::spawn(by_itself().arg("-h")).done());
    for command in ["tcp", "udp", "saturate", "latency", "compare", "list"] {
        let help = Ended::spawn(linerate().args([command, "-h"])).done();
        assert!(help.lines().count() <= 45, "{command}: {help}");
        assert!(help.contains("Examples:"), "{command}: {help}");
        let whole = Ended::spawn(linerate().args([command, "--help"])).done();
        assert!(whole.lines().count() > help.lines().count());
    }
}

#[test]
fn every_exit_code_is_in_the_guide() {
    let guide = include_str!("../../../../docs/guide/ci.md");
    for (code, meaning) in linerate_model::exit::ExitCode::ALL {
        let row = format!("| {} | {meaning} |", *code as i32);
        assert!(guide.contains(&row), "{row}");
    }
}

#[test]
fn no_command_and_an_unknown_one_are_usage_errors() {
    let ended = Ended::spawn(&mut linerate());
    assert_eq!(ended.code, Some(2));
    let last = ended.err.lines().last();
    assert_eq!(
        last,
        Some("Begin here, without a second host: linerate demo")
    );
    Ended::spawn(linerate().arg("measure")).failed(2, &["measure"]);
    Ended::spawn(linerate().args(["list", "--loud"])).failed(2, &["--loud"]);
}
