//! Changes settings of this host and takes them back, also after a crash.
//!
//! ```text
//! apply:    read ── write {knob, before, after} to the undo file, fsync ── change ── read again
//! restore:  for each record, last first:  read ── is it ours? ── change back ── read again ── remove the file
//! ```
//!
//! Invariants: a setting is changed only after its old value is on disk; the first old value of a
//! setting is never replaced, however often changes are made; a value that is neither the old one
//! nor one that was set from here belongs to somebody else and is left alone unless forced. So a
//! kill between any two steps loses nothing, and to restore twice is to restore once.
//!
//! Only settings named by [`Knob`] can be changed, sysctls only those of [`host::SYSCTLS`]: a
//! forged undo file can do no more than `--apply` itself.

pub mod host;
mod journal;

pub use host::HostSettings;
pub use journal::{Identity, UndoError};

use journal::{Entry, Journal};
use linerate_model::condition::CoreSet;
use linerate_model::doctor::{ChangeMade, ChangeResult};
use linerate_model::knob::{Knob, Setting};
use std::path::Path;

/// Reads and changes settings. An error says what failed and what to do.
pub trait Settings {
    /// The value now.
    fn read(&mut self, knob: &Knob) -> Result<String, String>;
    /// Sets it to `value`, which may be one that [`Settings::read`] gave.
    fn write(&mut self, knob: &Knob, value: &str) -> Result<(), String>;
}

/// How to treat settings that others have changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// Leave them.
    Keep,
    /// Overwrite them.
    Overwrite,
}

/// Result of restoring.
#[derive(Debug, Default)]
pub struct Restored {
    /// Each setting in the undo file, last change first.
    pub changes: Vec<ChangeMade>,
    /// Whether the undo file still exists, because not everything could be restored.
    pub is_left: bool,
    /// Further remarks.
    pub notes: Vec<String>,
}

/// Makes the changes in order, with the undo file at `undo`. A failure does not stop the others.
pub fn apply(
    settings: &mut impl Settings,
    undo: &Path,
    identity: &Identity,
    wanted: &[Setting],
    foreign: Foreign,
) -> Result<Vec<ChangeMade>, UndoError> {
    let mut journal = Journal::open(undo, identity)?;
    let changes = wanted
        .iter()
        .map(|setting| change(settings, &mut journal, setting, foreign))
        .collect::<Result<_, _>>()?;
    journal.remove_if_empty()?;
    Ok(changes)
}

fn change(
    settings: &mut impl Settings,
    journal: &mut Journal,
    wanted: &Setting,
    foreign: Foreign,
) -> Result<ChangeMade, UndoError> {
    let Setting { knob, value, .. } = wanted;
    let mut made = ChangeMade {
        knob: knob.clone(),
        before: None,
        wanted: value.clone(),
        after: None,
        result: ChangeResult::Refused,
        why: None,
    };
    let before = match settings.read(knob) {
        Ok(before) => before,
        Err(why) => return Ok(refused(made, why)),
    };
    made.before = Some(before.clone());
    if same(knob, &before, value) {
        made.after = Some(before);
        made.result = ChangeResult::Already;
        return Ok(made);
    }
    let is_foreign = journal
        .entry(knob)
        .is_some_and(|entry| !entry.knows(&before));
    if is_foreign && foreign == Foreign::Keep {
        made.after = Some(before);
        made.result = ChangeResult::Kept;
        made.why = Some(SOMEBODY_ELSE.to_owned());
        return Ok(made);
    }
    journal.record(knob, &before, value)?;
    if let Err(why) = settings.write(knob, value) {
        return Ok(refused(made, why));
    }
    let after = match settings.read(knob) {
        Ok(after) => after,
        Err(why) => return Ok(refused(made, why)),
    };
    if !same(knob, &after, value) {
        // The driver may round: its value is ours too.
        journal.record(knob, &before, &after)?;
        made.why = Some("the kernel made another value of it".to_owned());
    }
    made.after = Some(after);
    made.result = ChangeResult::Changed;
    Ok(made)
}

const SOMEBODY_ELSE: &str =
    "somebody else has changed it since linerate did; --force changes it all the same";

fn refused(made: ChangeMade, why: String) -> ChangeMade {
    ChangeMade {
        result: ChangeResult::Refused,
        why: Some(why),
        ..made
    }
}

/// Restores the settings in the undo file at `undo`, and removes it when all are restored.
pub fn restore(
    settings: &mut impl Settings,
    undo: &Path,
    identity: &Identity,
    foreign: Foreign,
) -> Result<Restored, UndoError> {
    if !Journal::exists(undo)? {
        return Ok(Restored {
            notes: vec![format!("{}: nothing to take back", undo.display())],
            ..Restored::default()
        });
    }
    let journal = Journal::reopen(undo)?;
    let mut done = Restored::default();
    if !journal.is_begun() {
        return Err(UndoError::NoHeader {
            path: undo.display().to_string(),
        });
    }
    if journal.is_of_earlier_boot(identity) {
        done.notes.push(format!(
            "{}: the host was started anew since, which took all these changes back; the file is removed",
            undo.display()
        ));
        journal.remove()?;
        return Ok(done);
    }
    if foreign == Foreign::Keep {
        journal.check_network(identity)?;
    }
    done.changes = journal
        .entries()
        .iter()
        .rev()
        .map(|entry| take_back(settings, entry, foreign))
        .collect();
    let is_back =
        |made: &ChangeMade| matches!(made.result, ChangeResult::Already | ChangeResult::Restored);
    if done.changes.iter().all(is_back) {
        journal.remove()?;
    } else {
        done.is_left = true;
    }
    Ok(done)
}

fn take_back(settings: &mut impl Settings, entry: &Entry, foreign: Foreign) -> ChangeMade {
    let made = ChangeMade {
        knob: entry.knob.clone(),
        before: None,
        wanted: entry.before.clone(),
        after: None,
        result: ChangeResult::Already,
        why: None,
    };
    let now = match settings.read(&entry.knob) {
        Ok(now) => now,
        Err(why) => return refused(made, why),
    };
    let made = ChangeMade {
        before: Some(now.clone()),
        after: Some(now.clone()),
        ..made
    };
    if same(&entry.knob, &now, &entry.before) {
        return made;
    }
    if !entry.knows(&now) && foreign == Foreign::Keep {
        return ChangeMade {
            result: ChangeResult::Kept,
            why: Some(SOMEBODY_ELSE.to_owned()),
            ..made
        };
    }
    let written = settings.write(&entry.knob, &entry.before);
    match written.and_then(|()| settings.read(&entry.knob)) {
        Err(why) => refused(made, why),
        Ok(after) if same(&entry.knob, &after, &entry.before) => ChangeMade {
            after: Some(after),
            result: ChangeResult::Restored,
            ..made
        },
        Ok(after) => {
            let why = format!("the kernel shows {after:?} after it was set back");
            refused(
                ChangeMade {
                    after: Some(after),
                    ..made
                },
                why,
            )
        }
    }
}

/// Whether two texts are the same value: the kernel formats lists and spaces in its own way.
pub(crate) fn same(knob: &Knob, a: &str, b: &str) -> bool {
    match knob {
        Knob::InterruptAffinity { .. } => match (CoreSet::parse(a), CoreSet::parse(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a.trim() == b.trim(),
        },
        Knob::QueueingDiscipline { .. } => host::same_qdisc(a, b),
        _ => a.split_whitespace().eq(b.split_whitespace()),
    }
}

#[cfg(test)]
mod tests;
