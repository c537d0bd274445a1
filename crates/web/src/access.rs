//! Who may ask: pure rules on tokens, cookies, and where a request comes from.
//!
//! Browsers send any site's requests to any address, so an address alone protects nothing. A page of another name that
//! resolves to this host (DNS rebinding) is known by its `Host`, a form of another page by its `Origin`.

use linerate_model::hex;
use linerate_sys::random::random_bytes;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// 256 random bits in hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(hex(&random_bytes::<32>()?)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `given` is this token. Takes as long whatever of it is right.
    pub(crate) fn is(&self, given: &str) -> bool {
        let differing = self.0.bytes().zip(given.bytes());
        let differing = differing.fold(0, |all, (a, b)| all | (a ^ b));
        differing == 0 && self.0.len() == given.len()
    }
}

/// The value of one cookie among those of a request. Cookies do not know ports: each site has a name of its own.
pub(crate) fn cookie<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let mut all = header.split(';');
    all.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

/// Whether `host`, as a request names the site, is a name of this machine that no other can be given: an address, or
/// `localhost`; each with the port that the site listens at.
pub(crate) fn is_own_name(host: &str, at: SocketAddr) -> bool {
    if let Ok(named) = host.parse::<SocketAddr>() {
        return named.port() == at.port();
    }
    if host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
        return at.port() == 80;
    }
    let (name, port) = host.rsplit_once(':').unwrap_or((host, "80"));
    name.eq_ignore_ascii_case("localhost") && port.parse() == Ok(at.port())
}

/// Whether a request that changes something was made by a page of this site.
///
/// Browsers send `Sec-Fetch-Site` or, older ones, `Origin` with every form; a request with neither is none of a page.
pub(crate) fn is_same_site(fetch_site: Option<&str>, origin: Option<&str>, host: &str) -> bool {
    let is_own = |origin: &str| origin.strip_prefix("http://") == Some(host);
    match (fetch_site, origin) {
        (Some(site), origin) => site == "same-origin" && origin.is_none_or(is_own),
        (None, Some(origin)) => is_own(origin),
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_itself_and_no_part_of_it() {
        let token = Token::new().unwrap();
        assert_eq!(token.as_str().len(), 64);
        assert!(token.is(token.as_str()));
        assert!(!token.is(""));
        assert!(!token.is(&token.as_str()[..63]));
        assert!(!token.is(&format!("{}0", token.as_str())));
        assert!(!token.is(Token::new().unwrap().as_str()));
    }

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let header = "a=1; linerate-5380=abc; linerate-538=x";
        assert_eq!(cookie(header, "linerate-5380"), Some("abc"));
        assert_eq!(cookie(header, "linerate-538"), Some("x"));
        assert_eq!(cookie(header, "linerate"), None);
    }

    #[test]
    fn a_name_that_others_can_give_this_host_is_not_its_own() {
        let at = "127.0.0.1:5380".parse().unwrap();
        for own in ["127.0.0.1:5380", "localhost:5380", "[::1]:5380"] {
            assert!(is_own_name(own, at), "{own}");
        }
        for other in [
            "example.org:5380",
            "127.0.0.1:80",
            "127.0.0.1",
            "localhost",
            "",
        ] {
            assert!(!is_own_name(other, at), "{other}");
        }
        assert!(is_own_name("localhost", "127.0.0.1:80".parse().unwrap()));
    }

    #[test]
    fn only_the_site_s_own_pages_change_something() {
        let host = "127.0.0.1:5380";
        assert!(is_same_site(
            Some("same-origin"),
            Some("http://127.0.0.1:5380"),
            host
        ));
        assert!(is_same_site(None, Some("http://127.0.0.1:5380"), host));
        for site in ["cross-site", "same-site", "none"] {
            assert!(!is_same_site(
                Some(site),
                Some("http://127.0.0.1:5380"),
                host
            ));
        }
        for origin in [
            "null",
            "http://127.0.0.1:81",
            "http://example.org",
            "https://127.0.0.1:5380",
        ] {
            assert!(!is_same_site(None, Some(origin), host), "{origin}");
            assert!(
                !is_same_site(Some("same-origin"), Some(origin), host),
                "{origin}"
            );
        }
        assert!(!is_same_site(None, None, host));
    }
}
