//! How long a console is waited for, by how much it prints. Reads no clock.

use std::time::Duration;

/// Time of a part of the way to an agent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    /// For a console that prints next to nothing.
    least: Duration,
    /// Whatever it prints.
    most: Duration,
}

/// Of a whole login. A board that starts prints for long, and an agent whose client was killed keeps the console for a
/// minute.
pub(crate) const LOGIN: Limit = Limit {
    least: Duration::from_secs(30),
    most: Duration::from_mins(2),
};

/// Time that each byte is worth: what prints less than ten of them in a second neither starts nor serves.
const BYTE: Duration = Duration::from_millis(100);

impl Limit {
    /// The same whatever is printed.
    pub(crate) const fn fixed(time: Duration) -> Self {
        Self {
            least: time,
            most: time,
        }
    }

    /// What it is after so many bytes.
    pub(crate) fn after(self, taken: usize) -> Duration {
        let printed = BYTE.saturating_mul(u32::try_from(taken).unwrap_or(u32::MAX));
        self.least.saturating_add(printed).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second in which a login is given up at a console that prints so many bytes in each of them.
    fn given_up(bytes: usize) -> u64 {
        let limit = |second: u64| LOGIN.after(bytes * usize::try_from(second).unwrap());
        let over = (0..1000).find(|second| Duration::from_secs(*second) >= limit(*second));
        over.unwrap()
    }

    #[test]
    fn a_console_that_drips_is_given_up_soon_and_a_board_that_starts_is_not() {
        assert_eq!(given_up(0), 30);
        // A byte each half second, and a prompt for each probe.
        assert!(given_up(2) < 40);
        assert!(given_up(4) <= 50);
        assert_eq!(given_up(1000), 120);
        assert_eq!(
            Limit::fixed(Duration::from_secs(3))
                .after(usize::MAX)
                .as_secs(),
            3
        );
    }
}
