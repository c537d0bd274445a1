//! Server: the interface that a client's tests would use here, and its port as a host on its link.

use super::Driver;
use crate::endpoints::test_interfaces;
use crate::error::Result;
use anyhow::Context as _;
use linerate_engine::Role;
use linerate_engine::neighbours::{PortHost, port_mac};
use linerate_peers::{DescriptionRequest, Input, InterfaceDescription, Refusal};

/// What the client asked for last; its answers to neighbours end with the session, or with another question.
pub(super) struct DescribedPort {
    request: DescriptionRequest,
    /// Read once: a client that asks again waits for its next hop.
    description: InterfaceDescription,
    host: Option<PortHost>,
}

impl Driver {
    /// Client: asks for the interface that a test would use at the server.
    pub fn describe(&mut self, request: DescriptionRequest) -> Result<()> {
        self.tell(Input::Describe(Box::new(request)))
    }

    /// Server: answers such a question.
    pub(super) fn answer_description(&mut self, request: DescriptionRequest) -> Result<()> {
        let described = self.described(request).map_err(|error| Refusal {
            code: error.code_of_opening(),
            message: error.words(),
        });
        self.tell(Input::Described(described.map(Box::new)))
    }

    fn described(&mut self, request: DescriptionRequest) -> Result<InterfaceDescription> {
        let port = match self.port.take().filter(|port| port.request == request) {
            Some(port) => port,
            None => self.open_port(request)?,
        };
        let port = self.port.insert(port);
        let next_hop = port.host.as_ref().map(PortHost::next_hop).transpose()?;
        Ok(InterfaceDescription {
            next_hop: next_hop.flatten().map(|mac| mac.to_string()),
            ..port.description.clone()
        })
    }

    fn open_port(&self, request: DescriptionRequest) -> Result<DescribedPort> {
        let params = &request.spec.datapath.params;
        let interface = test_interfaces(&request.spec, Role::Server)
            .into_iter()
            .next()
            .context("the datapath of the test names no interface of the server")?;
        let start = || PortHost::start(params, Role::Server, request.gateway);
        let mac = port_mac(params, Role::Server)?.to_string();
        let host = request.resolve.then(start).transpose()?;
        let facts = self.observer.at(interface).facts();
        Ok(DescribedPort {
            host,
            description: InterfaceDescription {
                facts,
                mac,
                next_hop: None,
            },
            request,
        })
    }
}
