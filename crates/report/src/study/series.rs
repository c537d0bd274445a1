//! The series of a study, each of which is compared within itself.

use super::StudyView;
use linerate_model::run::{Run, RunRequest, StudyPlace, StudySeries};

/// Cells that vary the same factors, and what was measured of them.
pub(crate) struct Series<'a> {
    /// `None` where the study has no series.
    of: Option<&'a StudySeries>,
    pub(crate) view: StudyView<'a>,
}

/// Each series in the order of the plan, or the whole study; those of which something was measured.
pub(crate) fn series(run: &Run) -> Vec<Series<'_>> {
    let named = match &run.config.asked {
        Some(RunRequest::Study(settings)) => settings.series.as_slice(),
        _ => &[],
    };
    if named.is_empty() {
        let view = StudyView::from_parts(run.parts());
        return view
            .map(|view| Series { of: None, view })
            .into_iter()
            .collect();
    }
    let measured = named.iter().filter_map(|of| {
        let parts = run.parts().iter().filter(|part| {
            let place = part.config.place.as_ref();
            place.and_then(StudyPlace::series).as_ref() == Some(&of.name)
        });
        Some(Series {
            of: Some(of),
            view: StudyView::from_parts(parts)?,
        })
    });
    measured.collect()
}

impl Series<'_> {
    /// Its name in anchors; `None` where it is the whole study.
    pub(crate) fn name(&self) -> Option<&str> {
        self.of.map(|of| of.name.as_str())
    }

    /// What it is about, else its name; `None` where it is the whole study.
    pub(crate) fn title(&self) -> Option<&str> {
        let of = self.of?;
        Some(of.title.as_ref().unwrap_or(&of.name))
    }
}
