//! A switch as BMv2's: its answers to a stream begin with its first message, as those of gRPC's C++ library do, and it refuses
//! to tell a pipeline that it does not have.

use crate::bench::PATIENCE;
use linerate_p4_runtime::Client;
use linerate_p4_runtime::proto::p4::v1::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use linerate_p4_runtime::proto::p4::v1::stream_message_request::Update as Asked;
use linerate_p4_runtime::proto::p4::v1::stream_message_response::Update;
use linerate_p4_runtime::proto::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest,
    GetForwardingPipelineConfigResponse, MasterArbitrationUpdate, ReadRequest, ReadResponse,
    SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigResponse, StreamMessageRequest,
    StreamMessageResponse, WriteRequest, WriteResponse,
};
use std::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming, async_trait};

type Answer<T> = Result<Response<T>, Status>;
type Several<T> = tokio_stream::Iter<std::vec::IntoIter<Result<T, Status>>>;

/// Tells every controller that it is the primary, and knows no other request.
struct Late;

fn unknown<T>() -> Answer<T> {
    Err(Status::unimplemented("not this switch"))
}

#[async_trait]
impl P4Runtime for Late {
    type ReadStream = Several<ReadResponse>;
    type StreamChannelStream = Several<StreamMessageResponse>;

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Answer<Self::StreamChannelStream> {
        // The headers of the answer are sent once this returns.
        let first = request.into_inner().message().await?;
        let Some(Asked::Arbitration(wish)) = first.and_then(|message| message.update) else {
            return Err(Status::invalid_argument(
                "the first message is no arbitration",
            ));
        };
        let update = Update::Arbitration(MasterArbitrationUpdate {
            status: Some(linerate_p4_runtime::proto::google::rpc::Status::default()),
            ..wish
        });
        let message = StreamMessageResponse {
            update: Some(update),
        };
        Ok(Response::new(tokio_stream::iter(vec![Ok(message)])))
    }

    async fn write(&self, _: Request<WriteRequest>) -> Answer<WriteResponse> {
        unknown()
    }

    async fn read(&self, _: Request<ReadRequest>) -> Answer<Self::ReadStream> {
        unknown()
    }

    async fn set_forwarding_pipeline_config(
        &self,
        _: Request<SetForwardingPipelineConfigRequest>,
    ) -> Answer<SetForwardingPipelineConfigResponse> {
        unknown()
    }

    async fn get_forwarding_pipeline_config(
        &self,
        _: Request<GetForwardingPipelineConfigRequest>,
    ) -> Answer<GetForwardingPipelineConfigResponse> {
        Err(Status::failed_precondition("no pipeline is set"))
    }

    async fn capabilities(&self, _: Request<CapabilitiesRequest>) -> Answer<CapabilitiesResponse> {
        unknown()
    }
}

#[test]
fn a_switch_that_says_nothing_before_the_first_message_is_understood() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a port");
    let address = listener.local_addr().expect("a port").to_string();
    // Serves until the test's process ends.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a port");
            let service = P4RuntimeServer::new(Late);
            let connections = TcpListenerStream::new(listener);
            let served = Server::builder().serve_with_incoming(service, connections);
            served.await.expect("served");
        });
    });
    let mut client = Client::connect_with(&address, 1, PATIENCE, None).expect("a client");
    client.become_primary("", 1).expect("the primary");
    assert_eq!(client.pipeline().expect("an answer"), None);
    let refused = client.read(Vec::new()).expect_err("no entries");
    assert!(refused.is_unimplemented(), "{refused}");
}
