use super::*;
use linerate_peers::{LEASE_TERM, MAX_LAPSE_DELAY};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

const FROM: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const CONTROLLERS: usize = 3;

/// Longest time from one look of a session at its test to the next: a turn while traffic spins, after one in which it was
/// too early for a look.
const LOOK: Duration = Duration::from_millis(999);

/// Steps in which time passes.
const TICK: Duration = Duration::from_millis(37);

/// What happens to a message and its answer.
#[derive(Debug, Clone, Copy)]
enum Fate {
    AnswerLost,
    Arrives,
    /// Its controller is paused, or the path holds it back.
    Late(Duration),
    Lost,
}

#[derive(Debug, Clone, Copy)]
enum Wish {
    Release,
    Renew,
    Take,
    Test,
    /// A client without a lease.
    TestWithout,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    EndOldestTest,
    Pass(Duration),
    Say(usize, Wish, Fate),
}

#[derive(Debug, Clone, Copy)]
struct Letter {
    due: MonoInstant,
    controller: usize,
    wish: Wish,
    /// As the controller knew it when it wrote.
    fence: Option<Fence>,
    is_answered: bool,
}

/// A test that sends at each moment, until a look says that it must end.
struct Sender {
    fence: Option<Fence>,
    look: MonoInstant,
}

/// An agent, its controllers, and what must be true of them, by the grants alone.
struct World {
    lease: Lease,
    now: MonoInstant,
    /// What each controller believes to hold, for ever.
    fences: [Option<Fence>; CONTROLLERS],
    /// How fast the clock of each runs, by which it counts its term.
    rates: [f64; CONTROLLERS],
    senders: Vec<Sender>,
    letters: Vec<Letter>,
    /// The newest lease, and until when each holds.
    newest: Option<Fence>,
    until: BTreeMap<Fence, MonoInstant>,
}

impl World {
    fn new(rates: [f64; CONTROLLERS]) -> Self {
        Self {
            lease: Lease::default(),
            now: MonoInstant::from_nanos(5_000_000_000),
            fences: [None; CONTROLLERS],
            rates,
            senders: Vec::new(),
            letters: Vec::new(),
            newest: None,
            until: BTreeMap::new(),
        }
    }

    /// The lease that holds now.
    fn holding(&self) -> Option<Fence> {
        self.newest.filter(|fence| self.now < self.until[fence])
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::EndOldestTest if self.senders.is_empty() => {}
            Step::EndOldestTest => {
                self.senders.remove(0);
                self.lease.over();
            }
            Step::Pass(time) => self.pass(time),
            Step::Say(controller, wish, fate) => {
                let letter = Letter {
                    due: self.now,
                    controller,
                    wish,
                    fence: self.fences[controller],
                    is_answered: !matches!(fate, Fate::AnswerLost),
                };
                match fate {
                    Fate::Lost => {}
                    Fate::Late(by) => self.letters.push(Letter {
                        due: self.now.after(by),
                        ..letter
                    }),
                    Fate::AnswerLost | Fate::Arrives => self.deliver(letter),
                }
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now.after(time);
        while self.now < end {
            self.now = end.min(self.now.after(TICK));
            for sender in &mut self.senders {
                if self.now >= sender.look && self.lease.check(self.now, sender.fence).is_ok() {
                    sender.look = self.now.after(LOOK);
                }
            }
            let before = self.senders.len();
            self.senders.retain(|sender| self.now < sender.look);
            for _ in self.senders.len()..before {
                self.lease.over();
            }
            self.look_at_frames();
            let due = |letter: &mut Letter| letter.due <= self.now;
            let letters: Vec<_> = self.letters.extract_if(.., due).collect();
            for letter in letters {
                self.deliver(letter);
            }
        }
    }

    /// Frames of one lease at most, and none long after it has ended.
    fn look_at_frames(&self) {
        let Some(first) = self.senders.first() else {
            return;
        };
        for sender in &self.senders {
            assert_eq!(sender.fence, first.fence, "two leases send at once");
        }
        match first.fence {
            None => assert_eq!(self.holding(), None, "a test of no lease beside one"),
            Some(fence) => {
                let late = self.now.saturating_since(self.until[&fence]);
                assert!(late <= MAX_LAPSE_DELAY, "sends {late:?} after its lease");
            }
        }
    }

    fn deliver(&mut self, letter: Letter) {
        let Letter {
            controller, fence, ..
        } = letter;
        let term = LEASE_TERM.mul_f64(self.rates[controller]);
        let holds = fence.is_some() && fence == self.holding();
        match (letter.wish, fence) {
            (Wish::Take, _) => {
                let holder = format!("controller {controller}");
                let is_free = self.holding().is_none() && self.senders.is_empty();
                let answer = self.ask(&LeaseRequest::Take { holder, term });
                assert_eq!(answer.is_ok(), is_free, "{answer:?}");
                let Ok(grant) = answer else { return };
                assert!(self.newest < Some(grant.fence), "{grant:?}");
                self.newest = Some(grant.fence);
                self.until.insert(grant.fence, self.now.after(term));
                if letter.is_answered {
                    self.fences[controller] = Some(grant.fence);
                }
            }
            (Wish::Renew, Some(fence)) => {
                let answer = self.ask(&LeaseRequest::Renew { fence, term });
                assert_eq!(answer.is_ok(), holds, "{answer:?}");
                if holds {
                    self.until.insert(fence, self.now.after(term));
                }
            }
            (Wish::Release, Some(fence)) => {
                let answer = self.ask(&LeaseRequest::Release { fence });
                assert_eq!(answer.is_ok(), holds, "{answer:?}");
                if holds {
                    self.until.insert(fence, self.now);
                }
            }
            (Wish::Test, Some(_)) => self.begin(fence, holds),
            (Wish::TestWithout, _) => {
                let is_own = |sender: &Sender| sender.fence.is_none();
                let may = self.holding().is_none() && self.senders.iter().all(is_own);
                self.begin(None, may);
            }
            (Wish::Renew | Wish::Release | Wish::Test, None) => {}
        }
    }

    fn ask(&mut self, request: &LeaseRequest) -> Result<LeaseGrant, Refusal> {
        self.lease.ask(self.now, request, FROM)
    }

    fn begin(&mut self, fence: Option<Fence>, may: bool) {
        let admitted = self.lease.admit(self.now, fence);
        assert_eq!(admitted.is_ok(), may, "{admitted:?}");
        if may {
            let look = self.now.after(LOOK);
            self.senders.push(Sender { fence, look });
        }
    }
}

fn millis(most: u64) -> impl Strategy<Value = Duration> {
    (0..most).prop_map(Duration::from_millis)
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Arrives),
        1 => Just(Fate::Lost),
        1 => Just(Fate::AnswerLost),
        1 => millis(90_000).prop_map(Fate::Late),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let wish = prop_oneof![
        3 => Just(Wish::Take),
        3 => Just(Wish::Renew),
        1 => Just(Wish::Release),
        3 => Just(Wish::Test),
        1 => Just(Wish::TestWithout),
    ];
    let say = (0..CONTROLLERS, wish, fate());
    prop_oneof![
        8 => say.prop_map(|(controller, wish, fate)| Step::Say(controller, wish, fate)),
        3 => millis(2_000).prop_map(Step::Pass),
        1 => millis(80_000).prop_map(Step::Pass),
        1 => Just(Step::EndOldestTest),
    ]
}

proptest! {
    /// Controllers are paused and wake with old fences, messages and answers are lost or come a minute late, their clocks
    /// run at up to twice the right speed: no two leases hold or send at once, and one is always to be had again.
    #[test]
    fn leases_never_overlap_and_old_ones_change_nothing(
        rates in [0.05..2.0, 0.05..2.0, 0.05..2.0],
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut world = World::new(rates);
        for step in steps {
            world.step(step);
        }
        world.letters.clear();
        while world.senders.iter().any(|sender| sender.fence.is_none()) {
            world.step(Step::EndOldestTest);
        }
        world.pass(LEASE_TERM * 2 + MAX_LAPSE_DELAY);
        world.step(Step::Say(0, Wish::Take, Fate::Arrives));
        prop_assert!(world.holding().is_some());
    }
}

fn take(holder: &str, term: Duration) -> LeaseRequest {
    LeaseRequest::Take {
        holder: holder.to_owned(),
        term,
    }
}

#[test]
fn who_is_refused_is_told_by_whom_and_for_how_long() {
    let mut lease = Lease::default();
    let at = |seconds: u64| MonoInstant::from_nanos(seconds * 1_000_000_000);
    let first = lease.ask(at(10), &take("mesh lab", LEASE_TERM), FROM);
    let first = first.unwrap();
    assert_eq!((first.term, first.wanted), (LEASE_TERM, false));
    let refused = lease.ask(at(17), &take("mesh b", LEASE_TERM), FROM);
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, RefusalCode::Busy);
    let told = "leased by mesh lab of 127.0.0.1, for at most 24 s more";
    assert!(refused.message.contains(told), "{refused:?}");
    let refused = lease.admit(at(18), None).unwrap_err();
    assert!(refused.message.contains(told.split(',').next().unwrap()));
    // Who gives it back hears that somebody waits.
    let fence = first.fence;
    let released = lease.ask(at(18), &LeaseRequest::Release { fence }, FROM);
    let released = released.unwrap();
    assert_eq!((released.term, released.wanted), (Duration::ZERO, true));
    let refused = lease.check(at(18), Some(fence)).unwrap_err();
    assert_eq!(refused.code, RefusalCode::Timeout);
}

#[test]
fn a_term_has_a_bound() {
    let mut lease = Lease::default();
    let now = MonoInstant::from_nanos(7);
    let grant = lease.ask(now, &take("a", Duration::MAX), FROM).unwrap();
    assert_eq!(grant.term, MAX_LEASE_TERM);
    let fence = grant.fence;
    let term = Duration::MAX;
    let renewed = lease.ask(now, &LeaseRequest::Renew { fence, term }, FROM);
    assert_eq!(renewed.unwrap().term, MAX_LEASE_TERM);
}

/// Its agent was restarted: it counts anew, and knows of no lease before.
#[test]
fn fences_of_a_restarted_agent_are_higher() {
    let fence_at = |nanos| {
        let now = MonoInstant::from_nanos(nanos);
        let grant = Lease::default().ask(now, &take("a", LEASE_TERM), FROM);
        grant.unwrap().fence
    };
    assert!(fence_at(1_000_000) > fence_at(999_999));
}
