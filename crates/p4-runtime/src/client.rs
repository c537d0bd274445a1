//! A P4Runtime client, for any switch that speaks it. Calls wait for their answer, at most as long as the timeout.

use crate::proto::p4::config::v1::P4Info;
use crate::proto::p4::v1::forwarding_pipeline_config::Cookie;
use crate::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use crate::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use crate::proto::p4::v1::stream_message_request::Update as Request;
use crate::proto::p4::v1::stream_message_response::Update as Response;
use crate::proto::p4::v1::write_request::Atomicity;
use crate::proto::p4::v1::{
    CapabilitiesRequest, Entity, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    MasterArbitrationUpdate, ReadRequest, Role, SetForwardingPipelineConfigRequest,
    StreamMessageRequest, StreamMessageResponse, Uint128, Update, WriteRequest,
};
use crate::refusal::batch_results;
use crate::tls::{ClientTls, reason};
use std::error::Error as _;
use std::future::Future;
use std::io;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status, Streaming};

/// The most bytes of a message of a switch.
const MAX_MESSAGE: usize = 64 << 20;
/// The most entities of an answer: more than any switch's tables have.
const MAX_ENTITIES: usize = 5_000_000;
/// The most bytes of the headers of a switch's answer.
const MAX_HEADERS: u32 = 4 << 20;
/// Messages to the switch that wait.
const QUEUE: usize = 64;

/// An element of a batch that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its place in the batch, from 0.
    pub place: usize,
    /// The canonical code.
    pub code: Code,
    /// What the switch says.
    pub message: String,
}

/// Why a request to a switch has no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is none.
    #[error("{0} is not the address of a P4Runtime switch: give HOST:PORT")]
    Address(String),
    /// The event loop cannot be made.
    #[error("cannot start a P4Runtime client: {0}")]
    Io(#[from] io::Error),
    /// Certificates or key are none, or do not belong together.
    #[error("TLS: {0}; certificates and keys are in PEM form, and a key is of its certificate")]
    Tls(String),
    /// Nobody answers there.
    #[error("no P4Runtime switch answers at {address}: {what}")]
    Connect {
        /// Where.
        address: String,
        /// What failed.
        what: String,
    },
    /// The switch refuses.
    #[error("{}: the switch refuses: {} ({:?})", .doing, .status.message(), .status.code())]
    Refused {
        /// What was asked for.
        doing: &'static str,
        /// Its status.
        status: Box<Status>,
    },
    /// Another controller is primary, or was: no smaller election id takes its place.
    #[error("{}{}; give a larger election id, or another role", if *.is_taken { "another controller is primary" } else { "no controller is primary" }, .highest.map_or(String::new(), |id| format!(", and the switch has seen election id {id}")))]
    NotPrimary {
        /// Whether another one is.
        is_taken: bool,
        /// The highest election id that the switch has seen.
        highest: Option<u128>,
    },
    /// There was no answer in time.
    #[error("{doing}: no answer within {timeout:?}")]
    Timeout {
        /// What was asked for.
        doing: &'static str,
        /// How long was waited.
        timeout: Duration,
    },
    /// The connection ended before the answer.
    #[error(
        "{doing}: the connection broke: no P4Runtime is spoken there, or only with TLS (then give the certificates of its authorities)"
    )]
    Broken {
        /// What was asked for.
        doing: &'static str,
    },
    /// The stream to the switch ended.
    #[error("the switch closed the stream: {0}")]
    Closed(String),
}

impl ClientError {
    /// The elements of a batch that were refused, where the switch says it.
    pub fn refused(&self) -> Vec<Refused> {
        let Self::Refused { status, .. } = self else {
            return Vec::new();
        };
        let results = batch_results(status).into_iter().enumerate();
        let refused = results.filter_map(|(place, result)| Some((place, result.err()?)));
        let one = |(place, refusal): (usize, crate::refusal::Refusal)| Refused {
            place,
            code: refusal.code,
            message: refusal.message,
        };
        refused.map(one).collect()
    }

    /// Whether all that was refused is what the switch does not have: said of the request, or of each of its elements.
    pub fn is_unimplemented(&self) -> bool {
        let refused = self.refused();
        let each = refused.iter().all(|one| one.code == Code::Unimplemented);
        self.code() == Some(Code::Unimplemented) || (!refused.is_empty() && each)
    }

    /// The canonical code of a refusal.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Refused { status, .. } => Some(status.code()),
            _ => None,
        }
    }
}

type Result<T> = std::result::Result<T, ClientError>;

/// A stream to the switch.
struct Stream {
    requests: mpsc::Sender<StreamMessageRequest>,
    responses: Streaming<StreamMessageResponse>,
}

/// Puts a message into the stream.
async fn put(to: &mpsc::Sender<StreamMessageRequest>, update: Request) -> Result<()> {
    let request = StreamMessageRequest {
        update: Some(update),
    };
    let closed = |_| ClientError::Closed("it takes no more messages".to_owned());
    to.send(request).await.map_err(closed)
}

/// The next message of the stream that says something.
async fn said(responses: &mut Streaming<StreamMessageResponse>) -> Result<Response> {
    loop {
        let message = responses.message().await;
        let message = message.map_err(|status| ClientError::Refused {
            doing: "listening",
            status: Box::new(status),
        })?;
        match message {
            Some(StreamMessageResponse { update: None }) => {}
            Some(StreamMessageResponse { update: Some(said) }) => return Ok(said),
            None => return Err(ClientError::Closed("it ended".to_owned())),
        }
    }
}

/// A connection with a switch.
pub struct Client {
    runtime: Runtime,
    rpc: P4RuntimeClient<Channel>,
    device: u64,
    role: String,
    election: Option<u128>,
    timeout: Duration,
    stream: Option<Stream>,
}

impl Client {
    /// Connects with the device of a switch at `HOST:PORT`, perhaps behind `p4runtime://`, without encryption.
    pub fn connect(address: &str, device: u64, timeout: Duration) -> Result<Self> {
        Self::connect_with(address, device, timeout, None)
    }

    /// Connects with the device of a switch, by TLS where whom to trust is given.
    pub fn connect_with(
        address: &str,
        device: u64,
        timeout: Duration,
        tls: Option<&ClientTls>,
    ) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let bare = address.strip_prefix("p4runtime://").unwrap_or(address);
        let wrong = || ClientError::Address(address.to_owned());
        let port = bare.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
        if !matches!(port, Some(Ok(_))) || bare.contains('/') {
            return Err(wrong());
        }
        let scheme = if tls.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{bare}")).map_err(|_| wrong())?;
        let mut endpoint = endpoint
            .connect_timeout(timeout)
            .tcp_nodelay(true)
            // What became of each element of a batch is a header of its status.
            .http2_max_header_list_size(MAX_HEADERS);
        let failed = |what: String| ClientError::Connect {
            address: address.to_owned(),
            what,
        };
        if let Some(tls) = tls {
            if !tls.has_roots() {
                let what = "there is no certificate in the authorities' file";
                return Err(ClientError::Tls(what.to_owned()));
            }
            let encrypted = endpoint.tls_config(tls.of_client());
            endpoint = encrypted.map_err(|error| ClientError::Tls(reason(&error)))?;
        }
        let connected = async { tokio::time::timeout(timeout, endpoint.connect()).await };
        let channel = runtime
            .block_on(connected)
            .map_err(|_| failed(format!("no answer within {timeout:?}")))?;
        let channel = channel.map_err(|error| failed(reason(&error)))?;
        let rpc = P4RuntimeClient::new(channel)
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(usize::MAX);
        Ok(Self {
            runtime,
            rpc,
            device,
            role: String::new(),
            election: None,
            timeout,
            stream: None,
        })
    }

    fn ask<T>(
        &self,
        doing: &'static str,
        answer: impl Future<Output = std::result::Result<T, Status>>,
    ) -> Result<T> {
        let timeout = self.timeout;
        let limited = async { tokio::time::timeout(timeout, answer).await };
        let answer = self.runtime.block_on(limited);
        let answer = answer.map_err(|_| ClientError::Timeout { doing, timeout })?;
        // What the switch itself says has no error behind it.
        answer.map_err(|status| match status.source() {
            Some(_) => ClientError::Broken { doing },
            None => ClientError::Refused {
                doing,
                status: Box::new(status),
            },
        })
    }

    /// The version of P4Runtime that the switch speaks.
    pub fn version(&self) -> Result<String> {
        let mut rpc = self.rpc.clone();
        let answer = self.ask("asking for capabilities", async move {
            rpc.capabilities(CapabilitiesRequest { device_id: 0 }).await
        });
        let version = answer?.into_inner().p4runtime_api_version;
        Ok(version.escape_debug().to_string())
    }

    /// Opens the stream, as a controller of this role, and returns what the switch says of it.
    pub fn arbitrate(
        &mut self,
        role: &str,
        election: Option<u128>,
    ) -> Result<MasterArbitrationUpdate> {
        role.clone_into(&mut self.role);
        self.election = election;
        let wish = Request::Arbitration(MasterArbitrationUpdate {
            device_id: self.device,
            role: (!role.is_empty()).then(|| Role {
                name: role.to_owned(),
                ..Role::default()
            }),
            election_id: election.map(Uint128::from),
            status: None,
        });
        match self.stream {
            Some(_) => self.send(wish)?,
            None => self.open(wish)?,
        }
        let timeout = self.timeout;
        let Some(Stream { responses, .. }) = &mut self.stream else {
            return Err(ClientError::Closed("it was not opened".to_owned()));
        };
        // Whatever else the switch says meanwhile.
        let answer = async {
            loop {
                if let Response::Arbitration(update) = said(responses).await? {
                    return Ok(update);
                }
            }
        };
        let limited = async { tokio::time::timeout(timeout, answer).await };
        let doing = "becoming primary";
        let late = |_| ClientError::Timeout { doing, timeout };
        self.runtime.block_on(limited).map_err(late)?
    }

    /// Opens the stream with its first message: gRPC's servers in C++, as BMv2's, say nothing before they answer one.
    fn open(&mut self, first: Request) -> Result<()> {
        let (requests, outgoing) = mpsc::channel(QUEUE);
        self.runtime.block_on(put(&requests, first))?;
        let mut rpc = self.rpc.clone();
        let opened = self.ask("opening the stream", async move {
            rpc.stream_channel(ReceiverStream::new(outgoing)).await
        })?;
        self.stream = Some(Stream {
            requests,
            responses: opened.into_inner(),
        });
        Ok(())
    }

    /// Becomes the primary controller of a role; `""` is the one that may do everything.
    pub fn become_primary(&mut self, role: &str, election: u128) -> Result<()> {
        let update = self.arbitrate(role, Some(election))?;
        // A status that is left out is one of code 0.
        let code = update.status.map_or(Code::Ok as i32, |status| status.code);
        if code == Code::Ok as i32 {
            return Ok(());
        }
        let highest = update.election_id;
        Err(ClientError::NotPrimary {
            is_taken: code == Code::AlreadyExists as i32,
            highest: highest.map(|id| u128::from(id.high) << 64 | u128::from(id.low)),
        })
    }

    /// Sends a message on the stream.
    pub fn send(&mut self, update: Request) -> Result<()> {
        let Some(stream) = &self.stream else {
            return Err(ClientError::Closed("it was not opened".to_owned()));
        };
        self.runtime.block_on(put(&stream.requests, update))
    }

    /// The next message of the stream; `None` if none comes in time.
    pub fn next(&mut self, patience: Duration) -> Result<Option<Response>> {
        let Some(Stream { responses, .. }) = &mut self.stream else {
            return Err(ClientError::Closed("it was not opened".to_owned()));
        };
        let limited = async { tokio::time::timeout(patience, said(responses)).await };
        let answer = self.runtime.block_on(limited);
        answer.map_or(Ok(None), |said| said.map(Some))
    }

    /// Sets a pipeline, or does what else the action says.
    pub fn set_pipeline(
        &mut self,
        action: Action,
        config: Option<(P4Info, Vec<u8>)>,
        cookie: Option<u64>,
    ) -> Result<()> {
        let request = SetForwardingPipelineConfigRequest {
            device_id: self.device,
            role: self.role.clone(),
            election_id: self.election.map(Uint128::from),
            action: action as i32,
            config: config.map(|(info, p4_device_config)| ForwardingPipelineConfig {
                p4info: Some(info),
                p4_device_config,
                cookie: cookie.map(|cookie| Cookie { cookie }),
            }),
            ..SetForwardingPipelineConfigRequest::default()
        };
        let mut rpc = self.rpc.clone();
        let answer = async move { rpc.set_forwarding_pipeline_config(request).await };
        self.ask("setting the pipeline", answer).map(drop)
    }

    /// The pipeline that the switch runs.
    pub fn pipeline(&self) -> Result<Option<ForwardingPipelineConfig>> {
        let request = GetForwardingPipelineConfigRequest {
            device_id: self.device,
            response_type: 0,
        };
        let mut rpc = self.rpc.clone();
        let answer = async move { rpc.get_forwarding_pipeline_config(request).await };
        match self.ask("getting the pipeline", answer) {
            Ok(found) => Ok(found.into_inner().config),
            // The specification leaves the config unset where there is none; BMv2's server refuses.
            Err(error) if error.code() == Some(Code::FailedPrecondition) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes updates. [`ClientError::refused`] says which were refused.
    pub fn write(&mut self, updates: Vec<Update>, atomicity: Atomicity) -> Result<()> {
        let request = WriteRequest {
            device_id: self.device,
            role: self.role.clone(),
            election_id: self.election.map(Uint128::from),
            updates,
            atomicity: atomicity as i32,
            ..WriteRequest::default()
        };
        let mut rpc = self.rpc.clone();
        self.ask("writing", async move { rpc.write(request).await })
            .map(drop)
    }

    /// Everything that matches these entities.
    pub fn read(&self, entities: Vec<Entity>) -> Result<Vec<Entity>> {
        let request = ReadRequest {
            device_id: self.device,
            role: self.role.clone(),
            entities,
        };
        let mut rpc = self.rpc.clone();
        self.ask("reading", async move {
            let mut stream = rpc.read(request).await?.into_inner();
            let mut found = Vec::new();
            while let Some(response) = stream.message().await? {
                found.extend(response.entities);
                if found.len() > MAX_ENTITIES {
                    let what =
                        format!("more than {MAX_ENTITIES} entities: read one table at a time");
                    return Err(Status::resource_exhausted(what));
                }
            }
            Ok(found)
        })
    }
}

/// How long a switch may take to end a stream that its client has ended.
const FAREWELL: Duration = Duration::from_secs(1);

impl Drop for Client {
    /// Waits for the switch to have noticed: the next controller may come with the same election id.
    fn drop(&mut self) {
        let Some(Stream {
            requests,
            mut responses,
        }) = self.stream.take()
        else {
            return;
        };
        drop(requests);
        let ended = async { while let Ok(Some(_)) = responses.message().await {} };
        let ended = async { tokio::time::timeout(FAREWELL, ended).await };
        // A switch that says nothing sees the connection end.
        drop(self.runtime.block_on(ended));
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Client");
        shown
            .field("device", &self.device)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}
