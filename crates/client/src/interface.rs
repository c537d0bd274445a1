//! The interface that a test would use at the peer.

use crate::client::Client;
use anyhow::{Result, bail};
use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::{DescriptionRequest, InterfaceDescription, PeerEvent};
use linerate_session::SessionEvent;
use linerate_sys::ending;

impl Client {
    /// Asks the peer for the interface that a test would use there.
    pub fn describe(&mut self, request: &DescriptionRequest) -> Result<InterfaceDescription> {
        let asked = self.driver().describe(request.clone());
        asked.map_err(|error| self.failed(error))?;
        loop {
            let event = self.driver().turn();
            match self.of_test(event).map_err(perhaps_older)? {
                Some(SessionEvent::Peer(PeerEvent::Described(description))) => {
                    let mut description = *description;
                    linerate_observe::recognise(&mut description.facts);
                    return Ok(description);
                }
                _ if ending::is_asked() => bail!("interrupted before the peer told its interface"),
                _ => {}
            }
        }
    }
}

/// An error of the session, which a peer ends that does not know the question.
fn perhaps_older(mut failure: Failure) -> Failure {
    if failure.code == ExitCode::Peer {
        let hint = "a linerate that is older than this one does not tell its interfaces: is the one there?";
        failure.message = format!("{}; {hint}", failure.message);
    }
    failure
}
