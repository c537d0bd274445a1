//! TLS with the database. As libpq does: without certificates to trust, what is sent is encrypted, and whose server it is
//! stays unknown, unless the password is proved over this very session (SCRAM with channel binding).

use linerate_model::exit::{ExitCode, Failure};
use linerate_sys::bounded;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, aws_lc_rs};
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};
use std::path::Path;
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Most bytes of a file of certificates: those of all public authorities take 220 kB.
const MAX_BYTES: u64 = 4 << 20;

/// How sessions are encrypted: with `authorities`, only with a server whose certificate one of them signed for its name.
///
/// # Errors
///
/// The file cannot be read or has no certificate, as [`ExitCode::Plan`].
pub(super) fn connector(authorities: Option<&Path>) -> Result<MakeRustlsConnect, Failure> {
    let provider = aws_lc_rs::default_provider();
    let algorithms = provider.signature_verification_algorithms;
    let builder = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::new(ExitCode::Other, format!("TLS: {error}")))?;
    let config = match authorities {
        Some(path) => builder.with_root_certificates(roots(path)?),
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyServer(algorithms))),
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

fn roots(path: &Path) -> Result<RootCertStore, Failure> {
    let wrong = |why: &str| {
        let message = format!(
            "--database-ca {}: {why}; give a PEM file of the authorities that sign the database's certificate",
            path.display()
        );
        Failure::new(ExitCode::Plan, message)
    };
    let text = bounded::read_text_file(path, MAX_BYTES).map_err(|e| wrong(&e.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        let certificate = certificate.map_err(|error| wrong(&error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| wrong(&error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(wrong("it has no certificate"));
    }
    Ok(roots)
}

/// Accepts every certificate whose private key the server has.
#[derive(Debug)]
struct AnyServer(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
