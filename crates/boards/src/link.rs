//! The link element between a board and its host.

use crate::network::{Subnet, configure};
use crate::tools::lacks;
use linerate_model::exit::{Failure, Result};
use linerate_model::link::EmulatedLink;
use linerate_testbed::{InlineLink, LinkConfig, TestbedError};
use std::io;

/// Without effect: a board's link has no random impairments.
const SEED: u64 = 1;

/// Network between a board and its host.
pub(crate) struct BoardNetwork {
    subnet: Subnet,
    /// The element with its configuration. The host's addresses are on the TAP device, or on the interface in its
    /// place.
    element: Option<(InlineLink, EmulatedLink)>,
}

impl BoardNetwork {
    /// Network of a board whose TAP device has the host's addresses.
    pub(crate) const fn direct(subnet: Subnet) -> Self {
        Self {
            subnet,
            element: None,
        }
    }

    /// The link element, if there is one.
    pub(crate) fn link(&self) -> Option<EmulatedLink> {
        self.element.as_ref().map(|(_, link)| *link)
    }

    /// Inserts an element with this configuration, or removes it.
    pub(crate) fn set(&mut self, wanted: Option<EmulatedLink>) -> Result<()> {
        match (self.element.take(), wanted) {
            (None, None) => Ok(()),
            (None, Some(link)) => self.insert(link),
            (Some((element, before)), Some(link)) => {
                let changed = element.reconfigure(&link.into());
                let link = if changed.is_ok() { link } else { before };
                self.element = Some((element, link));
                changed.map_err(refused)
            }
            (Some((element, _)), None) => {
                element.remove().map_err(refused)?;
                self.address()
            }
        }
    }

    fn insert(&mut self, link: EmulatedLink) -> Result<()> {
        let made = InlineLink::insert(&self.subnet.device(), &LinkConfig::from(link), SEED);
        let element = made.map_err(|error| {
            // After its move back the device has no addresses: configure it again.
            let _ = configure(self.subnet);
            refused(error)
        })?;
        self.element = Some((element, link));
        self.address()
    }

    fn address(&self) -> Result<()> {
        let name = self.subnet.device();
        configure(self.subnet)
            .map_err(|error| lacks(format!("giving {name} its addresses: {error}")))
    }
}

fn refused(error: TestbedError) -> Failure {
    let remedy = match &error {
        TestbedError::Step { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            "; a link element needs CAP_SYS_ADMIN where the board is started: start it as root, or everything in a network of its own with: unshare --user --map-root-user --net"
        }
        _ => "",
    };
    let failure = Failure::from(error);
    Failure::new(failure.code, format!("{}{remedy}", failure.message))
}
