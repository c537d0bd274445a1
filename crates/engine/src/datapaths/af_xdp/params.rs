//! The parameters of the datapath.

use crate::error::EngineError;
use linerate_sys::bpf::XdpMode;
use std::collections::BTreeMap;

/// The parameters, parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Params {
    /// Only this receive queue; otherwise all.
    pub(super) queue: Option<u32>,
    /// Only this mode; otherwise native, and generic where the driver cannot.
    pub(super) mode: Option<XdpMode>,
    /// Frames to receive into, per queue.
    pub(super) frames: u32,
}

/// As many as 4 MiB hold of the usual length: some 20 times what a default socket buffer does, since nothing else
/// queues while the receiver does not run.
const DEFAULT_FRAMES: u32 = 2048;

/// A receiver that has fewer loses to its own batches; more than the highest is 64 MiB and more per queue.
const FRAME_COUNTS: std::ops::RangeInclusive<u32> = 64..=32_768;

impl Params {
    pub(super) fn parse(params: &BTreeMap<String, String>) -> Result<Self, EngineError> {
        let text = |key: &str| params.get(key).map(String::as_str);
        Ok(Self {
            queue: text("queue").map(queue).transpose()?,
            mode: match text("mode") {
                None | Some("auto") => None,
                Some("generic") => Some(XdpMode::Generic),
                Some("native") => Some(XdpMode::Native),
                Some(other) => {
                    let why = "it takes auto, native or generic";
                    return Err(EngineError::plan("mode", &other, why));
                }
            },
            frames: text("frames").map_or(Ok(DEFAULT_FRAMES), frames)?,
        })
    }
}

fn queue(text: &str) -> Result<u32, EngineError> {
    let number = text.parse().ok().filter(|queue| *queue < 4096);
    number
        .ok_or_else(|| EngineError::plan("queue", &text, "it takes the number of a receive queue"))
}

fn frames(text: &str) -> Result<u32, EngineError> {
    let number = text.parse::<u32>().ok();
    let number = number.filter(|n| n.is_power_of_two() && FRAME_COUNTS.contains(n));
    number.ok_or_else(|| {
        let why = format!(
            "it takes a power of two from {} to {}",
            FRAME_COUNTS.start(),
            FRAME_COUNTS.end()
        );
        EngineError::plan("frames", &text, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &[(&str, &str)]) -> Result<Params, EngineError> {
        let owned = text.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Params::parse(&owned.collect())
    }

    #[test]
    fn parameters_are_read_and_nonsense_is_refused() {
        let all = params(&[("queue", "3"), ("mode", "generic"), ("frames", "64")]).unwrap();
        let expected = Params {
            queue: Some(3),
            mode: Some(XdpMode::Generic),
            frames: 64,
        };
        assert_eq!(all, expected);
        assert_eq!(params(&[]).unwrap().queue, None);
        for bad in [
            ("queue", "-1"),
            ("mode", "fast"),
            ("frames", "100"),
            ("frames", "32"),
        ] {
            let error = params(&[bad]).unwrap_err().to_string();
            assert!(error.starts_with(bad.0), "{error}");
        }
    }
}
