//! What is said of a token bucket that a test emptied: its rate and what it held, not the mean of both rates.

use super::super::{Case, Cause, congestion, link, own_shaper, path_loss, supported_if};
use super::CAUSE;
use crate::outage::seconds;
use crate::token_bucket::{self, Excess, TokenBucket};
use linerate_model::run::{Confidence, Experiment, Limit, RuleOutcome, Run, Trial, Verdict};
use linerate_model::spec::Direction;

/// Names the bucket in a verdict that names the path, or nothing; beside the sender's own shaper, which may be it, it is
/// said in the evidence.
pub(crate) fn apply(run: &Run, direction: Direction, verdict: &mut Verdict) {
    let here = run
        .trials
        .iter()
        .filter(|trial| trial.direction == direction);
    let mut found = here.filter_map(|trial| Some((trial, token_bucket::find(trial)?)));
    // Later trials may have begun with an empty one.
    let Some((trial, bucket)) = found.next() else {
        return;
    };
    if own_shaper::CAUSE.is_in(verdict) {
        verdict.evidence.insert(0, fall(trial, &bucket));
    } else if is_open(verdict)
        && let RuleOutcome::Found { verdict: found } = outcome(trial, &bucket, verdict)
    {
        let rest = std::mem::take(&mut verdict.evidence);
        // A window over the means of before and after the bucket was empty explains neither.
        let is_of_means = congestion::CAUSE.is_in(verdict);
        *verdict = *found;
        if !is_of_means {
            verdict.evidence.extend(rest);
        }
    }
}

/// Whether a verdict names what may be a bucket, or is not sure of anything else.
fn is_open(verdict: &Verdict) -> bool {
    let on_path = [&CAUSE, &link::CAUSE, &path_loss::CAUSE, &congestion::CAUSE];
    verdict.limit.is_unknown()
        || verdict.confidence == Confidence::Weak
        || on_path.iter().any(|cause| cause.is_in(verdict))
}

fn outcome(trial: &Trial, bucket: &TokenBucket, before: &Verdict) -> RuleOutcome {
    let cause: &Cause = match bucket.excess {
        Excess::Dropped => &CAUSE,
        Excess::Queued | Excess::Unknown => &link::CAUSE,
    };
    let how = match bucket.excess {
        Excess::Dropped => "what exceeds its rate is dropped without queueing",
        Excess::Queued => "what exceeds its rate waits in a queue",
        Excess::Unknown => "what exceeds its rate waits or is dropped",
    };
    let mut evidence = vec![fall(trial, bucket)];
    if bucket.excess != Excess::Dropped {
        evidence.push(
            "A path that became slower at that time, or that others share since then, looks the same.".to_owned(),
        );
    }
    let is_same = cause.is_in(before) && before.confidence >= Confidence::Supported;
    let mut found = cause.found(Case {
        share: None,
        confidence: supported_if(is_same || bucket.excess == Excess::Dropped),
        claim: format!(
            "A token bucket of about {} limits to {} of L4 payload once it is empty: {how}.",
            bucket.held, bucket.rate
        ),
        evidence,
        experiment: Experiment::in_words(
            "send nothing for some minutes, and repeat the test",
            format!(
                "{} again until about {} have passed above {}",
                bucket.full_rate, bucket.held, bucket.rate
            ),
        ),
    });
    if let RuleOutcome::Found { verdict } = &mut found
        && bucket.excess != Excess::Dropped
    {
        verdict.limit = Limit::new(cause.id, "a token bucket's rate");
    }
    found
}

/// `100 Mbit/s of L4 payload arrived until 3.2 s, then 50 Mbit/s to the end at 8 s: …`
fn fall(trial: &Trial, bucket: &TokenBucket) -> String {
    let end = trial.duration.unwrap_or_default();
    format!(
        "{} of L4 payload arrived until {} s, and {} from then to the end at {} s: about {} above its rate emptied the bucket.",
        bucket.full_rate,
        seconds(bucket.empty_at),
        bucket.rate,
        seconds(end),
        bucket.held
    )
}
