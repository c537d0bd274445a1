//! The options as the tables of the guide have them.

use super::{ALL, HelpLevel, Source, TestKind, TestOption, Usual};

/// The keys of plans that no command has, as Markdown.
pub fn plan_table() -> String {
    let head = "| key | kinds | does | default |\n|---|---|---|---|\n".to_owned();
    let of_plans_alone = super::of_plans().filter(|option| !option.has_help());
    of_plans_alone.fold(head, |table, option| {
        let keys: Vec<_> = option.keys().map(|key| format!("`{key}`")).collect();
        let (keys, kinds) = (keys.join(", "), option.kinds_in_words());
        let page = option.page.map(|page| format!(": [more]({page})"));
        let does = option.does() + &page.unwrap_or_default();
        let usual = option.default_in(Source::Plan);
        table + &format!("| {keys} | {kinds} | {does} | {usual} |\n")
    })
}

/// The keys whose default in plans is not that of the command, as a list in a sentence.
pub fn plan_defaults() -> String {
    let others =
        super::of_plans().filter(|option| option.has_help() && option.usual_in_plans.is_some());
    let all = others.map(|option| {
        let (kinds, usual) = (option.kinds_in_words(), option.default_in(Source::Plan));
        format!("`{}` of {kinds} {usual}", option.name)
    });
    all.collect::<Vec<_>>().join("; ")
}

/// The options of the commands that measure, by what they are about, as Markdown. What each does, help says.
pub fn option_index() -> String {
    let head = "| about | commands | options |\n|---|---|---|\n".to_owned();
    ALL.iter().fold(head, |table, group| {
        let shown: Vec<_> = (group.options.iter())
            .filter(|option| option.is_of(Source::CommandLine) && option.is_shown())
            .collect();
        if shown.is_empty() {
            return table;
        }
        let is_of = |kind: &TestKind| shown.iter().any(|option| option.kinds.contains(kind));
        let kinds: Vec<_> = TestKind::ALL.into_iter().filter(is_of).collect();
        let mut names: Vec<_> = shown.iter().map(|option| option.in_index()).collect();
        // An option that commands explain differently stands once.
        names.dedup();
        let kinds = in_words(&kinds);
        table + &format!("| {} | {kinds} | {} |\n", group.heading, names.join(", "))
    })
}

/// `all`, or the names of kinds.
fn in_words(kinds: &[TestKind]) -> String {
    if kinds.len() == TestKind::ALL.len() {
        return "all".to_owned();
    }
    TestKind::names(kinds)
}

impl TestOption {
    /// `all`, or the names of its kinds.
    pub(crate) fn kinds_in_words(&self) -> String {
        in_words(self.kinds)
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

    /// Whether the help of a command explains it.
    fn has_help(&self) -> bool {
        self.is_of(Source::CommandLine) && self.is_shown()
    }

    fn is_shown(&self) -> bool {
        self.shown != HelpLevel::Never
    }

    /// `-t`, `--time`, with a link to the page that explains it.
    fn in_index(&self) -> String {
        let short = self.short.map(|letter| format!("`-{letter}`, "));
        let name = format!("{}`--{}`", short.unwrap_or_default(), self.name);
        match self.page {
            Some(page) => format!("[{name}]({page})"),
            None => name,
        }
    }
}
