//! Flame graphs as data: boxes of merged stacks, outermost at the top.
//!
//! Only what is a cost is drawn, so that the boxes add up to the cost by layer: no idle cores, no
//! other programs. A box's width is its share of the samples.

use crate::figures::{clean, float};
use linerate_model::cost::{CostLayer, ProfileCost};
use linerate_model::profile::Profile;
use std::collections::BTreeMap;

/// Boxes narrower than this share are left out: on a page of 1100 pixels they have no width.
const NARROWEST: f64 = 0.001;
/// Deepest box that is drawn.
const DEEPEST: usize = 64;

/// One box.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FlameBox {
    /// Function or thread, safe to show.
    pub(crate) name: String,
    /// Row from the top.
    pub(crate) depth: usize,
    /// Left edge as a share of the whole width.
    pub(crate) start: f64,
    /// Width as a share of all samples drawn.
    pub(crate) share: f64,
    /// Samples in it and in what it called.
    pub(crate) samples: u64,
    /// The layer it is of; of a helper without one, its caller's.
    pub(crate) layer: Option<CostLayer>,
}

/// A function's own time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnTime {
    /// The function, safe to show.
    pub(crate) name: String,
    /// The layer that this time counts for.
    pub(crate) layer: CostLayer,
    /// Samples in which it was the innermost.
    pub(crate) samples: u64,
}

#[derive(Default)]
struct Node<'a> {
    samples: u64,
    /// Whether it is user code.
    user: bool,
    below: BTreeMap<&'a str, Self>,
}

/// The boxes of a profile, row by row from the left; empty without any cost.
pub(crate) fn boxes(profile: &Profile, cost: &ProfileCost) -> Vec<FlameBox> {
    let mut root = Node::default();
    for (stack, layer) in profile.stacks.iter().zip(&cost.stack_layers) {
        if layer.is_none() {
            continue;
        }
        root.samples += stack.samples;
        let mut node = &mut root;
        for name in profile.frames(stack).take(DEEPEST) {
            node = node.below.entry(name).or_default();
            node.samples += stack.samples;
        }
        node.user |= stack.user;
    }
    let mut painter = Painter {
        layers: layers_of(cost),
        whole: float(root.samples),
        boxes: Vec::new(),
    };
    if root.samples > 0 {
        painter.row(&root, 0, 0.0, None);
    }
    painter.boxes
}

/// The functions with the most time of their own, heaviest first, at most `most`.
pub(crate) fn own_times(profile: &Profile, cost: &ProfileCost, most: usize) -> Vec<OwnTime> {
    let mut sums: BTreeMap<(&str, CostLayer), u64> = BTreeMap::new();
    for (stack, layer) in profile.stacks.iter().zip(&cost.stack_layers) {
        if let (Some(layer), Some(name)) = (layer, profile.frames(stack).next_back()) {
            *sums.entry((name, *layer)).or_default() += stack.samples;
        }
    }
    let mut own: Vec<_> = sums.into_iter().collect();
    own.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    own.into_iter()
        .take(most)
        .map(|((name, layer), samples)| OwnTime {
            name: clean(name),
            layer,
            samples,
        })
        .collect()
}

fn layers_of(cost: &ProfileCost) -> BTreeMap<&str, CostLayer> {
    let functions = cost.layers.iter().flat_map(|layer| {
        let names = layer.functions.iter();
        names.map(|name| (name.as_str(), layer.layer))
    });
    functions.collect()
}

struct Painter<'a> {
    layers: BTreeMap<&'a str, CostLayer>,
    whole: f64,
    boxes: Vec<FlameBox>,
}

impl Painter<'_> {
    fn row(&mut self, node: &Node<'_>, depth: usize, start: f64, of: Option<CostLayer>) {
        let mut left = start;
        for (name, child) in &node.below {
            let share = float(child.samples) / self.whole;
            if share >= NARROWEST {
                // The first row is threads, whose names could be those of functions.
                let known = self.layers.get(name).filter(|_| depth > 0).copied();
                let user = child.user.then_some(CostLayer::Application);
                let layer = user.or(known).or(of);
                self.boxes.push(FlameBox {
                    name: clean(name),
                    depth,
                    start: left,
                    share,
                    samples: child.samples,
                    layer,
                });
                self.row(child, depth + 1, left, layer);
            }
            left += share;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::Ratio;
    use linerate_model::cost::LayerCost;
    use linerate_model::profile::{ProfileEvent, ProfileScope, ProfileStack};

    fn profile() -> (Profile, ProfileCost) {
        let stack = |frames: &[u32], samples| ProfileStack {
            frames: frames.to_vec(),
            samples,
            user: frames.contains(&4),
        };
        let names = ["send", "udp_sendmsg", "memcpy", "idle", "linerate::step"];
        let profile = Profile {
            event: ProfileEvent::CpuClock,
            scope: ProfileScope::Host,
            kernel: true,
            rate_hz: 997,
            duration_ns: 1,
            samples: 100,
            lost: 0,
            rest_samples: 0,
            names: names.map(str::to_owned).to_vec(),
            stacks: vec![stack(&[0, 1, 2], 30), stack(&[3], 60), stack(&[0, 4], 10)],
            remarks: Vec::new(),
        };
        let cost = ProfileCost {
            event: profile.event,
            scope: profile.scope,
            kernel: true,
            busy_samples: 40,
            idle_samples: 60,
            other_samples: 0,
            unplaced_samples: 0,
            packets: None,
            packet_kind: None,
            ns_per_packet: None,
            ns_per_byte: None,
            layers: vec![LayerCost {
                layer: CostLayer::Transport,
                samples: 30,
                share_ratio: Ratio::clamped(0.75),
                ns_per_packet: None,
                functions: vec!["udp_sendmsg".to_owned()],
            }],
            stack_layers: vec![
                Some(CostLayer::Transport),
                None,
                Some(CostLayer::Application),
            ],
            remarks: Vec::new(),
        };
        (profile, cost)
    }

    #[test]
    fn stacks_merge_and_idle_is_left_out() {
        let (profile, cost) = profile();
        let boxes = boxes(&profile, &cost);
        let drawn: Vec<_> = boxes
            .iter()
            .map(|b| (b.name.as_str(), b.depth, b.samples))
            .collect();
        let expected = [
            ("send", 0, 40),
            ("linerate::step", 1, 10),
            ("udp_sendmsg", 1, 30),
            ("memcpy", 2, 30),
        ];
        assert_eq!(drawn, expected);
        assert!((boxes[2].start - 0.25).abs() < 1e-9);
        assert!((boxes[2].share - 0.75).abs() < 1e-9);
        // A helper has its caller's layer.
        assert_eq!(boxes[3].layer, Some(CostLayer::Transport));
        assert_eq!(boxes[1].layer, Some(CostLayer::Application));
    }

    #[test]
    fn own_time_is_the_innermost_function_s() {
        let (profile, cost) = profile();
        let own = own_times(&profile, &cost, 1);
        assert_eq!(own.len(), 1);
        assert_eq!((own[0].name.as_str(), own[0].samples), ("memcpy", 30));
    }

    #[test]
    fn a_profile_whose_cost_belongs_to_another_one_is_drawn_as_far_as_it_goes() {
        let (mut profile, mut cost) = profile();
        cost.stack_layers.truncate(1);
        profile.stacks[0].frames.push(77);
        assert_eq!(boxes(&profile, &cost).len(), 3);
        cost.stack_layers.clear();
        assert_eq!(boxes(&profile, &cost), []);
    }
}
