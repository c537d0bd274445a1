//! The service as gRPC sees it.

use super::state::Shared;
use super::stream::listen;
use crate::proto::p4::v1::p4_runtime_server::P4Runtime;
use crate::proto::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, ReadRequest, ReadResponse,
    SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigResponse, StreamMessageRequest,
    StreamMessageResponse, WriteRequest, WriteResponse,
};
use std::result::Result;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming, async_trait};

/// The version of P4Runtime that is implemented.
const VERSION: &str = "1.5.0";
/// Messages that wait for a controller.
const QUEUE: usize = 1024;

/// The requests of controllers.
#[derive(Debug)]
pub(super) struct Service(pub(super) Arc<Shared>);

#[async_trait]
impl P4Runtime for Service {
    type ReadStream = tokio_stream::Iter<std::vec::IntoIter<Result<ReadResponse, Status>>>;
    type StreamChannelStream = ReceiverStream<Result<StreamMessageResponse, Status>>;

    async fn write(
        &self,
        request: Request<WriteRequest>,
    ) -> Result<Response<WriteResponse>, Status> {
        self.0.write(request.into_inner()).await?;
        Ok(Response::new(WriteResponse {}))
    }

    async fn read(
        &self,
        request: Request<ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        let answer = self.0.read(request.into_inner()).await?;
        let mut messages: Vec<_> = answer.responses.into_iter().map(Ok).collect();
        messages.extend(answer.status.err().map(Err));
        Ok(Response::new(tokio_stream::iter(messages)))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, Status> {
        self.0.set_pipeline(request.into_inner()).await?;
        Ok(Response::new(SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, Status> {
        Ok(Response::new(self.0.get_pipeline(request.get_ref())?))
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let (responses, stream) = mpsc::channel(QUEUE);
        let client = {
            let mut state = self.0.state();
            let most = self.0.options.max_controllers * 2;
            if state.streams.len() >= most {
                return Err(Status::resource_exhausted(format!(
                    "{most} streams are open"
                )));
            }
            state.open(responses)
        };
        tokio::spawn(listen(Arc::clone(&self.0), client, request.into_inner()));
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn capabilities(
        &self,
        request: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, Status> {
        let device = request.get_ref().device_id;
        if device != 0 {
            self.0.state().arbiter.check_device(device)?;
        }
        Ok(Response::new(CapabilitiesResponse {
            p4runtime_api_version: VERSION.to_owned(),
            experimental: None,
        }))
    }
}
