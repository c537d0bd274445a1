//! One function per command: arguments in, lab called, result shown.

use crate::args::{
    Cli, Command, DemoArgs, ExplainArgs, ExportArgs, ExportFormat, ImportArgs, OneRun, OutputArgs,
    ReportArgs, RunArgs, ServeArgs,
};
use crate::{doctor, requests, terminal};
use anyhow::{Context as _, Result};
use linerate_agent::{AgentPlan, serve, sfnt_release};
use linerate_client::Target;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{Run, RunKind, RunStatus};
use linerate_session::key::read_key;
use linerate_session::login::{Logins, read_logins};
use linerate_studies::archive::{Hints, Known};
use linerate_studies::context::Context;
use linerate_studies::plan::StudyPlan;
use linerate_studies::run::DemoPlan;
use linerate_studies::{archive, run};
use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs the command that `cli` asks for.
pub(crate) fn dispatch(cli: &Cli) -> Result<ExitCode> {
    match &cli.command {
        Command::Demo(args) => demo(cli, args),
        Command::Serve(args) => serve_until_stopped(cli, args),
        Command::Tcp(args) => {
            let (target, spec) = (requests::target(&args.target)?, requests::tcp(args)?);
            measured(cli, |context| {
                let run = run::single(context, &target, &spec)?;
                proved(context, &target, run, args.traffic.prove)
            })
        }
        Command::Udp(args) => {
            let (target, spec) = (requests::target(&args.target)?, requests::udp(args)?);
            measured(cli, |context| {
                let run = run::single(context, &target, &spec)?;
                proved(context, &target, run, args.traffic.prove)
            })
        }
        Command::Latency(args) => {
            let target = requests::target(&args.target)?;
            let plan = requests::latency(args, &target.far)?;
            measured(cli, |context| run::latency(context, &target, &plan))
        }
        Command::Saturate(args) => {
            let (target, plan) = (requests::target(&args.target)?, requests::saturate(args)?);
            measured(cli, |context| {
                let run = run::saturate(context, &target, &plan)?;
                proved(context, &target, run, args.traffic.prove)
            })
        }
        Command::Run(args) => study(cli, args),
        Command::Import(args) => import(cli, args),
        Command::Report(args) => report(cli, args),
        Command::Compare(args) => crate::compare::run(cli, args),
        Command::Explain(args) => explain(cli, args),
        Command::Show(args) => show(cli, args),
        Command::Export(args) => export(cli, args),
        Command::Doctor(args) => {
            let interrupt = interrupt_flag()?;
            doctor::run(args, &cli.output, &interrupt)
        }
        Command::List => list(cli),
        Command::WrappedTurns => {
            run::serve_turns(std::io::stdin().lock(), &mut std::io::stdout().lock())?;
            Ok(ExitCode::Done)
        }
    }
}

/// Runs something that measures, shows its result, and derives the exit code from it.
fn measured(cli: &Cli, work: impl FnOnce(&mut Context<'_>) -> Result<Run>) -> Result<ExitCode> {
    let run = in_context(cli, work)?;
    show_runs(&cli.output, std::slice::from_ref(&run))?;
    if run.status == RunStatus::Incomplete {
        terminal::error(&format!("{} was interrupted; {}", run.id, kept(cli)));
    }
    Ok(verdict_code(&run))
}

/// The run after its proof, if one is asked for.
fn proved(context: &mut Context<'_>, target: &Target, run: Run, asked: bool) -> Result<Run> {
    if !asked {
        return Ok(run);
    }
    let id = run.id.clone();
    run::prove(context, target, run)
        .with_context(|| format!("{id} is measured, but the proof of what limits it failed"))
}

/// What becomes of an interrupted run.
fn kept(cli: &Cli) -> &'static str {
    if cli.output.no_store {
        "nothing was kept of it"
    } else {
        "the trials that it had finished are kept"
    }
}

/// Gives `work` the store and the watcher that the options ask for.
fn in_context<T>(cli: &Cli, work: impl FnOnce(&mut Context<'_>) -> Result<T>) -> Result<T> {
    if let Some(path) = &cli.output.output {
        // Before anything is measured: nobody wants to hear of it afterwards.
        archive::check_report(path)?;
    }
    with_store(cli, work)
}

/// The same, whatever becomes of the file that is written.
pub(crate) fn with_store<T>(
    cli: &Cli,
    work: impl FnOnce(&mut Context<'_>) -> Result<T>,
) -> Result<T> {
    let interrupt = interrupt_flag()?;
    let mut watcher = terminal::watcher(cli.output.stream, cli.output.quiet || cli.output.json);
    let store = if cli.output.no_store {
        None
    } else {
        Some(open_store(&cli.output)?)
    };
    let mut context = Context {
        store,
        watcher: &mut *watcher,
        command: command_line(),
        interrupt: &interrupt,
    };
    work(&mut context)
}

/// A flag that the first Ctrl-C or SIGTERM sets; the second one ends the process.
fn interrupt_flag() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .context("installing the interrupt handler")?;
    }
    Ok(flag)
}

fn demo(cli: &Cli, args: &DemoArgs) -> Result<ExitCode> {
    // While this process has one thread: a user namespace cannot be entered later.
    linerate_studies::enter_user_namespace()?;
    let plan = DemoPlan {
        link_rate: args.link_rate,
        link_delay: args.link_delay,
    };
    measured(cli, |context| run::demo(context, &plan))
}

fn study(cli: &Cli, args: &RunArgs) -> Result<ExitCode> {
    let plan = StudyPlan {
        key: args.key.as_deref().map(read_key).transpose()?,
        login: requests::login(&args.login)?,
        ..StudyPlan::read(&args.plan)?
    };
    let earlier = match &args.resume {
        Some(name) => Some(archive::load(&open_store(&cli.output)?, name)?),
        None => None,
    };
    measured(cli, |context| run::study(context, &plan, earlier))
}

fn serve_until_stopped(cli: &Cli, args: &ServeArgs) -> Result<ExitCode> {
    no_report(&cli.output, "serve")?;
    let plan = AgentPlan {
        allow: args
            .allow
            .iter()
            .map(|text| text.parse())
            .collect::<Result<_, Failure>>()?,
        speak: args
            .speak
            .iter()
            .map(|text| text.parse())
            .collect::<Result<_, Failure>>()?,
        key: args.key.as_deref().map(read_key).transpose()?,
        logins: logins(args)?,
        max_clients: args.max_clients,
        max_duration: args.max_duration,
        max_rate: args.max_rate,
        interface: args.interface.clone(),
        once: args.once,
        sfnt: sfnt_release(&args.sfnt_version, args.sfnt_checksum.as_deref())?,
        ..AgentPlan::listening_on(&args.listen)?
    };
    let interrupt = interrupt_flag()?;
    serve(&plan, &interrupt, &mut |text| terminal::note(text))?;
    Ok(ExitCode::Done)
}

/// The users that are let in.
fn logins(args: &ServeArgs) -> Result<Option<Arc<Logins>>> {
    let (Some(list), Some(key)) = (&args.logins, &args.login_key) else {
        return Ok(None);
    };
    let logins = read_logins(list, key, args.login_padding)?;
    Ok(Some(Arc::new(logins)))
}

fn import(cli: &Cli, args: &ImportArgs) -> Result<ExitCode> {
    let known = Known {
        link_speed: args.link_speed,
        hints: Hints {
            zperf_units: args.zperf_units.map(Into::into),
            hgrm: args.hgrm,
        },
    };
    let runs = in_context(cli, |context| {
        archive::import_logs(context, &args.files, &known)
    })?;
    show_runs(&cli.output, &runs)?;
    Ok(ExitCode::Done)
}

fn report(cli: &Cli, args: &ReportArgs) -> Result<ExitCode> {
    let store = open_store(&cli.output)?;
    let runs = args
        .runs
        .iter()
        .map(|name| archive::load(&store, name))
        .collect::<Result<Vec<_>>>()?;
    if cli.output.output.is_some() {
        write_report(&cli.output, &runs)?;
    } else {
        show_runs(&cli.output, &runs)?;
    }
    Ok(ExitCode::Done)
}

fn explain(cli: &Cli, args: &ExplainArgs) -> Result<ExitCode> {
    let store = open_store(&cli.output)?;
    let name = &args.run.run;
    let run = if args.prove {
        in_context(cli, |context| run::prove_stored(context, &store, name))?
    } else {
        let mut run = archive::load(&store, name)?;
        archive::conclude(&mut run);
        run
    };
    if cli.output.json {
        terminal::print_line(&archive::document(std::slice::from_ref(&run))?)?;
    } else {
        terminal::print_line(&archive::explanation(&run))?;
    }
    write_report(&cli.output, std::slice::from_ref(&run))?;
    Ok(ExitCode::Done)
}

fn show(cli: &Cli, args: &OneRun) -> Result<ExitCode> {
    let run = archive::load(&open_store(&cli.output)?, &args.run)?;
    show_runs(&cli.output, std::slice::from_ref(&run))?;
    Ok(ExitCode::Done)
}

fn export(cli: &Cli, args: &ExportArgs) -> Result<ExitCode> {
    let run = archive::load(&open_store(&cli.output)?, &args.run.run)?;
    let file = cli.output.output.as_deref();
    let format = args.format.unwrap_or_else(|| ExportFormat::from_file(file));
    let text = match (format, file) {
        (ExportFormat::Json, _) => archive::to_json(&run),
        (ExportFormat::Csv, _) => archive::to_csv(&run),
        (ExportFormat::CsvIntervals, _) => archive::to_interval_csv(&run),
        (ExportFormat::Hgrm, Some(path)) if args.trial.is_none() => {
            archive::write_hgrm(path, &run)?;
            return Ok(ExitCode::Done);
        }
        (ExportFormat::Hgrm, _) => archive::to_hgrm(&run, args.trial)?,
    };
    match file {
        Some(path) => archive::write_text(path, &text)?,
        None => terminal::print_line(text.trim_end())?,
    }
    Ok(ExitCode::Done)
}

fn list(cli: &Cli) -> Result<ExitCode> {
    no_report(&cli.output, "list")?;
    let listed = archive::list(&open_store(&cli.output)?)?;
    if cli.output.json {
        terminal::print_line(&archive::listing_json(&listed)?)?;
    } else {
        terminal::print_line(&archive::listing_text(&listed))?;
    }
    Ok(ExitCode::Done)
}

/// Shows runs as the options ask, and writes the report file if one is asked for.
fn show_runs(output: &OutputArgs, runs: &[Run]) -> Result<()> {
    if output.stream {
        for run in runs {
            terminal::print_line(&serde_json::to_string(run)?)?;
        }
    } else if output.json {
        terminal::print_line(&archive::document(runs)?)?;
    } else {
        terminal::print_line(archive::render("text", runs)?.trim_end())?;
    }
    write_report(output, runs)
}

/// Writes the report file if one is asked for.
fn write_report(output: &OutputArgs, runs: &[Run]) -> Result<()> {
    let Some(path) = &output.output else {
        return Ok(());
    };
    let written = archive::write_report(path, runs)?;
    if !(output.quiet || output.json || output.stream) {
        let names: Vec<_> = written
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        terminal::note(&format!("the report is in {}", names.join(", ")));
    }
    Ok(())
}

/// Refuses `-o` where there is nothing to report.
fn no_report(output: &OutputArgs, command: &str) -> Result<()> {
    if output.output.is_none() {
        return Ok(());
    }
    let message = format!("`linerate {command}` writes no report; leave out -o");
    Err(Failure::new(ExitCode::Usage, message).into())
}

/// The exit code that a finished run deserves. The goals of a demo's parts are not the user's: it is
/// done when everything was measured, however fast this machine is.
fn verdict_code(run: &Run) -> ExitCode {
    let missed = |run: &Run| run.goals.iter().any(|goal| !goal.reached);
    match run.status {
        RunStatus::Invalid => ExitCode::Invalid,
        RunStatus::Incomplete => ExitCode::Other,
        RunStatus::Complete if run.kind == RunKind::Demo => ExitCode::Done,
        RunStatus::Complete if missed(run) || run.parts.iter().any(missed) => ExitCode::GoalMissed,
        RunStatus::Complete => ExitCode::Done,
    }
}

fn open_store(output: &OutputArgs) -> Result<linerate_studies::Store> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment is read here, once"
    )]
    let read = |name: &str| {
        env::var(name)
            .ok()
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let dir = output
        .store
        .clone()
        .or_else(|| read("LINERATE_STORE"))
        .or_else(|| read("XDG_DATA_HOME").map(|dir| dir.join("linerate")))
        .or_else(|| read("HOME").map(|dir| dir.join(".local/share/linerate")));
    let dir = dir.ok_or_else(|| {
        Failure::new(
            ExitCode::Usage,
            "no place to keep runs: give --store DIR, or --no-store to keep nothing",
        )
    })?;
    archive::open_store(&dir)
}

/// The command line as a shell would take it again.
fn command_line() -> String {
    let words = env::args().enumerate().map(|(position, word)| {
        let word = if position == 0 {
            "linerate".to_owned()
        } else {
            word
        };
        let plain = !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_./:,=%@+[]".contains(c));
        if plain {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
