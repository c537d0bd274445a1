//! Parses the kernel's answers: messages in a datagram, attributes in a message.
//!
//! Only the requested attributes of a message are parsed, each by itself. The library's own parsers refuse a whole
//! message if one attribute is unexpected, such as the statistics of `fq_codel` before Linux 4.8.

use netlink_packet_core::{
    ErrorBuffer, NLA_HEADER_SIZE, NLMSG_ERROR, NetlinkBuffer, NlasIterator, parse_string, parse_u32,
};
use std::io;

/// Body of the message of type `kind` that answers request `sequence`: fixed part and attributes; empty for an
/// acknowledgement. A refusal is the error; `None` if the datagram answers something else.
pub(super) fn answer(datagram: &[u8], kind: u16, sequence: u32) -> Option<io::Result<&[u8]>> {
    messages(datagram)
        .filter(|message| message.sequence_number() == sequence)
        .find_map(|message| match message.message_type() {
            NLMSG_ERROR => Some(acknowledged(message.payload()).map(|()| &[][..])),
            found => (found == kind).then(|| Ok(message.payload())),
        })
}

/// `Err` with the kernel's errno if the body of an `NLMSG_ERROR` is a refusal.
pub(super) fn acknowledged(body: &[u8]) -> io::Result<()> {
    let error = ErrorBuffer::new_checked(body).map_err(io::Error::other)?;
    error.code().map_or(Ok(()), |code| {
        Err(io::Error::from_raw_os_error(code.get().saturating_neg()))
    })
}

/// The complete messages in one datagram.
pub(super) fn messages(datagram: &[u8]) -> impl Iterator<Item = NetlinkBuffer<&[u8]>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let message = NetlinkBuffer::new_checked(rest).ok()?;
        let length = usize::try_from(message.length()).ok()?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

/// The complete attributes in `bytes`: type without flags, value.
pub(super) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let whole = NlasIterator::new(bytes).map_while(Result::ok);
    whole.map(|attribute| {
        let value = NLA_HEADER_SIZE..usize::from(attribute.length());
        (attribute.kind(), &attribute.into_inner()[value])
    })
}

/// The first attribute of type `kind`.
pub(super) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    let (_, value) = attributes(bytes).find(|(found, _)| *found == kind)?;
    Some(value)
}

/// The first attribute of type `kind`, as a number.
pub(super) fn number(bytes: &[u8], kind: u16) -> Option<u32> {
    parse_u32(attribute(bytes, kind)?).ok()
}

/// The first attribute of type `kind`, as text that is not empty.
pub(super) fn text(bytes: &[u8], kind: u16) -> Option<String> {
    let text = parse_string(attribute(bytes, kind)?).ok()?;
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{attribute_bytes, datagram};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_refusal_is_the_kernels_error_number() {
        let refused = datagram(NLMSG_ERROR, 9, &(-17_i32).to_ne_bytes());
        let error = answer(&refused, 16, 9).unwrap().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(17));
        let done = datagram(NLMSG_ERROR, 9, &0_i32.to_ne_bytes());
        assert_eq!(answer(&done, 16, 9).unwrap().unwrap(), b"");
        let cut = datagram(NLMSG_ERROR, 9, &[0; 2]);
        assert!(answer(&cut, 16, 9).unwrap().is_err());
    }

    #[test]
    fn answers_to_others_are_passed_over() {
        let mut bytes = datagram(16, 99, b"not ours");
        bytes.extend(datagram(20, 1, b"of another kind."));
        bytes.extend(datagram(16, 1, b"ours"));
        assert_eq!(answer(&bytes, 16, 1).unwrap().unwrap(), b"ours");
        assert!(answer(&bytes, 16, 2).is_none());
    }

    #[test]
    fn an_answer_cut_anywhere_is_not_understood() {
        let bytes = datagram(16, 1, &[0; 24]);
        for end in 0..bytes.len() {
            assert!(answer(&bytes[..end], 16, 1).is_none(), "cut at {end}");
        }
    }

    proptest! {
        #[test]
        fn attributes_are_read_as_they_are_written(values in proptest::collection::vec((0_u16..0x3fff, proptest::collection::vec(any::<u8>(), 0..20)), 0..8)) {
            let list: Vec<(u16, &[u8])> = values.iter().map(|(kind, value)| (*kind, &value[..])).collect();
            let bytes = attribute_bytes(&list);
            prop_assert_eq!(attributes(&bytes).collect::<Vec<_>>(), list);
        }
    }
}
