//! Texts of the panels: path, ledger, cores, log.

use crate::state::{Live, Panel, Phase};
use linerate_model::spec::Side;
use linerate_model::{PacketCount, Ratio};
use linerate_report::figures::{digits, percent};
use linerate_report::{PathPicture, PathStage, PathUnit, StageFlow, StageLoss};
use ratatui::style::{Modifier, Style, Stylize as _};
use ratatui::text::{Line, Span};

/// Bar heights that a character can have.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Full text of a scrolling panel.
pub(crate) fn text(live: &Live, panel: Panel, width: u16) -> Vec<Line<'static>> {
    match panel {
        Panel::Log => live.log.iter().cloned().map(Line::from).collect(),
        Panel::Ledger => ledger(live),
        Panel::Cpu => cores(live, width),
    }
}

/// Short names of the places, for a ninth of 80 columns.
const fn short(stage: PathStage) -> &'static str {
    match stage {
        PathStage::SenderApplication | PathStage::ReceiverApplication => "app",
        PathStage::SenderSocket | PathStage::ReceiverSocket => "socket",
        PathStage::SenderQdisc => "qdisc",
        PathStage::SenderNic | PathStage::ReceiverNic => "NIC",
        PathStage::Network => "network",
        PathStage::ReceiverBacklog => "backlog",
    }
}

/// A count in at most six characters.
fn compact(count: u64) -> String {
    let value = PacketCount::new(count).as_f64();
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")];
    let fits = units.into_iter().find(|(least, _)| value >= *least);
    match fits {
        Some((_, "k")) => format!("{}k", digits(value / 1e3)),
        Some((factor, symbol)) => format!("{}{symbol}", digits(value / factor)),
        None => count.to_string(),
    }
}

/// Path of one direction: sender and receiver, the places, a bar whose height is the share that passes, and the losses.
pub(crate) fn path(path: &PathPicture, width: u16) -> Vec<Line<'static>> {
    let column = usize::from(width) / PathStage::ALL.len();
    let mut lines = vec![vec![
        Span::from(format!("{} → {}  ", path.sender, path.receiver)).bold(),
        Span::from(path.account()),
    ]];
    let is_unknown = |flow: &StageFlow| {
        flow.entered.is_none() && !matches!(flow.loss, StageLoss::Counted { .. })
    };
    let is_tcp_so_far = path.unit == PathUnit::Segments
        && path.about.ends_with(": so far")
        && path.stages.iter().all(is_unknown);
    let (mut names, mut ribbon, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for flow in &path.stages {
        let name = format!("{:<column$}", short(flow.stage));
        names.push(if flow.stage.side().is_some() {
            Span::from(name)
        } else {
            name.bold()
        });
        ribbon.push(band(path, flow, column));
        lost.push(match &flow.loss {
            StageLoss::Counted { packets, .. } => {
                format!("{:<column$}", format!("−{}", compact(*packets))).red()
            }
            StageLoss::NotKnown => Span::from(format!("{:<column$}", "?")).dim(),
            StageLoss::Clear => Span::from(" ".repeat(column)),
        });
    }
    if is_tcp_so_far {
        let why = "Where TCP lost what it sent again is looked for when the test is over.";
        lines.extend([names, vec![Span::from(why).dim()]]);
    } else {
        lines.extend([names, ribbon, lost]);
    }
    lines.into_iter().map(Line::from).collect()
}

/// Bar at one place: the share of sent packets that arrives there.
fn band(path: &PathPicture, flow: &StageFlow, column: usize) -> Span<'static> {
    let share = flow.entered.zip(path.sent.filter(|sent| *sent > 0));
    let Some((entered, sent)) = share else {
        return Span::from("░".repeat(column)).dim();
    };
    let share = Ratio::from_parts(entered, sent).get() * 8.0;
    // A nonzero share is never drawn as empty.
    let steps = BARS.iter().zip(1_u8..);
    let height = steps
        .filter(|(_, step)| share + 1e-9 >= f64::from(*step))
        .last();
    let bar = match (entered, height) {
        (0, _) => ' ',
        (_, Some((bar, _))) => *bar,
        (_, None) => BARS[0],
    };
    Span::from(bar.to_string().repeat(column)).blue()
}

/// Ledger of each direction, with all other counters of each place.
fn ledger(live: &Live) -> Vec<Line<'static>> {
    if live.paths.is_empty() {
        return vec![Line::from("No packets are counted yet.")];
    }
    live.paths.values().flat_map(account).collect()
}

fn account(path: &PathPicture) -> Vec<Line<'static>> {
    let mut lines = vec![
        Line::from(format!("{} → {}", path.sender, path.receiver)).bold(),
        Line::from(path.account()),
    ];
    for flow in &path.stages {
        if let StageLoss::Counted { packets, sources } = &flow.loss {
            lines.push(Line::from(format!("−{packets} {}: {sources}", full(flow.stage))).red());
        }
    }
    if let Some(rest) = &path.unplaced {
        let text = format!("−{} place not known: {}", rest.packets, rest.why);
        lines.push(Line::from(text).red());
    }
    if let Some(missing) = path.not_offered.filter(|missing| *missing > 0) {
        lines.push(Line::from(format!("{missing} not offered by the sender")));
    }
    for flow in path.stages.iter().filter(|flow| !flow.figures.is_empty()) {
        let figures = flow.figures.iter();
        let figures: Vec<_> = figures
            .map(|one| format!("{} {}", one.name, one.value))
            .collect();
        lines.push(Line::from(format!(
            "{}: {}",
            full(flow.stage),
            figures.join(", ")
        )));
    }
    lines
}

/// A place with its host.
fn full(stage: PathStage) -> String {
    match stage.side() {
        Some(Side::Sender) => format!("sender’s {}", stage.name()),
        Some(Side::Receiver) => format!("receiver’s {}", stage.name()),
        None => stage.name().to_owned(),
    }
}

/// Characters per core: number, bar, percentage, gap.
const CORE: usize = 11;

/// Utilisation of each core of both ends, in as many columns as fit.
fn cores(live: &Live, width: u16) -> Vec<Line<'static>> {
    let columns = (usize::from(width) / CORE).max(1);
    let ends = ["this host", "peer"].into_iter().zip(&live.cores);
    ends.flat_map(|(name, cores)| {
        let heading = Line::from(name).bold();
        if cores.is_empty() {
            return vec![heading, Line::from("not known")];
        }
        let cells = cores.iter().enumerate();
        let cells: Vec<_> = cells.map(|(number, busy)| core(number, *busy)).collect();
        let rows = cells.chunks(columns).map(|row| Line::from(row.to_vec()));
        std::iter::once(heading).chain(rows).collect()
    })
    .collect()
}

fn core(number: usize, busy: Ratio) -> Span<'static> {
    let step = BARS
        .iter()
        .zip(1_u8..)
        .find(|(_, step)| busy.get() * 8.0 <= f64::from(*step));
    let bar = step.map_or('█', |(bar, _)| *bar);
    let style = match busy.get() {
        0.9.. => Style::new().red().add_modifier(Modifier::BOLD),
        _ => Style::new(),
    };
    Span::styled(
        format!("{number:>3} {bar} {:>3.0}% ", busy.get() * 100.0),
        style,
    )
}

/// Title line: the run, and its progress.
pub(crate) fn header(live: &Live) -> Vec<Line<'static>> {
    let title = match live.phase {
        Phase::Connecting => "Connecting to the peer".to_owned(),
        Phase::Measuring(_) => live.title.clone(),
        Phase::Following(_) => format!("{}: what limits it", live.title),
    };
    let done = percent(Ratio::clamped((live.share * 100.0).round() / 100.0));
    let time = format!("{:.0} s", live.elapsed.as_secs_f64().floor());
    let now = vec![
        Span::from(gauge(live.share)).blue(),
        Span::from(format!(" {done:>5}  {time:>5}  ")),
        Span::from(live.doing.clone()),
    ];
    vec![Line::from(title).bold(), Line::from(now)]
}

/// Characters of the bar.
const GAUGE: u32 = 20;

fn gauge(share: f64) -> String {
    let bar = (1..=GAUGE).map(|step| {
        if f64::from(step) <= share * f64::from(GAUGE) + 0.5 {
            '█'
        } else {
            '░'
        }
    });
    bar.collect()
}

/// Help on the keys.
pub(crate) fn footer(live: &Live) -> Line<'static> {
    if live.is_ending {
        let text = "Ending the test; what was measured is kept. q again: end at once";
        return Line::from(text).red();
    }
    let keys = [
        ("q", "end the test"),
        ("Tab", "next panel"),
        ("↑ ↓ PgUp PgDn Home End", "scroll"),
    ];
    let said = keys
        .into_iter()
        .flat_map(|(key, does)| [Span::from(key).bold(), Span::from(format!(" {does}   "))]);
    Line::from(said.collect::<Vec<_>>())
}
