//! The options as the tables of the guide have them.

use super::{ALL, Group, HelpLevel, Source, Takes, TestKind, TestOption, Usual};

/// The keys of plans that no command has, or that a plan has another default for, as Markdown.
pub fn plan_table() -> String {
    let head = "| key | kinds | does | default |\n|---|---|---|---|\n".to_owned();
    let of_plans_alone = super::of_plans().filter(|option| option.differs_in_plans());
    of_plans_alone.fold(head, |table, option| {
        let keys: Vec<_> = option.keys().map(|key| format!("`{key}`")).collect();
        table + &row(option, &keys.join(", "), Source::Plan)
    })
}

/// The options of the commands that measure, by what they are about, as Markdown.
pub fn command_tables() -> String {
    let of_group = |group: &&'static Group| {
        let rows: String = (group.options.iter())
            .filter(|option| option.is_of(Source::CommandLine) && option.is_shown())
            .map(|option| row(option, &option.on_command_line(), Source::CommandLine))
            .collect();
        let head = "| option | commands | does | default |\n|---|---|---|---|";
        (!rows.is_empty()).then(|| format!("### {}\n\n{head}\n{rows}", group.heading))
    };
    let tables: Vec<_> = ALL.iter().filter_map(of_group).collect();
    tables.join("\n")
}

fn row(option: &TestOption, name: &str, source: Source) -> String {
    let page = option.page.map(|page| format!(": [more]({page})"));
    let (kinds, does) = (option.kinds_in_words(), option.does());
    let page = page.unwrap_or_default();
    format!(
        "| {name} | {kinds} | {does}{page} | {} |\n",
        option.default_in(source)
    )
}

impl TestOption {
    /// `all`, or the names of its kinds.
    pub(crate) fn kinds_in_words(&self) -> String {
        if self.kinds.len() == TestKind::ALL.len() {
            return "all".to_owned();
        }
        TestKind::names(self.kinds)
    }

    /// What it does, and the values that have names.
    pub(crate) fn does(&self) -> String {
        let choices = self.choices.map(|choices| choices()).unwrap_or_default();
        let names: Vec<_> = choices
            .iter()
            .map(|choice| format!("`{}`", choice.name))
            .collect();
        let colon = if names.is_empty() { "" } else { ": " };
        format!("{}{colon}{}", self.help, names.join(", "))
    }

    /// What holds without it.
    pub(crate) fn default_in(&self, source: Source) -> String {
        match (self.usual_in(source), self.off) {
            (Usual::Needed, _) => "needed".to_owned(),
            (Usual::Value(value), _) => format!("`{value}`"),
            (Usual::Words(words), _) => words.to_owned(),
            (Usual::Off, Some(off)) if source == Source::Plan => format!("`{off}`"),
            (Usual::Off, _) => "–".to_owned(),
        }
    }

    /// Whether the tables of the commands do not say all that a plan's author needs.
    fn differs_in_plans(&self) -> bool {
        !self.is_of(Source::CommandLine) || !self.is_shown() || self.usual_in_plans.is_some()
    }

    fn is_shown(&self) -> bool {
        self.shown != HelpLevel::Never
    }

    /// `-t`, `--time TIME`.
    fn on_command_line(&self) -> String {
        let short = self.short.map(|letter| format!("`-{letter}`, "));
        let value = match self.takes {
            Takes::Nothing => String::new(),
            Takes::Value(value) | Takes::List(value) => format!(" {value}"),
            Takes::Optional(value) => format!("[={value}]"),
        };
        format!("{}`--{}{value}`", short.unwrap_or_default(), self.name)
    }
}
