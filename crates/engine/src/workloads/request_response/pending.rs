//! Requests that are under way, by number. Pure: no clock.
//!
//! Memory is bounded: a ring of as many as can be under way within the timeout, at most [`MAX_PENDING`]. Where
//! more are, the oldest counts as unanswered early.

use linerate_model::MonoInstant;
use std::time::Duration;

/// Maximum requests under way: with 24 bytes each the memory of a stream stays within 24 MiB.
const MAX_PENDING: u64 = 1 << 20;

/// Minimum capacity: what a requester that stalls for a moment at a low rate has to send at once.
const MIN_PENDING: u64 = 1 << 10;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// Intended send time.
    pub(super) due: MonoInstant,
    /// Send time, just before the system call.
    pub(super) sent: MonoInstant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Answered,
    /// Answered after the timeout, and not yet given up.
    AnsweredLate,
    GivenUp,
    UnderWay,
}

/// Classification of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// First answer to this request, in time.
    InTime(Request),
    /// First answer to this request, after the timeout.
    Late,
    /// A repeated answer.
    Duplicate,
    /// For an unknown request: never sent, or too long ago.
    Unknown,
}

/// Requests of one stream.
pub(super) struct Pending {
    ring: Vec<(Request, State)>,
    timeout: Duration,
    next: u64,
    /// No request below this one is under way.
    oldest: u64,
}

impl Pending {
    /// Capacity for requests at `rate` per second within twice the timeout.
    pub(super) fn new(rate: f64, timeout: Duration) -> Self {
        let expected = Duration::try_from_secs_f64(2.0 * rate * timeout.as_secs_f64());
        let expected = expected.map_or(MAX_PENDING, |count| count.as_secs());
        let room = expected.clamp(MIN_PENDING, MAX_PENDING).next_power_of_two();
        let none = Request {
            due: MonoInstant::default(),
            sent: MonoInstant::default(),
        };
        Self {
            ring: vec![(none, State::Answered); usize::try_from(room).unwrap_or(0)],
            timeout,
            next: 0,
            oldest: 0,
        }
    }

    fn place(&self, number: u64) -> usize {
        usize::try_from(number & (self.ring.len() as u64 - 1))
            .expect("invariant: the ring's length is a usize")
    }

    /// The number of the next request.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Whether any request is under way.
    pub(super) const fn is_empty(&self) -> bool {
        self.oldest == self.next
    }

    /// Adds the next request. There must be room for it.
    pub(super) fn push(&mut self, request: Request) {
        let place = self.place(self.next);
        self.ring[place] = (request, State::UnderWay);
        self.next += 1;
    }

    /// Gives up one request at `now`, by timeout or for lack of room; call until `None` before each
    /// [`push`](Self::push).
    pub(super) fn give_up(&mut self, now: MonoInstant) -> Option<u64> {
        while self.oldest < self.next {
            let number = self.oldest;
            let place = self.place(number);
            let is_full = self.next - number >= self.ring.len() as u64;
            let (request, state) = &mut self.ring[place];
            let is_late = now.saturating_since(request.sent) > self.timeout;
            *state = match state {
                State::Answered | State::GivenUp => {
                    self.oldest += 1;
                    continue;
                }
                State::AnsweredLate => State::Answered,
                State::UnderWay if is_late || is_full => State::GivenUp,
                State::UnderWay => return None,
            };
            self.oldest += 1;
            return Some(number);
        }
        None
    }

    /// An answer to request `number` came at `now`.
    pub(super) fn answer(&mut self, number: u64, now: MonoInstant) -> Answer {
        let is_known = number < self.next && self.next - number <= self.ring.len() as u64;
        if !is_known {
            return Answer::Unknown;
        }
        let place = self.place(number);
        let (request, state) = &mut self.ring[place];
        match state {
            State::Answered | State::AnsweredLate => Answer::Duplicate,
            State::GivenUp => {
                *state = State::Answered;
                Answer::Late
            }
            State::UnderWay if now.saturating_since(request.sent) > self.timeout => {
                *state = State::AnsweredLate;
                Answer::Late
            }
            State::UnderWay => {
                *state = State::Answered;
                Answer::InTime(*request)
            }
        }
    }

    /// Numbers of requests still under way.
    pub(super) fn under_way(&self) -> impl Iterator<Item = u64> {
        (self.oldest..self.next)
            .filter(|number| self.ring[self.place(*number)].1 == State::UnderWay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonoInstant {
        MonoInstant::from_nanos(millis * 1_000_000)
    }

    fn request(millis: u64) -> Request {
        Request {
            due: at(millis),
            sent: at(millis + 1),
        }
    }

    #[test]
    fn each_answer_is_one_thing() {
        let mut pending = Pending::new(1000.0, Duration::from_millis(100));
        for millis in [0, 10, 20] {
            assert_eq!(pending.give_up(at(millis)), None);
            pending.push(request(millis));
        }
        assert_eq!(pending.answer(1, at(30)), Answer::InTime(request(10)));
        assert_eq!(pending.answer(1, at(31)), Answer::Duplicate);
        assert_eq!(pending.answer(3, at(31)), Answer::Unknown);
        assert_eq!(pending.give_up(at(101)), None);
        assert_eq!(pending.give_up(at(102)), Some(0));
        assert_eq!(pending.give_up(at(102)), None);
        assert_eq!(pending.answer(0, at(103)), Answer::Late);
        assert_eq!(pending.answer(0, at(104)), Answer::Duplicate);
        assert_eq!(pending.under_way().collect::<Vec<_>>(), [2]);
        assert_eq!(pending.answer(2, at(121)), Answer::InTime(request(20)));
        assert_eq!(pending.give_up(at(500)), None);
        assert!(pending.is_empty());
    }

    #[test]
    fn an_answer_after_the_timeout_is_late_however_soon_it_is_given_up() {
        let mut pending = Pending::new(1.0, Duration::from_millis(100));
        pending.push(request(0));
        assert_eq!(pending.answer(0, at(102)), Answer::Late);
        assert_eq!(pending.answer(0, at(102)), Answer::Duplicate);
        assert_eq!(pending.give_up(at(102)), Some(0));
        assert_eq!(pending.give_up(at(102)), None);
        assert_eq!(pending.answer(0, at(103)), Answer::Duplicate);
    }

    #[test]
    fn a_full_ring_gives_the_oldest_up() {
        let mut pending = Pending::new(1.0, Duration::from_secs(10));
        for number in 0..MIN_PENDING {
            assert_eq!(pending.give_up(at(0)), None, "{number}");
            pending.push(request(0));
        }
        assert_eq!(pending.give_up(at(0)), Some(0));
        assert_eq!(pending.give_up(at(0)), None);
        pending.push(request(0));
        assert_eq!(pending.answer(0, at(1)), Answer::Unknown);
        assert_eq!(
            pending.answer(MIN_PENDING, at(1)),
            Answer::InTime(request(0))
        );
    }
}
