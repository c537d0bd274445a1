//! Series that both look at.

use flate2::read::GzDecoder;
use linerate_model::random::Random;
use serde_json::Value;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) values: Vec<f64>,
}

/// Series of each kind.
const OF_EACH: u64 = 10;

/// Levels and how long each holds, with normal noise of `scatter` times the level.
fn levels(random: &mut Random, levels: &[(f64, usize)], scatter: f64) -> Vec<f64> {
    let each = levels
        .iter()
        .flat_map(|(level, count)| std::iter::repeat_n(*level, *count));
    each.map(|level| level * (1.0 + scatter * random.normal()))
        .collect()
}

fn drift(random: &mut Random, count: u32, step: f64) -> Vec<f64> {
    let noisy = |n: u32| 100.0 + step * f64::from(n) + random.normal();
    (0..count).map(noisy).collect()
}

/// A flat series of which some values are far away.
fn spiky(random: &mut Random, width: usize) -> Vec<f64> {
    let mut values = levels(random, &[(100.0, 70)], 0.02);
    for _ in 0..3 {
        let at = random.below(values.len() - width);
        let factor = if random.unit() < 0.5 { 0.3 } else { 2.0 };
        values[at..at + width]
            .iter_mut()
            .for_each(|value| *value *= factor);
    }
    values
}

fn short(random: &mut Random) -> Vec<f64> {
    let (before, after) = (random.below(9), random.below(9));
    levels(random, &[(100.0, before), (70.0, after)], 0.02)
}

/// Many levels of any length, some shorter than a stretch may be.
fn wild(random: &mut Random) -> Vec<f64> {
    let some: Vec<_> = (0..12)
        .map(|_| (80.0 + 40.0 * random.unit(), 1 + random.below(20)))
        .collect();
    levels(random, &some, 0.02)
}

/// Noise whose extremes are far more frequent than those of a normal distribution.
fn heavy(random: &mut Random) -> Vec<f64> {
    let level = |n| if n < 40 { 100.0 } else { 96.0 };
    (0..80)
        .map(|n| level(n) + random.normal().powi(3))
        .collect()
}

/// In whole units: many values are equal.
fn whole(random: &mut Random) -> Vec<f64> {
    let values = levels(random, &[(100.0, 20), (98.0, 25), (101.0, 15)], 0.01);
    values.iter().map(|value| value.round()).collect()
}

type Kind = (&'static str, fn(&mut Random) -> Vec<f64>);

const KINDS: [Kind; 13] = [
    ("flat", |random| levels(random, &[(100.0, 60)], 0.03)),
    ("step", |random| {
        levels(random, &[(100.0, 40), (95.0, 20)], 0.03)
    }),
    ("small step", |random| {
        levels(random, &[(100.0, 40), (97.5, 40)], 0.03)
    }),
    ("steps", |random| {
        levels(
            random,
            &[(100.0, 30), (90.0, 30), (100.0, 30), (110.0, 30)],
            0.04,
        )
    }),
    ("near steps", |random| {
        levels(random, &[(100.0, 22), (93.0, 6), (100.0, 30)], 0.02)
    }),
    ("long", |random| {
        levels(random, &[(100.0, 110), (97.0, 50), (99.0, 90)], 0.02)
    }),
    ("wild", wild),
    ("drift", |random| drift(random, 80, 0.05)),
    ("spikes", |random| spiky(random, 1)),
    ("bursts", |random| spiky(random, 4)),
    ("heavy", heavy),
    ("short", short),
    ("whole", whole),
];

pub(crate) fn synthetic() -> Vec<Series> {
    let of_kind = |(name, make): Kind| {
        (0..OF_EACH).map(move |seed| Series {
            name: format!("{name} {seed}"),
            values: make(&mut Random::new(seed)),
        })
    };
    KINDS.into_iter().flat_map(of_kind).collect()
}

/// The received rates of all intervals of each scene that was measured for verdicts, in their order; all of a set too.
pub(crate) fn measured() -> Vec<Series> {
    let mut all = Vec::new();
    for set in ["fitted", "judged"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenes");
        let file = File::open(folder.join(format!("{set}.runs.jsonl.gz"))).unwrap();
        let mut text = String::new();
        GzDecoder::new(file).read_to_string(&mut text).unwrap();
        let mut whole = Vec::new();
        for line in text.lines() {
            let scene: Value = serde_json::from_str(line).unwrap();
            let mut values = Vec::new();
            collect_rates(&scene["run"], &mut values);
            whole.extend(&values);
            let name = format!("{set}, scene {}", scene["scene"]);
            all.push(Series { name, values });
        }
        all.push(Series {
            name: format!("{set}, all scenes"),
            values: whole,
        });
    }
    all
}

fn collect_rates(value: &Value, rates: &mut Vec<f64>) {
    match value {
        Value::Object(fields) => {
            let rate = fields.get("received_bps").and_then(Value::as_f64);
            rates.extend(rate.filter(|_| fields.contains_key("start_s")));
            fields.values().for_each(|one| collect_rates(one, rates));
        }
        Value::Array(items) => items.iter().for_each(|one| collect_rates(one, rates)),
        _ => {}
    }
}
