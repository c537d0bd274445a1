//! The command lines of the programs that are installed, as a user types them.

use clap::Command;

/// `linerate`, with the programs that `linerate p4` and `linerate web` start among its commands.
pub fn linerate() -> Command {
    // Each is built by itself: the program knows nothing of the options of all of linerate's own commands.
    let p4 = linerate_p4_cli::command().name("p4");
    let p4 = p4.bin_name("linerate p4").display_name("linerate-p4");
    let web = linerate_web::command().name("web");
    let web = web.bin_name("linerate web").display_name("linerate-web");
    built(linerate_cli::command())
        .subcommand(built(p4))
        .subcommand(built(web))
}

/// `linerate-p4`, by its own name.
pub fn linerate_p4() -> Command {
    built(linerate_p4_cli::command().name("linerate-p4"))
}

/// `linerate-web`, by its own name.
pub fn linerate_web() -> Command {
    built(linerate_web::command().name("linerate-web"))
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
