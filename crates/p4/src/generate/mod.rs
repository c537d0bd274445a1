//! Programs that vary one thing, made here: BMv2 JSON and P4Info without a compiler, with entries and a packet.
//!
//! A [`Family`] varies one factor, such as tables in series or registers read; its levels are how many of it a packet
//! meets. All else, the length of the packet too, is the same at every level, so that the difference of two levels is the
//! cost of that factor. Every program runs here and on other targets of BMv2 JSON 2.23.
//!
//! # References
//! - Dang et al., "Whippersnapper: A P4 Language Benchmark Suite", SOSR 2017, for the factors
//! - NIKSS artifacts, `results/03` and `results/04`, for published cycles

mod draft;
mod families;
mod info;
mod parts;
mod rules;
mod terms;
mod test;

pub use families::ALL;
pub use rules::{GenerateError, Rule, RuleAction, Traffic};

use draft::Draft;

/// How levels are placed on the axis that costs are a line of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// A cost of each further one.
    Linear,
    /// A cost of ten times as many.
    Decades,
}

/// What others published for the same construct, for orientation: cycles of one core on their machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// Cycles of NIKSS (eBPF) over a baseline without the construct.
    pub cycles: u32,
    /// At how many of it.
    pub at: &'static str,
}

impl Published {
    /// What was published at so many of it, if it was.
    const fn of(cycles: Option<u32>, at: &'static str) -> Option<Self> {
        match cycles {
            Some(cycles) => Some(Self { cycles, at }),
            None => None,
        }
    }
}

/// A factor and the programs that vary it.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// Its name, in kebab-case.
    pub id: &'static str,
    /// What a level counts, in the singular: "one more …".
    pub unit: &'static str,
    /// The levels, rising.
    pub levels: &'static [u32],
    /// How levels are placed.
    pub scale: Scale,
    /// What others published.
    pub published: Option<Published>,
    build: fn(&mut Draft, u32),
}

impl Family {
    /// The family with this name.
    pub fn find(id: &str) -> Option<&'static Self> {
        ALL.iter().find(|family| family.id == id)
    }

    /// The program at a level; levels between those of [`Self::levels`] are as good.
    pub fn generate(&self, level: u32) -> Generated {
        let mut draft = Draft::new(format!("{}-{level}", self.id));
        (self.build)(&mut draft, level);
        draft.finish()
    }
}

/// A program with what it needs to run.
#[derive(Debug, Clone)]
pub struct Generated {
    /// The family's name and the level.
    pub name: String,
    /// BMv2 JSON, version 2.23.
    pub json: String,
    /// P4Info in text form.
    pub p4info: String,
    /// Entries, members, groups and sessions.
    pub rules: Vec<Rule>,
    /// The packets that make it do what it is about.
    pub traffic: Traffic,
}
