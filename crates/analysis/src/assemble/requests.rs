//! What became of the requests of an open loop: three numbers, and what their users waited.
//!
//! The response time counts from when a request was meant to be sent. A request that got no answer in
//! time, or that could not be sent, is longer than any that was answered: a quantile that falls among
//! such requests is absent, never the quantile of the others.

use super::{Ends, duration, merged, streams};
use crate::causes::words;
use linerate_model::run::{Delay, DelayOf, OpenLoopResult, Requests, Trial};
use linerate_model::sample::{OpenLoopRequester, RequestCount};
use linerate_model::spec::OpenLoop;
use linerate_model::{BitRate, ByteCount, PacketCount, PacketRate};

/// Below this share of the intended requests the sender, or its system, was the limit.
const OFFERED_IN_FULL: f64 = 0.98;

/// A sender whose lateness is more than this share of the response time has a part in its tail.
const LATE_SHARE: f64 = 0.1;

/// Completes what an open loop tells, if its requester told what became of the requests.
pub(super) fn tell(ends: &Ends<'_>, open: &OpenLoop, result: &mut OpenLoopResult) {
    let Some(count) = total(ends) else { return };
    result.requests = Some(Requests {
        arrival: open.arrival,
        intended_rate: Some(open.rate),
        intended: count.intended,
        unsent: count.unsent,
        sent: count.sent,
        answered: count.answered,
        unanswered: count.unanswered,
        late_answers: count.late_answers,
        duplicated: count.duplicated,
        reordered: count.reordered,
        answer_timeout: open.answer_timeout,
    });
    let response = merged(ends.sender, |stream| {
        Some(&stream.work.get::<OpenLoopRequester>()?.response)
    });
    let never = count.unanswered.get().saturating_add(count.unsent.get());
    result.delay =
        response.and_then(|all| Delay::with_unanswered(DelayOf::ResponseTime, all, never));
    let service = merged(ends.sender, |stream| stream.work.rtt());
    result.service = service
        .and_then(|all| Delay::with_unanswered(DelayOf::RoundTrip, all, count.unanswered.get()))
        .map(Box::new);
    if let Some(sending) = duration(ends.sender) {
        result.counts.offered_packet_rate = PacketRate::from_packets(count.sent, sending);
        result.counts.received_packet_rate =
            PacketRate::from_packets(count.answered, sending.max(count.answering));
    }
}

/// The offered load of an open loop is of all requests sent, answered or not.
pub(super) fn offered(ends: &Ends<'_>, trial: &mut Trial) {
    let (Some(count), Some(sending)) = (total(ends), trial.duration) else {
        return;
    };
    let payload = trial.payload_bytes.map_or(0, ByteCount::get);
    let bytes = ByteCount::new(count.sent.get().saturating_mul(payload));
    trial.sent_bytes = Some(bytes);
    trial.offered_load = BitRate::from_bytes(bytes, sending);
}

/// All streams together; `None` for another kind of test.
fn total(ends: &Ends<'_>) -> Option<RequestCount> {
    let counts = streams(ends.sender)
        .filter_map(|stream| Some(stream.work.get::<OpenLoopRequester>()?.requests));
    counts.reduce(|sum, more| {
        let add =
            |a: PacketCount, b: PacketCount| PacketCount::new(a.get().saturating_add(b.get()));
        RequestCount {
            intended: add(sum.intended, more.intended),
            unsent: add(sum.unsent, more.unsent),
            sent: add(sum.sent, more.sent),
            answered: add(sum.answered, more.answered),
            unanswered: add(sum.unanswered, more.unanswered),
            late_answers: add(sum.late_answers, more.late_answers),
            duplicated: add(sum.duplicated, more.duplicated),
            reordered: add(sum.reordered, more.reordered),
            foreign: add(sum.foreign, more.foreign),
            answering: sum.answering.max(more.answering),
        }
    })
}

/// What to be careful about in such a trial.
pub(super) fn cautions(trial: &Trial) -> Vec<String> {
    let Some(requests) = trial.requests() else {
        return Vec::new();
    };
    let all = [
        not_offered(requests),
        late_sender(trial),
        unanswered(requests),
    ];
    all.into_iter().flatten().collect()
}

fn not_offered(requests: &Requests) -> Option<String> {
    let (sent, intended) = (requests.sent.as_f64(), requests.intended.as_f64());
    (sent < OFFERED_IN_FULL * intended).then(|| {
        format!(
            "{} of {} requests could not be sent in time: the sender, or the system that should have taken them, is the limit",
            requests.unsent.get(),
            requests.intended.get()
        )
    })
}

fn late_sender(trial: &Trial) -> Option<String> {
    let late = lateness_in_tail(trial)?;
    let response = PacketCount::new(trial.delay()?.p99_ns?).as_f64();
    Some(format!(
        "the sender itself was late: 99 % of the requests left within {} of their time, against a p99 response time of {} that contains it; the service time does not",
        words::time(late),
        words::time(response)
    ))
}

/// By how much the asking end itself was late, as p99 in nanoseconds, where that has a part in the response time's tail.
pub(crate) fn lateness_in_tail(trial: &Trial) -> Option<f64> {
    let late = PacketCount::new(trial.lateness()?.p99_ns?).as_f64();
    let response = PacketCount::new(trial.delay()?.p99_ns?).as_f64();
    (late > LATE_SHARE * response).then_some(late)
}

fn unanswered(requests: &Requests) -> Option<String> {
    let count = requests.unanswered.get();
    (count > 0).then(|| {
        format!(
            "{count} of {} requests got no answer within {:?}{}: they count as longer than any answered one, so quantiles that fall among them are not given",
            requests.sent.get(),
            requests.answer_timeout,
            match requests.late_answers.get() {
                0 => String::new(),
                late => format!(" ({late} were answered later)"),
            }
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::assemble::tests::report;
    use crate::assemble::trial;
    use linerate_model::run::DelayOf;
    use linerate_model::sample::{EndpointReport, OpenLoopRequester, RequestCount};
    use linerate_model::spec::{Direction, Side, Stop, TestSpec, Transport};
    use linerate_model::{Histogram, PacketCount, PacketRate};
    use std::time::Duration;

    fn spec() -> TestSpec {
        TestSpec {
            stop: Stop::After(Duration::from_secs(1)),
            ..TestSpec::request_response(Transport::Udp, PacketRate::from_pps(1000.0))
        }
    }

    /// A requester that sent `sent` of 1000 requests, of which `answered` came back after 1 ms each.
    fn requester(sent: u64, answered: u64, late_ns: u64) -> EndpointReport {
        let n = PacketCount::new;
        let (mut response, mut lateness) = (Histogram::new(), Histogram::new());
        response.record_n(1_000_000, answered);
        lateness.record_n(late_ns, sent);
        let mut made = report(Side::Sender, answered, 32);
        let work = OpenLoopRequester {
            rtt: response.clone(),
            response,
            lateness,
            requests: RequestCount {
                intended: n(1000),
                unsent: n(1000 - sent),
                sent: n(sent),
                answered: n(answered),
                unanswered: n(sent - answered),
                answering: Duration::from_secs(1),
                ..RequestCount::default()
            },
            ..OpenLoopRequester::default()
        };
        made.streams[0].work = work.into();
        made
    }

    #[test]
    fn three_numbers_and_two_times_are_told() {
        let made = trial(
            0,
            &spec(),
            Direction::Forward,
            Some(requester(1000, 1000, 10)),
            None,
        );
        let requests = made.requests().unwrap();
        assert_eq!(requests.intended_rate, Some(PacketRate::from_pps(1000.0)));
        assert_eq!(
            made.offered_packet_rate(),
            Some(PacketRate::from_pps(1000.0))
        );
        assert_eq!(
            made.received_packet_rate(),
            Some(PacketRate::from_pps(1000.0))
        );
        assert_eq!(made.delay().unwrap().of, DelayOf::ResponseTime);
        assert_eq!(made.service().unwrap().of, DelayOf::RoundTrip);
        assert!(made.valid, "{:?}", made.reasons);
    }

    #[test]
    fn a_quantile_among_the_unanswered_is_no_number() {
        let made = trial(
            0,
            &spec(),
            Direction::Forward,
            Some(requester(1000, 950, 10)),
            None,
        );
        let delay = made.delay().unwrap();
        assert!(delay.p50_ns.is_some() && delay.p90_ns.is_some());
        assert_eq!(
            (delay.p99_ns, delay.max_ns, delay.mean_ns),
            (None, None, None)
        );
        assert_eq!((delay.count, delay.unanswered), (Some(950), Some(50)));
        assert!(delay.quantile_ns(0.95).is_some());
        assert_eq!(delay.quantile_ns(0.951), None);
        let reasons = made.reasons.join("; ");
        assert!(
            reasons.contains("50 of 1000 requests got no answer within 1s"),
            "{reasons}"
        );
        assert_eq!(made.packets().unwrap().lost, Some(PacketCount::new(50)));
    }

    #[test]
    fn a_late_sender_and_one_that_falls_short_are_marked() {
        let late = trial(
            0,
            &spec(),
            Direction::Forward,
            Some(requester(1000, 1000, 200_000)),
            None,
        );
        let reasons = late.reasons.join("; ");
        assert!(reasons.contains("the sender itself was late"), "{reasons}");
        let short = trial(
            0,
            &spec(),
            Direction::Forward,
            Some(requester(900, 900, 10)),
            None,
        );
        let reasons = short.reasons.join("; ");
        assert!(
            reasons.contains("100 of 1000 requests could not be sent"),
            "{reasons}"
        );
        // What was never sent was never answered either.
        assert_eq!(short.delay().unwrap().p99_ns, None);
        assert!(short.service().unwrap().p99_ns.is_some());
    }
}
