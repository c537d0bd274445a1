//! `--payload fit`: datagrams as long as the path takes in one packet.

use crate::context::Context;
use crate::watch::Event;
use anyhow::Result;
use linerate_client::Client;
use linerate_model::spec::TestSpec;

/// How long datagrams are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PayloadChoice {
    /// As the test says: longer ones go as IP fragments.
    #[default]
    AsGiven,
    /// At most what the path's MTU takes in one packet.
    Fit,
}

impl PayloadChoice {
    /// Makes `spec` what was chosen; what to say of it.
    pub(crate) fn apply(
        self,
        context: &mut Context<'_>,
        client: &mut Client,
        spec: &mut TestSpec,
    ) -> Result<Option<String>> {
        if self == Self::AsGiven {
            return Ok(None);
        }
        let given = spec.payload();
        let said = match client.path_mtu(spec, &mut || !context.interrupted())? {
            None => format!(
                "the path's MTU is not known here: each datagram has {} B of payload",
                given.get()
            ),
            Some(path) if given <= path.payload_bytes => return Ok(None),
            Some(path) => {
                spec.work.set_payload(path.payload_bytes);
                format!(
                    "each datagram has {} B of payload, the most that fits the path's MTU of {} B; {} B would go as IP fragments",
                    path.payload_bytes.get(),
                    path.packet_bytes.get(),
                    given.get()
                )
            }
        };
        context.watcher.event(Event::Note(&said));
        Ok(Some(said))
    }
}
