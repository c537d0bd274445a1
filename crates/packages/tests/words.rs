//! Man pages and completions have every command and option; the programs that read them take them without a warning.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

use linerate_packages::{Named, command_line, completions, manual};
use std::fs;
use std::path::Path;
use std::process::Command;

const DATE: &str = "2026-11-27";

fn pages() -> Vec<Named> {
    manual::pages(DATE).unwrap()
}

fn text(files: &[Named], name: &str) -> String {
    let found = files.iter().find(|(known, _)| known == name);
    let (_, bytes) = found.unwrap_or_else(|| panic!("no {name}"));
    String::from_utf8(bytes.clone()).unwrap()
}

fn write(folder: &Path, files: impl IntoIterator<Item = Named>) {
    fs::create_dir_all(folder).unwrap();
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

/// What a program printed, both ways; it must have succeeded.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{command:?}: {error}");
    });
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

#[test]
fn every_command_has_a_page_and_every_option_its_words() {
    let pages = pages();
    let root = command_line::linerate();
    for (path, command) in command_line::walk(&root) {
        let page = text(&pages, &format!("{}.1", path.join("-")));
        let page = page.replace("\\-", "-");
        for option in command_line::options(command) {
            let mut entries = page.split(".TP\n").map(str::lines);
            let entry = entries.find_map(|mut lines| {
                let head = lines.next()?;
                head.contains(&format!("\\fB{option}\\fR")).then_some(lines)
            });
            let mut entry = entry.unwrap_or_else(|| panic!("{path:?}: no entry of {option}"));
            let words = entry.next().unwrap_or_default();
            assert!(words.len() > 5, "{path:?} {option}: {words:?}");
        }
    }
}

#[test]
fn exit_codes_and_what_help_says_at_its_end_keep_their_lines() {
    let page = text(&pages(), "linerate.1");
    let (_, notes) = page.split_once(".SH NOTES\n.nf\nExit codes:\n").unwrap();
    assert!(
        notes.lines().any(|line| line.starts_with("  7  ")),
        "{notes}"
    );
}

#[test]
fn every_command_and_option_is_completed() {
    let root = command_line::linerate();
    for (shell, _) in completions::SHELLS {
        let (_, bytes) = completions::files(shell).swap_remove(0);
        let script = String::from_utf8(bytes).unwrap();
        for (path, command) in command_line::walk(&root) {
            let name = path.last().unwrap();
            assert!(script.contains(name.as_str()), "{shell}: {path:?}");
            for option in command_line::options(command) {
                let option = option.trim_start_matches('-');
                assert!(script.contains(option), "{shell}: {path:?} {option}");
            }
        }
    }
}

#[test]
#[ignore = "needs man and mandoc"]
fn man_and_mandoc_print_every_page_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let pages = pages();
    write(folder.path(), pages.clone());
    for (name, _) in pages {
        let path = folder.path().join(&name);
        let mut man = Command::new("man");
        man.args(["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"]);
        man.env("LC_ALL", "C.UTF-8").env("MANWIDTH", "80");
        let (errors, path) = (folder.path().join("errors"), path);
        man.arg(&path).stderr(fs::File::create(&errors).unwrap());
        output(&mut man);
        assert_eq!(fs::read_to_string(&errors).unwrap(), "", "{name}");
        let mut mandoc = Command::new("mandoc");
        let said = output(mandoc.args(["-Tlint", "-W", "warning"]).arg(&path));
        assert_eq!(said, "", "{name}");
    }
}

/// Folder with the completions of `shell`.
fn completions_of(shell: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (shell, _) = completions::SHELLS
        .into_iter()
        .find(|(known, _)| known.to_string() == shell)
        .unwrap();
    write(folder.path(), completions::files(shell));
    folder
}

/// What is typed, and a word that must be among what is offered.
const TYPED: [(&str, &str); 4] = [
    ("linerate sat", "saturate"),
    ("linerate board ima", "image"),
    ("linerate tcp host --rev", "--reverse"),
    ("linerate p4 tr", "trace"),
];

#[test]
#[ignore = "needs bash"]
fn bash_completes() {
    let folder = completions_of("bash");
    for (typed, offered) in TYPED {
        let script = r#"
            source "$1/linerate"
            COMP_WORDS=($2) COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
            _linerate linerate "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\n' "${COMPREPLY[@]}""#;
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-u", "-c", script, "bash"]);
        let said = output(bash.arg(folder.path()).arg(typed));
        assert!(said.lines().any(|line| line == offered), "{typed}: {said}");
    }
    let mut bash = Command::new("bash");
    output(bash.arg("-n").arg(folder.path().join("linerate-p4")));
}

#[test]
#[ignore = "needs zsh"]
fn zsh_completes() {
    let folder = completions_of("zsh");
    for (typed, offered) in TYPED {
        // Its completion needs an editor, and that a terminal: one of its own modules.
        let script = r#"
            zmodload zsh/zpty
            zpty shell zsh -f -i
            zpty -w shell "COLUMNS=200; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $1/dump; stty -echo"
            # Its editor reads keys when it has written the prompt.
            zpty -w shell 'PS1="it rea""ds:"'
            zpty -r shell said '*it reads:*'
            zpty -w -n shell "$2"$'\t'
            zpty -w -n shell $'\C-u'"print do''ne"$'\n'
            zpty -r shell said '*done*'
            print -r -- "$said""#;
        let mut zsh = Command::new("timeout");
        zsh.args(["20", "zsh", "-f", "-c", script, "zsh"])
            .env("TERM", "dumb");
        let said = output(zsh.arg(folder.path()).arg(typed));
        assert!(said.contains(offered), "{typed}: {said}");
    }
}

#[test]
#[ignore = "needs fish"]
fn fish_completes() {
    let folder = completions_of("fish");
    for (typed, offered) in TYPED {
        let script = "source $argv[1]; complete -C $argv[2]";
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "-c", script]);
        fish.arg(folder.path().join("linerate.fish"));
        let said = output(fish.arg(typed).env("HOME", folder.path()));
        let mut words = said.lines().filter_map(|line| line.split('\t').next());
        assert!(words.any(|word| word == offered), "{typed}: {said}");
    }
}
