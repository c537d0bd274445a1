//! The options of a test, each written once. The command line takes its arguments from here, plans their keys, both what
//! an option does; help, the JSON Schema of plans and the tables of the guide are views of it.

mod choice;
mod connections;
mod device;
mod draft;
mod latency;
mod methods;
mod place;
mod search;
mod tables;
mod traffic;

pub use choice::Choice;
pub use draft::{Place, Request};
pub(crate) use place::{HOST, KIND, STACK};
pub use tables::{option_index, plan_defaults, plan_table};

use crate::run::Test;
use draft::Draft;
use linerate_model::spec::{TestSpec, validate};
use std::ptr;

/// Every option by what it is about, in the order of help and tables. A new one is an entry in one of these lists.
static ALL: &[&Group] = &[
    &place::PLACE,
    &device::DEVICE,
    &methods::METHODS,
    &traffic::TRAFFIC,
    &connections::CONNECTIONS,
    &latency::MESSAGES,
    &latency::OPEN_LOOP,
    &latency::CLOSED_LOOP,
    &search::SEARCH,
    &traffic::HOSTS,
    &search::LIMITS,
];

/// Options that belong together.
#[derive(Debug)]
pub struct Group {
    /// What they are about.
    pub heading: &'static str,
    options: &'static [TestOption],
}

linerate_model::named_enum! {
    /// What a test measures.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TestKind {
        /// One TCP transfer.
        Tcp = "tcp",
        /// One datagram stream.
        Udp = "udp",
        /// Round trips.
        Latency = "latency",
        /// The load at which loss or delay begins.
        Saturate = "saturate",
        /// What a device between two ports forwards.
        Switch = "switch",
    }
}

impl TestKind {
    /// Those that are measured at a peer.
    pub const AT_PEERS: [Self; 4] = [Self::Tcp, Self::Udp, Self::Latency, Self::Saturate];

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Names of kinds, as errors list them.
    pub(crate) fn names(kinds: &[Self]) -> String {
        let names: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
        names.join(", ")
    }
}

const ANY: &[TestKind] = &TestKind::ALL;
const TCP: &[TestKind] = &[TestKind::Tcp];
const UDP: &[TestKind] = &[TestKind::Udp];
const SINGLE: &[TestKind] = &[TestKind::Tcp, TestKind::Udp];
const DATAGRAMS: &[TestKind] = &[TestKind::Udp, TestKind::Saturate];
const BULK: &[TestKind] = &[TestKind::Tcp, TestKind::Udp, TestKind::Saturate];
const LATENCY: &[TestKind] = &[TestKind::Latency];
const SEARCH: &[TestKind] = &[TestKind::Saturate];
const SEARCHES: &[TestKind] = &[TestKind::Saturate, TestKind::Switch];
const SWITCH: &[TestKind] = &[TestKind::Switch];
const AT_PEERS: &[TestKind] = &TestKind::AT_PEERS;
const ONE_WAY: &[TestKind] = &[
    TestKind::Tcp,
    TestKind::Udp,
    TestKind::Saturate,
    TestKind::Switch,
];

/// Where options are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `--payload 64`.
    CommandLine,
    /// `payload = 64`.
    Plan,
}

impl Source {
    fn name(self, name: &str) -> String {
        match self {
            Self::CommandLine => format!("--{name}"),
            Self::Plan => name.to_owned(),
        }
    }

    fn with_value(self, name: &str, value: &str) -> String {
        match self {
            Self::CommandLine => format!("--{name} {value}"),
            Self::Plan => format!("{name} = {value}"),
        }
    }
}

/// What is written after the name of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing; in a plan `true` or `false`.
    Nothing,
    /// A value, called so in help.
    Value(&'static str),
    /// Values with commas between them.
    List(&'static str),
    /// A value, or nothing for the usual one.
    Optional(&'static str),
}

/// What holds without an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usual {
    /// It does nothing.
    Off,
    /// It must be given, or one that it excludes.
    Needed,
    /// This value.
    Value(&'static str),
    /// What these words say.
    Words(&'static str),
}

/// Which help of a command shows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelpLevel {
    /// `-h` and `--help`.
    Short,
    /// `--help`.
    Long,
    /// None: it is for those who are used to it from other tools.
    Never,
}

/// An option of a test: an argument of the command of its kind, and a key of a plan.
#[derive(Debug, Clone, Copy)]
pub struct TestOption {
    /// Its name: `--name`, `name = …`.
    pub name: &'static str,
    /// The kinds of test that have it, by this name and with this meaning.
    pub kinds: &'static [TestKind],
    /// One sentence without its end.
    pub help: &'static str,
    /// What follows its name.
    pub takes: Takes,
    /// The values that are possible, where they have names.
    pub choices: Option<fn() -> Vec<Choice>>,
    /// One letter.
    pub short: Option<char>,
    /// A second name, on the command line and in plans.
    pub also: Option<&'static str>,
    /// What other tools call it, on the command line only.
    pub aliases: &'static [&'static str],
    /// Their letter.
    pub short_alias: Option<char>,
    /// Which help shows it.
    pub shown: HelpLevel,
    /// Names of options that cannot be given with it.
    pub excludes: &'static [&'static str],
    /// Names of options, one of which it requires.
    needs: &'static [&'static str],
    usual: Usual,
    /// Where plans take another value without it.
    usual_in_plans: Option<Usual>,
    /// The only place where it can be written.
    only: Option<Source>,
    /// The value that is the same as nothing.
    off: Option<&'static str>,
    /// Whether no specification of a test holds its value.
    pub(crate) is_beside: bool,
    /// Page of the guide on it.
    page: Option<&'static str>,
    /// Whether a value of it names a file that is read.
    pub(crate) names_file: fn(&str) -> bool,
    apply: fn(&mut Draft, &str) -> Result<(), String>,
}

/// An option with a value.
const fn option(
    name: &'static str,
    kinds: &'static [TestKind],
    value: &'static str,
    help: &'static str,
) -> TestOption {
    TestOption {
        name,
        kinds,
        help,
        takes: Takes::Value(value),
        choices: None,
        short: None,
        also: None,
        aliases: &[],
        short_alias: None,
        shown: HelpLevel::Long,
        excludes: &[],
        needs: &[],
        usual: Usual::Off,
        usual_in_plans: None,
        only: None,
        off: None,
        is_beside: false,
        page: None,
        names_file: |_| false,
        apply: |_, _| Ok(()),
    }
}

/// An option without one.
const fn flag(name: &'static str, kinds: &'static [TestKind], help: &'static str) -> TestOption {
    option(name, kinds, "", help)
        .takes(Takes::Nothing)
        .off("false")
}

/// An option with several values.
const fn list(
    name: &'static str,
    kinds: &'static [TestKind],
    value: &'static str,
    help: &'static str,
) -> TestOption {
    option(name, kinds, value, help).takes(Takes::List(value))
}

/// By these an entry of a list says what differs from an option that is only a name and a value.
macro_rules! setters {
    ($($name:ident($value:ident: $kind:ty) $field:ident = $is:expr;)*) => {
        impl TestOption {
            $(const fn $name(mut self, $value: $kind) -> Self {
                self.$field = $is;
                self
            })*
        }
    };
}

setters! {
    takes(takes: Takes) takes = takes;
    short(letter: char) short = Some(letter);
    short_alias(letter: char) short_alias = Some(letter);
    also(name: &'static str) also = Some(name);
    aliases(names: &'static [&'static str]) aliases = names;
    shown(shown: HelpLevel) shown = shown;
    choices(choices: fn() -> Vec<Choice>) choices = Some(choices);
    excludes(names: &'static [&'static str]) excludes = names;
    needs(one_of: &'static [&'static str]) needs = one_of;
    usual(value: &'static str) usual = Usual::Value(value);
    otherwise(usual: Usual) usual = usual;
    usual_in_plans(value: &'static str) usual_in_plans = Some(Usual::Value(value));
    only(source: Source) only = Some(source);
    off(value: &'static str) off = Some(value);
    is_beside(is_beside: bool) is_beside = is_beside;
    page(page: &'static str) page = Some(page);
    names_file(names_file: fn(&str) -> bool) names_file = names_file;
    sets(apply: fn(&mut Draft, &str) -> Result<(), String>) apply = apply;
}

impl TestOption {
    /// Whether `source` can have it.
    fn is_of(&self, source: Source) -> bool {
        self.only.is_none_or(|only| only == source)
    }

    /// What holds where `source` does not have it.
    pub fn usual_in(&self, source: Source) -> Usual {
        match (source, self.usual_in_plans) {
            (Source::Plan, Some(usual)) => usual,
            _ => self.usual,
        }
    }

    /// What is wrong with one of its values, for a test of this kind.
    pub fn check(&self, kind: TestKind, value: &str) -> Result<(), String> {
        self.apply(&mut Draft::new(kind), value)
    }

    /// The names by which plans have it.
    fn keys(&self) -> impl Iterator<Item = &'static str> {
        [self.name].into_iter().chain(self.also)
    }

    fn apply(&self, draft: &mut Draft, value: &str) -> Result<(), String> {
        if self.off == Some(value) {
            return Ok(());
        }
        if self.takes == Takes::Nothing && value != "true" {
            return Err("must be true or false".to_owned());
        }
        let known = self.choices.map(|choices| choices()).unwrap_or_default();
        let is_known = |value: &str| known.iter().any(|choice| choice.name == value);
        if !known.is_empty() && !value.split(',').all(is_known) {
            let names: Vec<_> = known.iter().map(|choice| choice.name).collect();
            return Err(format!("must be one of {}", names.join(", ")));
        }
        (self.apply)(draft, value)
    }
}

/// Largest file that a value names.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Every option with what it is about.
fn all() -> impl Iterator<Item = (&'static str, &'static TestOption)> + Clone {
    let of = |group: &&'static Group| {
        let heading = group.heading;
        group.options.iter().map(move |option| (heading, option))
    };
    ALL.iter().flat_map(of)
}

/// The options of `kind` that the command line has, with what they are about.
pub fn of_command(
    kind: TestKind,
) -> impl Iterator<Item = (&'static str, &'static TestOption)> + Clone {
    all().filter(move |(_, option)| {
        option.kinds.contains(&kind) && option.is_of(Source::CommandLine)
    })
}

/// Every option that plans have.
pub(crate) fn of_plans() -> impl Iterator<Item = &'static TestOption> {
    let all = all().map(|(_, option)| option);
    all.filter(|option| option.is_of(Source::Plan))
}

/// Every key of a plan, once, in the order of the guide.
pub(crate) fn keys() -> Vec<&'static str> {
    let mut keys: Vec<&str> = Vec::new();
    for key in of_plans().flat_map(TestOption::keys) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// The options that plans call `key`, each of other kinds.
pub(crate) fn with_key(key: &str) -> impl Iterator<Item = &'static TestOption> {
    of_plans().filter(move |option| option.keys().any(|known| known == key))
}

/// The option that plans call `key` for tests of `kind`.
pub fn find(kind: TestKind, key: &str) -> Option<&'static TestOption> {
    with_key(key).find(|option| option.kinds.contains(&kind))
}

/// An option, and its value as it was written.
pub type OptionValue = (&'static TestOption, String);

/// Why options make no test.
#[derive(Debug)]
pub struct Refused {
    /// The position of the one whose value cannot be.
    pub at: Option<usize>,
    /// In the words of who wrote them.
    pub message: String,
}

/// What these options ask for. It is not checked yet as a whole: see [`Request::check`].
pub fn request(kind: TestKind, source: Source, given: &[OptionValue]) -> Result<Request, Refused> {
    let whole = |message| Refused { at: None, message };
    together(source, given).map_err(whole)?;
    let mut draft = Draft::new(kind);
    let of_kind = || {
        let all = all().map(|(_, option)| option);
        all.filter(|option| option.kinds.contains(&kind))
    };
    for option in of_kind().filter(|option| !option.is_among(given)) {
        match option.usual_in(source) {
            Usual::Value(usual) => option.apply(&mut draft, usual).map_err(whole)?,
            Usual::Needed if !option.is_replaced(given) => {
                let name = source.name(option.name);
                let why = format!("{} needs {name}: {}", kind.as_str(), option.help);
                return Err(whole(why));
            }
            Usual::Needed | Usual::Off | Usual::Words(_) => {}
        }
    }
    // In the order of the lists: where one depends on another, that one stands before it.
    for option in of_kind() {
        let values = given.iter().enumerate();
        for (at, (_, value)) in values.filter(|(_, (given, _))| ptr::eq(*given, option)) {
            let applied = option.apply(&mut draft, value);
            let applied = applied.and_then(|()| match source {
                Source::Plan => draft.check_cell(),
                Source::CommandLine => Ok(()),
            });
            applied.map_err(|why| Refused {
                at: Some(at),
                message: format!("{}: {why}", source.with_value(option.name, value)),
            })?;
        }
    }
    draft.finish(kind).map_err(whole)
}

impl TestOption {
    fn is_among(&self, given: &[OptionValue]) -> bool {
        given.iter().any(|(other, _)| ptr::eq(*other, self))
    }

    /// Whether one that it excludes is given in its place.
    fn is_replaced(&self, given: &[OptionValue]) -> bool {
        given
            .iter()
            .any(|(other, _)| self.excludes.contains(&other.name))
    }
}

/// Refuses options that exclude each other, and those without one that they require.
fn together(source: Source, given: &[OptionValue]) -> Result<(), String> {
    let is_on = |(option, value): &&OptionValue| option.off != Some(value);
    let on: Vec<_> = given
        .iter()
        .filter(is_on)
        .map(|(option, _)| option)
        .collect();
    let spelled = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| source.name(name)).collect();
        names.join(" or ")
    };
    for option in &on {
        let name = source.name(option.name);
        if let Some(other) = on
            .iter()
            .find(|other| option.excludes.contains(&other.name))
        {
            let other = source.name(other.name);
            return Err(format!(
                "{name} and {other} exclude each other: leave one out"
            ));
        }
        let has_needed = on.iter().any(|other| option.needs.contains(&other.name));
        if !option.needs.is_empty() && !has_needed {
            return Err(format!("{name} requires {}", spelled(option.needs)));
        }
    }
    Ok(())
}

impl Request {
    /// Whether every test that it is made of can be.
    pub fn check(&self, kind: TestKind, source: Source) -> Result<(), String> {
        let specs: Vec<TestSpec> = match &self.test {
            Test::Single(spec) => vec![spec.clone()],
            Test::Saturate(plan) => vec![plan.spec.clone()],
            Test::Latency(plan) => plan.specs(),
            Test::Switch(plan) => plan.specs()?,
        };
        specs.iter().try_for_each(|spec| {
            validate(spec).map_err(|error| {
                let setting = error.setting();
                let name = find(kind, setting).map_or(setting, |found| found.name);
                let given = source.with_value(name, &error.value);
                format!("{given}: must be {}", error.valid)
            })
        })
    }
}

#[cfg(test)]
mod tests;
