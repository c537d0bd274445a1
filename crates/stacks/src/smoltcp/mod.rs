//! smoltcp, which is in this program, on a TAP device; the server on it speaks iperf2.

mod device;
mod server;
mod tcp;
mod test;
mod udp;

pub use server::serve;

use crate::SMOLTCP_SERVER;
use crate::kind::{Buffers, StackKind};
use crate::options::Options;

/// Buffer sizes of sockets, from options and on the server's command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Receive buffer of a TCP socket, bytes.
    pub(super) receive: usize,
    /// Send buffer of a TCP socket, bytes.
    pub(super) send: usize,
    /// Datagrams buffered in the UDP socket per direction.
    pub(super) datagrams: usize,
}

/// smoltcp's version.
pub(super) const VERSION: &str = "0.14.0";

/// Maximum buffer size, bytes or datagrams.
const MAX: usize = 16 << 20;

impl Sizes {
    fn of(options: &Options) -> Result<Self, String> {
        let buffers = Buffers::of(options)?.unwrap_or(Buffers::Base);
        let window = buffers.window() as usize;
        let mut sizes = Self {
            receive: window,
            send: window,
            datagrams: match buffers {
                Buffers::Base => 16,
                Buffers::Large => 48,
            },
        };
        for (name, value) in options.iter().filter(|(name, _)| *name != "buffers") {
            let place = match name.as_str() {
                "tcp_wnd" => &mut sizes.receive,
                "tcp_snd_buf" => &mut sizes.send,
                "udp_datagrams" => &mut sizes.datagrams,
                _ => {
                    return Err(format!(
                        "\"{name}\" is not an option; there are buffers, tcp_wnd, tcp_snd_buf and udp_datagrams"
                    ));
                }
            };
            let number = value
                .parse()
                .ok()
                .filter(|number| (1..=MAX).contains(number));
            *place = number
                .ok_or_else(|| format!("{name}={value}: must be a whole number from 1 to {MAX}"))?;
        }
        Ok(sizes)
    }
}

/// The registry entry.
pub(crate) static KIND: StackKind = StackKind {
    id: "smoltcp",
    summary: "smoltcp, as it is built into this program, on a TAP device; options: buffers, tcp_wnd, tcp_snd_buf and udp_datagrams.",
    usual: &[("buffers", "base")],
    check: |options| Sizes::of(options).map(drop),
    arguments: |options, addresses| {
        let sizes =
            Sizes::of(options).expect("invariant: options were checked when they were read");
        vec![
            SMOLTCP_SERVER.to_owned(),
            addresses.ipv4().to_string(),
            addresses.ipv6().to_string(),
            sizes.receive.to_string(),
            sizes.send.to_string(),
            sizes.datagrams.to_string(),
        ]
    },
    ..StackKind::OWN
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_lock_file() {
        let lock = include_str!("../../../../Cargo.lock");
        let entry = format!("name = \"smoltcp\"\nversion = \"{VERSION}\"\n");
        assert!(lock.contains(&entry), "{VERSION}");
    }

    fn sizes(given: &[(&str, &str)]) -> Result<Sizes, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Sizes::of(&given.iter().map(owned).collect())
    }

    #[test]
    fn single_sizes_overrule_the_set() {
        let base = sizes(&[]).unwrap();
        assert_eq!((base.receive, base.send, base.datagrams), (5840, 5840, 16));
        let large = sizes(&[("buffers", "large-buffers"), ("tcp_wnd", "9000")]).unwrap();
        assert_eq!(
            (large.receive, large.send, large.datagrams),
            (9000, 23360, 48)
        );
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        for wrong in [
            ("tcp_wnd", "0"),
            ("tcp_wnd", "x"),
            ("udp_datagrams", "99999999"),
            ("opt", "O2"),
        ] {
            assert!(sizes(&[wrong]).is_err(), "{wrong:?}");
        }
    }
}
