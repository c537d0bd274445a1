//! The charts of a run by what they are for.

use crate::chart::Chart;
use crate::charts::{self, Drawn, Topic};
use linerate_model::run::Run;

/// The charts of a run by what they are for.
pub(super) struct RunCharts {
    /// Those that answer what the run asks.
    pub(super) answer: Vec<Chart>,
    by_topic: Vec<(Topic, Chart)>,
    missing: Vec<(Topic, &'static str)>,
}

impl RunCharts {
    pub(super) fn from_run(run: &Run) -> Self {
        let mut all = Self {
            answer: Vec::new(),
            by_topic: Vec::new(),
            missing: Vec::new(),
        };
        for kind in charts::ALL {
            match (kind.draw)(run) {
                Drawn::Charts(charts) => {
                    let useful = charts.into_iter().filter(Chart::says_something);
                    let useful: Vec<Chart> = useful.map(Chart::cleaned).collect();
                    if kind.answers && all.answer.is_empty() {
                        all.answer = useful;
                    } else {
                        all.by_topic
                            .extend(useful.into_iter().map(|chart| (kind.topic, chart)));
                    }
                }
                Drawn::Missing(what) => all.missing.push((kind.topic, what)),
                Drawn::NotApplicable => {}
            }
        }
        all
    }

    /// Takes the charts of one topic.
    pub(super) fn take(&mut self, topic: Topic) -> Vec<Chart> {
        let (of, rest) = std::mem::take(&mut self.by_topic)
            .into_iter()
            .partition(|(known, _)| *known == topic);
        self.by_topic = rest;
        let of: Vec<(Topic, Chart)> = of;
        of.into_iter().map(|(_, chart)| chart).collect()
    }

    /// What of a topic was not recorded, in a sentence.
    pub(super) fn missing(&self, topic: Topic) -> Option<String> {
        let of = self.missing.iter().filter(|(known, _)| *known == topic);
        let of: Vec<&str> = of.map(|(_, what)| *what).collect();
        (!of.is_empty())
            .then(|| format!("Not drawn, because it was not recorded: {}.", of.join("; ")))
    }
}
