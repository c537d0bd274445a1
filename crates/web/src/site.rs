//! What the site is made of: the store, and who may do what.

use crate::access::{Token, cookie};
use crate::live::Live;
use linerate_archive::Store;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// What needs the printed link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rights {
    /// Also reading.
    pub(crate) needs_link_to_read: bool,
}

/// The site.
pub(crate) struct Site {
    pub(crate) store: Store,
    pub(crate) at: SocketAddr,
    /// The test that the site started; none where it may start none.
    pub(crate) live: Option<Arc<Live>>,
    rights: Rights,
    /// What the printed link holds; none once it was used.
    link: Mutex<Option<Token>>,
    /// What the cookie of who used it holds.
    session: Token,
    cookie_name: String,
}

impl Site {
    /// A site over `store` that listens at `at`.
    pub(crate) fn new(
        store: Store,
        rights: Rights,
        at: SocketAddr,
        live: Option<Arc<Live>>,
    ) -> io::Result<Self> {
        Ok(Self {
            live,
            store,
            at,
            rights,
            link: Mutex::new(Some(Token::new()?)),
            session: Token::new()?,
            cookie_name: format!("linerate-{}", at.port()),
        })
    }

    /// Where to begin: the one-time link if one is needed.
    pub(crate) fn entrance(&self, at: SocketAddr) -> String {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        match &*link {
            Some(token) if self.has_rights_to_give() => {
                format!("http://{at}/enter?token={}", token.as_str())
            }
            _ => format!("http://{at}/"),
        }
    }

    const fn has_rights_to_give(&self) -> bool {
        self.rights.needs_link_to_read || self.live.is_some()
    }

    /// Whether only this machine reaches the site.
    pub(crate) fn is_for_this_machine(&self) -> bool {
        self.at.ip().is_loopback()
    }

    /// Whether who sent these cookies may read.
    pub(crate) fn may_read(&self, cookies: Option<&str>) -> bool {
        !self.rights.needs_link_to_read || self.has_entered(cookies)
    }

    /// Whether these cookies are of who used the link.
    pub(crate) fn has_entered(&self, cookies: Option<&str>) -> bool {
        let own = cookies.and_then(|cookies| cookie(cookies, &self.cookie_name));
        own.is_some_and(|given| self.session.is(given))
    }

    /// The cookie for who brings the token of the link; the link is used up by that.
    pub(crate) fn enter(&self, token: &str) -> Option<String> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.take_if(|link| link.is(token))?;
        Some(format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict",
            self.cookie_name,
            self.session.as_str()
        ))
    }
}
