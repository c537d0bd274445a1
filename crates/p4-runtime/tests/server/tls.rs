//! Encrypted connections: who is let in, and who is not.

use crate::bench::{Bench, PATIENCE};
use linerate_p4_runtime::{
    Client, ClientError, ClientTls, Options, OwnCertificate, ServeError, Tls,
};

/// A file of the folder of certificates.
macro_rules! file {
    ($($name:literal)+) => {
        include_bytes!(concat!("certificates/" $(, $name)+)).to_vec()
    };
}

/// A certificate and its key, by their name there.
macro_rules! own {
    ($name:literal) => {
        OwnCertificate {
            chain: file!($name ".pem"),
            key: file!($name ".key"),
        }
    };
}

/// A client that trusts whoever these certificates are of, with a certificate of its own perhaps.
fn trusts(roots: &[u8], own: Option<OwnCertificate>) -> ClientTls {
    ClientTls {
        roots: roots.to_vec(),
        own,
        name: None,
    }
}

fn bench(tls: Tls) -> Bench {
    let options = Options {
        tls: Some(tls),
        ..Options::default()
    };
    Bench::with(options, true)
}

/// A pipeline read by a client, or why not.
fn read(bench: &Bench, tls: Option<&ClientTls>) -> Result<bool, ClientError> {
    let address = bench.server.address().to_string();
    let client = Client::connect_with(&address, 1, PATIENCE, tls)?;
    Ok(client.pipeline()?.is_some())
}

#[test]
fn whoever_trusts_the_certificate_is_let_in_and_nobody_without_encryption() {
    let known = trusts(&file!("servers.pem"), None);
    let bench = bench(Tls {
        own: own!("loopback"),
        clients: None,
    });
    assert!(read(&bench, Some(&known)).expect("let in"));
    let other = trusts(&file!("clients.pem"), None);
    read(&bench, Some(&other)).expect_err("another authority");
    let plain = read(&bench, None).expect_err("no encryption").to_string();
    assert!(plain.contains("only with TLS"), "{plain}");
    let none = read(&bench, Some(&trusts(b"{}", None))).expect_err("no authority");
    assert!(matches!(none, ClientError::Tls(_)), "{none}");
    // The server is alive.
    assert!(read(&bench, Some(&known)).expect("let in"));
}

#[test]
fn a_name_that_the_certificate_has_not_is_refused() {
    let known = trusts(&file!("servers.pem"), None);
    let bench = bench(Tls {
        own: own!("named"),
        clients: None,
    });
    read(&bench, Some(&known)).expect_err("another name");
    let named = ClientTls {
        name: Some("switch.example".to_owned()),
        ..known
    };
    assert!(read(&bench, Some(&named)).expect("let in"));
}

#[test]
fn clients_need_a_certificate_where_the_server_asks_for_one() {
    let bench = bench(Tls {
        own: own!("loopback"),
        clients: Some(file!("clients.pem")),
    });
    let with = |own| read(&bench, Some(&trusts(&file!("servers.pem"), own)));
    with(None).expect_err("no certificate");
    with(Some(own!("stranger"))).expect_err("of another authority");
    assert!(with(Some(own!("controller"))).expect("let in"));
}

#[test]
fn a_server_without_encryption_is_told_as_such() {
    let bench = Bench::with(Options::default(), true);
    let known = trusts(&file!("servers.pem"), None);
    let refused = read(&bench, Some(&known)).expect_err("no encryption");
    assert!(refused.to_string().contains("without TLS"), "{refused}");
}

#[test]
fn what_is_no_certificate_is_refused_at_the_start() {
    let mixed = OwnCertificate {
        key: file!("named.key"),
        ..own!("loopback")
    };
    let none = OwnCertificate {
        chain: b"no certificate".to_vec(),
        key: b"no key".to_vec(),
    };
    for own in [mixed, none] {
        let options = Options {
            tls: Some(Tls { own, clients: None }),
            ..Options::default()
        };
        let refused = Bench::tried(options).expect_err("no server");
        assert!(matches!(refused, ServeError::Tls(_)), "{refused}");
    }
}
