//! What parameters and files say of the headers of a test's frames, and how long these are.

use crate::build::Build;
use crate::error::{HeaderError, Result};
use crate::pcap::Reader;
use crate::{ETHERNET_HEADER, End, Flow, FrameHeaders, Layout, Transport, Way};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// Most bytes of all headers, so that a receiver that looks for the payload behind others than these finds it.
const MAX_BYTES: usize = 200;

/// A parameter that does not say what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {why}")]
pub struct ParamError {
    /// Its key.
    pub key: &'static str,
    /// What is wrong with it.
    pub why: HeaderError,
}

impl FrameHeaders {
    /// Keys of the parameters that say them.
    pub const HEADERS: &str = "headers";
    /// Key of the transport.
    pub const L4: &str = "l4";
    /// Key of a template, in hexadecimal.
    pub const TEMPLATE: &str = "template";
    /// Key of the template of frames from port B to port A.
    pub const B_TEMPLATE: &str = "b-template";

    /// From the parameters with the keys above.
    ///
    /// # Errors
    /// The key, and what is wrong with its text.
    pub fn from_params<'a>(text: impl Fn(&str) -> Option<&'a str>) -> Result<Self, ParamError> {
        let of = |key| move |why| ParamError { key, why };
        let stack = text(Self::HEADERS).map(str::parse).transpose();
        let transport = text(Self::L4).map(str::parse).transpose();
        let bytes = |key| text(key).map(template).transpose().map_err(of(key));
        let headers = Self {
            stack: stack.map_err(of(Self::HEADERS))?.unwrap_or_default(),
            transport: transport.map_err(of(Self::L4))?.unwrap_or_default(),
            template: bytes(Self::TEMPLATE)?,
            b_template: bytes(Self::B_TEMPLATE)?,
        };
        headers.check_templates().map_err(of(Self::B_TEMPLATE))?;
        headers.check().map_err(of(Self::HEADERS))?;
        Ok(headers)
    }

    /// Frames of both ways have one length, and with it one rate on the wire.
    fn check_templates(&self) -> Result<()> {
        let length = |template: &Arc<[u8]>| template.len();
        let lengths = [&self.template, &self.b_template].map(|one| one.as_ref().map(length));
        let why = match lengths {
            [_, None] => return Ok(()),
            [Some(own), Some(other)] if own == other => return Ok(()),
            [None, _] => "give the template of the other way too".to_owned(),
            [Some(own), Some(other)] => format!(
                "templates of both ways are equally long: this one has {other} B, the other {own}"
            ),
        };
        Err(HeaderError(why))
    }

    fn check(&self) -> Result<()> {
        if self.template.is_some() {
            let is_alone = self.stack.is_empty() && self.transport == Transport::default();
            let why = || HeaderError("a template has its own headers: leave these out".to_owned());
            return is_alone.then_some(()).ok_or_else(why);
        }
        let bytes = self.bytes(true).max(self.bytes(false));
        if bytes <= MAX_BYTES {
            return Ok(());
        }
        Err(HeaderError(format!(
            "all headers together have {bytes} B; {MAX_BYTES} are the most"
        )))
    }

    /// An Ethernet header with the tags that frames begin with, before a packet of this `EtherType`: that of neighbours on the
    /// same link.
    pub fn link(&self, to: [u8; 6], from: [u8; 6], ethertype: u16) -> Vec<u8> {
        let end = |mac| End {
            mac,
            address: SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0),
        };
        let flow = Flow {
            local: end(from),
            remote: end(to),
            traffic_class: 0,
        };
        let mut build = Build::new(&flow, Way::AToB);
        let layers = self.stack.layers().iter();
        let tags: Vec<_> = layers.take_while(|layer| layer.is_tag()).collect();
        let types = tags.iter().map(|tag| tag.ethertype(&build));
        let types: Vec<u16> = types.chain([ethertype]).collect();
        build.ethernet(types[0]);
        for (tag, next) in tags.iter().zip(&types[1..]) {
            tag.write(&mut build, *next);
        }
        build.bytes
    }

    /// Bytes before the payload of a frame with packets of IPv4, or else IPv6.
    pub fn bytes(&self, is_ipv4: bool) -> usize {
        let address: IpAddr = if is_ipv4 {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        let end = End {
            mac: [0; 6],
            address: SocketAddr::new(address, 0),
        };
        let flow = Flow {
            local: end,
            remote: end,
            traffic_class: 0,
        };
        Layout::new(self, &flow, Way::AToB).payload_at()
    }
}

/// Most bytes of a template.
const MAX_TEMPLATE: usize = 1024;

/// Reads a template from a parameter: hexadecimal digits.
fn template(text: &str) -> Result<Arc<[u8]>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| {
            digit
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        })
        .collect::<Option<_>>()
        .ok_or_else(|| HeaderError("it takes hexadecimal digits".to_owned()))?;
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() || !(ETHERNET_HEADER..=MAX_TEMPLATE).contains(&pairs.len()) {
        return Err(HeaderError(format!(
            "it takes {ETHERNET_HEADER} to {MAX_TEMPLATE} whole bytes, not {} digits",
            digits.len()
        )));
    }
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
    // A checksum is a sum of 16-bit words, which number and time must not split.
    let transport = Layout::of_bytes(bytes.clone()).transport();
    match transport {
        Some(known) if !(bytes.len() - known.at).is_multiple_of(2) => Err(HeaderError(format!(
            "its {} header is at byte {}, so number and time must be at an even distance from there, not at byte {}: give another offset",
            known.kind,
            known.at,
            bytes.len()
        ))),
        _ => Ok(bytes.into()),
    }
}

/// The parameter [`FrameHeaders::TEMPLATE`] of a file: the first packet of a pcap capture, or hexadecimal digits with
/// blanks, colons and `#` comments between them. Number and time of each frame come at byte `offset`, or else at its end.
///
/// # Errors
/// What the file is instead, or how long it is.
pub fn template_param(file: &[u8], offset: Option<usize>) -> Result<String> {
    let bytes = match std::str::from_utf8(file) {
        Ok(text) if !file.contains(&0) => from_hex(text)?,
        _ => first_packet(file)?,
    };
    let length = offset.unwrap_or(bytes.len());
    let own = bytes.get(..length).ok_or_else(|| {
        HeaderError(format!(
            "it has {} bytes, and none at offset {length}",
            bytes.len()
        ))
    })?;
    let mut text = String::new();
    for byte in own {
        write!(text, "{byte:02x}").map_err(|error| HeaderError(error.to_string()))?;
    }
    template(&text).map(|_| text)
}

fn from_hex(text: &str) -> Result<Vec<u8>> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    let digits: String = lines
        .flat_map(str::chars)
        .filter(|letter| !letter.is_whitespace() && *letter != ':')
        .collect();
    let pair = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).ok();
    let letters: Vec<char> = digits.chars().collect();
    let is_even =
        letters.len().is_multiple_of(2) && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    let bytes = letters.chunks(2).map(pair).collect::<Option<Vec<u8>>>();
    bytes.filter(|_| is_even).ok_or_else(|| {
        HeaderError("it is neither a pcap capture nor whole bytes in hexadecimal".to_owned())
    })
}

fn first_packet(file: &[u8]) -> Result<Vec<u8>> {
    let packet = Reader::new(file).and_then(|mut reader| reader.next_frame());
    let packet = packet.map_err(|error| HeaderError(error.to_string()))?;
    let packet = packet.ok_or_else(|| HeaderError("the capture has no packet".to_owned()))?;
    Ok(packet.frame)
}
