//! The stream of a controller: arbitration, packets, acknowledgements.

use super::arbitration::ClientId;
use super::state::{Shared, Stream};
use crate::convert::packet_out;
use crate::proto::p4::v1::{
    DigestListAck, DigestListAckError, PacketOut, PacketOutError, StreamError,
    StreamMessageRequest, StreamOtherError, stream_error::Details, stream_message_request::Update,
    stream_message_response,
};
use crate::refusal::{Refusal, Result};
use std::sync::Arc;
use tonic::{Code, Status, Streaming};

/// Takes what a controller says until its stream ends, for whatever reason.
pub(super) async fn listen(
    shared: Arc<Shared>,
    client: ClientId,
    mut requests: Streaming<StreamMessageRequest>,
) {
    let stream = shared.state().streams.get(&client).cloned();
    let Some(Stream { responses, cut }) = stream else {
        return;
    };
    loop {
        // A stream that the server cut off, or whose responses nobody takes any more, has ended too.
        let request = tokio::select! {
            request = requests.message() => request,
            () = responses.closed() => break,
            () = cut.notified() => break,
        };
        let Ok(Some(request)) = request else { break };
        if let Err(refusal) = shared.request(client, request).await {
            let _ = responses.try_send(Err(Status::from(refusal)));
            break;
        }
    }
    let mut state = shared.state();
    state.streams.remove(&client);
    let notifications = state.arbiter.leave(client);
    state.tell(notifications);
}

impl Shared {
    /// Does what a message asks for. An error ends the stream.
    async fn request(&self, client: ClientId, request: StreamMessageRequest) -> Result<()> {
        let (refusal, details) = match request.update {
            Some(Update::Arbitration(update)) => {
                // What the last primary has begun to write is finished first.
                let _writing = self.writes.lock().await;
                let mut state = self.state();
                let notifications = state.arbiter.update(client, &update)?;
                state.tell(notifications);
                return Ok(());
            }
            Some(Update::Packet(packet)) => match self.packet_out(client, &packet).await {
                Ok(()) => return Ok(()),
                Err(refusal) => {
                    let packet_out = Some(packet);
                    (refusal, Details::PacketOut(PacketOutError { packet_out }))
                }
            },
            Some(Update::DigestAck(ack)) => match self.acknowledge(client, ack) {
                Ok(()) => return Ok(()),
                Err(refusal) => {
                    let digest_list_ack = Some(ack);
                    (
                        refusal,
                        Details::DigestListAck(DigestListAckError { digest_list_ack }),
                    )
                }
            },
            Some(Update::Other(other)) => {
                let what = "messages of other architectures";
                let other = StreamOtherError { other: Some(other) };
                (
                    Refusal::new(Code::Unimplemented, what),
                    Details::Other(other),
                )
            }
            None => {
                let refusal = Refusal::new(Code::InvalidArgument, "the message is empty");
                (refusal, Details::Other(StreamOtherError::default()))
            }
        };
        let error = StreamError {
            canonical_code: refusal.code as i32,
            message: refusal.message,
            details: Some(details),
            ..StreamError::default()
        };
        self.state()
            .send(client, stream_message_response::Update::Error(error));
        Ok(())
    }

    fn check_primary(&self, client: ClientId, what: &str) -> Result<()> {
        if self.state().arbiter.is_primary(client) {
            return Ok(());
        }
        let what = format!("only the primary controller {what}");
        Err(Refusal::new(Code::PermissionDenied, what))
    }

    async fn packet_out(&self, client: ClientId, packet: &PacketOut) -> Result<()> {
        self.check_primary(client, "sends packets")?;
        let active = self.state().active.clone();
        let Some(active) = active else {
            return Err(Refusal::new(Code::FailedPrecondition, "no pipeline is set"));
        };
        let frame = packet_out(&active.pipeline.schema.packet_out, packet)?;
        let port = self.options.cpu_port;
        let injected = self.job(move |plane, _| plane.inject(port, frame)).await?;
        injected.map_err(|error| Refusal::new(Code::ResourceExhausted, error.to_string()))
    }

    fn acknowledge(&self, client: ClientId, ack: DigestListAck) -> Result<()> {
        self.check_primary(client, "acknowledges digests")?;
        let mut state = self.state();
        if !state
            .pipeline()?
            .schema
            .digests
            .contains_key(&ack.digest_id)
        {
            let what = format!("there is no digest {:#x}", ack.digest_id);
            return Err(Refusal::new(Code::InvalidArgument, what));
        }
        state.digests.acknowledge(ack.digest_id, ack.list_id);
        Ok(())
    }
}
