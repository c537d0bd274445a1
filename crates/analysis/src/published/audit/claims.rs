//! What the text says of the figures, and they do not.

use super::parts::statements;
use super::{Check, Examined};
use crate::published::table::PublishedTable;

pub(super) const CHECK: Check = Check {
    id: "claims",
    asks: "Do the figures say what the text says of them?",
    source: "the claims in the head of the table",
    expected_false: 0.0,
    run,
};

fn run(table: &PublishedTable) -> Examined {
    statements(
        table,
        &table.claims,
        "the head states no claim (`# claim: [..] > [..] -- words`)",
    )
}
