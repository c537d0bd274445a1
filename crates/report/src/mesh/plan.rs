//! What a mesh will test, before anything is.

use crate::document::{Block, Document, DocumentFormat, Head, Most, Sheet};
use crate::figures::bytes;
use crate::table::words;
use crate::words::counted;
use linerate_model::mesh::{MeshCoverage, MeshPair, MeshPlan};
use linerate_model::text::spoken_time;
use serde::Serialize;

/// Rounds, and pairs of a round, that are listed; JSON has all.
const ROUNDS: Most = Most {
    on_page: 200,
    on_terminal: 12,
};
const PAIRS: usize = 6;

impl Document for MeshPlan {
    const FORMATS: &'static [DocumentFormat] = &[];
    const NAME: &'static str = "plan of a mesh";

    fn head(&self) -> Head {
        Head {
            heading: self.title.clone(),
            made_what: "Plan",
            reading: "",
        }
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let pairs = counted(self.pairs(), "pair");
        let rounds = counted(self.rounds.len(), "round");
        let title = format!(
            "{}: {pairs} of {} hosts in {rounds}, {} in all",
            self.title,
            self.hosts.len(),
            spoken_time(self.time)
        );
        let tests = format!(
            "{} s each way, {}",
            self.test.as_secs_f64(),
            counted(self.repetitions as usize, "repetition")
        );
        let sent = self.bytes.map_or_else(
            || "not bounded: a host's rate is not declared".to_owned(),
            |most| format!("at most {}", bytes(most)),
        );
        let mut blocks = vec![
            Block::title(title),
            Block::fact("tests", tests),
            Block::fact("payload", sent),
            Block::fact("fewest rounds", self.rounds_bound.to_string()),
        ];
        if let Some(search) = &self.search {
            let sent = search
                .bytes
                .map_or_else(String::new, |most| format!(", {}", bytes(most)));
            let text = format!(
                "then searched for with at most {}, {}{sent}",
                counted(search.crowds, "crowd"),
                spoken_time(search.time)
            );
            blocks.push(Block::fact("shared links", text));
        }
        if self.coverage == MeshCoverage::Sampled {
            let text = format!("a sample of the pairs, by seed {}", self.seed);
            blocks.push(Block::fact("coverage", text));
        }
        if !self.unreachable.is_empty() {
            let names = self.names(&self.unreachable);
            let text = format!("neither host accepts connections: {names}");
            blocks.push(Block::fact("cannot meet", text));
        }
        let rows: Vec<usize> = (0..self.rounds.len()).collect();
        let columns = vec![
            words("round", |row: &usize| (row + 1).to_string()),
            words("pairs at once", |row: &usize| {
                self.names(&self.rounds[*row])
            }),
        ];
        blocks.push(Block::Table(
            Sheet::new("rounds", &rows, columns).at_most(ROUNDS),
        ));
        blocks
    }

    fn json(&self) -> impl Serialize {
        self
    }
}

/// Names of pairs.
trait Names {
    fn names(&self, pairs: &[MeshPair]) -> String;
}

impl Names for MeshPlan {
    fn names(&self, pairs: &[MeshPair]) -> String {
        let host = |place: usize| self.hosts.get(place).map_or("?", String::as_str);
        let shown = pairs.iter().take(PAIRS);
        let shown = shown.map(|pair| format!("{}–{}", host(pair.dialer), host(pair.listener)));
        let mut names = shown.collect::<Vec<_>>().join(", ");
        if let Some(more) = pairs.len().checked_sub(PAIRS).filter(|more| *more > 0) {
            names = format!("{names} and {more} more");
        }
        names
    }
}
