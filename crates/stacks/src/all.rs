//! Registry of the stacks, in the order in which help and errors list them.

use crate::kind::StackKind;
use crate::{command, kernel, lwip, smoltcp};

/// Every stack. A new one: its file, its `mod` line, its entry here.
pub static ALL: &[&StackKind] = &[&kernel::KIND, &lwip::KIND, &smoltcp::KIND, &command::KIND];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[test]
    fn every_stack_has_a_name_of_its_own_and_a_sentence() {
        let mut ids: Vec<_> = ALL.iter().map(|kind| kind.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ALL.len());
        for kind in ALL {
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(kind.id.chars().all(is_plain), "{}", kind.id);
            assert!(kind.summary.ends_with('.'), "{}", kind.summary);
            // A kind that needs an option names it in the error.
            let checked = (kind.check)(&Options::new());
            assert!(
                checked.is_ok() || checked.is_err_and(|why| why.contains("is needed")),
                "{}",
                kind.id
            );
        }
    }
}
