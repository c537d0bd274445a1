//! The header's structures and plain memory, as Rust has them.

use core::ffi::{CStr, c_char, c_void};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use linerate_responder::Config;

/// `struct linerate_config`.
#[repr(C)]
pub struct Settings {
    board: *const c_char,
    processor: *const c_char,
    stack: *const c_char,
    emulated: *const c_char,
    receive_port: u16,
    send_port: u16,
    max_datagram: u16,
    random: u64,
}

impl Settings {
    pub(crate) fn config(&self) -> Config {
        Config {
            board: text(self.board),
            processor: text(self.processor),
            stack: text(self.stack),
            emulated: text(self.emulated),
            receive_port: self.receive_port,
            send_port: self.send_port,
            max_datagram: self.max_datagram,
            random: self.random,
        }
    }
}

/// `struct linerate_address`.
#[repr(C)]
pub struct Address {
    bytes: [u8; 16],
    length: u8,
    port: u16,
}

impl Address {
    pub(crate) fn socket(&self) -> SocketAddr {
        let [a, b, c, d, ..] = self.bytes;
        let ip = if self.length == 4 {
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        } else {
            IpAddr::V6(Ipv6Addr::from(self.bytes))
        };
        SocketAddr::new(ip, self.port)
    }

    pub(crate) fn from_socket(address: SocketAddr) -> Self {
        let mut bytes = [0; 16];
        let length = match address.ip() {
            IpAddr::V4(ip) => {
                bytes[..4].copy_from_slice(&ip.octets());
                4
            }
            IpAddr::V6(ip) => {
                bytes = ip.octets();
                16
            }
        };
        Self {
            bytes,
            length,
            port: address.port(),
        }
    }
}

/// A text of the configuration; nothing where there is none, or no UTF-8.
fn text(pointer: *const c_char) -> &'static str {
    if pointer.is_null() {
        return "";
    }
    // SAFETY: the configuration's texts end with a zero and stay, by the contract of `linerate_responder_init`.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().unwrap_or_default()
}

/// The caller's bytes.
///
/// # Safety
/// `pointer` has `length` bytes, or there are none.
pub(crate) unsafe fn bytes<'a>(pointer: *const c_void, length: usize) -> &'a [u8] {
    if pointer.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the caller's word.
    unsafe { core::slice::from_raw_parts(pointer.cast(), length) }
}

/// The bytes behind `pointer`, to change them.
///
/// # Safety
/// As of [`bytes`].
pub(crate) unsafe fn room<'a>(pointer: *mut c_void, length: usize) -> &'a mut [u8] {
    if pointer.is_null() || length == 0 {
        return &mut [];
    }
    // SAFETY: the caller's word.
    unsafe { core::slice::from_raw_parts_mut(pointer.cast(), length) }
}
