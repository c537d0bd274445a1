//! The parameters of the datapath.

use crate::datapaths::ParamDef;
use crate::error::{EngineError, Result};
use linerate_sys::bpf::XdpMode;
use std::collections::BTreeMap;

/// Of one queue alone.
pub(in crate::datapaths) const QUEUE: ParamDef = ParamDef {
    name: "queue",
    values: "N",
    summary: "Use only this receive queue, to which the flow must be steered (all).",
};
/// Where frames are chosen.
pub(in crate::datapaths) const MODE: ParamDef = ParamDef {
    name: "mode",
    values: "auto|native|generic",
    summary: "Where the XDP program runs: in the driver, or above it where the driver cannot (auto).",
};
/// Memory.
pub(in crate::datapaths) const FRAMES: ParamDef = ParamDef {
    name: "frames",
    values: "N",
    summary: "Frames to receive into per queue, a power of two (2048).",
};

/// Parsed parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::datapaths) struct FrameParams {
    /// Receive queue; `None`: all.
    pub(in crate::datapaths) queue: Option<u32>,
    /// XDP mode; `None`: native, or generic where the driver lacks support.
    pub(in crate::datapaths) mode: Option<XdpMode>,
    /// Receive frames per queue.
    pub(in crate::datapaths) frames: u32,
}

/// Default receive frames: 4 MiB of the default size, some 20 times a default socket buffer, since nothing else queues
/// while the receiver does not run.
const DEFAULT_FRAMES: u32 = 2048;

/// Valid receive frame counts: with fewer a receiver loses to its own batches; more would take over 64 MiB per queue.
const FRAME_COUNTS: std::ops::RangeInclusive<u32> = 64..=32_768;

impl FrameParams {
    pub(in crate::datapaths) fn parse(params: &BTreeMap<String, String>) -> Result<Self> {
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

fn queue(text: &str) -> Result<u32> {
    let number = text.parse().ok().filter(|queue| *queue < 4096);
    number
        .ok_or_else(|| EngineError::plan("queue", &text, "it takes the number of a receive queue"))
}

fn frames(text: &str) -> Result<u32> {
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

    fn params(text: &[(&str, &str)]) -> Result<FrameParams> {
        let owned = text.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        FrameParams::parse(&owned.collect())
    }

    #[test]
    fn parameters_are_read_and_nonsense_is_refused() {
        let all = params(&[("queue", "3"), ("mode", "generic"), ("frames", "64")]).unwrap();
        let expected = FrameParams {
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
