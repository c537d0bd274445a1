//! Read requests.

use super::state::Shared;
use super::write::target;
use crate::convert::{Reader, read_request};
use crate::proto::p4::v1::{
    DigestEntry, Entity, ReadRequest, ReadResponse, entity::Entity as Kind,
};
use crate::refusal::{Refusal, Result, batch_status, not_found};
use linerate_p4::Plane;
use prost::Message as _;
use tonic::{Code, Status};

/// The most entities of one request.
const MAX_ENTITIES: usize = 1 << 20;
/// Bytes of a response's entities: clients take messages of 4 MB.
const MAX_RESPONSE: usize = 1 << 20;

/// Responses, and how the request ended.
pub(super) struct Answer {
    pub(super) responses: Vec<ReadResponse>,
    pub(super) status: std::result::Result<(), Status>,
}

impl Shared {
    /// Reads everything that was asked for, while nobody writes.
    pub(super) async fn read(&self, request: ReadRequest) -> Result<Answer> {
        self.state().arbiter.check_device(request.device_id)?;
        let (asked, most) = (request.entities.len(), self.options.max_updates);
        if asked > most {
            let what = format!("{asked} entities are asked for in a request: at most {most}");
            return Err(Refusal::new(Code::ResourceExhausted, what));
        }
        let _reading = self.writes.lock().await;
        let pipeline = self.state().pipeline()?;
        let mut collected = Collected::default();
        let mut results = Vec::new();
        for wanted in &request.entities {
            results.push(match read_request(&pipeline, wanted) {
                Ok(Some(reader)) => self.entities(reader, &mut collected).await,
                Ok(None) => self.digests(wanted, &mut collected),
                Err(refusal) => Err(refusal),
            });
        }
        let failed = results.iter().any(Result::is_err);
        Ok(Answer {
            responses: collected.responses,
            status: if failed {
                Err(batch_status(&results))
            } else {
                Ok(())
            },
        })
    }

    async fn entities(&self, mut reader: Reader, collected: &mut Collected) -> Result<()> {
        loop {
            let step = move |plane: &mut Plane, now| {
                let Some(switch) = target(plane) else {
                    return (reader, Ok(None));
                };
                let entities = reader.step(switch, now);
                (reader, entities)
            };
            let (next, entities) = self.job(step).await?;
            reader = next;
            match entities? {
                Some(entities) => collected.add(entities)?,
                None => return Ok(()),
            }
        }
    }

    fn digests(&self, wanted: &Entity, collected: &mut Collected) -> Result<()> {
        let Some(Kind::DigestEntry(wanted)) = &wanted.entity else {
            return Ok(());
        };
        let state = self.state();
        if wanted.digest_id != 0
            && !state
                .pipeline()?
                .schema
                .digests
                .contains_key(&wanted.digest_id)
        {
            return not_found(format!("there is no digest {:#x}", wanted.digest_id));
        }
        let configs = state.digests.configs();
        let found = configs.filter(|(id, _)| wanted.digest_id == 0 || *id == wanted.digest_id);
        let entity = |(digest_id, config)| Entity {
            entity: Some(Kind::DigestEntry(DigestEntry {
                digest_id,
                config: Some(config),
            })),
        };
        collected.add(found.map(entity).collect())
    }
}

#[derive(Default)]
struct Collected {
    responses: Vec<ReadResponse>,
    entities: usize,
    /// Bytes of the last response.
    bytes: usize,
}

impl Collected {
    fn add(&mut self, entities: Vec<Entity>) -> Result<()> {
        self.entities += entities.len();
        if self.entities > MAX_ENTITIES {
            let what =
                format!("more than {MAX_ENTITIES} entities: read one table or array at a time");
            return Err(Refusal::new(Code::ResourceExhausted, what));
        }
        for entity in entities {
            let bytes = entity.encoded_len();
            match self.responses.last_mut() {
                Some(last) if self.bytes + bytes <= MAX_RESPONSE => {
                    last.entities.push(entity);
                    self.bytes += bytes;
                }
                _ => {
                    self.responses.push(ReadResponse {
                        entities: vec![entity],
                    });
                    self.bytes = bytes;
                }
            }
        }
        Ok(())
    }
}
