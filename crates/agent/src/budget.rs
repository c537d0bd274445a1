//! How much a client network and all of them may move in a day, and at which rate: pure accounting.
//!
//! A day ends at midnight UTC. A clock that is set back does not give back what was used; one that was set forward by
//! mistake holds for 24 h of the monotonic clock at most.

use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{Pace, Stop, TestSpec};
use linerate_model::{BitRate, ByteCount, MonoInstant};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Maximum networks with an account of their own in a day; those that come later share one.
const MAX_ACCOUNTS: usize = 4096;

const DAY: Duration = Duration::from_hours(24);

/// A part of a budget: `client=10GB`, `day=100GB` or `rate=100M`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetPart {
    /// L4 payload of the tests of one client network (/24, /64) in a day, both ways.
    Client(ByteCount),
    /// L4 payload of all tests in a day, both ways.
    Day(ByteCount),
    /// Sum of the intended loads of the tests that a client network has under way; tests without a rate are refused.
    Rate(BitRate),
}

impl std::str::FromStr for BudgetPart {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let wrong = |why: String| {
            let message = format!(
                "\"{text}\" is not part of a budget: {why}; write client=10G (bytes of a client in a day), day=100G (of all) or rate=100M (of a client's tests at a time)"
            );
            Failure::new(ExitCode::Usage, message)
        };
        let Some((name, value)) = text.split_once('=') else {
            return Err(wrong("it has no =".to_owned()));
        };
        let bytes = || {
            let bytes: Result<ByteCount, _> = value.parse();
            bytes.map_err(|error| wrong(error.to_string()))
        };
        match name {
            "client" => bytes().map(Self::Client),
            "day" => bytes().map(Self::Day),
            "rate" => {
                let rate: Result<BitRate, _> = value.parse();
                rate.map(Self::Rate)
                    .map_err(|error| wrong(error.to_string()))
            }
            _ => Err(wrong(format!("there is no {name}"))),
        }
    }
}

/// A moment, by the clock that days are of and by the one that is never set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Days since 1970, UTC.
    pub(crate) day: u64,
    pub(crate) now: MonoInstant,
}

/// What was used of a budget today.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    day: Option<Moment>,
    total: u64,
    /// By network; `None`: those that came when there were too many.
    accounts: BTreeMap<Option<IpAddr>, Account>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Account {
    used: u64,
    /// Of the tests under way.
    rate: u64,
    tests: u32,
}

/// A test that was admitted, until it is settled.
#[derive(Debug)]
pub(crate) struct Charge {
    account: Option<IpAddr>,
    rate: u64,
    charged: u64,
}

impl Budget {
    /// Admits a test of a client in `network`, or says what it is beyond.
    pub(crate) fn admit(
        &mut self,
        at: Moment,
        parts: &[BudgetPart],
        network: IpAddr,
        spec: &TestSpec,
    ) -> Result<Charge, String> {
        self.turn(at);
        let is_known = self.accounts.contains_key(&Some(network));
        let account = (is_known || self.accounts.len() < MAX_ACCOUNTS).then_some(network);
        let used = self.accounts.get(&account).copied().unwrap_or_default();
        let rate = match spec.pace() {
            Pace::At(rate) => Some(rate.bps()),
            Pace::Unpaced => None,
        };
        let wanted = wanted_bytes(spec);
        for part in parts {
            match part {
                BudgetPart::Client(most) => within(used.used, wanted, *most, "this network")?,
                BudgetPart::Day(most) => within(self.total, wanted, *most, "all clients")?,
                BudgetPart::Rate(most) => match rate {
                    None => {
                        return Err(format!(
                            "this server's budget allows no unpaced traffic: set a rate of at most {most}"
                        ));
                    }
                    Some(rate) if rate.saturating_add(used.rate) > most.bps() => {
                        return Err(format!(
                            "this network's tests would be at {} together, this server's budget is {most}: ask for less, or wait for the others",
                            BitRate::from_bps(rate.saturating_add(used.rate))
                        ));
                    }
                    Some(_) => {}
                },
            }
        }
        let rate = rate.unwrap_or_default();
        let entry = self.accounts.entry(account).or_default();
        entry.rate = entry.rate.saturating_add(rate);
        entry.tests += 1;
        Ok(Charge {
            account,
            rate,
            charged: 0,
        })
    }

    /// Charges what a test has moved so far; what it is beyond, if it is to end.
    pub(crate) fn charge(
        &mut self,
        at: Moment,
        parts: &[BudgetPart],
        charge: &mut Charge,
        moved: ByteCount,
    ) -> Result<(), String> {
        self.turn(at);
        let more = moved.get().saturating_sub(charge.charged);
        charge.charged = charge.charged.max(moved.get());
        let entry = self.accounts.entry(charge.account).or_default();
        entry.used = entry.used.saturating_add(more);
        self.total = self.total.saturating_add(more);
        let used = entry.used;
        for part in parts {
            match part {
                BudgetPart::Client(most) => within(used, 0, *most, "this network")?,
                BudgetPart::Day(most) => within(self.total, 0, *most, "all clients")?,
                BudgetPart::Rate(_) => {}
            }
        }
        Ok(())
    }

    /// The test is over.
    pub(crate) fn settle(&mut self, charge: &Charge) {
        if let Some(entry) = self.accounts.get_mut(&charge.account) {
            entry.rate = entry.rate.saturating_sub(charge.rate);
            entry.tests = entry.tests.saturating_sub(1);
        }
    }

    /// Begins the account of another day, if it is one. Tests under way go on to count for their network's rate.
    fn turn(&mut self, at: Moment) {
        let is_over =
            |since: Moment| at.day > since.day || at.now.saturating_since(since.now) >= DAY;
        if self.day.is_some_and(|since| !is_over(since)) {
            return;
        }
        self.day = Some(at);
        self.total = 0;
        self.accounts.retain(|_, account| account.tests > 0);
        for account in self.accounts.values_mut() {
            account.used = 0;
        }
    }
}

/// What a test is to move, as far as it says; 0 where it goes as fast as it can.
fn wanted_bytes(spec: &TestSpec) -> u64 {
    match (spec.stop, spec.pace()) {
        (Stop::Bytes(bytes), _) => bytes.get(),
        (Stop::After(time), Pace::At(rate)) => rate.bytes_in(time).get(),
        _ => 0,
    }
}

fn within(used: u64, wanted: u64, most: ByteCount, whose: &str) -> Result<(), String> {
    let left = most.get().saturating_sub(used);
    if wanted <= left && left > 0 {
        return Ok(());
    }
    Err(format!(
        "this server's budget of {most} a day for {whose} has {} left: ask for less, or come back after midnight UTC",
        ByteCount::new(left)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: u64, hours: u64) -> Moment {
        let nanos = hours * 3_600_000_000_000 + 1;
        Moment {
            day,
            now: MonoInstant::from_nanos(nanos),
        }
    }

    fn bytes(count: u64) -> TestSpec {
        TestSpec {
            stop: Stop::Bytes(ByteCount::new(count)),
            ..TestSpec::tcp_bulk()
        }
    }

    fn network(last: u8) -> IpAddr {
        IpAddr::from([10, 0, last, 0])
    }

    const PARTS: [BudgetPart; 2] = [
        BudgetPart::Client(ByteCount::new(1000)),
        BudgetPart::Day(ByteCount::new(1500)),
    ];

    fn use_up(budget: &mut Budget, at: Moment, of: IpAddr, count: u64) -> Result<(), String> {
        let mut charge = budget.admit(at, &PARTS, of, &bytes(count))?;
        let charged = budget.charge(at, &PARTS, &mut charge, ByteCount::new(count));
        budget.settle(&charge);
        charged
    }

    #[test]
    fn a_network_and_all_together_have_so_much_a_day() {
        let mut budget = Budget::default();
        use_up(&mut budget, at(1, 0), network(1), 600).unwrap();
        let refused = use_up(&mut budget, at(1, 1), network(1), 600).unwrap_err();
        assert!(
            refused.contains("for this network has 400 B left"),
            "{refused}"
        );
        use_up(&mut budget, at(1, 2), network(2), 600).unwrap();
        let refused = use_up(&mut budget, at(1, 3), network(3), 600).unwrap_err();
        assert!(refused.contains("all clients has 300 B left"), "{refused}");
        use_up(&mut budget, at(2, 4), network(1), 600).unwrap();
    }

    #[test]
    fn a_clock_that_is_set_back_gives_nothing_back_and_one_set_forward_holds_for_a_day() {
        let mut budget = Budget::default();
        use_up(&mut budget, at(10, 0), network(1), 900).unwrap();
        use_up(&mut budget, at(9, 1), network(1), 900).unwrap_err();
        use_up(&mut budget, at(10, 2), network(1), 900).unwrap_err();
        // Years ahead, then right again: the account that it began is over after 24 h.
        use_up(&mut budget, at(4000, 3), network(1), 900).unwrap();
        use_up(&mut budget, at(10, 26), network(1), 900).unwrap_err();
        use_up(&mut budget, at(11, 27), network(1), 900).unwrap();
    }

    #[test]
    fn a_test_of_no_stated_size_ends_when_the_budget_does() {
        let mut budget = Budget::default();
        let endless = TestSpec::tcp_bulk();
        let mut charge = budget
            .admit(at(1, 0), &PARTS, network(1), &endless)
            .unwrap();
        let mut moved = |count| budget.charge(at(1, 0), &PARTS, &mut charge, ByteCount::new(count));
        moved(500).unwrap();
        moved(999).unwrap();
        moved(1200).unwrap_err();
    }

    #[test]
    fn rates_of_tests_under_way_add_up_until_they_end() {
        let mut budget = Budget::default();
        let parts = ["rate=100M".parse().unwrap()];
        let paced = |rate| TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(rate)));
        let mut admit = |rate| budget.admit(at(1, 0), &parts, network(1), &paced(rate));
        let first = admit(60_000_000).unwrap();
        admit(60_000_000).unwrap_err();
        budget.settle(&first);
        budget
            .admit(at(1, 0), &parts, network(1), &paced(100_000_000))
            .unwrap();
        let unpaced = budget.admit(at(1, 0), &parts, network(2), &TestSpec::tcp_bulk());
        assert!(unpaced.unwrap_err().contains("no unpaced traffic"));
    }

    #[test]
    fn a_budget_s_size_has_a_bound() {
        let mut budget = Budget::default();
        for last in 0..10_000_u32 {
            let of = IpAddr::from((0x0a00_0000 + last * 256).to_be_bytes());
            let charge = budget.admit(at(1, 0), &[], of, &bytes(1)).unwrap();
            budget.settle(&charge);
        }
        assert!(budget.accounts.len() <= MAX_ACCOUNTS + 1);
    }

    #[test]
    fn a_part_that_is_none_is_said() {
        for text in ["10G", "week=1G", "client=much", "rate=fast"] {
            let error = text.parse::<BudgetPart>().unwrap_err();
            assert!(error.message.contains("client=10G"), "{error}");
        }
        let part: BudgetPart = "day=100G".parse().unwrap();
        assert!(matches!(part, BudgetPart::Day(_)));
    }
}
