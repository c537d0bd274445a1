//! Write requests.

use super::arbitration::RoleName;
use super::digests::Digests;
use super::state::Shared;
use crate::convert::{Change, change};
use crate::info::Pipeline;
use crate::proto::p4::v1::{Update as UpdateMessage, WriteRequest, write_request::Atomicity};
use crate::refusal::{Refusal, Result, batch_status, invalid};
use linerate_p4::{Plane, Switch, Update};
use tonic::{Code, Status};

/// Changes of the switch that a request may stand for: an update without an index is one for each cell of an array.
const MAX_CHANGES: usize = 1 << 20;

/// Room for changes of a request.
struct Room(usize);

impl Room {
    const ALL: Self = Self(MAX_CHANGES);

    /// Checks an update against the pipeline; a change of a digest is kept with the digests.
    fn change(
        &mut self,
        pipeline: &Pipeline,
        update: &UpdateMessage,
        digests: &mut Digests,
    ) -> Result<Vec<Update>> {
        let updates = match change(pipeline, update)? {
            Change::Switch(updates) => updates,
            Change::Digest { kind, id, config } => {
                digests.change(kind, id, config)?;
                Vec::new()
            }
        };
        let Some(left) = self.0.checked_sub(updates.len()) else {
            let what = format!(
                "the request changes more than {MAX_CHANGES} entries and cells: make several of it"
            );
            return Err(Refusal::new(Code::ResourceExhausted, what));
        };
        self.0 = left;
        Ok(updates)
    }
}

impl Shared {
    pub(super) async fn write(&self, request: WriteRequest) -> std::result::Result<(), Status> {
        let role = RoleName::new(&request.role, request.role_id);
        self.state()
            .arbiter
            .check(request.device_id, &role, request.election_id)?;
        let most = self.options.max_updates;
        if request.updates.len() > most {
            let what = format!(
                "{} updates in a request: at most {most}",
                request.updates.len()
            );
            return Err(Status::resource_exhausted(what));
        }
        let _writing = self.writes.lock().await;
        let (pipeline, mut digests) = {
            let state = self.state();
            // Whoever was primary may not be any more.
            state
                .arbiter
                .check(request.device_id, &role, request.election_id)?;
            (state.pipeline()?, state.digests.clone())
        };
        let results = match Atomicity::try_from(request.atomicity) {
            Ok(Atomicity::ContinueOnError) => self.each(&pipeline, &request, &mut digests).await?,
            // Updates are made between two packets: what can be rolled back is atomic for packets too.
            Ok(Atomicity::RollbackOnError | Atomicity::DataplaneAtomic) => {
                self.all_or_none(&pipeline, &request, &mut digests).await?
            }
            Err(_) => return Err(Status::invalid_argument("the atomicity is not known")),
        };
        self.state().digests = digests;
        if results.iter().any(Result::is_err) {
            return Err(batch_status(&results));
        }
        Ok(())
    }

    /// Makes every update that can be made.
    async fn each(
        &self,
        pipeline: &Pipeline,
        request: &WriteRequest,
        digests: &mut Digests,
    ) -> Result<Vec<Result<()>>> {
        let mut room = Room::ALL;
        let updates = request.updates.iter();
        let batch: Vec<_> = updates
            .map(|update| room.change(pipeline, update, digests))
            .collect();
        let make = move |plane: &mut Plane, now| {
            let Some(switch) = target(plane) else {
                return Err(Refusal::new(Code::FailedPrecondition, "no pipeline is set"));
            };
            let one = |updates: Result<Vec<Update>>| {
                let written = switch.write(&updates?, now);
                written.map_err(|(_, error)| Refusal::from(error))
            };
            Ok(batch.into_iter().map(one).collect())
        };
        self.job(make).await?
    }

    /// Makes all updates, or none.
    async fn all_or_none(
        &self,
        pipeline: &Pipeline,
        request: &WriteRequest,
        digests: &mut Digests,
    ) -> Result<Vec<Result<()>>> {
        let before = digests.clone();
        let (mut batch, mut of) = (Vec::new(), Vec::new());
        let (mut refused, mut room) = (None, Room::ALL);
        for (at, update) in request.updates.iter().enumerate() {
            match room.change(pipeline, update, digests) {
                Ok(updates) => {
                    of.extend(updates.iter().map(|_| at));
                    batch.extend(updates);
                }
                Err(refusal) => {
                    refused = Some((at, refusal));
                    break;
                }
            }
        }
        if refused.is_none() {
            let make = move |plane: &mut Plane, now| {
                let Some(switch) = target(plane) else {
                    return invalid("no pipeline is set");
                };
                Ok(switch.write(&batch, now))
            };
            if let Err((place, error)) = self.job(make).await?? {
                refused = Some((of.get(place).copied().unwrap_or(0), error.into()));
            }
        }
        let Some((at, refusal)) = refused else {
            return Ok(request.updates.iter().map(|_| Ok(())).collect());
        };
        *digests = before;
        let undone = || {
            Refusal::new(
                Code::Aborted,
                "not made: another update of the batch was refused",
            )
        };
        let results = (0..request.updates.len()).map(|place| {
            Err(if place == at {
                refusal.clone()
            } else {
                undone()
            })
        });
        Ok(results.collect())
    }
}

/// The switch that requests are about: the one that was saved, or the one that runs.
pub(super) fn target(plane: &mut Plane) -> Option<&mut Switch> {
    plane.staged.as_mut().or(plane.switch.as_mut())
}
