//! A chart as data. The page's script turns it into options of the drawing library.

use crate::figures::clean;
use crate::table::Table;
use serde::{Serialize, Serializer};

/// One chart: what it says, its axes, its data and the table behind it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Chart {
    /// Unique within its run: the kind's id and what tells its charts apart.
    pub id: String,
    /// What is drawn.
    pub title: String,
    /// What is found, with figures.
    pub caption: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Second vertical axis, on the right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y2: Option<Axis>,
    /// Vertical axes of further panels below the first, which share its horizontal axis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub panels: Vec<Axis>,
    /// The data.
    pub series: Vec<Series>,
    /// Marked ranges of the horizontal axis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bands: Vec<Band>,
    /// The data of the chart as a table, for reading and for CSV.
    #[serde(skip)]
    pub table: Table,
}

impl Chart {
    /// Whether it has more to show than single dots, which a table tells better.
    pub(crate) fn says_something(&self) -> bool {
        let measured = self
            .series
            .iter()
            .filter(|series| !matches!(series.role, Role::Ideal | Role::Ceiling));
        let mut several = measured.filter(|series| series.points.len() > 1);
        several.next().is_some()
    }

    /// With all text made safe to draw: a picture of it stays well-formed whatever a run contains.
    pub(crate) fn cleaned(mut self) -> Self {
        self.unjoin_names();
        for text in [&mut self.title, &mut self.caption] {
            *text = clean(text);
        }
        for name in self.x.categories.iter_mut().chain(&mut self.y.categories) {
            *name = clean(name);
        }
        for band in &mut self.bands {
            band.name = clean(&band.name);
        }
        for series in &mut self.series {
            series.name = clean(&series.name);
            for note in series.points.iter_mut().filter_map(|p| p.note.as_mut()) {
                *note = clean(note);
            }
        }
        self
    }
}

impl Chart {
    /// Between names there is nothing that a line could show.
    fn unjoin_names(&mut self) {
        if self.x.scale == Scale::Category {
            let joined =
                |series: &&mut Series| series.shape == Shape::Line && series.role != Role::Ideal;
            for series in self.series.iter_mut().filter(joined) {
                series.shape = Shape::Scatter;
            }
        }
    }
}

/// How an axis maps values to places.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Named places; values are indices.
    Category,
    /// Rows with names, each with room for several marks; values are indices and what lies beside them.
    Groups,
    /// Equal steps from zero.
    #[default]
    Linear,
    /// Equal steps, zero not included unless the data is near it.
    LinearFit,
    /// Equal ratios.
    Log,
    /// Equal ratios of `1 / (1 − share)`, labelled as shares in percent: each nine takes the same room.
    Nines,
}

/// An axis.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Axis {
    /// The quantity, its layer and its side.
    pub name: String,
    /// The unit of all values on it.
    pub unit: &'static str,
    /// How it starts.
    pub scale: Scale,
    /// Whether a button switches it between linear and logarithmic.
    pub switchable: bool,
    /// Names of a category axis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Smallest value to show; absent: from the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Largest value to show; absent: from the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

impl Axis {
    /// An axis from the data.
    pub fn new(name: impl Into<String>, unit: &'static str, scale: Scale) -> Self {
        Self {
            name: name.into(),
            unit,
            scale,
            switchable: false,
            categories: Vec::new(),
            min: None,
            max: None,
        }
    }

    /// An axis of names.
    pub fn categories(name: impl Into<String>, unit: &'static str, names: Vec<String>) -> Self {
        Self {
            categories: names,
            ..Self::new(name, unit, Scale::Category)
        }
    }

    /// With a button that switches between linear and logarithmic.
    #[must_use]
    pub fn switchable(self) -> Self {
        Self {
            switchable: true,
            ..self
        }
    }

    /// Showing this range, whatever the data.
    #[must_use]
    pub fn within(self, min: f64, max: f64) -> Self {
        Self {
            min: Some(min),
            max: Some(max),
            ..self
        }
    }
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Bars stacked on each other.
    Bar,
    /// Separate strokes, each between two successive points: intervals.
    Interval,
    /// Marked points joined by a line.
    Line,
    /// A line without marks.
    Plain,
    /// Points alone.
    Scatter,
    /// Small points alone: the single observations behind a mean.
    Single,
}

/// What a series stands for; the page's style gives each role its colour, dash and mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What the measuring tool itself does at most.
    Ceiling,
    /// What would be if nothing limited.
    Ideal,
    /// What cannot be trusted.
    Invalid,
    /// Lost between the ends.
    Lost,
    /// A loss ratio.
    LossRatio,
    /// Intended but never offered.
    NotOffered,
    /// What the sender offered.
    Offered,
    /// The n-th of several alike.
    Rank(u8),
    /// What the receiver got.
    Received,
    /// What is in neither host.
    Wire,
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ceiling => s.serialize_str("ceiling"),
            Self::Ideal => s.serialize_str("ideal"),
            Self::Invalid => s.serialize_str("invalid"),
            Self::Lost => s.serialize_str("lost"),
            Self::LossRatio => s.serialize_str("loss-ratio"),
            Self::NotOffered => s.serialize_str("not-offered"),
            Self::Offered => s.serialize_str("offered"),
            Self::Rank(n) => s.collect_str(&format_args!("rank-{}", n % 8)),
            Self::Received => s.serialize_str("received"),
            Self::Wire => s.serialize_str("wire"),
        }
    }
}

/// The role of the `index`-th of several alike.
pub(crate) fn rank(index: usize) -> Role {
    Role::Rank(u8::try_from(index % 8).unwrap_or(0))
}

/// A point with what the tooltip says of it. Always finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    x: f64,
    y: f64,
    note: Option<String>,
}

impl Point {
    /// `None` when a coordinate is not finite: such values never reach the page.
    pub fn new(x: f64, y: f64) -> Option<Self> {
        (x.is_finite() && y.is_finite()).then_some(Self { x, y, note: None })
    }

    /// With words for the tooltip in place of the plain number.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self {
            note: Some(note.into()),
            ..self
        }
    }
}

impl Serialize for Point {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match &self.note {
            Some(note) => (self.x, self.y, note).serialize(s),
            None => (self.x, self.y).serialize(s),
        }
    }
}

/// A series of points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// What it stands for.
    pub role: Role,
    /// How it is drawn.
    pub shape: Shape,
    /// The vertical axis that it belongs to.
    pub axis: SeriesAxis,
    /// Its points in order.
    pub points: Vec<Point>,
}

impl Series {
    /// A series on the first axis.
    pub fn new(
        name: impl Into<String>,
        role: Role,
        shape: Shape,
        points: impl IntoIterator<Item = Point>,
    ) -> Self {
        Self {
            name: name.into(),
            role,
            shape,
            axis: SeriesAxis::First,
            points: points.into_iter().collect(),
        }
    }

    /// On the second axis.
    #[must_use]
    pub fn on_second_axis(self) -> Self {
        Self {
            axis: SeriesAxis::Second,
            ..self
        }
    }

    /// In the `n`-th panel below the first, from 1.
    #[must_use]
    pub fn in_panel(self, n: u8) -> Self {
        Self {
            axis: SeriesAxis::Panel(n),
            ..self
        }
    }
}

/// A vertical axis of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesAxis {
    /// The one on the left.
    First,
    /// The axis of the n-th panel below the first, from 1.
    Panel(u8),
    /// The one on the right.
    Second,
}

/// By its place among all vertical axes: a chart has a second axis or panels, never both.
impl Serialize for SeriesAxis {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u8(match self {
            Self::First => 0,
            Self::Second => 1,
            Self::Panel(n) => *n,
        })
    }
}

/// A marked range of the horizontal axis: lower and upper bound of a goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Band {
    /// What it is, with figures.
    pub name: String,
    /// Lower end, if known.
    pub from: Option<f64>,
    /// Upper end, if known.
    pub to: Option<f64>,
}
