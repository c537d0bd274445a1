//! Arguments that name stored runs, and say what logs of other tools leave open.

use clap::{Args, ValueEnum};
use linerate_studies::archive::{HgrmHint, Hints, UnitStep};

/// One stored run.
#[derive(Debug, Clone, Args)]
pub(crate) struct OneRun {
    /// Id, unique start of an id, tag, `last` or `last~1` (one before it), or a path to a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

/// What logs of other tools leave open.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct HintArgs {
    /// Step of K and M in zperf's figures where its log does not tell: 1024 before Zephyr 3.6.
    #[arg(long, value_name = "STEP", hide_short_help = true)]
    pub(crate) zperf_units: Option<ZperfUnits>,
    /// Transport and unit (ns, us, ms, s) of .hgrm files that do not tell them.
    #[arg(long, value_name = "TRANSPORT:UNIT", hide_short_help = true)]
    pub(crate) hgrm: Option<HgrmHint>,
}

impl HintArgs {
    /// The same for the import.
    pub(crate) fn hints(self) -> Hints {
        Hints {
            zperf_units: self.zperf_units.map(Into::into),
            hgrm: self.hgrm,
        }
    }
}

/// Step of the prefixes that zperf prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ZperfUnits {
    /// 1024.
    #[value(name = "1024")]
    Binary,
    /// 1000.
    #[value(name = "1000")]
    Decimal,
}

impl From<ZperfUnits> for UnitStep {
    fn from(units: ZperfUnits) -> Self {
        match units {
            ZperfUnits::Binary => Self::Binary,
            ZperfUnits::Decimal => Self::Decimal,
        }
    }
}
