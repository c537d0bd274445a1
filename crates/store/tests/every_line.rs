//! Every line of every fixture dropped, doubled, swapped and cut: minutes.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

#[path = "formats/changes.rs"]
mod changes;

#[test]
fn no_wrong_line_is_another_number_without_a_word() {
    let wrong = changes::wrong(1);
    assert!(wrong.is_empty(), "{} are: {wrong:#?}", wrong.len());
}
