//! A printed figure: its value, and the step of its last digit.

use linerate_model::Interval;

/// Longest text of a figure; more digits than any instrument has.
const MAX_FIGURE_LENGTH: usize = 40;

/// A figure as it was printed, in the unit of its table.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// As printed.
    pub text: String,
    /// Its value.
    pub value: f64,
    /// The step of its last digit: 0.01 of `31.45`, 1 of `650000`.
    pub step: f64,
}

impl Figure {
    /// Reads `31.45`, `-2`, `1.2e3`. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let is_plain = |c: char| c.is_ascii_digit() || "+-.".contains(c);
        if text.len() > MAX_FIGURE_LENGTH || !digits.chars().all(is_plain) {
            return None;
        }
        let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
        let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
        let step = 10_f64.powi(exponent - i32::try_from(decimals).ok()?);
        (step > 0.0 && step.is_finite()).then(|| Self {
            text: text.to_owned(),
            value,
            step,
        })
    }

    /// What rounds to the figure.
    pub fn rounded_from(&self) -> Interval {
        let half = self.step / 2.0;
        Interval::new(self.value - half, self.value + half)
    }

    /// `text`, for calculations that are shown.
    pub(super) fn shown(&self) -> &str {
        &self.text
    }
}

/// A calculated number, as a finding shows it: at most six significant digits, no zeros at its end.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..9.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = (5.0 - magnitude).max(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 9"
    )]
    let decimals = decimals as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_knows_the_step_of_its_last_digit() {
        for (text, value, step) in [
            ("31.45", 31.45, 0.01),
            ("650000", 650_000.0, 1.0),
            ("-2.0", -2.0, 0.1),
            ("1.25e3", 1250.0, 10.0),
        ] {
            let figure = Figure::parse(text).unwrap();
            assert!((figure.value - value).abs() < 1e-9, "{text}");
            assert!((figure.step - step).abs() < 1e-12, "{text}");
        }
        for wrong in ["", "x", "1 2", "nan", "inf", "0x10", "1e999", "1,5"] {
            assert_eq!(Figure::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(0.1 + 0.2), "0.3");
        assert_eq!(number(95.708_712), "95.7087");
        assert_eq!(number(1e12), "1.000e12");
        assert_eq!(number(120.0), "120");
    }
}
