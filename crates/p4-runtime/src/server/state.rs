//! What the server knows, and how it asks the data thread.

use super::arbitration::{Arbiter, ClientId, Notifications};
use super::digests::Digests;
use super::{Options, Pipelines};
use crate::info::Pipeline;
use crate::proto::p4::v1::forwarding_pipeline_config::Cookie;
use crate::proto::p4::v1::{StreamMessageResponse, stream_message_response::Update};
use crate::refusal::{Refusal, Result};
use linerate_p4::{DataPlane, Plane, Switch};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc, oneshot};
use tonic::{Code, Status};

/// A pipeline as it was set.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) program: Arc<[u8]>,
    pub(super) cookie: Option<Cookie>,
}

/// Responses on their way to a controller.
pub(super) type Responses = mpsc::Sender<std::result::Result<StreamMessageResponse, Status>>;

/// The stream of a controller.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    pub(super) responses: Responses,
    /// Said when the stream is cut off.
    pub(super) cut: Arc<Notify>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) arbiter: Arbiter,
    pub(super) streams: BTreeMap<ClientId, Stream>,
    next_client: u64,
    /// What runs.
    pub(super) active: Option<Config>,
    /// What was saved, and is not committed yet: requests are about it.
    pub(super) saved: Option<Config>,
    pub(super) digests: Digests,
}

impl State {
    /// The pipeline that requests are about.
    pub(super) fn config(&self) -> Option<&Config> {
        self.saved.as_ref().or(self.active.as_ref())
    }

    pub(super) fn pipeline(&self) -> Result<Arc<Pipeline>> {
        let config = self.config().ok_or_else(|| {
            Refusal::new(
                Code::FailedPrecondition,
                "no forwarding pipeline config is set",
            )
        })?;
        Ok(Arc::clone(&config.pipeline))
    }

    pub(super) fn open(&mut self, responses: Responses) -> ClientId {
        self.next_client += 1;
        let client = ClientId(self.next_client);
        let cut = Arc::new(Notify::new());
        self.streams.insert(client, Stream { responses, cut });
        client
    }

    /// Sends what mastership changes have to be told; a controller that takes nothing is cut off.
    pub(super) fn tell(&mut self, notifications: Notifications) {
        for (client, update) in notifications {
            if !self.send(client, Update::Arbitration(update))
                && let Some(stream) = self.streams.remove(&client)
            {
                stream.cut.notify_one();
            }
        }
    }

    /// Whether there was room for the message.
    pub(super) fn send(&self, client: ClientId, update: Update) -> bool {
        let message = StreamMessageResponse {
            update: Some(update),
        };
        let stream = self.streams.get(&client);
        stream.is_some_and(|stream| stream.responses.try_send(Ok(message)).is_ok())
    }

    pub(super) fn send_to_primaries(&self, update: &Update) {
        for client in self.arbiter.primaries() {
            // Best effort, as the specification says of packets, digests and idle entries.
            let _ = self.send(client, update.clone());
        }
    }
}

/// What requests share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: Options,
    plane: Arc<dyn DataPlane>,
    state: Mutex<State>,
    /// Held by what writes, and by what must not see half of a write.
    pub(super) writes: tokio::sync::Mutex<()>,
}

impl Shared {
    pub(super) fn new(plane: Arc<dyn DataPlane>, options: Options) -> Self {
        let state = State {
            arbiter: Arbiter::new(options.device_id, options.max_controllers),
            streams: BTreeMap::new(),
            next_client: 0,
            active: None,
            saved: None,
            digests: Digests::default(),
        };
        Self {
            options,
            plane,
            state: Mutex::new(state),
            writes: tokio::sync::Mutex::new(()),
        }
    }

    /// Never held across an await.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the data thread a job, in the order of calls; the answer comes when it is done.
    pub(super) fn job<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Plane, u64) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T>> {
        let (sender, answer) = oneshot::channel();
        self.plane.run(Box::new(move |plane, now| {
            let _ = sender.send(job(plane, now));
        }));
        async move {
            let gone = |_| Refusal::new(Code::Unavailable, "the switch has ended");
            answer.await.map_err(gone)
        }
    }

    pub(super) fn new_switch(&self, pipeline: &Pipeline) -> Switch {
        let program = Arc::clone(&pipeline.program);
        Switch::new(program, self.options.limits, self.options.seed)
    }

    /// Sets a pipeline before anybody is connected.
    pub(super) fn begin_with(&self, first: Pipelines) {
        let Pipelines { config, switch } = first;
        self.plane
            .run(Box::new(move |plane, _| plane.switch = Some(switch)));
        self.state().active = Some(config);
    }
}
