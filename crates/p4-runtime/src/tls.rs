//! Who a switch and its controllers are to each other: certificates and keys.

use std::error::Error;
use std::fmt;
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};

/// A certificate with its key, in PEM form.
#[derive(Clone)]
pub struct OwnCertificate {
    /// The certificate, and those up to its root.
    pub chain: Vec<u8>,
    /// Its private key.
    pub key: Vec<u8>,
}

impl fmt::Debug for OwnCertificate {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnCertificate").finish_non_exhaustive()
    }
}

/// How a server shows who it is, and whom it lets in.
#[derive(Debug, Clone)]
pub struct Tls {
    /// What it shows.
    pub own: OwnCertificate,
    /// Certificates of whom clients must have theirs from, in PEM form; `None`: clients need none.
    pub clients: Option<Vec<u8>>,
}

impl Tls {
    pub(crate) fn of_server(&self) -> ServerTlsConfig {
        let config = ServerTlsConfig::new().identity(identity(&self.own));
        match &self.clients {
            None => config,
            Some(roots) => config.client_ca_root(Certificate::from_pem(roots)),
        }
    }
}

/// Whom a client trusts, and what it shows.
#[derive(Debug, Clone)]
pub struct ClientTls {
    /// Certificates of whom the server must have its own from, in PEM form.
    pub roots: Vec<u8>,
    /// What it shows, to a server that asks for it.
    pub own: Option<OwnCertificate>,
    /// The name in the server's certificate; `None`: the host of its address.
    pub name: Option<String>,
}

impl ClientTls {
    /// Whether whom to trust has a certificate at all.
    pub(crate) fn has_roots(&self) -> bool {
        let begin = b"-----BEGIN ";
        self.roots.windows(begin.len()).any(|part| part == begin)
    }

    pub(crate) fn of_client(&self) -> ClientTlsConfig {
        let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&self.roots));
        if let Some(own) = &self.own {
            config = config.identity(identity(own));
        }
        match &self.name {
            None => config,
            Some(name) => config.domain_name(name),
        }
    }
}

fn identity(own: &OwnCertificate) -> Identity {
    Identity::from_pem(&own.chain, &own.key)
}

/// What is behind an error of the transport, which itself says little, and what to do where rustls does not say it.
pub(crate) fn reason(error: &dyn Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    let said = last.to_string();
    let advice = [
        (
            "InvalidContentType",
            "; it answers without TLS: leave the authorities' file out",
        ),
        (
            "CaUsedAsEndEntity",
            "; its certificate is an authority's own: give it one that the authority signed",
        ),
    ];
    let advice = advice.iter().find(|(word, _)| said.contains(word));
    said.clone() + advice.map_or("", |(_, advice)| advice)
}
