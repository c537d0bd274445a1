//! Error for a peer that accepts connections and sends nothing.

use crate::address::PeerAddress;
use std::time::Duration;

/// Why a peer that accepts connections may send nothing, and what to do.
pub(crate) fn no_greeting(peer: &PeerAddress, silence: Duration) -> String {
    let kind = peer.kind();
    let usual = linerate_peers::ALL.iter().find(|other| {
        let is_default = other.about().default_port == peer.port();
        is_default && peer.port() != kind.about().default_port
    });
    let other = usual.map(|other| {
        let (port, id) = (peer.port(), other.id());
        format!("port {port} is usually that of {id}, which is asked as {id}://HOST; ")
    });
    format!(
        "it accepted the connection and said nothing for {} s: a {} that is busy with another client or hangs, or another service; {}see that {} runs there, or wait longer with --timeout",
        silence.as_secs_f64(),
        kind.name(),
        other.unwrap_or_default(),
        kind.about().start_hint
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Client, Target};
    use linerate_model::exit::{ExitCode, Failure};
    use linerate_peers::Control;
    use std::net::TcpListener;

    /// Error for a silent listener, by the scheme of a protocol.
    fn said_of_a_mute(scheme: &str) -> Failure {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let far = PeerAddress::parse(&format!("{scheme}{address}")).unwrap();
        let target = Target {
            first_answer: Duration::from_millis(10),
            // A test that waited for this would not pass.
            timeout: Duration::from_hours(1),
            ..Target::new(far)
        };
        let error = Client::connect(&target).err().expect("nobody speaks there");
        error.downcast().unwrap()
    }

    #[test]
    fn a_listener_that_says_nothing_is_given_up_soon_in_every_protocol() {
        for kind in linerate_peers::ALL {
            if kind.about().control != Control::Connection {
                continue;
            }
            let said = said_of_a_mute(&format!("{}://", kind.id()));
            assert_eq!(said.code, ExitCode::Peer, "{said}");
            let hint = kind.about().start_hint;
            assert!(said.message.contains("said nothing for 0.01 s"), "{said}");
            assert!(said.message.contains(hint), "{said}");
        }
    }

    #[test]
    fn the_protocol_that_usually_has_the_port_is_named() {
        let far = PeerAddress::parse("127.0.0.1:5201").unwrap();
        let said = no_greeting(&far, Duration::from_secs(2));
        assert!(said.contains("iperf3://HOST"), "{said}");
        let far = PeerAddress::parse("iperf3://127.0.0.1").unwrap();
        assert!(!no_greeting(&far, Duration::from_secs(2)).contains("usually"));
    }

    #[test]
    fn a_timeout_of_the_users_choice_is_also_that_of_the_first_answer() {
        let mut target = Target::new(PeerAddress::parse("a").unwrap());
        assert_eq!(target.first_answer, linerate_peers::FIRST_ANSWER);
        target.set_timeout(Duration::from_secs(30));
        assert_eq!(target.first_answer, Duration::from_secs(30));
    }
}
