//! `linerate p4 show`.

use crate::{files, print};
use clap::Args;
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4::Summary;
use serde_json::json;
use std::path::PathBuf;

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// What p4c-bm2-ss wrote.
    program: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let program = files::program(&args.program)?;
    if !args.json {
        print(&Summary(&program).to_string())?;
        return Ok(ExitCode::Done);
    }
    let tables: Vec<_> = program.tables.iter().map(|table| {
        let key = table.key.iter().map(|field| json!({"name": field.name, "bits": field.width, "match": format!("{:?}", field.kind).to_lowercase()}));
        json!({"name": table.name, "key": key.collect::<Vec<_>>(), "size": table.size, "constant": table.constant})
    }).collect();
    let actions = program.actions.iter().map(|action| {
        let parameters = action
            .parameters()
            .map(|(name, bits)| json!({"name": name, "bits": bits}));
        json!({"name": action.name, "parameters": parameters.collect::<Vec<_>>()})
    });
    let document =
        json!({"program": program.name, "tables": tables, "actions": actions.collect::<Vec<_>>()});
    print(&format!("{document:#}\n"))?;
    Ok(ExitCode::Done)
}
