//! An effect in words: `lowers … by 4 % [3, 5]`.

use crate::figures::significant;
use linerate_model::run::EffectScale;
use linerate_model::{Estimate, Interval};

/// Below what no digits help: a hundredth of a percent.
const MIN_DECIMALS: i32 = 2;

/// An estimated change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub(super) estimate: Estimate,
    pub(super) scale: EffectScale,
}

impl Change {
    /// A value as a change in percent, or in percentage points.
    fn percent(self, value: f64) -> f64 {
        match self.scale {
            EffectScale::Difference => value * 100.0,
            EffectScale::Ratio => (value - 1.0) * 100.0,
        }
    }

    pub(super) fn is_rise(self) -> bool {
        self.percent(self.estimate.point) > 0.0
    }

    const fn unit(self) -> &'static str {
        match self.scale {
            EffectScale::Difference => "points",
            EffectScale::Ratio => "%",
        }
    }

    /// `4 % [3, 5]` of a change whose direction is said; its size.
    pub(super) fn size(self) -> String {
        let sign = if self.is_rise() { 1.0 } else { -1.0 };
        self.shown(sign)
    }

    /// `−4 % [−5, −3]`.
    pub(super) fn signed(self) -> String {
        self.shown(1.0)
    }

    fn shown(self, sign: f64) -> String {
        let number = |value: f64| digits(sign * self.percent(value));
        let point = number(self.estimate.point);
        let Some(Interval { low, high }) = self.estimate.interval else {
            return format!("{point} {}", self.unit());
        };
        let (low, high) = if sign > 0.0 { (low, high) } else { (high, low) };
        format!(
            "{point} {} [{}, {}]",
            self.unit(),
            number(low),
            number(high)
        )
    }
}

/// A hundredfold change: what an interval of few and scattered values holds beyond it tells nothing more.
const LARGEST_PERCENT: f64 = 9999.0;

/// Two significant digits, at most two decimals; a minus sign that is one.
pub(super) fn digits(percent: f64) -> String {
    if percent > LARGEST_PERCENT {
        return format!("> {LARGEST_PERCENT}");
    }
    let scale = 10_f64.powi(MIN_DECIMALS);
    let text = significant((percent * scale).round() / scale, 2);
    text.replace('-', "−")
}

/// `1.2 %` of a relative change, `0.3 points` of a difference.
pub(super) fn least(ratio: f64, scale: EffectScale) -> String {
    let unit = match scale {
        EffectScale::Difference => "points",
        EffectScale::Ratio => "%",
    };
    format!("{} {unit}", digits(ratio * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(point: f64, low: f64, high: f64) -> Change {
        Change {
            estimate: Estimate {
                point,
                interval: Some(Interval { low, high }),
                confidence_ratio: 0.95,
                n: 20,
            },
            scale: EffectScale::Ratio,
        }
    }

    #[test]
    fn no_figure_is_larger_than_what_people_can_read() {
        assert_eq!(least(4.5e33, EffectScale::Ratio), "> 9999 %");
        let wide = change(0.13, 0.0, 2.5e12).signed();
        assert_eq!(wide, "−87 % [−100, > 9999]");
    }

    #[test]
    fn a_change_has_its_size_its_sign_and_its_interval() {
        assert_eq!(change(0.96, 0.95, 0.97).size(), "4 % [3, 5]");
        assert_eq!(change(0.96, 0.95, 0.97).signed(), "−4 % [−5, −3]");
        assert_eq!(change(1.123, 1.1, 1.146).size(), "12 % [10, 15]");
        assert_eq!(
            change(1.0004, 0.999, 1.0018).signed(),
            "0.04 % [−0.1, 0.18]"
        );
        let loss = Change {
            scale: EffectScale::Difference,
            ..change(0.003, 0.002, 0.004)
        };
        assert_eq!(loss.size(), "0.3 points [0.2, 0.4]");
        assert_eq!(least(0.0316, EffectScale::Ratio), "3.2 %");
    }
}
