//! Delay distributions of a trial, and what they timed.

use crate::histogram::Histogram;
use crate::units::{Quantile, Ratio, float};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

crate::named_enum! {
    /// What a delay distribution timed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum DelayOf {
        /// Half of a request/response round trip.
        HalfRoundTrip = "half round trip",
        /// Send time after the scheduled time.
        Lateness = "send time after schedule",
        /// From the sending program to the receiving one; its error is told beside it.
        OneWay = "one-way delay",
        /// A part of a round trip.
        Part = "part of a round trip",
        /// One-way delay above the smallest of the trial (RFC 5481 PDV): needs no common clock.
        Pdv = "one-way delay above the trial's smallest",
        /// From the time a request was meant to be sent to its answer: what its user would have waited,
        /// whether the request was sent in time or not (no coordinated omission).
        ResponseTime = "response time, from when each request was meant to be sent",
        /// A whole request/response round trip.
        RoundTrip = "round trip",
    }
}

/// What stands for many delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Statistic {
    /// Smallest.
    Min,
    /// Mean.
    Mean,
    /// A quantile.
    Quantile(Quantile),
    /// Largest.
    Max,
    /// Standard deviation.
    Deviation,
}

impl Statistic {
    /// The middle one.
    pub const MEDIAN: Self = Self::Quantile(Quantile::clamped(0.5));
    /// 99 % quantile.
    pub const P99: Self = Self::Quantile(Quantile::clamped(0.99));
    /// Those of a table of trials.
    pub const USUAL: [Self; 8] = [
        Self::Mean,
        Self::Min,
        Self::MEDIAN,
        Self::Quantile(Quantile::clamped(0.9)),
        Self::P99,
        Self::Quantile(Quantile::clamped(0.999)),
        Self::Max,
        Self::Deviation,
    ];

    /// As in keys: `p999`.
    pub fn key(self) -> String {
        self.to_string().replace('.', "")
    }

    /// The statistic that a key names; of quantiles two digits stand before the point.
    pub(crate) fn from_key(key: &str) -> Option<Self> {
        let plain = [Self::Min, Self::Mean, Self::Max, Self::Deviation];
        let named = plain.into_iter().find(|one| one.key() == key);
        named.or_else(|| {
            let digits = key.strip_prefix('p')?;
            let is_number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
            let q: f64 = format!("0.{digits:0>2}").parse().ok()?;
            let q = if digits == "100" { 1.0 } else { q };
            is_number.then_some(Self::Quantile(Quantile::clamped(q)))
        })
    }

    /// In words: `median`, `p99`.
    pub(crate) fn word(self) -> String {
        if self == Self::MEDIAN {
            "median".to_owned()
        } else {
            self.to_string()
        }
    }

    /// Whether a few of many values decide it.
    pub(crate) const fn is_tail(self) -> bool {
        match self {
            Self::Quantile(Quantile(q)) => q.get() > 0.9,
            Self::Max => true,
            Self::Min | Self::Mean | Self::Deviation => false,
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Min => f.write_str("min"),
            Self::Mean => f.write_str("mean"),
            Self::Quantile(quantile) => quantile.fmt(f),
            Self::Max => f.write_str("max"),
            Self::Deviation => f.write_str("stdev"),
        }
    }
}

/// A quantile that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct DelayQuantile {
    /// Which one: 0.9999.
    pub quantile_ratio: Ratio,
    /// Its value.
    pub value_ns: u64,
}

/// A delay distribution.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Delay {
    /// What was timed.
    pub of: DelayOf,
    /// Smallest.
    #[serde(default)]
    pub min_ns: Option<u64>,
    /// Mean.
    #[serde(default)]
    pub mean_ns: Option<f64>,
    /// Median.
    #[serde(default)]
    pub p50_ns: Option<u64>,
    /// 90 % quantile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    /// 99 % quantile.
    #[serde(default)]
    pub p99_ns: Option<u64>,
    /// 99.9 % quantile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<u64>,
    /// Largest.
    #[serde(default)]
    pub max_ns: Option<u64>,
    /// Standard deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdev_ns: Option<f64>,
    /// Number of values.
    #[serde(default)]
    pub count: Option<u64>,
    /// Requests without an answer in time: each counts as longer than any value, so a quantile that falls
    /// among them, the mean and the largest are absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<u64>,
    /// The whole distribution (HDR V2, base64); absent where a log gives only quantiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
    /// The quantiles that were asked for, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<DelayQuantile>,
}

impl Delay {
    /// A statistic in nanoseconds, as far as it is known.
    pub fn statistic(&self, of: Statistic) -> Option<f64> {
        match of {
            Statistic::Min => self.min_ns.map(float),
            Statistic::Mean => self.mean_ns,
            Statistic::Quantile(quantile) => self.at(quantile).map(float),
            Statistic::Max => self.max_ns.map(float),
            Statistic::Deviation => self.stdev_ns,
        }
    }

    /// Quantile `q` as the summary has it, else the list, else the whole distribution.
    pub fn at(&self, q: Quantile) -> Option<u64> {
        let is = |known: f64| (q.0.get() - known).abs() < 1e-9;
        let summary = [
            (0.5, self.p50_ns),
            (0.9, self.p90_ns),
            (0.99, self.p99_ns),
            (0.999, self.p999_ns),
        ];
        let summarized = summary.into_iter().find(|(known, _)| is(*known));
        let summarized = summarized.and_then(|(_, value)| value);
        let listed = || {
            let mut all = self.quantiles.iter();
            all.find(|one| is(one.quantile_ratio.get()))
                .map(|one| one.value_ns)
        };
        let whole = || {
            if self.unanswered.is_some() {
                return self.quantile_ns(q.0.get());
            }
            let histogram = self.histogram.as_ref().filter(|h| !h.is_empty())?;
            // A bucket reaches beyond the largest value in it.
            let most = self.max_ns.unwrap_or(u64::MAX);
            Some(histogram.quantile_nanos(q.0.get()).min(most))
        };
        summarized.or_else(listed).or_else(whole)
    }

    /// With these ends, which are closer than those of the histogram: a bucket reaches beyond the values in it.
    #[must_use]
    pub fn with_ends(mut self, min_ns: u64, max_ns: u64) -> Self {
        (self.min_ns, self.max_ns) = (Some(min_ns), Some(max_ns));
        let quantiles = [
            &mut self.p50_ns,
            &mut self.p90_ns,
            &mut self.p99_ns,
            &mut self.p999_ns,
        ];
        for quantile in quantiles.into_iter().flatten() {
            *quantile = (*quantile).min(max_ns).max(min_ns);
        }
        self
    }

    /// Lists these quantiles, as far as they are known.
    pub fn list_quantiles(&mut self, wanted: &[Quantile]) {
        let known = wanted.iter().filter_map(|quantile| {
            Some(DelayQuantile {
                quantile_ratio: quantile.0,
                value_ns: self.at(*quantile)?,
            })
        });
        self.quantiles = known.collect();
    }

    /// Summarises a histogram; `None` when it is empty.
    pub fn from_histogram(of: DelayOf, histogram: Histogram) -> Option<Self> {
        if histogram.is_empty() {
            return None;
        }
        Some(Self {
            of,
            min_ns: Some(histogram.min_nanos()),
            mean_ns: Some(histogram.mean_nanos()),
            p50_ns: Some(histogram.quantile_nanos(0.5)),
            p90_ns: Some(histogram.quantile_nanos(0.9)),
            p99_ns: Some(histogram.quantile_nanos(0.99)),
            p999_ns: Some(histogram.quantile_nanos(0.999)),
            max_ns: Some(histogram.max_nanos()),
            stdev_ns: Some(histogram.stdev_nanos()),
            count: Some(histogram.len()),
            unanswered: None,
            histogram: Some(histogram),
            quantiles: Vec::new(),
        })
    }

    /// Summarises the answered among requests of which `unanswered` have no answer in time; `None` when
    /// there were no requests.
    pub fn with_unanswered(of: DelayOf, histogram: Histogram, unanswered: u64) -> Option<Self> {
        if unanswered == 0 {
            return Self::from_histogram(of, histogram);
        }
        let at = |q: f64| crate::requests::quantile_of_all(&histogram, unanswered, q);
        Some(Self {
            of,
            min_ns: (!histogram.is_empty()).then(|| histogram.min_nanos()),
            mean_ns: None,
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: None,
            stdev_ns: None,
            count: Some(histogram.len()),
            unanswered: Some(unanswered),
            histogram: Some(histogram),
            quantiles: Vec::new(),
        })
    }

    /// The value at quantile `q` (0 to 1) of all requests in nanoseconds; `None` where the distribution is
    /// not known, and where the quantile falls among requests without an answer.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let histogram = self.histogram.as_ref()?;
        crate::requests::quantile_of_all(histogram, self.unanswered.unwrap_or(0), q)
    }
}
