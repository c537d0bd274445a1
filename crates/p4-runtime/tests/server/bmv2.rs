//! A switch as BMv2's: its answers to a stream begin with its first message, as those of gRPC's C++ library do, and it refuses
//! to tell a pipeline that it does not have; an election id is free a little later than its stream ends.

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
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming, async_trait};

type Answer<T> = Result<Response<T>, Status>;
type Several<T> = ReceiverStream<Result<T, Status>>;

/// How much later than a stream ends its election id is free.
const DELAY: Duration = Duration::from_millis(20);

/// Tells a controller that it is the primary if there is no other, and knows no other request.
#[derive(Default)]
struct Late {
    has_primary: Arc<AtomicBool>,
}

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
        let mut asked = request.into_inner();
        let first = asked.message().await?;
        let Some(Asked::Arbitration(wish)) = first.and_then(|message| message.update) else {
            return Err(Status::invalid_argument(
                "the first message is no arbitration",
            ));
        };
        let update = Update::Arbitration(MasterArbitrationUpdate {
            status: Some(linerate_p4_runtime::proto::google::rpc::Status::default()),
            ..wish
        });
        if self.has_primary.swap(true, Ordering::SeqCst) {
            return Err(Status::invalid_argument("Election id already exists"));
        }
        let (tell, told) = mpsc::channel(1);
        let message = StreamMessageResponse {
            update: Some(update),
        };
        tell.try_send(Ok(message)).expect("room");
        let has_primary = Arc::clone(&self.has_primary);
        tokio::spawn(async move {
            while let Ok(Some(_)) = asked.message().await {}
            tokio::time::sleep(DELAY).await;
            has_primary.store(false, Ordering::SeqCst);
            drop(tell);
        });
        Ok(Response::new(ReceiverStream::new(told)))
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

/// Where one serves until the test's process ends.
fn late() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a port");
    let address = listener.local_addr().expect("a port").to_string();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a port");
            let service = P4RuntimeServer::new(Late::default());
            let connections = TcpListenerStream::new(listener);
            let served = Server::builder().serve_with_incoming(service, connections);
            served.await.expect("served");
        });
    });
    address
}

fn primary(address: &str) -> Client {
    let mut client = Client::connect_with(address, 1, PATIENCE, None).expect("a client");
    client.become_primary("", 1).expect("the primary");
    client
}

#[test]
fn a_switch_that_says_nothing_before_the_first_message_is_understood() {
    let client = primary(&late());
    assert_eq!(client.pipeline().expect("an answer"), None);
    let refused = client.read(Vec::new()).expect_err("no entries");
    assert!(refused.is_unimplemented(), "{refused}");
}

#[test]
fn a_controller_that_has_gone_leaves_its_election_id_to_the_next() {
    let address = late();
    for _ in 0..3 {
        drop(primary(&address));
    }
}
