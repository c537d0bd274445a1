//! Which cell of a plan is measured when and how often, the control among them.

use super::{Cell, ControlChoice, Places, PlanSeries, Study, StudyPlan};
use linerate_analysis::study::rounds::MIN_RUNS;
use linerate_client::no_element;
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::random::Random;
use linerate_model::run::{StudyBudget, StudyCell, StudyPlace, StudySeries, StudySettings};
use std::time::Duration;

/// What a run takes beside its tests: connecting, comparing clocks, its end.
const BETWEEN: Duration = Duration::from_secs(1);

impl Cell {
    /// How long one run of it takes at most, a proof aside.
    pub fn time(&self) -> Duration {
        self.test.time() + self.diagnose + BETWEEN
    }
}

impl StudyPlan {
    /// The cell that is measured a second time as the A/A control.
    pub fn control(&self) -> Option<&Cell> {
        let is_repeated = self.repetitions > 1 || self.budget.is_some();
        let usual = (self.cells.len() > 1 && is_repeated).then_some(0);
        self.cells.get(match self.control {
            ControlChoice::Cell(cell) => cell,
            ControlChoice::None => return None,
            ControlChoice::Usual => usual?,
        })
    }

    /// How many cells are measured, the control among them.
    pub fn places(&self) -> usize {
        self.cells.len() + usize::from(self.control().is_some())
    }

    /// What is measured at a place, and what it is called in the study. One beyond the last cell is the control.
    pub fn place(&self, index: usize) -> Option<(&Cell, &str)> {
        match self.cells.get(index) {
            Some(cell) => Some((cell, cell.label.as_str())),
            None if index == self.cells.len() => Some((self.control()?, StudyPlace::CONTROL)),
            None => None,
        }
    }

    /// How many runs it makes; with a budget, at least.
    pub fn runs(&self) -> usize {
        self.places().saturating_mul(match self.budget {
            Some(_) => MIN_RUNS,
            None => self.repetitions as usize,
        })
    }

    /// How long it takes at most, without proofs: the time of its tests, and between two of them about a second.
    pub fn time(&self) -> Duration {
        self.budget
            .unwrap_or_else(|| self.round().saturating_mul(self.repetitions))
    }

    /// How long every cell once and the control take.
    fn round(&self) -> Duration {
        let all = (0..self.places()).filter_map(|index| self.place(index));
        all.map(|(cell, _)| cell.time()).sum()
    }

    /// Refuses a budget in which not every cell can be measured so often that its interval is known, and a precision
    /// without a budget.
    pub fn check_budget(&self) -> Result<()> {
        let Some(budget) = self.budget else {
            return match self.precision {
                None => Ok(()),
                Some(_) => Err(Failure::new(
                    ExitCode::Plan,
                    "precision requires a budget: give `budget` in [study], or --time",
                )),
            };
        };
        let runs = u32::try_from(MIN_RUNS).unwrap_or(u32::MAX);
        let needed = self.round().saturating_mul(runs);
        if budget >= needed {
            return Ok(());
        }
        let message = format!(
            "a budget of {} s is too short: {MIN_RUNS} runs of each of {} cells take up to {} s; give more time, \
             fewer levels or shorter tests",
            budget.as_secs_f64().round(),
            self.places(),
            needed.as_secs_f64().ceil(),
        );
        Err(Failure::new(ExitCode::Plan, message))
    }

    /// Refuses to start anew what linerate does not start.
    pub fn check_restart(&self) -> Result<()> {
        let mut peers = self.cells.iter().map(|cell| &cell.far);
        let Some(peer) = peers.find(|peer| self.restart && peer.restarted().is_none()) else {
            return Ok(());
        };
        let message = format!(
            "restart = true: linerate does not start the program at {peer}; give the host as ssh://, whose agent it \
             starts, or a stack"
        );
        Err(Failure::new(ExitCode::Plan, message))
    }

    /// Refuses a link element before a peer that is no emulated board.
    pub fn check_links(&self) -> Result<()> {
        let mut cells = self.cells.iter();
        match cells.find(|cell| cell.link.is_some() && !cell.far.is_board()) {
            Some(cell) => Err(no_element(&cell.far)),
            None => Ok(()),
        }
    }

    /// Which cell is measured when: repetition (from 0) and index of the cell, in the order of measuring. With a budget
    /// there is none before it begins.
    pub fn order(&self) -> Vec<(u32, usize)> {
        let mut random = Random::new(self.seed);
        let mut order = Vec::new();
        let repetitions = if self.budget.is_some() {
            0
        } else {
            self.repetitions
        };
        for repetition in 0..repetitions {
            let mut cells: Vec<usize> = (0..self.places()).collect();
            random.shuffle(&mut cells);
            order.extend(cells.into_iter().map(|cell| (repetition, cell)));
        }
        order
    }

    /// Everything that decides what is measured: equal for two plans of which one may go on where the other
    /// was interrupted.
    pub fn settings(&self) -> StudySettings {
        let cell = |cell: &Cell| StudyCell {
            cell: cell.label.clone(),
            test: cell.test.asked(),
            beside: cell.beside.clone(),
        };
        StudySettings {
            host: self.peers(),
            repetitions: self.repetitions,
            seed: self.seed,
            cells: self.cells.iter().map(cell).collect(),
            order: self.order().into_iter().map(|(_, cell)| cell).collect(),
            prove: self.prove,
            restart: self.restart,
            control: self.control().map(|cell| cell.label.clone()),
            series: self.series.iter().filter_map(series).collect(),
            budget: self.budget.map(|time| StudyBudget {
                time,
                precision: self.precision,
            }),
        }
    }
}

/// As the run document has it.
fn series(series: &PlanSeries) -> Option<StudySeries> {
    Some(StudySeries {
        name: series.name.clone()?,
        title: series.title.clone(),
    })
}

/// What a plan says of its control.
pub(super) fn control(study: &Study, cells: &[Cell], place: Places<'_>) -> Result<ControlChoice> {
    let Some(given) = &study.control else {
        return Ok(ControlChoice::Usual);
    };
    let refuse = |why: &str| Err(place.fail(Some(given.span().start), &format!("control: {why}")));
    match given.get_ref() {
        toml::Value::Boolean(false) => Ok(ControlChoice::None),
        toml::Value::Boolean(true) => Ok(ControlChoice::Cell(0)),
        toml::Value::String(label) => match cells.iter().position(|cell| cell.label == *label) {
            Some(cell) => Ok(ControlChoice::Cell(cell)),
            None => refuse(&format!(
                "no cell is called \"{}\"; `linerate plan check` lists them",
                label.escape_debug()
            )),
        },
        _ => refuse("true, false or the name of a cell is needed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{HEAD, plan, refused};
    use linerate_model::ByteCount;
    use linerate_model::link::EmulatedLink;

    #[test]
    fn the_link_of_a_board_is_a_setting_and_of_no_other_host() {
        let text = "[defaults]\nkind = 'udp'\nrate = '1M'\nlink-queue = '64K'\n\
             [factors]\nlink = ['10M', '100M']\nlink-delay = ['0s', '20ms']\n";
        let linked = plan(text);
        let links: Vec<_> = linked.cells.iter().filter_map(|cell| cell.link).collect();
        let last = EmulatedLink {
            rate: Some("100M".parse().unwrap()),
            delay: Duration::from_millis(20),
            queue: ByteCount::new(64 * 1024),
        };
        assert_eq!((links.len(), links[3]), (4, last));
        // Resumed over another link it is another study.
        assert_ne!(
            plan(&text.replace("64K", "32K")).settings(),
            linked.settings()
        );
        let error = linked.check_links().unwrap_err();
        assert_eq!(error.code, ExitCode::Plan);
        for word in ["10.0.0.2", "board://NAME", "ethtool", "--series"] {
            assert!(error.message.contains(word), "{error}");
        }
        let bare = plan("[defaults]\nkind = 'tcp'\n");
        assert_eq!(bare.cells[0].link, None);
        bare.check_links().unwrap();
    }

    #[test]
    fn links_that_cannot_be_are_refused_with_their_cell_or_line() {
        for (settings, words) in [
            ("link = 'fast'", ["line 5", "link = fast"]),
            ("link-delay = '61s'", ["cell", "60 s"]),
            ("link = '10M'\nlink-queue = '1K'", ["cell", "queue_bytes"]),
            ("link = '0'", ["cell", "rate"]),
        ] {
            refused(
                &format!("{HEAD}[defaults]\nkind = 'tcp'\n{settings}\n"),
                &words,
            );
        }
    }
}
