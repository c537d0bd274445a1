//! Experiments beside the load of the run: no change raises a rate above what is intended.

use crate::causes::Evidence;
use crate::thresholds::reach::{LEAST_GAIN, PART};
use linerate_model::run::{Change, Experiment, Prediction, Quantity, RuleOutcome};

/// Lowers what an experiment predicts to what the intended load leaves room for; where that is next to nothing, the
/// experiment is to be made at a higher load.
pub(super) fn fit(outcome: &mut RuleOutcome, evidence: &Evidence<'_>) {
    let RuleOutcome::Found { verdict } = outcome else {
        return;
    };
    let (Some(experiment), Some(reach)) = (&mut verdict.experiment, evidence.reach()) else {
        return;
    };
    let Some(mut test) = experiment.test.clone() else {
        return;
    };
    if matches!(test.change, Change::Load { .. } | Change::Datagrams { .. }) {
        return;
    }
    let wanted = test.predictions.iter().filter_map(growth);
    let Some(wanted) = wanted
        .max_by(f64::total_cmp)
        .filter(|wanted| *wanted > reach)
    else {
        return;
    };
    if reach < LEAST_GAIN {
        let (change, expect) = (&experiment.change, &experiment.expect);
        **experiment = Experiment::in_words(
            format!("intend at least {wanted:.1} times the received rate, and then {change}"),
            expect.clone(),
        );
        return;
    }
    for prediction in test
        .predictions
        .iter_mut()
        .filter(|one| growth(one).is_some())
    {
        prediction.at_least = Some((reach - 1.0).mul_add(PART, 1.0));
    }
    **experiment = test.into();
}

/// By how much a prediction wants a rate to grow that the intended load bounds.
fn growth(prediction: &Prediction) -> Option<f64> {
    let is_rate = matches!(
        prediction.quantity,
        Quantity::OfferedRate | Quantity::ReceivedRate
    );
    let least = prediction.at_least.filter(|least| *least > 1.0);
    least.filter(|_| is_rate && prediction.relative)
}

#[cfg(test)]
mod tests {
    use crate::judge::diagnose;
    use linerate_model::run::{Change, Experiment, Run};
    use linerate_model::tcp::TcpShares;
    use linerate_model::{BitRate, Ratio};
    use serde_json::json;

    /// What is proposed for a paced stream that the receiver's window holds back at 40 Mbit/s.
    fn proposed(intended: u64) -> Experiment {
        let shares = TcpShares {
            receiver_window_ratio: Ratio::clamped(0.8),
            ..TcpShares::default()
        };
        let run: Run = serde_json::from_value(json!({
            "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "tcp", "status": "complete",
            "tool": {"name": "linerate"}, "config": {},
            "trials": [{
                "index": 0, "transport": "tcp", "direction": "reverse", "valid": true,
                "work": "byte-stream", "origin": "measured", "duration_s": 2.0,
                "intended_bps": BitRate::from_bps(intended),
                "offered_bps": 40_000_000, "received_bps": 40_000_000,
                "tcp": {"busy_ratio": 1.0, "rwnd_limited_ratio": 0.8, "sndbuf_limited_ratio": 0.0,
                        "shares": shares}
            }]
        }))
        .unwrap();
        let (verdict, _) = diagnose(&run);
        assert_eq!(verdict.limit.id(), "receiver-window", "{verdict:?}");
        *verdict.experiment.unwrap()
    }

    #[test]
    fn no_experiment_expects_more_than_is_intended() {
        let free = proposed(400_000_000).test.unwrap();
        assert_eq!(free.predictions[0].at_least, Some(1.3));
        let near = proposed(50_000_000).test.unwrap();
        assert_eq!(near.change, Change::ReceiveBuffer { factor: 2.0 });
        assert_eq!(near.predictions[0].at_least, Some(1.125));
        let none = proposed(41_000_000);
        assert_eq!(none.test, None);
        assert!(
            none.change
                .starts_with("intend at least 1.3 times the received rate, and then double"),
            "{none:?}"
        );
    }
}
