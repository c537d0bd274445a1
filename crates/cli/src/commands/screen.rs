//! What `linerate -h` prints: one screen, grouped by what a user wants; `--help` has the rest.

/// At most 24 lines of 80 columns.
pub(crate) const HELP: &str = "\
How fast a network path is, where it stops, and why

Measure (the peer runs `linerate serve`, or others: `linerate tcp --help`)
  demo            two hosts made of this machine: needs no privileges, no host
  serve           be the peer
  tcp, udp        one transfer    linerate tcp board -R -P 4
  saturate        where loss or delay begins    linerate saturate board --both
  switch, mesh    a device between ports; many hosts    linerate mesh lab.toml
  latency         round trips     linerate latency board --sizes 32,1K
  plan, run       a study: linerate plan init udp -o p.toml; plan check; run
  footprint       flash and RAM of a build    linerate footprint fw.elf
Understand
  show, explain   a run, and why it is limited    linerate explain last
  report          runs as a page    linerate report last -o report.html
  compare         is B worse than A? exit code 0, 7 or 8 (cannot tell)
  reproduce       does a published table hold?
Keep (a RUN is the start of its id, a tag, last or last~1)
  list, tag, note, rm   runs, newest first; name one, keep a note, remove it
  import, export  logs of other tools in, documents and tables out
This host, and hosts without hardware
  doctor, calibrate, ports   what spoils results; linerate's limit; firewalls
  board           an emulated board as the peer    linerate board up unleashed
Every command has -h, --json, -o REPORT, -v (all figures), -q (no progress)
Options and exit codes: linerate --help; of a command: linerate COMMAND --help
";

/// That screen, and a line of the programs that are commands too.
pub(crate) fn help<'a>(programs: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<_> = programs.map(String::as_str).collect();
    if names.is_empty() {
        return HELP.trim_end().to_owned();
    }
    format!("{HELP}Programs of their own: {}", names.join(", "))
}

/// What `linerate` alone prints: that screen, and the one line that shows what linerate does.
pub(crate) fn beginning<'a>(programs: impl Iterator<Item = &'a String>) -> String {
    format!(
        "{}\n\nBegin here, without a second host: linerate demo\n",
        help(programs)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Cli;
    use clap::CommandFactory as _;

    #[test]
    fn it_is_one_screen_and_names_every_command() {
        assert!(HELP.lines().count() <= 24, "{}", HELP.lines().count());
        for line in HELP.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let words: Vec<_> = HELP.split([' ', ',', '\n']).collect();
        for command in Cli::command()
            .get_subcommands()
            .filter(|one| !one.is_hide_set())
        {
            assert!(
                words.contains(&command.get_name()),
                "{}",
                command.get_name()
            );
        }
        let after = HELP
            .lines()
            .filter_map(|line| line.split_once("    linerate "));
        for (_, example) in after {
            let words = std::iter::once("linerate").chain(example.split(' '));
            if let Err(error) = clap::Parser::try_parse_from(words).map(|_: Cli| ()) {
                panic!("{example}: {error}");
            }
        }
    }
}
