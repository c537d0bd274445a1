//! `linerate calibrate`.

use crate::args::output::OutputArgs;
use crate::args::values::{datapath, size};
use crate::context::in_context;
use crate::outcome::{no_report, print_document};
use crate::terminal;
use anyhow::Result;
use clap::Args;
use linerate_model::ByteCount;
use linerate_model::exit::ExitCode;
use linerate_model::spec::DatapathChoice;
use linerate_model::units::parse_duration;
use linerate_studies::run::{CalibratePlan, calibrate};
use std::time::Duration;

/// Arguments of `calibrate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CalibrateArgs {
    /// A datapath with its parameters; once for each. Those that this host lacks are left out.
    #[arg(long, value_name = "DATAPATH", value_parser = datapath,
        default_values = ["sockets", "sockets,gso=true,gro=true", "io-uring"])]
    datapath: Vec<DatapathChoice>,
    /// Payloads of datagrams; between two of them the time per packet is interpolated.
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = size,
        default_values = ["64", "512", "1448", "8972"])]
    payload: Vec<ByteCount>,
    /// Time of each test.
    #[arg(long, short = 't', default_value = "1s", value_parser = parse_duration)]
    time: Duration,
    /// Tests of each ceiling.
    #[arg(long, default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// Seed of the order in which they are made.
    #[arg(long, default_value = "1")]
    seed: u64,
}

impl CalibrateArgs {
    /// Measures, keeps and shows the ceilings.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        no_report(output, "calibrate")?;
        let plan = CalibratePlan {
            datapaths: self.datapath.clone(),
            payloads: self.payload.clone(),
            time: self.time,
            repetitions: self.repetitions,
            seed: self.seed,
        };
        let mut interrupted = false;
        let found = in_context(output, |context| {
            let found = calibrate(context, &plan);
            interrupted = context.interrupted();
            found
        })?;
        print_document(output, &found.calibration)?;
        for note in &found.notes {
            terminal::error(&format!("left out: {note}"));
        }
        if interrupted {
            terminal::error("calibration was interrupted; what was kept before stands");
            return Ok(ExitCode::Other);
        }
        Ok(ExitCode::Done)
    }
}
