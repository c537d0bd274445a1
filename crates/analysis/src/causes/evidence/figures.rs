//! Quantities that several rules read: gaps, plateaus, standing queues, placed losses.

use super::{Evidence, is_short, load, range};
use crate::causes::words;
use crate::readings::mean;
use crate::thresholds::delay::{CALM, QUEUE_FACTOR, QUEUE_NANOS};
use crate::thresholds::outcome::LITTLE;
use crate::thresholds::plateau::{FAR_RATIO, FLAT_MOST, FLAT_RATIO, NEAR_RATIO, SPAN_RATIO};
use linerate_model::run::{DelayOf, LedgerEntry, Place, Trial};
use linerate_model::{BitRate, PacketCount, Ratio};

/// What lay between the intended load and what arrived, summed over trials, in bit/s of L4 payload.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::causes) struct Gap {
    /// Intended, but not offered.
    pub(in crate::causes) short: f64,
    /// Offered, but lost.
    pub(in crate::causes) lost: f64,
    /// All that was intended.
    intended: f64,
}

impl Gap {
    pub(in crate::causes) fn from_trials(trials: &[&Trial]) -> Self {
        let mut gap = Self::default();
        for trial in trials {
            let offered = trial.offered_load.map(BitRate::as_f64);
            if let (Some(intended), Some(offered)) = (trial.intended_load, offered) {
                gap.intended += intended.as_f64();
                gap.short += (intended.as_f64() - offered).max(0.0);
            }
            if let (Some(loss), Some(load)) = (trial.loss_ratio(), offered.or_else(|| load(trial)))
            {
                gap.lost += load * loss.get();
            }
        }
        gap
    }

    /// Of the stressed trials at loads up to twice the best received rate: far beyond it any sender
    /// falls short, and that says nothing of what made the bound.
    pub(in crate::causes) fn around_best(evidence: &Evidence<'_>) -> Self {
        let best = evidence.highest_rate(|trial| trial.received_rate);
        let best = best.unwrap_or(0.0);
        let mut trials = evidence.stressed();
        let near = |trial: &&Trial| load(trial).is_some_and(|load| load <= best * 2.0);
        if trials.iter().any(near) {
            trials.retain(near);
        }
        Self::from_trials(&trials)
    }

    pub(in crate::causes) fn total(self) -> f64 {
        self.short + self.lost
    }

    /// Share of what was intended that was never offered.
    pub(in crate::causes) fn shortage(self) -> f64 {
        if self.intended > 0.0 {
            self.short / self.intended
        } else {
            0.0
        }
    }

    /// Whether it is the sender's alone: more was never offered than was lost, and next to nothing was lost.
    ///
    /// Of what is lost behind it, a sender that offered more would only lose more.
    pub(in crate::causes) fn is_senders(self) -> bool {
        self.short > self.lost && self.lost <= (self.intended - self.short) * LITTLE
    }

    /// Share of the gap that was never offered.
    pub(in crate::causes) fn short_share(self) -> f64 {
        if self.total() > 0.0 {
            self.short / self.total()
        } else {
            0.0
        }
    }
}

/// Received rates at loads beyond saturation, in bit/s of L4 payload.
#[derive(Debug, Clone, Copy)]
pub(in crate::causes) struct Plateau {
    /// Highest received rate of any trial.
    pub(in crate::causes) peak: f64,
    /// The load of that trial.
    pub(in crate::causes) peak_load: f64,
    /// Lowest received rate of the stressed trials.
    pub(in crate::causes) lowest: f64,
    /// Lowest stressed load.
    pub(in crate::causes) from: f64,
    /// Lowest stressed load above the highest received rate; the lowest stressed one if there is none.
    pub(in crate::causes) beyond: f64,
    /// Highest stressed load.
    pub(in crate::causes) to: f64,
    /// Received rate at the highest load.
    pub(in crate::causes) last: f64,
    /// Whether the received rate stayed the same while the load grew; `None` if the load did not grow.
    pub(in crate::causes) flat: Option<bool>,
}

impl Plateau {
    /// `None` unless a stressed trial has both a load and a received rate.
    pub(in crate::causes) fn from_evidence(evidence: &Evidence<'_>) -> Option<Self> {
        let point = |trial: &&Trial| Some((load(trial)?, trial.received_rate?.as_f64()));
        let stressed: Vec<(f64, f64)> = evidence.stressed().iter().filter_map(point).collect();
        let by_load = |a: &&(f64, f64), b: &&(f64, f64)| a.0.total_cmp(&b.0);
        let by_rate = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let all: Vec<(f64, f64)> = evidence.trials().iter().filter_map(point).collect();
        let peak = all.iter().max_by(by_rate)?;
        let last = stressed.iter().max_by(by_load)?;
        let from = stressed.iter().min_by(by_load)?.0;
        let mut beyond = stressed.clone();
        beyond.retain(|(load, _)| *load > peak.1);
        Some(Self {
            flat: flatness(evidence, peak.1),
            peak: peak.1,
            peak_load: peak.0,
            lowest: stressed.iter().min_by(by_rate)?.1,
            from,
            beyond: beyond.iter().min_by(by_load).map_or(from, |one| one.0),
            to: last.0,
            last: last.1,
        })
    }

    /// Whether less arrived at the highest load than at the best one.
    pub(in crate::causes) fn falls(&self) -> bool {
        self.to > self.peak_load * SPAN_RATIO && self.last < self.peak * (1.0 - FLAT_RATIO)
    }
}

/// Whether loads above the `peak` received rate all get that rate. What was not offered was not
/// refused by the path, so a sender that fell short without loss says nothing here.
fn flatness(evidence: &Evidence<'_>, peak: f64) -> Option<bool> {
    let lost = |trial: &Trial| trial.loss_ratio().is_none_or(|loss| loss.get() > 0.0);
    let point = |trial: &&Trial| Some((load(trial)?, trial.received_rate?.as_f64()));
    let stressed = evidence.stressed();
    let points: Vec<(f64, f64)> = stressed
        .iter()
        .filter(|trial| lost(trial) || !is_short(trial))
        .filter_map(point)
        .collect();
    let beyond: Vec<(f64, f64)> = points
        .iter()
        .copied()
        .filter(|(load, _)| *load > peak * (1.0 + FLAT_RATIO))
        .collect();
    // A bucket of tokens adds to the rate of a short trial; still it grows far less than the load.
    let same = |points: &[(f64, f64)]| {
        let tolerance = ((span(points) - 1.0) / 3.0).clamp(FLAT_RATIO, FLAT_MOST);
        points
            .iter()
            .all(|(_, rate)| *rate >= peak * (1.0 - tolerance))
    };
    if span(&beyond) >= SPAN_RATIO {
        return Some(same(&beyond));
    }
    let far = beyond.iter().any(|(load, _)| *load >= peak * FAR_RATIO);
    let mut trials = evidence.trials().iter();
    if far && trials.any(|trial| nearly_all(trial, peak)) {
        return Some(same(&beyond));
    }
    (span(&points) >= SPAN_RATIO).then(|| same(&points))
}

/// Highest load over lowest.
fn span(points: &[(f64, f64)]) -> f64 {
    let loads = points.iter().map(|(load, _)| *load);
    range(loads).map_or(0.0, |(lowest, highest)| highest / lowest)
}

/// Whether nearly all of a load near the peak arrived.
fn nearly_all(trial: &Trial, peak: f64) -> bool {
    /// Far less than a third, which is what the load beyond must have lost at least.
    const LITTLE: f64 = 0.05;
    let near = trial
        .received_rate
        .is_some_and(|rate| rate.as_f64() >= peak * NEAR_RATIO);
    near && trial.loss_ratio().is_some_and(|loss| loss.get() <= LITTLE)
}

/// Delay under load against delay without, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(in crate::causes) struct Delays {
    /// Without load: PDV median of the relaxed trials, of those well below the stressed ones if there are any, or
    /// the smallest RTT.
    pub(in crate::causes) base: f64,
    /// Under load: PDV median of the stressed trials, or the mean RTT.
    pub(in crate::causes) loaded: f64,
}

impl Delays {
    /// `None` if either is not known.
    pub(in crate::causes) fn from_evidence(evidence: &Evidence<'_>) -> Option<Self> {
        if evidence.is_tcp() {
            let min = |trial: &&Trial| trial.tcp()?.min_rtt_ns;
            return Some(Self {
                base: words::nanos(evidence.subject().iter().filter_map(min).min()?),
                loaded: evidence.tcp(|tcp| tcp.srtt_mean_ns.map(words::nanos))?,
            });
        }
        // PDV counts from the fastest packet of its own trial, so without a relaxed trial that packet is the base.
        Some(Self {
            base: unloaded(evidence, pdv_median).unwrap_or(0.0),
            loaded: mean(evidence.stressed().into_iter().filter_map(pdv_median))?,
        })
    }

    /// Medians of the one-way delay of datagrams, where both ends read one clock; `None` elsewhere, or without a trial that is
    /// relaxed or one that is stressed.
    ///
    /// PDV misses a queue that is full for as long as a trial lasts: then its fastest packet waited too.
    pub(in crate::causes) fn one_way(evidence: &Evidence<'_>) -> Option<Self> {
        Some(Self {
            base: unloaded(evidence, one_way_median)?,
            loaded: mean(evidence.stressed().into_iter().filter_map(one_way_median))?,
        })
    }

    /// Whether a queue stands in the path under load.
    pub(in crate::causes) fn queue_stands(self) -> bool {
        self.loaded >= self.base * QUEUE_FACTOR && self.loaded - self.base >= QUEUE_NANOS
    }
}

/// Mean of a median of the relaxed trials: of those well below the stressed ones, if there are any.
fn unloaded(evidence: &Evidence<'_>, median: fn(&Trial) -> Option<f64>) -> Option<f64> {
    let (relaxed, stressed) = (evidence.relaxed(), evidence.stressed());
    let onset = stressed.iter().filter_map(|trial| load(trial));
    let onset = onset.min_by(f64::total_cmp);
    let is_calm = |load: f64| onset.is_some_and(|onset| load <= onset * CALM);
    let all = || relaxed.iter().copied();
    let calm = all().filter(|trial| load(trial).is_some_and(is_calm));
    mean(calm.filter_map(median)).or_else(|| mean(all().filter_map(median)))
}

fn one_way_median(trial: &Trial) -> Option<f64> {
    let one_way = trial.one_way()?;
    let is_compared = one_way.clock_error_ns().is_some();
    let delay = one_way.forward.as_ref().filter(|_| !is_compared)?;
    delay.p50_ns.map(words::nanos)
}

fn pdv_median(trial: &Trial) -> Option<f64> {
    let delay = trial.delay();
    let delay = delay.filter(|delay| delay.of == DelayOf::Pdv)?;
    delay.p50_ns.map(words::nanos)
}

/// Where the packets of the stressed trials were lost.
#[derive(Debug, Clone, Default)]
pub(in crate::causes) struct LossPlaces {
    /// All packets lost.
    lost: u64,
    /// Each trial that lost packets and says where: how many, and at which places.
    trials: Vec<(u64, Vec<(Place, u64)>)>,
    sources: Vec<(Place, String)>,
}

impl LossPlaces {
    /// `None` when no stressed trial that lost packets says where.
    pub(in crate::causes) fn from_evidence(evidence: &Evidence<'_>) -> Option<Self> {
        let mut placed = Self::default();
        for trial in evidence.subject() {
            let lost = trial.packets().and_then(|packets| packets.lost);
            let lost = lost.map_or(0, PacketCount::get);
            placed.lost = placed.lost.saturating_add(lost);
            let entry = |entry: &LedgerEntry| (entry.place, entry.packets.get());
            let entries: Vec<_> = trial.ledger().iter().map(entry).collect();
            if lost > 0 && !entries.is_empty() {
                placed.trials.push((lost, entries));
            }
            let source = |entry: &LedgerEntry| (entry.place, entry.source.clone());
            placed.sources.extend(trial.ledger().iter().map(source));
        }
        (!placed.trials.is_empty()).then_some(placed)
    }

    /// Packets lost at any of `places`.
    pub(in crate::causes) fn at(&self, places: &[Place]) -> u64 {
        self.trials.iter().fold(0, |sum, (_, entries)| {
            sum.saturating_add(count_at(entries, places))
        })
    }

    /// Their share of what was lost: the mean over the trials, each weighed by the square root of its
    /// loss, so that one stall of a host in which much was lost does not outvote trials that agree.
    pub(in crate::causes) fn share(&self, places: &[Place]) -> f64 {
        let (mut here, mut all) = (0.0, 0.0);
        for (lost, entries) in &self.trials {
            let weight = PacketCount::new(*lost).as_f64().sqrt();
            here += weight * Ratio::from_parts(count_at(entries, places), *lost).get();
            all += weight;
        }
        if all > 0.0 { here / all } else { 0.0 }
    }

    /// The first source that names `place`.
    pub(in crate::causes) fn source(&self, place: Place) -> &str {
        let named = self.sources.iter().find(|source| source.0 == place);
        named.map_or("", |source| &source.1)
    }

    /// `12 of 34 lost packets (35.3 %)`, or `all 34 lost packets`.
    pub(in crate::causes) fn figure(&self, places: &[Place]) -> String {
        if self.at(places) == self.lost {
            return format!("all {} lost packets", words::count(self.lost));
        }
        format!(
            "{} of {} lost packets ({})",
            words::count(self.at(places)),
            words::count(self.lost),
            words::percent(Ratio::from_parts(self.at(places), self.lost).get())
        )
    }
}

fn count_at(entries: &[(Place, u64)], places: &[Place]) -> u64 {
    let here = entries.iter().filter(|entry| places.contains(&entry.0));
    here.fold(0, |sum, entry| sum.saturating_add(entry.1))
}
