//! The link as TCP sees it: a queue stands before it.

use super::View;
use crate::rules::evidence::Need;
use crate::rules::{RuleOutcome, clear, not_evaluated, words};

impl View<'_> {
    pub(super) fn tcp(&self) -> RuleOutcome {
        let Some(delays) = self.delays else {
            return not_evaluated(format!("Not recorded: {}", Need::Delay.describe()));
        };
        if !delays.queue_stands() {
            return clear(format!(
                "no queue stands: RTT under load {} against {} at best",
                words::time(delays.loaded),
                words::time(delays.base)
            ));
        }
        self.standing(delays)
    }
}
