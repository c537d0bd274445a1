//! Softnet backlog: packets between the driver's interrupt and the protocols.
//!
//! One line per core, columns in hexadecimal, each a 32-bit counter; columns were appended over the years, the first
//! three are as old as the file. The backlog belongs to the cores, so its counters are those of the whole host,
//! whichever network namespace reads them.

use super::{Collector, record, record_missing};
use crate::error::ReadError;
use crate::history::Backwards;
use crate::text::whole_lines;
use linerate_model::signals::{SOFTNET_DROPPED, SOFTNET_PROCESSED, SOFTNET_TIME_SQUEEZE};

const PATH: &str = "proc/thread-self/net/softnet_stat";

/// Signals in the order of the file's columns.
const SIGNALS: &[&str] = &[SOFTNET_PROCESSED, SOFTNET_DROPPED, SOFTNET_TIME_SQUEEZE];

pub(super) static COLLECTOR: Collector = Collector {
    signals: SIGNALS,
    backwards: Backwards::Wrap32,
    read: |host, into| {
        let sums = host.text(PATH).and_then(|text| {
            sums(&text)
                .ok_or_else(|| ReadError::no_field(PATH, "line of three hexadecimal columns"))
        });
        match sums {
            Ok(sums) => {
                for (signal, sum) in SIGNALS.iter().zip(sums) {
                    record(into, signal, Ok(sum));
                }
            }
            Err(error) => record_missing(into, SIGNALS, &error),
        }
    },
    ..Collector::new(
        "softnet",
        "Packets that the softnet backlog of all cores processed, dropped or put off.",
    )
};

/// First three columns summed over all cores; `None` unless every line has them.
fn sums(text: &str) -> Option<[u64; 3]> {
    if !text.ends_with('\n') {
        return None;
    }
    whole_lines(text).try_fold([0; 3], |mut sums: [u64; 3], line| {
        let mut columns = line.split_ascii_whitespace();
        for sum in &mut sums {
            *sum += u64::from(u32::from_str_radix(columns.next()?, 16).ok()?);
        }
        Some(sums)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_are_hexadecimal_and_summed_over_cores() {
        let text = "\
00000027 00000001 0000000a 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
00000729 0000000f 00000010 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001 00000000 00000000
";
        assert_eq!(sums(text), Some([0x27 + 0x729, 0x10, 0x1a]));
    }

    #[test]
    fn the_nine_columns_of_linux_2_6_are_enough() {
        let text =
            "ffffffff 00000002 00000003 00000000 00000000 00000000 00000000 00000000 00000000\n";
        assert_eq!(sums(text), Some([u64::from(u32::MAX), 2, 3]));
    }

    #[test]
    fn a_sum_may_be_larger_than_a_core_can_count() {
        let text = "ffffffff ffffffff ffffffff\n".repeat(256);
        assert_eq!(sums(&text), Some([256 * u64::from(u32::MAX); 3]));
    }

    #[test]
    fn a_file_that_lost_a_core_is_no_sum() {
        for text in [
            "",
            "00000001 00000002\n",
            "00000001 00000002 0000",
            "1 2 x\n",
            "1 2 3\n4 5",
        ] {
            assert_eq!(sums(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*", lines in "([0-9a-f ]{0,30}\n){0,5}") {
            let _ = (sums(&text), sums(&lines));
        }
    }
}
