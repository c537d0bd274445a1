//! `[published]`: which cells of a plan measure which cells of a published table.

use linerate_model::spec::Direction;
use linerate_model::units::parse_duration;
use serde::{Deserialize, Deserializer, de};
use std::collections::BTreeMap;
use std::time::Duration;

/// How a published table and the plan belong together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedMap {
    /// The table's factors by what they are in the plan; a factor that is called like a setting need not be here.
    #[serde(default)]
    pub factors: BTreeMap<String, PublishedFactor>,
    /// Levels of the table that the plan measures, of factors that are not settings; cells with others are not measured.
    #[serde(default)]
    pub only: BTreeMap<String, String>,
    /// What of a run is compared; by the unit of the table if absent.
    #[serde(default)]
    pub quantity: Option<PublishedQuantity>,
    /// How long each published test took: a count of datagrams is given for that time, at the rate that was measured.
    #[serde(default, deserialize_with = "time")]
    pub time: Option<Duration>,
}

fn time<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(source)?;
    let time = parse_duration(&text).map_err(de::Error::custom)?;
    if time.is_zero() {
        return Err(de::Error::custom("no test takes 0 s"));
    }
    Ok(Some(time))
}

/// A factor of the table in terms of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum PublishedFactor {
    /// The setting, which takes the same levels.
    Setting(String),
    /// The setting, and what the table's levels are called in the plan.
    Levels {
        /// The setting.
        setting: String,
        /// The plan's value by the table's level; several with `|` between them.
        levels: BTreeMap<String, String>,
    },
    /// The direction of the traffic, in tests of one direction and of both.
    Trials {
        /// The direction by the table's level.
        trials: BTreeMap<String, Direction>,
    },
    /// What of a run is compared: several figures of one test are rows of the table.
    Quantities {
        /// The quantity by the table's level.
        quantities: BTreeMap<String, PublishedQuantity>,
    },
}

/// What a level of a table's factor stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PublishedLevel<'a> {
    /// Cells whose setting has one of these values, with `|` between them.
    Setting(&'a str, &'a str),
    /// Trials of this direction, of cells that have some.
    Trials(Direction),
    /// This figure of a run.
    Quantity(PublishedQuantity),
}

/// What of a run is compared with a published value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PublishedQuantity {
    /// Half of the mean round trip.
    HalfRoundTripMean,
    /// Half of the median round trip.
    HalfRoundTripMedian,
    /// Mean round trip.
    RoundTripMean,
    /// Median round trip.
    RoundTripMedian,
    /// Rate of L4 payload that the receiver got; of a search the conditional throughput of its first goal.
    Received,
    /// Lost datagrams, in percent of those sent.
    LossPercent,
    /// Lost datagrams, in the time of a published test.
    LostDatagrams,
    /// Datagrams that the sender gave to its system, in the time of a published test.
    SentDatagrams,
}

impl PublishedMap {
    /// What a level of the table's factor stands for; `None` if the map of directions or quantities does not have it.
    pub(crate) fn level<'a>(
        &'a self,
        factor: &'a str,
        level: &'a str,
    ) -> Option<PublishedLevel<'a>> {
        Some(match self.factors.get(factor) {
            None => PublishedLevel::Setting(factor, level),
            Some(PublishedFactor::Setting(setting)) => PublishedLevel::Setting(setting, level),
            Some(PublishedFactor::Levels { setting, levels }) => {
                let value = levels.get(level).map_or(level, String::as_str);
                PublishedLevel::Setting(setting, value)
            }
            Some(PublishedFactor::Trials { trials }) => PublishedLevel::Trials(*trials.get(level)?),
            Some(PublishedFactor::Quantities { quantities }) => {
                PublishedLevel::Quantity(*quantities.get(level)?)
            }
        })
    }
}
