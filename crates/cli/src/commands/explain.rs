//! `linerate explain`.

use crate::args::output::OutputArgs;
use crate::args::stored::OneRun;
use crate::context::{in_context, is_own_store, open_store};
use crate::outcome::{print_json, write_report};
use crate::stacks::ready;
use crate::terminal;
use anyhow::Result;
use clap::Args;
use linerate_archive as archive;
use linerate_client::address::PeerAddress;
use linerate_model::exit::ExitCode;
use linerate_report::explanation_text;
use linerate_studies::run::{self, ProofConsent};

/// Arguments of `explain`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    run: OneRun,
    /// Run the experiment that the verdict proposes, against the peer that the run measured, and
    /// keep its answer with the run.
    #[arg(long)]
    prove: bool,
    /// The peer that the run measured: needed with --prove where RUN is a file or of a --store, whose peer is not
    /// contacted otherwise.
    #[arg(long, value_name = "HOST", requires = "prove", value_parser = PeerAddress::parse)]
    host: Option<PeerAddress>,
    /// Let --prove start the programs, and use the files, that the run's peer names.
    #[arg(long, requires = "prove")]
    run_programs: bool,
}

impl ExplainArgs {
    /// Draws the verdict anew and shows it.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        let store = open_store(output)?;
        let name = &self.run.run;
        let run = if self.prove {
            let consent = ProofConsent {
                host: self.host.clone(),
                is_own_store: is_own_store(output, &store),
                programs: self.run_programs,
            };
            let mut proof = run::to_prove(&store, name, &consent)?;
            for program in &proof.programs {
                terminal::note(&format!("the run's peer starts: {program}"));
            }
            ready([&mut proof.target.prepare().far])?;
            in_context(output, |context| run::prove_stored(context, &store, proof))?
        } else {
            let mut run = archive::load(&store, name)?;
            archive::conclude(&mut run);
            run
        };
        if output.json {
            print_json(std::slice::from_ref(&run))?;
        } else {
            terminal::print_line(&explanation_text(&run, terminal::layout().width))?;
        }
        write_report(output, std::slice::from_ref(&run))?;
        Ok(ExitCode::Done)
    }
}
