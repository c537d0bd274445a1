//! netperfs that ran at the same time, as scripts start them (`netperf … & netperf … &`) to load a path with several streams:
//! each is a test by itself, and says so. Nobody measured their sum.

use super::{Log, NO_TABLE, Output, ParsedTest, Skipped};
use crate::import::Origin;

/// The first line of each table of classic output.
const TABLES: &[&str] = &[
    "Recv   Send    Send",
    "Socket  Message  Elapsed",
    "Local /Remote",
];

/// Tests whose banners were printed together, before the first table: each prints its table at its end.
#[derive(Default)]
pub(super) struct Waiting {
    banner: String,
    /// Where the banners of the tests stand that have no table yet.
    origins: Vec<Origin>,
}

impl Waiting {
    /// Takes the banner `line`, if it is that of the open test, of which nothing else is printed yet.
    pub(super) fn take_banner(&mut self, log: &Log, open: Option<&mut Output>, line: &str) -> bool {
        let same = open.filter(|open| open.has_banner_only() && self.banner == line);
        let Some(open) = same else {
            line.clone_into(&mut self.banner);
            return false;
        };
        open.ran_with_others();
        self.origins.push(log.origin());
        true
    }

    /// Whether `line` begins the table of a test that waits for it, after that of the open test.
    pub(super) fn take_table(&mut self, open: Option<&Output>, line: &str) -> bool {
        let begins = TABLES.iter().any(|table| line.starts_with(table));
        begins && open.is_some_and(|open| open.has_heading) && self.origins.pop().is_some()
    }

    /// The banner of these tests.
    pub(super) fn banner(&self) -> &str {
        &self.banner
    }

    /// The tests whose tables never came.
    pub(super) fn left(&mut self) -> impl Iterator<Item = ParsedTest> {
        std::mem::take(&mut self.origins).into_iter().map(|origin| {
            ParsedTest::Skipped(Skipped {
                origin,
                reason: NO_TABLE.to_owned(),
                has_failed: false,
            })
        })
    }
}

/// Whether a command line starts something in the background.
pub(super) fn is_background(line: &str) -> bool {
    line.split_whitespace().any(|word| word == "&")
}
