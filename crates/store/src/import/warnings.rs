//! What to say about the figures of logs, however much that is.

/// Most warnings that are kept.
const MAX_KEPT: usize = 1000;

/// What to say about figures and tests; beyond a thousand sentences their number.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    kept: Vec<String>,
    more: usize,
}

impl Warnings {
    pub(super) fn push(&mut self, warning: String) {
        if self.kept.len() < MAX_KEPT {
            self.kept.push(warning);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn extend(&mut self, warnings: impl IntoIterator<Item = String>) {
        warnings.into_iter().for_each(|warning| self.push(warning));
    }

    /// All of `others` too.
    pub(super) fn add_all(&mut self, others: Self) {
        self.extend(others.kept);
        self.more += others.more;
    }

    pub(super) fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!(
                "{} more warnings are not shown: import fewer files at once to see each",
                self.more
            ));
        }
        self.kept
    }
}
