//! Short flows: how large they are and how often they begin.

use crate::units::{BitRate, ByteCount, float};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What flows of given sizes load a path with: each is a connection of its own, which the client opens, fills and ends.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FlowLoad {
    /// Sizes and how often each occurs.
    pub sizes: SizeDistribution,
    /// Intended load over all streams, L4 payload: flows begin as a Poisson process of this mean, drawn from the seed.
    #[serde(rename = "load_bps")]
    pub load: BitRate,
    /// Rate of an ideal path, L4 payload: the slowdown of a flow is against one that has it for itself.
    #[serde(rename = "ideal_bps")]
    pub ideal: BitRate,
}

/// Sizes of flows by their cumulative distribution: linear between its points, as simulators and traffic generators read
/// such tables.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SizeDistribution {
    /// Its name, `web-search`, or the name of its file.
    pub name: String,
    /// Its points, in order.
    pub points: Vec<SizePoint>,
}

/// A point of a cumulative distribution of sizes.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SizePoint {
    /// L4 payload of a flow.
    pub bytes: u64,
    /// Share of the flows that have at most this.
    pub cumulative_ratio: f64,
}

/// Bytes of a packet in tables that count packets.
const PACKET: u64 = 1460;

/// Flows of web search, in bytes: figure 4 of DCTCP, as pFabric's simulations tabulate it (`CDF_dctcp.tcl`).
const WEB_SEARCH: &[(u64, f64)] = &[
    (6 * PACKET, 0.0),
    (6 * PACKET, 0.15),
    (13 * PACKET, 0.2),
    (19 * PACKET, 0.3),
    (33 * PACKET, 0.4),
    (53 * PACKET, 0.53),
    (133 * PACKET, 0.6),
    (667 * PACKET, 0.7),
    (1333 * PACKET, 0.8),
    (3333 * PACKET, 0.9),
    (6667 * PACKET, 0.97),
    (20_000 * PACKET, 1.0),
];

/// Flows of data mining, in bytes: figure 2 of VL2, as pFabric's simulations tabulate it (`CDF_vl2.tcl`).
const DATA_MINING: &[(u64, f64)] = &[
    (PACKET, 0.0),
    (PACKET, 0.5),
    (2 * PACKET, 0.6),
    (3 * PACKET, 0.7),
    (7 * PACKET, 0.8),
    (267 * PACKET, 0.9),
    (2107 * PACKET, 0.95),
    (66_667 * PACKET, 0.99),
    (666_667 * PACKET, 1.0),
];

/// Most points of a distribution.
pub const MAX_SIZE_POINTS: usize = 1000;

/// Largest flow.
pub const MAX_FLOW: ByteCount = ByteCount::new(10_000_000_000);

/// Smallest flow: it tells its own size.
pub const MIN_FLOW: ByteCount = ByteCount::new(14);

impl SizeDistribution {
    fn tabulated(name: &str, points: &[(u64, f64)]) -> Self {
        let point = |(bytes, cumulative_ratio): &(u64, f64)| SizePoint {
            bytes: *bytes,
            cumulative_ratio: *cumulative_ratio,
        };
        Self {
            name: name.to_owned(),
            points: points.iter().map(point).collect(),
        }
    }

    /// A published one by its name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "data-mining" => Some(Self::tabulated(name, DATA_MINING)),
            "web-search" => Some(Self::tabulated(name, WEB_SEARCH)),
            _ => None,
        }
    }

    /// Flows of one size.
    pub fn fixed(size: ByteCount) -> Self {
        let points = [(size.get(), 0.0), (size.get(), 1.0)];
        Self::tabulated(&format!("fixed:{}", size.get()), &points)
    }

    /// Reads a table: on each line a size in bytes and the share of the flows that have at most this, from 0 or more to 1;
    /// `#` begins a comment. The error names the line.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut points = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let point = point(line).ok_or_else(|| {
                format!("line {number}: a size in bytes and a share from 0 to 1 are wanted, such as 10000 0.15")
            })?;
            points.push(point);
        }
        let all = Self {
            name: name.to_owned(),
            points,
        };
        all.check().map(|()| all)
    }

    /// What is wrong with it, if anything.
    pub fn check(&self) -> Result<(), String> {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else {
            return Err("it has no points".to_owned());
        };
        if self.points.len() > MAX_SIZE_POINTS {
            return Err(format!("it has more than {MAX_SIZE_POINTS} points"));
        }
        let sizes = MIN_FLOW.get()..=MAX_FLOW.get();
        let wrong = self
            .points
            .iter()
            .find(|point| !sizes.contains(&point.bytes));
        if let Some(point) = wrong {
            return Err(format!(
                "a flow of {} B: flows have {} B to {} B",
                point.bytes,
                MIN_FLOW.get(),
                MAX_FLOW.get()
            ));
        }
        let is_ascending = self.points.windows(2).all(|pair| {
            pair[0].bytes <= pair[1].bytes && pair[0].cumulative_ratio <= pair[1].cumulative_ratio
        });
        let is_whole = first.cumulative_ratio >= 0.0 && (last.cumulative_ratio - 1.0).abs() < 1e-9;
        if is_ascending && is_whole {
            Ok(())
        } else {
            Err("sizes and shares must ascend, from a share of 0 or more to 1".to_owned())
        }
    }

    /// The size below which a share `at` of the flows is, from 0 to 1.
    pub fn size_at(&self, at: f64) -> ByteCount {
        let above = self
            .points
            .iter()
            .position(|point| point.cumulative_ratio >= at);
        let above = above.unwrap_or_else(|| self.points.len().saturating_sub(1));
        let (Some(high), low) = (
            self.points.get(above),
            above.checked_sub(1).and_then(|low| self.points.get(low)),
        ) else {
            return MIN_FLOW;
        };
        let Some(low) = low else {
            return ByteCount::new(high.bytes);
        };
        let wide = high.cumulative_ratio - low.cumulative_ratio;
        let part = if wide > 0.0 {
            (at - low.cumulative_ratio) / wide
        } else {
            1.0
        };
        let bytes = (float(high.bytes) - float(low.bytes)).mul_add(part, float(low.bytes));
        ByteCount::from_f64(bytes)
    }

    /// Mean size of a flow, in bytes.
    pub fn mean(&self) -> f64 {
        let first = self.points.first();
        let first = first.map_or(0.0, |point| float(point.bytes) * point.cumulative_ratio);
        let parts = self.points.windows(2).map(|pair| {
            let share = pair[1].cumulative_ratio - pair[0].cumulative_ratio;
            f64::midpoint(float(pair[0].bytes), float(pair[1].bytes)) * share
        });
        first + parts.sum::<f64>()
    }
}

fn point(line: &str) -> Option<SizePoint> {
    let mut words = line.split_whitespace();
    let (bytes, share) = (words.next()?, words.next()?);
    let share: f64 = share.parse().ok()?;
    let is_share = (0.0..=1.0).contains(&share) && words.next().is_none();
    is_share.then_some(SizePoint {
        bytes: bytes.parse().ok()?,
        cumulative_ratio: share,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Means computed by hand from the tables of packets: 1141 and 5117 packets of 1460 bytes.
    #[test]
    fn the_published_distributions_have_their_published_means() {
        for (name, mean) in [("web-search", 1_665_831.0), ("data-mining", 7_470_236.0)] {
            let sizes = SizeDistribution::named(name).unwrap();
            assert_eq!(sizes.check(), Ok(()));
            assert!(
                (sizes.mean() / mean - 1.0).abs() < 1e-6,
                "{name}: {}",
                sizes.mean()
            );
        }
        assert_eq!(SizeDistribution::named("cache"), None);
    }

    /// The share of 100 000 draws below each point within 5 standard errors; the seed is fixed, so it passes always or
    /// never.
    #[test]
    fn drawn_sizes_follow_the_distribution() {
        for name in ["web-search", "data-mining"] {
            let sizes = SizeDistribution::named(name).unwrap();
            let mut random = Random::new(1);
            let drawn: Vec<u64> = (0..100_000)
                .map(|_| sizes.size_at(random.unit()).get())
                .collect();
            for point in &sizes.points[1..] {
                let below = drawn.iter().filter(|size| **size <= point.bytes).count();
                let share = float(below as u64) / 1e5;
                let p = point.cumulative_ratio;
                let error = (p * (1.0 - p) / 1e5).sqrt();
                assert!(
                    (share - p).abs() <= 5.0 * error + 1e-9,
                    "{name} {point:?}: {share}"
                );
            }
        }
        let fixed = SizeDistribution::fixed(ByteCount::new(777));
        assert_eq!([0.0, 0.3, 1.0].map(|at| fixed.size_at(at).get()), [777; 3]);
        assert!((fixed.mean() - 777.0).abs() < 1e-9);
    }

    #[test]
    fn a_table_is_read_and_what_is_none_is_refused_by_its_line() {
        let read = |text: &str| SizeDistribution::parse("own.txt", text);
        let sizes = read("# bytes share\n100 0\n200 0.5 # half\n\n400 1\n").unwrap();
        assert_eq!((sizes.points.len(), sizes.name.as_str()), (3, "own.txt"));
        assert_eq!(sizes.size_at(0.75).get(), 300);
        for (text, part) in [
            ("", "no points"),
            ("100 0\nx 1", "line 2"),
            ("100 0\n200 1.5", "line 2"),
            ("100 0\n200 0.9", "ascend"),
            ("200 0\n100 1", "ascend"),
            ("3 0\n100 1", "14 B"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(part), "{text:?}: {why}");
        }
    }
}
