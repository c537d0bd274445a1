//! Arguments that name stored runs, and say what logs of other tools leave open.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use linerate_archive::{HgrmHint, Hints, UnitStep};

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
    #[arg(
        long,
        value_name = "STEP",
        value_parser = PossibleValuesParser::new(UnitStep::WORDS).try_map(|step| step.parse::<UnitStep>()),
        hide_short_help = true
    )]
    pub(crate) zperf_units: Option<UnitStep>,
    /// Transport and unit (ns, us, ms, s) of .hgrm files that do not tell them.
    #[arg(long, value_name = "TRANSPORT:UNIT", hide_short_help = true)]
    pub(crate) hgrm: Option<HgrmHint>,
}

impl HintArgs {
    /// The hints, for the import.
    pub(crate) fn hints(self) -> Hints {
        Hints {
            zperf_units: self.zperf_units,
            hgrm: self.hgrm,
            link_speed: None,
        }
    }
}
