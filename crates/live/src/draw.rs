//! Where everything stands, and how it is drawn.
//!
//! ```text
//!   title                                  80 × 24 and more
//!   ██████░░░░  43 %  4 s  94 Mbit/s
//!   rate         retransmissions   RTT
//!   path of each direction, four lines
//!   ledger           CPU by core   log
//!   keys
//! ```

use crate::charts::{Curve, CurveRole, Plot, Range, plots};
use crate::panels;
use crate::state::{Live, Panel, Scroll};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize as _};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{
    Axis, Block, Borders, Chart, Dataset, GraphType, Paragraph, Widget as _, Wrap,
};

/// Minimum columns.
pub const MIN_WIDTH: u16 = 80;
/// Minimum rows.
pub const MIN_HEIGHT: u16 = 24;

/// Draws a run into a terminal of any size.
pub fn render(live: &Live, area: Rect, buffer: &mut Buffer) {
    let Some(places) = Places::within(live, area) else {
        let text = format!(
            "This view needs {MIN_WIDTH} × {MIN_HEIGHT} characters, the terminal has {} × {}. The test goes on; q ends it.",
            area.width, area.height
        );
        return wrapped(Text::from(text)).render(area, buffer);
    };
    wrapped(panels::header(live).into()).render(places.header, buffer);
    charts(live, places.charts, buffer);
    paths(live, places.paths, buffer);
    for panel in Panel::ALL {
        scrolling(live, panel, places.panels[panel as usize], buffer);
    }
    panels::footer(live).render(places.footer, buffer);
}

impl Live {
    /// Scrolls the focused panel, drawn into `area`.
    pub fn scroll(&mut self, by: Scroll, area: Rect) {
        let panel = self.focus;
        let Some(places) = Places::within(self, area) else {
            return;
        };
        let most = hidden(self, panel, inner(places.panels[panel as usize]));
        let at = self.scrolled[panel as usize].min(most);
        let down = match by {
            // The log is scrolled up from its end.
            Scroll::Lines(lines) if panel == Panel::Log => {
                at.saturating_add_signed(lines.saturating_neg())
            }
            Scroll::Lines(lines) => at.saturating_add_signed(lines),
            Scroll::Begin if panel == Panel::Log => most,
            Scroll::End if panel != Panel::Log => most,
            Scroll::Begin | Scroll::End => 0,
        };
        self.scrolled[panel as usize] = down.min(most);
    }
}

/// Layout of the parts.
struct Places {
    header: Rect,
    charts: Rect,
    paths: Rect,
    /// By [`Panel`].
    panels: [Rect; Panel::ALL.len()],
    footer: Rect,
}

impl Places {
    /// `None` where there is too little room.
    fn within(live: &Live, area: Rect) -> Option<Self> {
        if area.width < MIN_WIDTH || area.height < MIN_HEIGHT {
            return None;
        }
        let header = lines_of(&wrapped(panels::header(live).into()), area.width);
        let paths = lines_of(&wrapped(path_text(live, area.width)), area.width);
        let [header, charts, paths, panels, footer] = Layout::vertical([
            Constraint::Length(header.min(area.height / 4)),
            Constraint::Fill(1),
            Constraint::Length(1 + paths.min(area.height / 2)),
            Constraint::Fill(1),
            Constraint::Length(1),
        ])
        .areas(area);
        let columns = [
            Constraint::Fill(5),
            Constraint::Fill(4),
            Constraint::Fill(6),
        ];
        let [ledger, cpu, log] = Layout::horizontal(columns).spacing(1).areas(panels);
        Some(Self {
            header,
            charts,
            paths,
            panels: [log, ledger, cpu],
            footer,
        })
    }
}

/// Text whose lines wrap.
fn wrapped(text: Text<'_>) -> Paragraph<'_> {
    Paragraph::new(text).wrap(Wrap { trim: false })
}

fn lines_of(paragraph: &Paragraph<'_>, width: u16) -> u16 {
    u16::try_from(paragraph.line_count(width)).unwrap_or(u16::MAX)
}

/// A part with a rule and its title above.
fn titled<'a>(title: impl Into<Line<'a>>) -> Block<'a> {
    Block::new()
        .borders(Borders::TOP)
        .border_style(Style::new().dim())
        .title(title)
}

/// Area below the title.
fn inner(area: Rect) -> Rect {
    titled("").inner(area)
}

/// Lines of a panel that do not fit.
fn hidden(live: &Live, panel: Panel, area: Rect) -> u16 {
    let text = wrapped(panels::text(live, panel, area.width).into());
    lines_of(&text, area.width).saturating_sub(area.height)
}

fn scrolling(live: &Live, panel: Panel, area: Rect, buffer: &mut Buffer) {
    let below = inner(area);
    let most = hidden(live, panel, below);
    let scrolled = live.scrolled[panel as usize].min(most);
    let top = match panel {
        Panel::Log => most - scrolled,
        Panel::Ledger | Panel::Cpu => scrolled,
    };
    let more = match (top, most - top) {
        (0, 0) => String::new(),
        (above, 0) => format!(" ↑{above}"),
        (0, after) => format!(" ↓{after}"),
        (above, after) => format!(" ↑{above} ↓{after}"),
    };
    let title = Span::from(format!("{panel}{more} "));
    let title = if live.focus == panel {
        title.bold().underlined()
    } else {
        title
    };
    titled(title).render(area, buffer);
    wrapped(panels::text(live, panel, below.width).into())
        .scroll((top, 0))
        .render(below, buffer);
}

fn paths(live: &Live, area: Rect, buffer: &mut Buffer) {
    let block = titled("path: packets that come to each place, and what is lost there ");
    let below = block.inner(area);
    block.render(area, buffer);
    wrapped(path_text(live, below.width)).render(below, buffer);
}

/// The path of each direction, four lines each where the names are short.
fn path_text(live: &Live, width: u16) -> Text<'static> {
    if live.paths.is_empty() {
        return Text::from("Nothing is counted yet.").dim();
    }
    let lines = live
        .paths
        .values()
        .flat_map(|path| panels::path(path, width));
    Text::from(lines.collect::<Vec<_>>())
}

fn charts(live: &Live, area: Rect, buffer: &mut Buffer) {
    let plots = plots(live);
    if plots.is_empty() {
        return titled("curves ").render(area, buffer);
    }
    let columns = vec![Constraint::Fill(1); plots.len()];
    let areas = Layout::horizontal(columns).spacing(1).split(area);
    for (plot, area) in plots.iter().zip(areas.iter()) {
        if plot.curves.iter().all(|curve| curve.points.is_empty()) {
            let block = titled(format!("{} ", plot.title));
            let below = block.inner(*area);
            block.render(*area, buffer);
            wrapped(Text::from(NO_POINTS).dim()).render(below, buffer);
        } else {
            chart(plot, *area, buffer);
        }
    }
}

/// Why there is no curve.
const NO_POINTS: &str = "Not known.";

const fn colour(role: CurveRole) -> Color {
    match role {
        CurveRole::Forward | CurveRole::Median => Color::Blue,
        CurveRole::Reverse | CurveRole::P99 => Color::Yellow,
        CurveRole::Ideal => Color::DarkGray,
    }
}

fn chart(plot: &Plot, area: Rect, buffer: &mut Buffer) {
    let mut title = vec![Span::from(format!("{} ", plot.title))];
    if plot.curves.len() > 1 {
        let names = plot.curves.iter();
        title.extend(
            names.map(|curve| Span::from(format!("{} ", curve.role)).fg(colour(curve.role))),
        );
    }
    let datasets = plot.curves.iter().map(dataset).collect();
    Chart::new(datasets)
        .block(titled(title))
        .x_axis(axis(&plot.x))
        .y_axis(axis(&plot.y))
        .render(area, buffer);
}

fn dataset(curve: &Curve) -> Dataset<'_> {
    Dataset::default()
        .marker(Marker::Braille)
        .graph_type(GraphType::Line)
        .style(Style::new().fg(colour(curve.role)))
        .data(&curve.points)
}

fn axis(range: &Range) -> Axis<'_> {
    Axis::default()
        .style(Style::new().dim())
        .bounds(range.bounds)
        .labels(range.labels.iter().map(String::as_str))
}

/// Text area of the focused panel.
#[cfg(test)]
pub(crate) fn panel_area(live: &Live, area: Rect) -> Rect {
    let places = Places::within(live, area);
    places.map_or(Rect::ZERO, |places| {
        inner(places.panels[live.focus as usize])
    })
}
