//! What each way to wait costs: CPU time of both ends beside the delay it buys.

use crate::figures::{digits, nanos};
use crate::paper::{Ink, Line, Paper};
use linerate_model::run::{CpuSide, Run, RunKind, Trial};
use linerate_model::spec::Side;

/// CPU time of both ends for each trial of a latency run; whether there was any to show.
pub(super) fn of_waiting(paper: &mut Paper, run: &Run) -> bool {
    let known: Vec<&Trial> = run
        .trials
        .iter()
        .filter(|t| t.valid && is_told(t))
        .collect();
    if run.kind() != RunKind::Latency || known.is_empty() {
        return false;
    }
    paper.row("cpu", "of the traffic threads, asking + answering end");
    let mut rows = vec![["", "per transaction", "cores"].map(str::to_owned)];
    for trial in known {
        rows.push([
            crate::charts::trial_name(run, trial),
            both(trial, |side| side.thread_ns_per_transaction.map(nanos)),
            both(trial, |side| side.thread_cores.map(cores)),
        ]);
    }
    paper.beside(&Line::table(rows, Ink::Plain));
    true
}

fn is_told(trial: &Trial) -> bool {
    let sides = trial
        .cpu
        .iter()
        .flat_map(|cpu| [&cpu.sender, &cpu.receiver]);
    sides.flatten().any(|side| side.thread_cores.is_some())
}

/// `8.1 µs + 7.9 µs`; `?` for an end that does not tell.
fn both(trial: &Trial, part: impl Fn(&CpuSide) -> Option<String>) -> String {
    let of = |side| trial.cpu_of(side).and_then(&part);
    let [sender, receiver] =
        [Side::Sender, Side::Receiver].map(|side| of(side).unwrap_or_else(|| "?".to_owned()));
    format!("{sender} + {receiver}")
}

fn cores(cores: f64) -> String {
    digits((cores * 100.0).round() / 100.0)
}
