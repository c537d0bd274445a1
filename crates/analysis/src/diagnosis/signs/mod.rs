//! Signs: figures of a run's own trial, in classes, whose frequencies under each suspect are known from scenes.
//!
//! A sign decides nothing by itself and has no threshold that means anything: its edges only part the range, and
//! [`Counts`](super::Counts) say what a class speaks for. A figure that is not known says nothing.

mod datagrams;
mod hosts;
mod tcp;

use linerate_model::run::Trial;
use linerate_model::spec::Transport;

/// A figure of a trial in classes.
pub(super) struct Sign {
    /// Its key in the table of counts.
    pub(super) id: &'static str,
    /// Where one class ends and the next begins.
    pub(super) edges: &'static [f64],
    /// The figure; `None` where the trial does not tell.
    pub(super) figure: fn(&Trial) -> Option<f64>,
}

impl Sign {
    /// The class that the trial is in.
    pub(super) fn read(&self, trial: &Trial) -> Option<usize> {
        let figure = (self.figure)(trial)?;
        Some(
            self.edges
                .iter()
                .take_while(|edge| figure >= **edge)
                .count(),
        )
    }

    pub(super) const fn classes(&self) -> usize {
        self.edges.len() + 1
    }
}

/// Signs of what `transport` carried, by what they are of. A new one is an entry in one of these files.
pub(super) fn of(transport: Transport) -> impl Iterator<Item = &'static Sign> {
    let own = match transport {
        Transport::Tcp => tcp::SIGNS,
        Transport::Udp => datagrams::SIGNS,
    };
    hosts::SIGNS.iter().chain(own)
}
