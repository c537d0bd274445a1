//! One reading's view of the host: files below a root, and netlink.

use crate::error::ReadError;
use linerate_sys::host_files::HostFiles;
use linerate_sys::netlink::{InterfaceName, Link, Netlink};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

/// Maximum length read of one file. `/proc/stat` of 4096 cores has 600 KB.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;

/// The host to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Interface that carries the traffic, if known (see [`crate::interface_for`]).
    pub interface: Option<String>,
    /// Further interfaces that do: their packets and drops count with its own.
    pub beside: Vec<String>,
    /// Its files: those of this host, or a copy of `proc`, `sys` and `etc`, without netlink.
    pub root: HostFiles,
}

impl Scope {
    /// The live host, with the interface that carries the traffic.
    pub fn live(interface: Option<String>) -> Self {
        Self {
            interface,
            beside: Vec::new(),
            root: HostFiles::live(),
        }
    }
}

/// One reading's view of the host. Caches each shared source for its short life, so that collectors that use the same
/// file or netlink answer see the same moment, at the cost of one read.
#[derive(Debug)]
pub struct HostView<'a> {
    scope: &'a Scope,
    texts: RefCell<BTreeMap<&'static str, Result<Rc<str>, ReadError>>>,
    link: OnceCell<Result<Link, ReadError>>,
}

impl<'a> HostView<'a> {
    /// A view without cached sources.
    pub fn new(scope: &'a Scope) -> Self {
        Self {
            scope,
            texts: RefCell::default(),
            link: OnceCell::new(),
        }
    }

    /// Whether this is the live host and not a copy of its files.
    pub fn is_live(&self) -> bool {
        self.scope.root.is_live()
    }

    /// The interface that carries the traffic.
    pub fn interface(&self) -> Result<&'a str, ReadError> {
        let (name, _) = self.named_interface()?;
        Ok(name)
    }

    /// That interface, and those beside it.
    pub(crate) fn interfaces(&self) -> Result<Vec<&'a str>, ReadError> {
        let first = self.interface()?;
        let beside = self.scope.beside.iter().map(String::as_str);
        Ok(std::iter::once(first).chain(beside).collect())
    }

    /// The same host with each of those beside it alone.
    pub(crate) fn beside(&self) -> Vec<Scope> {
        let alone = |interface: &String| Scope {
            interface: Some(interface.clone()),
            beside: Vec::new(),
            root: self.scope.root.clone(),
        };
        self.scope.beside.iter().map(alone).collect()
    }

    /// Validated name of the interface that carries the traffic, for requests to the kernel.
    pub(crate) fn interface_name(&self) -> Result<InterfaceName, ReadError> {
        let (_, name) = self.named_interface()?;
        Ok(name)
    }

    /// Name of the interface, validated against path traversal (see [`InterfaceName`]).
    fn named_interface(&self) -> Result<(&'a str, InterfaceName), ReadError> {
        let name = self.scope.interface.as_deref();
        let name = name.ok_or(ReadError::NoInterface)?;
        let valid = InterfaceName::new(name).ok_or_else(|| ReadError::InterfaceName {
            name: name.to_owned(),
        })?;
        Ok((name, valid))
    }

    /// Netlink properties of that interface, in the calling thread's namespace.
    pub fn link(&self) -> Result<&Link, ReadError> {
        let ask = || {
            let name = self.interface_name()?;
            if !self.is_live() {
                return Err(ReadError::NotLive);
            }
            Netlink::new()
                .and_then(|mut netlink| netlink.link_named(&name))
                .map_err(ReadError::netlink("the interface"))
        };
        self.link.get_or_init(ask).as_ref().map_err(Clone::clone)
    }

    /// A file below the root (`proc/stat`), read once per view.
    pub fn text(&self, path: &'static str) -> Result<Rc<str>, ReadError> {
        let mut texts = self.texts.borrow_mut();
        texts
            .entry(path)
            .or_insert_with(|| self.read(path).map(Rc::from))
            .clone()
    }

    /// A file below the root, read now. Invalid UTF-8 is replaced.
    pub fn read(&self, path: &str) -> Result<String, ReadError> {
        let bytes = self.files().read(path, FILE_LIMIT);
        let bytes = bytes.map_err(|error| ReadError::file(self.files().shown(path), &error))?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()))
    }

    /// The names in a directory below the root, sorted; empty if it cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let mut names = self.files().names(path).unwrap_or_default();
        names.sort_unstable();
        names
    }

    /// Where a link below the root leads to, as it says it.
    pub fn link_target(&self, path: &str) -> Option<PathBuf> {
        self.files().link(path).ok()
    }

    /// The last part of where a link below the root leads to, such as the name of a driver.
    pub fn link_name(&self, path: &str) -> Option<String> {
        Some(self.link_target(path)?.file_name()?.to_str()?.to_owned())
    }

    /// The files below the root.
    pub(crate) fn files(&self) -> &'a HostFiles {
        &self.scope.root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view_of(interface: &str) -> Scope {
        Scope::live(Some(interface.to_owned()))
    }

    #[test]
    fn an_interface_name_cannot_lead_out_of_its_directory() {
        for name in ["..", ".", "", "a/b", "a b", "a:1", "sixteen-letters-"] {
            let scope = view_of(name);
            let error = HostView::new(&scope).interface().unwrap_err();
            assert!(matches!(error, ReadError::InterfaceName { .. }), "{name}");
        }
        let scope = view_of("enp0s31f6.4094");
        assert_eq!(HostView::new(&scope).interface(), Ok("enp0s31f6.4094"));
    }

    #[test]
    fn an_unknown_interface_is_refused_by_the_kernel_with_what_was_asked() {
        let scope = view_of("no-such-if");
        let error = HostView::new(&scope).link().unwrap_err().to_string();
        assert!(
            error.starts_with("netlink request for the interface: No such device"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_file_is_named_in_the_reason() {
        let root = tempfile::tempdir().unwrap();
        let scope = Scope {
            interface: None,
            beside: Vec::new(),
            root: HostFiles::new(root.path()),
        };
        let error = HostView::new(&scope).text("proc/stat").unwrap_err();
        assert!(error.is_absent());
        assert!(error.to_string().contains("proc/stat"), "{error}");
    }

    #[test]
    fn a_device_and_a_file_that_is_too_long_are_refused_by_name() {
        let live = Scope::live(None);
        let error = HostView::new(&live).read("dev/zero").unwrap_err();
        let why = "/dev/zero: not a regular file, so it is not opened";
        assert_eq!(error.to_string(), why);
        let root = tempfile::tempdir().unwrap();
        let long = std::fs::File::create(root.path().join("stat")).unwrap();
        long.set_len(FILE_LIMIT + 1).unwrap();
        let scope = Scope {
            interface: None,
            beside: Vec::new(),
            root: HostFiles::new(root.path()),
        };
        let error = HostView::new(&scope).read("stat").unwrap_err().to_string();
        assert!(
            error.ends_with("stat: it has more than 4194304 bytes"),
            "{error}"
        );
    }

    #[test]
    fn a_file_is_read_once_per_view() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("uptime");
        std::fs::write(&path, "1\n").unwrap();
        let scope = Scope {
            interface: None,
            beside: Vec::new(),
            root: HostFiles::new(root.path()),
        };
        let view = HostView::new(&scope);
        assert_eq!(&*view.text("uptime").unwrap(), "1\n");
        std::fs::write(&path, "2\n").unwrap();
        assert_eq!(&*view.text("uptime").unwrap(), "1\n");
        assert_eq!(view.read("uptime").unwrap(), "2\n");
    }
}
