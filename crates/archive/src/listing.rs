//! Which runs a store has.

use anyhow::Result;
use linerate_model::listing::{Entry, Figure, StoredRun};
use linerate_model::run::{RunKind, RunStatus};
use linerate_store::Store;
use serde_json::json;
use std::collections::BTreeMap;

/// Which runs are listed; all that is given must hold.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Of this kind.
    pub kind: Option<RunKind>,
    /// That came to this end.
    pub status: Option<RunStatus>,
    /// Limited by this, by its id or a part of its name.
    pub limit: Option<String>,
    /// Called so, or at all if empty; `nightly*`: called something that begins so.
    pub tag: Option<String>,
    /// With this in its id, title or note, whatever the case.
    pub text: Option<String>,
    /// Started on this day or later: `2026-11-24`, or the beginning of a time.
    pub since: Option<String>,
    /// At most so many, the newest.
    pub most: Option<usize>,
}

impl Filter {
    /// All of it but the text, which may be in a note.
    fn holds(&self, kept: &StoredRun) -> bool {
        let tag = |wanted: &String| match wanted.as_str() {
            "" => !kept.tags.is_empty(),
            wanted if let Some(beginning) = wanted.strip_suffix('*') => {
                kept.tags.iter().any(|tag| tag.starts_with(beginning))
            }
            name => kept.tags.iter().any(|tag| tag == name),
        };
        let run = match &kept.listed.entry {
            Entry::Run(run) => Some(run),
            Entry::Broken { .. } => None,
        };
        let limit = |wanted: &String| {
            let limit = run.and_then(|run| run.limit.as_ref());
            limit.is_some_and(|(id, name)| id == wanted || contains(name, wanted))
        };
        let since = |wanted: &String| {
            let started = run.and_then(|run| run.started.as_ref());
            started.is_some_and(|started| started.to_string() >= *wanted)
        };
        self.kind
            .is_none_or(|kind| run.is_some_and(|run| run.kind == kind))
            && self
                .status
                .is_none_or(|status| run.is_some_and(|run| run.status == status))
            && self.limit.as_ref().is_none_or(limit)
            && self.tag.as_ref().is_none_or(tag)
            && self.since.as_ref().is_none_or(since)
    }

    fn is_in_text(&self, kept: &StoredRun) -> bool {
        let title = match &kept.listed.entry {
            Entry::Run(run) => run.title.as_deref(),
            Entry::Broken { .. } => None,
        };
        let mut texts = [Some(&*kept.listed.id), title, kept.note.as_deref()]
            .into_iter()
            .flatten();
        self.text
            .as_ref()
            .is_none_or(|wanted| texts.any(|text| contains(text, wanted)))
    }

    fn newest(&self, kept: &mut Vec<StoredRun>) {
        let most = self.most.unwrap_or(usize::MAX);
        kept.drain(..kept.len().saturating_sub(most));
    }
}

/// Whatever the case.
fn contains(text: &str, wanted: &str) -> bool {
    text.to_lowercase().contains(&wanted.to_lowercase())
}

/// The stored runs that `filter` lets through, oldest first.
pub fn list(store: &Store, filter: &Filter) -> Result<Vec<StoredRun>> {
    let mut tags: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (tag, id) in store.tags()? {
        tags.entry(id).or_default().push(tag);
    }
    let kept = store.list()?.into_iter().map(|listed| StoredRun {
        tags: tags.remove(&listed.id).unwrap_or_default(),
        note: None,
        listed,
    });
    let mut kept: Vec<_> = kept.filter(|kept| filter.holds(kept)).collect();
    if filter.text.is_none() {
        // Notes are read of what is shown alone.
        filter.newest(&mut kept);
    }
    let notes = store.notes(&kept.iter().map(|kept| &kept.listed).collect::<Vec<_>>());
    for (kept, note) in kept.iter_mut().zip(notes) {
        kept.note = note;
    }
    kept.retain(|kept| filter.is_in_text(kept));
    filter.newest(&mut kept);
    Ok(kept)
}

/// The store's runs as a JSON array. What is not known is null.
pub fn listing_json(listed: &[StoredRun]) -> Result<String> {
    let entry = |kept: &StoredRun| match &kept.listed.entry {
        Entry::Broken { reason } => {
            json!({"id": kept.listed.id, "broken": reason, "tags": kept.tags, "note": kept.note})
        }
        Entry::Run(run) => {
            let (mut received, mut bound, mut median, mut frames) = (None, None, None, None);
            match run.result {
                Some(Figure::Received(rate)) => received = Some(rate),
                Some(Figure::LowerBound(rate)) => bound = Some(rate),
                Some(Figure::FrameLowerBound { rate, .. }) => frames = Some(rate),
                Some(Figure::MedianNs(ns)) => median = Some(ns),
                Some(Figure::MeanNs(_) | Figure::MedianReceived(_)) | None => {}
            }
            json!({
                "id": kept.listed.id, "kind": run.kind, "status": run.status, "title": run.title,
                "started": run.started, "trials": run.trials, "parts": run.parts,
                "received_bps": received, "lower_bound_bps": bound, "lower_bound_pps": frames, "p50_ns": median,
                "limit": run.limit.as_ref().map(|(id, _)| id), "tags": kept.tags, "note": kept.note,
            })
        }
    };
    Ok(serde_json::to_string_pretty(
        &listed.iter().map(entry).collect::<Vec<_>>(),
    )?)
}
