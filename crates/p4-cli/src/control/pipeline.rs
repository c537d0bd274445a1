//! `linerate p4 pipeline`.

use super::{Switch, failed, running};
use crate::{files, print};
use clap::Args;
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4::Program;
use linerate_p4_runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use linerate_p4_runtime::{check_p4info, parse_p4info};
use serde_json::json;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// Arguments of `pipeline set`.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    switch: Switch,
    /// What the switch executes: for BMv2 and linerate, what p4c-bm2-ss wrote.
    program: PathBuf,
    /// The program's P4Info, in text or binary form.
    #[arg(long, value_name = "FILE")]
    p4info: PathBuf,
    /// Keep the entries that the switch has, if they fit the new program.
    #[arg(long)]
    keep_entries: bool,
    /// Only ask whether the switch could run it.
    #[arg(long, conflicts_with = "keep_entries")]
    verify: bool,
}

/// Prints what the switch runs.
pub(crate) fn show(switch: &Switch) -> Result<ExitCode, Failure> {
    let client = switch.connect()?;
    let version = client.version().map_err(|error| failed(&error))?;
    let info = running(&client)?;
    let package = info.pkg_info.as_ref().map(|package| package.name.as_str());
    let program = package.filter(|name| !name.is_empty());
    let (tables, actions) = (info.tables.len(), info.actions.len());
    print(&if switch.json {
        let document =
            json!({"p4runtime": version, "program": program, "tables": tables, "actions": actions});
        format!("{document:#}\n")
    } else {
        let program = program.unwrap_or("a program without a name");
        format!("P4Runtime {version}: {program}, {tables} tables, {actions} actions\n")
    })?;
    Ok(ExitCode::Done)
}

/// BMv2 takes any two files. What is no program of v1model only the switch can tell.
fn note_misfit(args: &SetArgs, program: &[u8], p4info: &[u8]) {
    let program = Program::from_json(program).ok();
    let checked = program.map(|program| check_p4info(&program, p4info));
    if let Some(Err(error)) = checked {
        let _ = writeln!(io::stderr(), "note: {}: {error}", args.p4info.display());
    }
}

pub(crate) fn set(args: &SetArgs) -> Result<ExitCode, Failure> {
    let wrong = |error| {
        Failure::new(
            ExitCode::Plan,
            format!("{}: {error}", args.p4info.display()),
        )
    };
    let p4info = files::read(&args.p4info)?;
    let info = parse_p4info(&p4info).map_err(wrong)?;
    let program = files::read(&args.program)?;
    note_misfit(args, &program, &p4info);
    let action = if args.verify {
        Action::Verify
    } else if args.keep_entries {
        Action::ReconcileAndCommit
    } else {
        Action::VerifyAndCommit
    };
    let mut client = args.switch.connect_primary()?;
    let wanted = info.clone();
    client
        .set_pipeline(action, Some((info, program)), None)
        .map_err(|error| failed(&error))?;
    if !args.verify && running(&client)? != wanted {
        let what = "the switch took the pipeline and says that it runs another one";
        return Err(Failure::new(ExitCode::Peer, what));
    }
    let (tables, actions) = (wanted.tables.len(), wanted.actions.len());
    let name = args.program.display();
    print(&if args.switch.json {
        let document = json!({"program": name.to_string(), "tables": tables, "actions": actions, "set": !args.verify});
        format!("{document:#}\n")
    } else if args.verify {
        format!("the switch can run {name}: {tables} tables, {actions} actions\n")
    } else {
        format!("the switch runs {name}: {tables} tables, {actions} actions\n")
    })?;
    Ok(ExitCode::Done)
}
