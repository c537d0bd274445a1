//! `linerate p4 cost`: what a packet and what one more of each construct takes of a core.

mod compare;
pub(crate) mod control;
mod document;
mod estimate;
mod far;
mod measure;
mod words;

use crate::print;
use clap::Args;
use linerate_analysis::slope::{self, Line};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_p4::generate::{ALL, Family, Scale};
use linerate_sys::clock::thread_cpu_time;
use measure::{Effort, Samples};
use std::path::{Path, PathBuf};

/// Arguments of `cost`.
#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// A factor, such as checksum; once for each. Without it all of them; `list` names them.
    #[arg(long = "factor", value_name = "NAME")]
    factors: Vec<String>,
    /// Fewer and shorter turns, and at most 10 000 entries: half a minute or less, with wider intervals.
    #[arg(long)]
    quick: bool,
    /// Measure entries written and read per second instead, by kind of table and its entries.
    #[arg(long, conflicts_with_all = ["factors", "write"])]
    control_plane: bool,
    /// Measure on another host, `ssh://user@host`, or on an emulated board, `board://NAME`.
    #[arg(long, value_name = "HOST", conflicts_with_all = ["write", "beside"])]
    on: Option<String>,
    /// Tell the costs beside those of another target: what --json printed there.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["control_plane", "write", "json"])]
    beside: Option<PathBuf>,
    /// Print JSON, with what every turn took.
    #[arg(long)]
    json: bool,
    /// Write the programs instead of measuring: NAME.json, NAME.p4info.txt, and entries with packets in NAME.stf.
    #[arg(long, value_name = "FOLDER", conflicts_with = "json")]
    write: Option<PathBuf>,
}

/// What was measured of a factor.
#[derive(Debug)]
pub(crate) struct Measured {
    family: &'static Family,
    samples: Samples,
    /// By the factor's scale.
    line: Line,
}

/// The family whose first level is the smallest program: Ethernet parsed, and sent to one port.
const SMALLEST: &str = "parse-header";

pub(crate) fn run(args: &CostArgs) -> Result<ExitCode> {
    if args.factors.iter().any(|name| name == "list") {
        print(&words::list())?;
        return Ok(ExitCode::Done);
    }
    let families = families(&args.factors)?;
    if let Some(place) = &args.on {
        return far::run(args, place);
    }
    let other = args.beside.as_deref().map(compare::read).transpose()?;
    let effort = if args.quick {
        Effort::QUICK
    } else {
        Effort::WHOLE
    };
    if args.control_plane {
        let rows = control::measure(&effort, &mut thread_cpu_time);
        let rows = rows.map_err(|error| Failure::new(ExitCode::Other, error))?;
        print(&if args.json {
            document::text(&[], &rows, &effort)
        } else {
            control::text(
                &rows,
                "One core",
                "CPU time of this process: what P4Runtime and the network add is not in it.",
            )
        })?;
        return Ok(ExitCode::Done);
    }
    if let Some(folder) = &args.write {
        return write(folder, &families, &effort);
    }
    let effort = effort.shared(families.len());
    let failed = |error| Failure::new(ExitCode::Other, error);
    let samples = measure::all(&families, &effort, &mut thread_cpu_time).map_err(failed)?;
    let measured = families.into_iter().zip(samples).map(|(family, samples)| {
        let levels: Vec<f64> = samples
            .levels
            .iter()
            .map(|level| place(family.scale, *level))
            .collect();
        let line = slope::line(&levels, &samples.sweeps());
        let line = line.map_err(|error| failed(format!("{}: {error}", family.id)))?;
        Ok(Measured {
            family,
            samples,
            line,
        })
    });
    let measured = measured.collect::<Result<Vec<_>>>()?;
    print(&match other {
        Some(other) => compare::text(&measured, &other),
        None if args.json => document::text(&measured, &[], &effort),
        None => words::text(&measured, &effort),
    })?;
    Ok(ExitCode::Done)
}

/// Where a level stands on the axis of its factor.
fn place(scale: Scale, level: u32) -> f64 {
    match scale {
        Scale::Decades => f64::from(level).log10(),
        Scale::Linear => f64::from(level),
    }
}

fn families(names: &[String]) -> Result<Vec<&'static Family>> {
    if names.is_empty() {
        return Ok(ALL.iter().collect());
    }
    let find = |name: &String| {
        Family::find(name).ok_or_else(|| {
            let message =
                format!("there is no factor {name}; `linerate p4 cost --factor list` names them");
            Failure::new(ExitCode::Usage, message)
        })
    };
    names.iter().map(find).collect()
}

fn write(folder: &Path, families: &[&Family], effort: &Effort) -> Result<ExitCode> {
    let cannot = |path: &Path, error| {
        Failure::new(
            ExitCode::Other,
            format!("cannot write {}: {error}", path.display()),
        )
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    let mut count = 0;
    for family in families {
        for level in effort.levels(family) {
            let generated = family.generate(level);
            let files = [
                ("json", &generated.json),
                ("p4info.txt", &generated.p4info),
                ("stf", &generated.stf()),
            ];
            for (extension, text) in files {
                let path = folder.join(format!("{}.{extension}", generated.name));
                std::fs::write(&path, text).map_err(|error| cannot(&path, error))?;
            }
            count += 1;
        }
    }
    print(&format!("{count} programs in {}\n", folder.display()))?;
    Ok(ExitCode::Done)
}
