//! What made a run: one variant per kind, each with what only it has.

use super::{
    CellEstimate, CurveFacts, DelayTrial, Device, Forwarding, FrameCost, GoalResult, Run,
    StudyFindings,
};
use crate::responsiveness::Responsiveness;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run did, and what only that kind of run has.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RunWork {
    /// `linerate demo`.
    Demo {
        /// The runs that this run is made of.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Run>,
    },
    /// Request/response latency.
    Latency {
        /// Notable points of the load curve, where several request rates were measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        curve: Option<CurveFacts>,
        /// Round trips per minute under load, one for each direction.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        responsiveness: Vec<Responsiveness>,
    },
    /// A search for saturation.
    Saturate {
        /// Result per search goal.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        goals: Vec<GoalResult>,
        /// Notable points of the load curve; absent until the search has ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        curve: Option<CurveFacts>,
        /// Trials that measured delay at shares of the throughput, after the search.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        delay_trials: Vec<DelayTrial>,
    },
    /// `linerate run`.
    Study {
        /// Means over the repetitions of each cell.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        estimates: Vec<CellEstimate>,
        /// What they show of the factors; absent until the study has ended, and in documents of earlier builds.
        #[serde(
            rename = "study_findings",
            default,
            skip_serializing_if = "Option::is_none"
        )]
        findings: Option<Box<StudyFindings>>,
        /// The runs that this run is made of: one for each repetition of each cell.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Run>,
    },
    /// `linerate switch`: a part for each frame size and direction.
    Switch {
        /// What was measured.
        device: Device,
        /// What it forwards, a row for each part; empty until the first has ended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        forwarding: Vec<Forwarding>,
        /// What a frame and a byte of it cost the device; absent below two frame sizes at which it limits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frame_cost: Option<FrameCost>,
        /// The runs that this run is made of.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<Run>,
    },
    /// TCP transfers.
    Tcp,
    /// UDP datagram streams; several trials at several loads make a load curve.
    Udp,
}

impl From<RunKind> for RunWork {
    /// Work of this kind of which nothing is done yet.
    fn from(kind: RunKind) -> Self {
        match kind {
            RunKind::Demo => Self::Demo { parts: Vec::new() },
            RunKind::Latency => Self::Latency {
                curve: None,
                responsiveness: Vec::new(),
            },
            RunKind::Saturate => Self::Saturate {
                goals: Vec::new(),
                curve: None,
                delay_trials: Vec::new(),
            },
            RunKind::Study => Self::Study {
                estimates: Vec::new(),
                findings: None,
                parts: Vec::new(),
            },
            RunKind::Switch => Self::Switch {
                device: Device::default(),
                forwarding: Vec::new(),
                frame_cost: None,
                parts: Vec::new(),
            },
            RunKind::Tcp => Self::Tcp,
            RunKind::Udp => Self::Udp,
        }
    }
}

impl Run {
    /// What made this run.
    pub const fn kind(&self) -> RunKind {
        match self.work {
            RunWork::Demo { .. } => RunKind::Demo,
            RunWork::Latency { .. } => RunKind::Latency,
            RunWork::Saturate { .. } => RunKind::Saturate,
            RunWork::Study { .. } => RunKind::Study,
            RunWork::Switch { .. } => RunKind::Switch,
            RunWork::Tcp => RunKind::Tcp,
            RunWork::Udp => RunKind::Udp,
        }
    }

    /// Whether it is a part of a study that measured the cell with this label.
    pub fn is_of_cell(&self, label: &str) -> bool {
        let place = self.config.place.as_ref();
        place.is_some_and(|place| place.cell == label)
    }

    /// Whether its frames went through a device between two ports.
    pub fn is_of_device(&self) -> bool {
        let test = self.config.test();
        self.kind() == RunKind::Switch || test.is_some_and(|test| test.datapath.is_between_ports())
    }

    /// Whether they went from each of several ports to all others.
    pub fn is_of_mesh(&self) -> bool {
        let test = self.config.test();
        test.is_some_and(|test| test.datapath.is_mesh())
    }

    /// Whether the link between the hosts is an emulator's or a link element's, so that their interfaces name a speed that
    /// nothing keeps to.
    pub fn has_emulated_link(&self) -> bool {
        let target = self.config.target.as_ref();
        target.is_some_and(|target| target.link.is_some())
            || self.hosts.iter().any(|host| host.facts.emulated.is_some())
    }

    /// The runs that this run is made of; none where it has trials of its own.
    pub fn parts(&self) -> &[Self] {
        match &self.work {
            RunWork::Demo { parts }
            | RunWork::Study { parts, .. }
            | RunWork::Switch { parts, .. } => parts,
            RunWork::Latency { .. } | RunWork::Saturate { .. } | RunWork::Tcp | RunWork::Udp => &[],
        }
    }

    /// The parts, to add to; absent where a run of this kind has trials of its own.
    pub const fn parts_mut(&mut self) -> Option<&mut Vec<Self>> {
        match &mut self.work {
            RunWork::Demo { parts }
            | RunWork::Study { parts, .. }
            | RunWork::Switch { parts, .. } => Some(parts),
            RunWork::Latency { .. } | RunWork::Saturate { .. } | RunWork::Tcp | RunWork::Udp => {
                None
            }
        }
    }

    /// The one search of a device that was measured with frames of one size in one direction, with what is known of the
    /// device; else the run as it is, also where other methods found something.
    #[must_use]
    pub fn into_only_search(self) -> Self {
        let mut whole = self;
        let RunWork::Switch {
            device,
            forwarding,
            parts,
            ..
        } = &mut whole.work
        else {
            return whole;
        };
        let has_more = forwarding.iter().any(|row| !row.methods.is_empty());
        if parts.len() != 1 || has_more {
            return whole;
        }
        let said = device.facts.take().map(|facts| facts.description);
        let Some(mut part) = parts.pop() else {
            return whole;
        };
        part.notes.splice(0..0, said.into_iter().chain(whole.notes));
        if part.hosts.is_empty() {
            part.hosts = whole.hosts;
        }
        part
    }

    /// Result per search goal; none where nothing was searched.
    pub fn goals(&self) -> &[GoalResult] {
        match &self.work {
            RunWork::Saturate { goals, .. } => goals,
            _ => &[],
        }
    }

    /// Trials that measured delay at shares of the throughput.
    pub fn delay_trials(&self) -> &[DelayTrial] {
        match &self.work {
            RunWork::Saturate { delay_trials, .. } => delay_trials,
            _ => &[],
        }
    }

    /// What a study shows of its factors; absent in all other runs.
    pub fn findings(&self) -> Option<&StudyFindings> {
        match &self.work {
            RunWork::Study { findings, .. } => findings.as_deref(),
            _ => None,
        }
    }

    /// Notable points of the load curve, of datagrams or of requests.
    pub const fn curve(&self) -> Option<CurveFacts> {
        match self.work {
            RunWork::Latency { curve, .. } | RunWork::Saturate { curve, .. } => curve,
            _ => None,
        }
    }
}

crate::named_enum! {
    /// What made a run.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum RunKind {
        /// `linerate demo`: its parts are runs of the other kinds.
        Demo = "demo",
        /// Request/response latency.
        Latency = "latency",
        /// A search for saturation.
        Saturate = "saturate",
        /// `linerate run`: a part for each repetition of each cell.
        Study = "study",
        /// `linerate switch`: a part for each frame size and direction.
        Switch = "switch",
        /// TCP transfers.
        Tcp = "tcp",
        /// UDP datagram streams; several trials at several loads make a load curve.
        Udp = "udp",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Tool;
    use serde_json::json;

    /// A document with every key that any kind has, as it was written when a run was one wide struct.
    fn document(kind: &str) -> String {
        let part = json!({
            "schema": "linerate/run/2", "id": "part", "kind": "tcp", "status": "complete",
            "tool": {"name": "linerate"}, "config": {}, "trials": [], "hosts": [],
        });
        let goal = json!({
            "direction": "forward", "loss_goal_ratio": 0.0, "lower_bound_bps": 1, "upper_bound_bps": 2,
            "conditional_throughput_bps": 1, "reached": true, "width_ratio": null, "trials": 9, "time_s": 9.0,
        });
        json!({
            "schema": "linerate/run/2", "id": "whole", "kind": kind, "status": "complete",
            "tool": {"name": "linerate"}, "config": {}, "trials": [], "hosts": [],
            "goals": [goal], "curve": {"peak_received_bps": 7}, "parts": [part],
        })
        .to_string()
    }

    #[test]
    fn a_kind_reads_and_writes_its_own_keys_beside_the_common_ones() {
        let own: [(_, &[&str]); 6] = [
            (RunKind::Demo, &["parts"]),
            (RunKind::Latency, &["curve"]),
            (RunKind::Saturate, &["curve", "goals"]),
            (RunKind::Study, &["parts"]),
            (RunKind::Tcp, &[]),
            (RunKind::Udp, &[]),
        ];
        for (kind, keys) in own {
            let run: Run = serde_json::from_str(&document(kind.as_str())).unwrap();
            assert_eq!(run.kind(), kind);
            let written = serde_json::to_value(&run).unwrap();
            assert_eq!(written["kind"], kind.as_str());
            for key in ["curve", "goals", "parts"] {
                assert_eq!(
                    written.get(key).is_some(),
                    keys.contains(&key),
                    "{key} of {kind:?}: {written}"
                );
            }
            assert_eq!(serde_json::from_value::<Run>(written).unwrap(), run);
        }
    }

    #[test]
    fn a_run_just_begun_writes_no_key_of_its_kind_but_the_kind() {
        for kind in [RunKind::Demo, RunKind::Saturate, RunKind::Study] {
            let run = Run::new("new", kind, Tool::unversioned("linerate"));
            let written = serde_json::to_value(&run).unwrap();
            assert_eq!(written["kind"], kind.as_str());
            for key in ["curve", "estimates", "goals", "parts", "responsiveness"] {
                assert!(written.get(key).is_none(), "{key} of {kind:?}: {written}");
            }
            assert_eq!(serde_json::from_value::<Run>(written).unwrap(), run);
        }
    }
}
