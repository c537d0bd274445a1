//! The programs that are installed, and their command lines as a user types them.

use clap::Command;

/// A program that `linerate NAME` starts.
pub struct Companion {
    /// What follows `linerate-` in its name.
    pub name: &'static str,
    /// The crate that it is built from.
    pub of: &'static str,
    command: fn() -> Command,
}

/// The crate of `linerate` itself.
pub const CRATE: &str = "linerate-cli";

/// A database is needed for it, so it has a package of its own.
pub static HUB: Companion = Companion {
    name: "hub",
    of: "linerate-hub",
    command: linerate_hub::command,
};

/// Those in the package of `linerate`.
pub static BESIDE: [Companion; 2] = [
    Companion {
        name: "p4",
        of: "linerate-p4-cli",
        command: linerate_p4_cli::command,
    },
    Companion {
        name: "web",
        of: "linerate-web",
        command: linerate_web::command,
    },
];

impl Companion {
    /// The file name of the program, such as `linerate-p4`.
    pub fn program(&self) -> String {
        format!("linerate-{}", self.name)
    }

    /// Its command line, by its own name.
    pub fn command(&self) -> Command {
        built((self.command)().name(self.program()))
    }

    /// Its command line as a command of `linerate`.
    fn below(&self) -> Command {
        let command = (self.command)().name(self.name);
        let command = command.bin_name(format!("linerate {}", self.name));
        built(command.display_name(self.program()))
    }
}

/// All programs that `linerate` starts.
pub fn companions() -> impl Iterator<Item = &'static Companion> {
    BESIDE.iter().chain([&HUB])
}

/// `linerate`, with all the programs that it starts among its commands.
pub fn linerate() -> Command {
    // Each is built by itself: the program knows nothing of the options of all of linerate's own commands.
    built(linerate_cli::command()).subcommands(companions().map(Companion::below))
}

/// With everything that `--help` shows; `help` as a command repeats all others and is left out.
fn built(command: Command) -> Command {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    wordy(command)
}

/// With the help of options that `-h` leaves out, which a man page would list without a word otherwise.
fn wordy(command: Command) -> Command {
    command
        .mut_args(|one| one.hide_short_help(false))
        .mut_subcommands(wordy)
}

/// The commands of `command` that help lists, itself first, each after those that lead to it.
pub fn walk(command: &Command) -> Vec<(Vec<String>, &Command)> {
    let mut all = vec![(vec![command.get_name().to_owned()], command)];
    let listed = command.get_subcommands().filter(|one| !one.is_hide_set());
    for (path, one) in listed.flat_map(walk) {
        let leading = vec![command.get_name().to_owned()];
        all.push(([leading, path].concat(), one));
    }
    all
}

/// The long options of `command` that its help lists.
pub fn options(command: &Command) -> Vec<String> {
    let shown = command.get_arguments().filter(|one| !one.is_hide_set());
    let long = shown.filter_map(clap::Arg::get_long);
    long.map(|name| format!("--{name}")).collect()
}
