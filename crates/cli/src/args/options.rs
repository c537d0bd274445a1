//! The options of a test as arguments: a view of what `studies` knows of them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _, ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use linerate_studies::options::{
    HelpLevel, OptionValue, Source, Takes, TestKind, TestOption, Usual, of_command,
};

/// `command` with every option of this kind of test.
pub(crate) fn with_options(kind: TestKind, command: Command) -> Command {
    command.args(of_command(kind).map(|(heading, option)| arg(kind, option).help_heading(heading)))
}

fn arg(kind: TestKind, option: &'static TestOption) -> Arg {
    let is_here = |name: &&str| of_command(kind).any(|(_, other)| other.name == *name);
    let excluded: Vec<_> = option.excludes.iter().copied().filter(is_here).collect();
    let arg = Arg::new(option.name)
        .long(option.name)
        .short(option.short)
        .aliases(option.aliases.iter().copied().chain(option.also))
        .short_alias(option.short_alias)
        .hide(option.shown == HelpLevel::Never)
        .hide_short_help(option.shown != HelpLevel::Short);
    let arg = match option.takes {
        Takes::Nothing => arg.action(ArgAction::SetTrue),
        Takes::Value(name) => arg.value_name(name).value_parser(values(kind, option)),
        Takes::List(name) => arg
            .value_name(name)
            .action(ArgAction::Append)
            .value_delimiter(',')
            .value_parser(values(kind, option)),
        Takes::Optional(name) => arg
            .value_name(name)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(values(kind, option)),
    };
    let arg = match option.usual_in(Source::CommandLine) {
        Usual::Off => arg.help(option.help),
        Usual::Needed => arg
            .help(option.help)
            .required_unless_present_any(excluded.iter().copied()),
        Usual::Value(value) => arg.help(option.help).default_value(value),
        Usual::Words(words) => arg.help(format!("{} [default: {words}]", option.help)),
    };
    arg.conflicts_with_all(excluded)
}

/// What reads the values of an option: only their names where they have some, else what it does with them.
fn values(kind: TestKind, option: &'static TestOption) -> ValueParser {
    let check = move |text: &str| option.check(kind, text).map(|()| text.to_owned());
    let Some(choices) = option.choices else {
        return ValueParser::new(check);
    };
    let shown = choices().into_iter();
    let shown = shown.map(|choice| PossibleValue::new(choice.name).help(choice.help));
    PossibleValuesParser::new(shown)
        .try_map(move |text| check(&text))
        .into()
}

/// What was given.
pub(crate) fn given(kind: TestKind, matches: &ArgMatches) -> Vec<OptionValue> {
    let is_given =
        |option: &TestOption| matches.value_source(option.name) == Some(ValueSource::CommandLine);
    let all = of_command(kind).map(|(_, option)| option);
    let value = |option: &TestOption| {
        let values = matches.get_raw(option.name).into_iter().flatten();
        let values: Vec<_> = values.map(|value| value.to_string_lossy()).collect();
        values.join(",")
    };
    let given = all.filter(|option| is_given(option));
    given.map(|option| (option, value(option))).collect()
}
