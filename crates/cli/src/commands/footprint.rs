//! `linerate footprint`: its arguments, and what it calls.

use crate::args::output::OutputArgs;
use crate::args::values::size;
use crate::context::{interrupt_flag, open_store};
use crate::outcome::{print_document, write_document};
use crate::terminal;
use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use linerate_archive as archive;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::footprint::{BudgetOn, FootprintContent};
use linerate_report::{FootprintPage, FootprintView};
use linerate_studies::footprint::lwip::{self, Choice, LwipPlan, TARGETS};
use linerate_studies::footprint::{self, Budget, GivenStack, Group, Options, Sides};
use std::path::PathBuf;

/// Arguments of `footprint`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = group_help())]
pub(crate) struct FootprintArgs {
    /// ELF files (programs, objects), archives, maps of GNU ld, .su files of -fstack-usage, or what `footprint --json`
    /// printed. Two files with sections are compared, B against A; a map or .su file belongs to the file before it.
    #[arg(value_name = "FILE", required_unless_present = "stack")]
    files: Vec<PathBuf>,
    /// Take two files as one build, as three or more are.
    #[arg(long)]
    together: bool,
    /// Sum up the parts whose path (archive/object/symbol) matches a regular expression: `'IPv6=ip6|nd6|mld6'`. Once for
    /// each; a part counts for the first that matches.
    #[arg(long, value_name = "NAME=PATTERN", value_parser = footprint::group)]
    group: Vec<Group>,
    /// Exit with code 7 if more is used: `flash=64K,ram=32K`, `text`, `data`, `bss`, `stacks`, `frame`, a memory of the
    /// map or a group. With `+`, of growth of B over A: `flash=+1K`.
    #[arg(long, value_name = "NAME=SIZE", value_delimiter = ',', value_parser = budget)]
    budget: Vec<Budget>,
    /// Count a thread's stack of this size as RAM; once for each.
    #[arg(long, value_name = "NAME=SIZE", value_parser = thread_stack)]
    thread_stack: Vec<GivenStack>,
    /// Set the memory that a network stack used in this stored run, or in the runs of this study, beside what the build
    /// sets aside for it; once for each.
    #[arg(long, value_name = "RUN")]
    run: Vec<String>,
    /// Levels of the tree below a memory that the text shows [default: what fits on a screen; 3 with --rows]. --verbose
    /// and the other formats have all.
    #[arg(long, value_name = "LEVELS")]
    depth: Option<usize>,
    /// Rows below each part that the text shows, largest first [default: what fits on a screen; 10 with --depth].
    #[arg(long)]
    rows: Option<usize>,
    /// Build a network stack in several configurations and show what each takes, beside published figures.
    #[arg(long, value_name = "STACK", conflicts_with_all = ["files", "together", "group", "budget", "thread_stack", "run"],
        value_parser = PossibleValuesParser::new(["lwip"]))]
    stack: Option<String>,
    /// Levels to build: ipv4, ipv6, ipv4+ipv6; base, large-buffers; O0, Os, O2, O3. What is left out is built as in the
    /// published study.
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', value_parser = Choice::parse, requires = "stack")]
    config: Vec<Choice>,
    /// Processor to build for.
    #[arg(long, default_value = "cortex-m7", requires = "stack",
        value_parser = PossibleValuesParser::new(TARGETS.iter().map(|target| target.name)))]
    target: String,
    /// Unpacked source of the stack [default: Debian's source package, which is fetched].
    #[arg(long, value_name = "DIR", requires = "stack")]
    source: Option<PathBuf>,
    /// Keep objects, archives, programs and maps there.
    #[arg(long, value_name = "DIR", requires = "stack")]
    keep: Option<PathBuf>,
}

impl FootprintArgs {
    /// Reads or builds, shows what is found, and says by the exit code whether budgets are kept.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        if let Some(path) = &output.output {
            archive::check_document::<FootprintPage<'_>>(path)?;
        }
        let mut content = match &self.stack {
            Some(_) => self.build(output)?,
            None => footprint::footprint(&self.files, self.sides(), &self.options())?,
        };
        if !self.run.is_empty() {
            let store = open_store(output)?;
            let runs = self.run.iter().map(|run| archive::load(&store, run));
            let runs = runs.collect::<Result<Vec<_>>>()?;
            footprint::set_runs_beside(&mut content, &runs)?;
        }
        let page = |view| FootprintPage {
            content: &content,
            view,
        };
        print_document(output, &page(self.view(output.verbose)))?;
        write_document(output, &page(FootprintView::ALL))?;
        let missed = footprint::missed(&content);
        for sentence in &missed {
            terminal::error(sentence);
        }
        Ok(if missed.is_empty() {
            ExitCode::Done
        } else {
            ExitCode::GoalMissed
        })
    }

    /// What the text shows; `--verbose` shows the whole tree.
    fn view(&self, verbose: bool) -> FootprintView {
        if verbose {
            return FootprintView::ALL;
        }
        if self.depth.is_none() && self.rows.is_none() {
            return FootprintView::SCREEN;
        }
        FootprintView {
            depth: self.depth.unwrap_or(FootprintView::SCREEN.depth),
            rows: self.rows.unwrap_or(FootprintView::SCREEN.rows),
            lines: usize::MAX,
        }
    }

    const fn sides(&self) -> Sides {
        if self.together {
            Sides::Together
        } else {
            Sides::Compared
        }
    }

    fn options(&self) -> Options {
        Options {
            groups: self.group.clone(),
            budgets: self.budget.clone(),
            stacks: self.thread_stack.clone(),
        }
    }

    fn build(&self, output: &OutputArgs) -> Result<FootprintContent> {
        let interrupt = interrupt_flag()?;
        let target = TARGETS.iter().find(|target| target.name == self.target);
        let target = target.ok_or_else(|| {
            Failure::new(
                ExitCode::Usage,
                format!(
                    "--target {}: linerate builds for no such processor",
                    self.target
                ),
            )
        })?;
        let plan = LwipPlan {
            target,
            choices: self.config.clone(),
            source: self.source.clone(),
            keep: self.keep.clone(),
        };
        let is_told = !(output.quiet || output.json || output.stream);
        lwip::builds(&plan, interrupt, &mut |line| {
            if is_told {
                terminal::note(line);
            }
        })
    }
}

/// `NAME=SIZE` or `NAME=+SIZE`.
fn budget(text: &str) -> Result<Budget, String> {
    let (name, limit) = named(text)?;
    let (on, limit) = match limit.strip_prefix('+') {
        Some(limit) => (BudgetOn::Growth, limit),
        None => (BudgetOn::Size, limit),
    };
    Ok(Budget {
        name: name.to_owned(),
        limit: size(limit).map_err(|error| error.to_string())?,
        on,
    })
}

fn thread_stack(text: &str) -> Result<GivenStack, String> {
    let (name, bytes) = named(text)?;
    Ok(GivenStack {
        name: name.to_owned(),
        size: size(bytes).map_err(|error| error.to_string())?,
    })
}

fn named(text: &str) -> Result<(&str, &str), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    parts.ok_or_else(|| format!("\"{text}\" is not NAME=SIZE such as flash=64K"))
}

/// The groups that need no pattern, for `--help`.
fn group_help() -> String {
    use std::fmt::Write as _;
    let mut text = String::from("Groups that --group knows by name:\n");
    for (name, pattern) in footprint::KNOWN_GROUPS {
        let _ = writeln!(text, "  {name:<8} {pattern}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_and_stacks_have_a_name_and_a_size() {
        let limit = budget("flash=64K").unwrap();
        assert_eq!(
            (limit.name.as_str(), limit.limit.get(), limit.on),
            ("flash", 65_536, BudgetOn::Size)
        );
        assert_eq!(budget("ram=+1K").unwrap().on, BudgetOn::Growth);
        assert_eq!(thread_stack("tcpip=2K").unwrap().size.get(), 2048);
        for wrong in ["flash", "=1", "flash=x", "flash=-1"] {
            assert!(budget(wrong).is_err(), "{wrong}");
        }
    }
}
