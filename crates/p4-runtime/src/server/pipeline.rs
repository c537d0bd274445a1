//! Setting and getting the forwarding pipeline.

use super::arbitration::RoleName;
use super::digests::Digests;
use super::state::{Config, Shared};
use crate::convert::{Change, change, read_request};
use crate::info::Pipeline;
use crate::proto::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use crate::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use crate::proto::p4::v1::{
    ActionProfileGroup, ActionProfileMember, CounterEntry, Entity, ForwardingPipelineConfig,
    GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse, MeterConfig,
    MeterEntry, PacketReplicationEngineEntry, RegisterEntry, SetForwardingPipelineConfigRequest,
    TableEntry, Update, ValueSetEntry, entity::Entity as Kind, table_entry, update,
};
use crate::refusal::{Refusal, Result, invalid, not_found};
use linerate_p4::{Plane, Program, Switch};
use std::sync::Arc;
use tonic::Code;

impl Shared {
    pub(super) async fn set_pipeline(
        &self,
        request: SetForwardingPipelineConfigRequest,
    ) -> Result<()> {
        let role = RoleName::new(&request.role, request.role_id);
        self.state()
            .arbiter
            .check(request.device_id, &role, request.election_id)?;
        let _writing = self.writes.lock().await;
        // Whoever was primary may not be any more.
        self.state()
            .arbiter
            .check(request.device_id, &role, request.election_id)?;
        let action = Action::try_from(request.action).unwrap_or(Action::Unspecified);
        if action == Action::Commit {
            if request.config.is_some() {
                return invalid("COMMIT takes the config that was saved, and no other");
            }
            return self.commit().await;
        }
        if action == Action::Unspecified {
            return invalid("the action is not set");
        }
        let config = verify(request.config)?;
        let switch = self.new_switch(&config.pipeline);
        match action {
            Action::VerifyAndSave => {
                self.state().saved = Some(config);
                self.job(move |plane, _| plane.staged = Some(switch)).await
            }
            Action::VerifyAndCommit => {
                {
                    let mut state = self.state();
                    state.active = Some(config);
                    state.saved = None;
                    state.digests = Digests::default();
                }
                let install = move |plane: &mut Plane, _| {
                    plane.staged = None;
                    plane.switch = Some(switch);
                };
                self.job(install).await
            }
            Action::ReconcileAndCommit => self.reconcile(config, switch).await,
            Action::Verify | Action::Commit | Action::Unspecified => Ok(()),
        }
    }

    async fn commit(&self) -> Result<()> {
        {
            let mut state = self.state();
            let Some(saved) = state.saved.take() else {
                return not_found("no config was saved: VERIFY_AND_SAVE one first");
            };
            let known = saved.pipeline.schema.digests.clone();
            state.digests.retain(|id| known.contains_key(&id));
            state.active = Some(saved);
        }
        let install = |plane: &mut Plane, _| {
            if let Some(switch) = plane.staged.take() {
                plane.switch = Some(switch);
            }
        };
        self.job(install).await
    }

    /// Takes what the old pipeline holds over into the new one, or leaves everything as it is.
    async fn reconcile(&self, config: Config, mut switch: Switch) -> Result<()> {
        let old = self.state().active.clone();
        let pipeline = Arc::clone(&config.pipeline);
        let job = move |plane: &mut Plane, now| -> Result<()> {
            if let (Some(old), Some(from)) = (old, &plane.switch) {
                take_over(&old.pipeline, from, &pipeline, &mut switch, now)?;
            }
            plane.staged = None;
            plane.switch = Some(switch);
            Ok(())
        };
        self.job(job).await??;
        let mut state = self.state();
        let known = config.pipeline.schema.digests.clone();
        state.digests.retain(|id| known.contains_key(&id));
        state.saved = None;
        state.active = Some(config);
        Ok(())
    }

    pub(super) fn get_pipeline(
        &self,
        request: &GetForwardingPipelineConfigRequest,
    ) -> Result<GetForwardingPipelineConfigResponse> {
        let state = self.state();
        state.arbiter.check_device(request.device_id)?;
        let kind = ResponseType::try_from(request.response_type).unwrap_or(ResponseType::All);
        let config = state
            .active
            .as_ref()
            .map(|config| ForwardingPipelineConfig {
                cookie: config.cookie,
                p4info: matches!(kind, ResponseType::All | ResponseType::P4infoAndCookie)
                    .then(|| config.pipeline.info.clone()),
                p4_device_config: match kind {
                    ResponseType::All | ResponseType::DeviceConfigAndCookie => {
                        config.program.to_vec()
                    }
                    _ => Vec::new(),
                },
            });
        Ok(GetForwardingPipelineConfigResponse { config })
    }
}

fn verify(config: Option<ForwardingPipelineConfig>) -> Result<Config> {
    let Some(config) = config else {
        return invalid("the config is missing");
    };
    let Some(info) = config.p4info else {
        return invalid("the config has no P4Info");
    };
    let unfit = |what: String| Refusal::new(Code::InvalidArgument, what);
    let program = Program::from_json(&config.p4_device_config)
        .map_err(|error| unfit(format!("p4_device_config: {error}")))?;
    let pipeline = Pipeline::new(info, program).map_err(|error| unfit(error.to_string()))?;
    Ok(Config {
        pipeline: Arc::new(pipeline),
        program: config.p4_device_config.into(),
        cookie: config.cookie,
    })
}

/// What the whole state of a switch is read by, in an order that it can be written in.
fn everything() -> impl Iterator<Item = Kind> {
    let with_resources = TableEntry {
        counter_data: Some(crate::proto::p4::v1::CounterData::default()),
        meter_config: Some(MeterConfig::default()),
        ..TableEntry::default()
    };
    let defaults = TableEntry {
        is_default_action: true,
        ..TableEntry::default()
    };
    [
        Kind::ActionProfileMember(ActionProfileMember::default()),
        Kind::ActionProfileGroup(ActionProfileGroup::default()),
        Kind::TableEntry(with_resources),
        Kind::TableEntry(defaults),
        Kind::PacketReplicationEngineEntry(PacketReplicationEngineEntry::default()),
        Kind::ValueSetEntry(ValueSetEntry::default()),
        Kind::CounterEntry(CounterEntry::default()),
        Kind::MeterEntry(MeterEntry::default()),
        Kind::RegisterEntry(RegisterEntry::default()),
    ]
    .into_iter()
}

/// Writes everything that one switch holds into another, whose pipeline may be another version.
fn take_over(
    old: &Arc<Pipeline>,
    from: &Switch,
    new: &Arc<Pipeline>,
    to: &mut Switch,
    now: u64,
) -> Result<()> {
    let lost = |refusal: Refusal| {
        let what = format!(
            "what the switch holds does not fit the new config: {}",
            refusal.message
        );
        Refusal::new(Code::InvalidArgument, what)
    };
    for kind in everything() {
        let wanted = Entity { entity: Some(kind) };
        let Some(mut reader) = read_request(old, &wanted)? else {
            continue;
        };
        while let Some(entities) = reader.step(from, now)? {
            for entity in entities {
                let Some(message) = writable(entity) else {
                    continue;
                };
                if let Change::Switch(updates) = change(new, &message).map_err(lost)? {
                    to.write(&updates, now)
                        .map_err(|(_, error)| lost(error.into()))?;
                }
            }
        }
    }
    Ok(())
}

/// The update that makes an entity which was read; `None` for what comes with the program.
fn writable(mut entity: Entity) -> Option<Update> {
    let kind = match entity.entity.as_mut()? {
        Kind::TableEntry(entry) if entry.is_const => return None,
        Kind::TableEntry(entry) => {
            entry.time_since_last_hit = None::<table_entry::IdleTimeout>;
            if entry.is_default_action {
                update::Type::Modify
            } else {
                update::Type::Insert
            }
        }
        Kind::ActionProfileMember(_)
        | Kind::ActionProfileGroup(_)
        | Kind::PacketReplicationEngineEntry(_) => update::Type::Insert,
        _ => update::Type::Modify,
    };
    Some(Update {
        r#type: kind as i32,
        entity: Some(entity),
    })
}
