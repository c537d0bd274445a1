//! What each layer of a host's system costs, from sampled call stacks.
//!
//! A stack belongs to the layer of its innermost function that `cost/rules.rs` knows: what a layer's
//! functions call for it, such as a lock's release, is its cost, and copying, memory, scheduling
//! and waiting for locks are layers of their own wherever they happen. An idle core is no cost.
//! What other programs do is no cost either, unless an interrupt of the network borrows their time.
//!
//! Does not measure: a profile counts samples, and time is samples over the sampling rate.

mod rules;

use linerate_model::cost::{CostLayer, LayerCost, PacketKind, ProfileCost};
use linerate_model::profile::{OTHER_PROGRAMS, Profile, ProfileStack, STARTED_PROGRAM};
use linerate_model::units::float;
use linerate_model::{PacketCount, Ratio};
use rules::{Place, place};
use std::collections::BTreeMap;

/// What an end moved while it was sampled; what is not known is absent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Work {
    /// Packets.
    pub packets: Option<f64>,
    /// What a packet is.
    pub packet_kind: Option<PacketKind>,
    /// L4 payload bytes.
    pub bytes: Option<f64>,
}

/// Where a stack's time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Account {
    /// A layer of this host's system.
    Layer(CostLayer),
    /// Nothing was done.
    Idle,
    /// Another program's own business.
    Other,
}

/// The places of a profile's names: each is looked up once.
struct Map<'a> {
    profile: &'a Profile,
    places: Vec<Option<Place>>,
}

impl<'a> Map<'a> {
    fn from_profile(profile: &'a Profile) -> Self {
        let places = profile.names.iter().map(|name| place(name));
        Self {
            profile,
            places: places.collect(),
        }
    }

    /// Where the time of one stack counts.
    fn account(&self, stack: &ProfileStack) -> Account {
        let mut frames = stack.frames.iter();
        // The first frame is a thread's name, which could be that of a function.
        let first = frames.next().map(|frame| self.name(*frame));
        let foreign = first
            .flatten()
            .is_some_and(|name| name == OTHER_PROGRAMS || name.starts_with(STARTED_PROGRAM));
        if stack.user {
            return if foreign {
                Account::Other
            } else {
                Account::Layer(CostLayer::Application)
            };
        }
        let places: Vec<Place> = frames.rev().filter_map(|f| self.place(*f)).collect();
        if foreign && !places.contains(&Place::Layer(CostLayer::Softirq)) {
            return Account::Other;
        }
        match places.first() {
            Some(Place::Idle) => Account::Idle,
            Some(Place::Layer(layer)) => Account::Layer(*layer),
            None => Account::Layer(CostLayer::Other),
        }
    }

    fn name(&self, frame: u32) -> Option<&str> {
        let name = self.profile.names.get(usize::try_from(frame).ok()?)?;
        Some(name.as_str())
    }

    fn place(&self, frame: u32) -> Option<Place> {
        *self.places.get(usize::try_from(frame).ok()?)?
    }

    /// The functions of `layer`, sorted.
    fn functions(&self, layer: CostLayer) -> Vec<String> {
        let named = self.profile.names.iter().zip(&self.places);
        let of_layer = named.filter(|(_, place)| **place == Some(Place::Layer(layer)));
        let mut functions: Vec<String> = of_layer.map(|(name, _)| name.clone()).collect();
        functions.sort_unstable();
        functions
    }
}

/// The cost of each layer in all, and per packet where packets were counted.
pub fn by_layer(profile: &Profile, work: Work) -> ProfileCost {
    let map = Map::from_profile(profile);
    let mut sums: BTreeMap<Account, u64> = BTreeMap::new();
    let mut stack_layers = Vec::with_capacity(profile.stacks.len());
    for stack in &profile.stacks {
        let account = map.account(stack);
        *sums.entry(account).or_default() += stack.samples;
        stack_layers.push(match account {
            Account::Layer(layer) => Some(layer),
            Account::Idle | Account::Other => None,
        });
    }
    let sum_of = |account| sums.get(&account).copied().unwrap_or(0);
    let layers = CostLayer::ALL.map(|layer| (layer, sum_of(Account::Layer(layer))));
    let busy: u64 = layers.iter().map(|(_, samples)| samples).sum();
    let per = |count: Option<f64>| {
        let count = count.filter(|count| *count > 0.0)?;
        Some(nanos_per_sample(profile) / count)
    };
    let (per_packet, per_byte) = (per(work.packets), per(work.bytes));
    let cost = |samples: u64, per: Option<f64>| Some(float(samples) * per?);
    let mut layers: Vec<LayerCost> = layers
        .into_iter()
        .filter(|(_, samples)| *samples > 0)
        .map(|(layer, samples)| LayerCost {
            layer,
            samples,
            share_ratio: Ratio::from_parts(samples, busy),
            ns_per_packet: cost(samples, per_packet),
            functions: map.functions(layer),
        })
        .collect();
    layers.sort_by_key(|layer| std::cmp::Reverse(layer.samples));
    ProfileCost {
        event: profile.event,
        scope: profile.scope,
        kernel: profile.kernel,
        busy_samples: busy,
        idle_samples: sum_of(Account::Idle),
        other_samples: sum_of(Account::Other),
        unplaced_samples: profile.rest_samples.saturating_add(profile.lost),
        packets: work.packets.map(|count| PacketCount::new(whole(count))),
        packet_kind: work.packet_kind,
        ns_per_packet: cost(busy, per_packet),
        ns_per_byte: cost(busy, per_byte),
        layers,
        stack_layers,
        remarks: profile.remarks.clone(),
    }
}

/// The time that one placed sample stands for: those that were lost or not kept are taken to be
/// like the others.
fn nanos_per_sample(profile: &Profile) -> f64 {
    let taken = float(profile.samples) + float(profile.lost);
    let placed = float(profile.samples.saturating_sub(profile.rest_samples));
    let period = 1e9 / f64::from(profile.rate_hz);
    if placed > 0.0 {
        period * taken / placed
    } else {
        period
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count that a warm-up scaled: not negative, and saturating at the largest"
)]
fn whole(count: f64) -> u64 {
    count.round() as u64
}

#[cfg(test)]
mod tests;
