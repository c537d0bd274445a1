//! Time: monotonic instants of this host and of the far one, and wall time as a label.

pub use linerate_wire::MonoInstant;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Nanoseconds on the peer's monotonic clock. Not comparable with [`MonoInstant`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PeerInstant(u64);

impl PeerInstant {
    /// From nanoseconds since the far clock's own zero.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the far clock's own zero.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
}

/// A monotonic clock. The real one is in `sys`; tests bring a virtual one.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> MonoInstant;
}

/// UTC wall time in RFC 3339, whole seconds: a label, never an operand.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WallTime(jiff::Timestamp);

impl WallTime {
    /// From seconds since 1970-01-01T00:00:00Z; `None` outside the calendar.
    pub fn from_unix(seconds: i64) -> Option<Self> {
        jiff::Timestamp::from_second(seconds).ok().map(Self)
    }

    /// The same, or the first or last time of the calendar (the years −9999 to 9999), whichever is nearer.
    pub fn nearest(seconds: i64) -> Self {
        let end = if seconds < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        };
        Self(jiff::Timestamp::from_second(seconds).unwrap_or(end))
    }

    /// Seconds since 1970-01-01T00:00:00Z.
    pub fn as_unix(&self) -> i64 {
        self.0.as_second()
    }

    /// `YYYYMMDD-HHMMSS`, for ids and file names.
    pub fn compact(&self) -> String {
        self.0.strftime("%Y%m%d-%H%M%S").to_string()
    }
}

impl JsonSchema for WallTime {
    fn schema_name() -> Cow<'static, str> {
        "WallTime".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "UTC, RFC 3339.",
            "type": "string",
            "format": "date-time",
        })
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Seconds as a floating-point number in the run document (`_s` keys).
pub mod as_seconds {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::time::Duration;

    /// Writes a duration as seconds.
    pub fn serialize<S: Serializer>(duration: &Duration, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(duration.as_secs_f64())
    }

    /// Reads seconds; refuses negative, infinite and overlong values.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(d)?).map_err(D::Error::custom)
    }
}

/// [`as_seconds`] for optional durations.
pub mod as_optional_seconds {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::time::Duration;

    /// Writes a duration as seconds, or null.
    pub fn serialize<S: Serializer>(duration: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => s.serialize_some(&duration.as_secs_f64()),
            None => s.serialize_none(),
        }
    }

    /// Reads seconds or null; refuses negative, infinite and overlong values.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Duration>, D::Error> {
        Option::<f64>::deserialize(d)?
            .map(|seconds| Duration::try_from_secs_f64(seconds).map_err(D::Error::custom))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn earlier_minus_later_is_zero_not_a_panic() {
        let (a, b) = (MonoInstant::from_nanos(5), MonoInstant::from_nanos(9));
        assert_eq!(a.saturating_since(b), Duration::ZERO);
        assert_eq!(b.saturating_since(a), Duration::from_nanos(4));
    }

    #[test]
    fn wall_time_prints_rfc_3339() {
        assert_eq!(
            WallTime::from_unix(0).unwrap().to_string(),
            "1970-01-01T00:00:00Z"
        );
    }

    #[test]
    fn a_clock_beyond_the_calendar_shows_its_end() {
        assert_eq!(WallTime::nearest(60), WallTime::from_unix(60).unwrap());
        assert_eq!(WallTime::from_unix(i64::MAX), None);
        let latest = WallTime::nearest(i64::MAX);
        assert!(latest.to_string().starts_with("9999-12-"), "{latest}");
        assert!(
            WallTime::nearest(i64::MIN)
                .to_string()
                .starts_with("-009999-01-")
        );
    }
}
