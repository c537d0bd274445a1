//! Packets to and from the controller: metadata as a header in front of them.

use super::bytes::{canonical, number};
use super::key::Bits;
use crate::info::PacketSchema;
use crate::proto::p4::v1::{PacketIn, PacketMetadata, PacketOut};
use crate::refusal::{Result, invalid};

/// The frame that a packet of the controller is for the switch: header and payload.
pub(crate) fn packet_out(schema: &PacketSchema, packet: &PacketOut) -> Result<Vec<u8>> {
    let known = |id| schema.fields.iter().any(|field| field.id == id);
    if let Some(extra) = packet
        .metadata
        .iter()
        .find(|given| !known(given.metadata_id))
    {
        return invalid(format!(
            "packet_out has no metadata field {}",
            extra.metadata_id
        ));
    }
    let (fields, width) = schema.header();
    let mut header = Bits::new(width);
    for field in fields {
        let mut given = packet
            .metadata
            .iter()
            .filter(|given| given.metadata_id == field.id);
        let (one, more) = (given.next(), given.next());
        match (one, more) {
            (Some(one), None) => {
                header.push(&number(&one.value, field.width, &field.name)?, field.width);
            }
            (Some(_), Some(_)) => return invalid(format!("{} is given twice", field.name)),
            // Controllers leave padding out.
            (None, _) if field.name.starts_with('_') => header.push(&[0], field.width),
            (None, _) => {
                return invalid(format!(
                    "packet_out lacks its metadata field {}",
                    field.name
                ));
            }
        }
    }
    let mut frame = header.bytes;
    frame.extend_from_slice(&packet.payload);
    Ok(frame)
}

/// The message of a frame that left for the controller; `None` if it is shorter than its header.
pub(crate) fn packet_in(schema: &PacketSchema, frame: &[u8]) -> Option<PacketIn> {
    let (fields, width) = schema.header();
    let (header, payload) = frame.split_at_checked(width as usize / 8)?;
    let bits = Bits::from(header, width);
    let mut at = 0;
    let mut metadata = Vec::new();
    for field in fields {
        metadata.push(PacketMetadata {
            metadata_id: field.id,
            value: canonical(&bits.get(at, field.width)),
        });
        at += field.width;
    }
    Some(PacketIn {
        payload: payload.to_vec(),
        metadata,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::{FieldKind, FieldSchema};
    use proptest::prelude::*;

    fn schema() -> PacketSchema {
        let field = |id, name: &str, width| FieldSchema {
            id,
            name: name.to_owned(),
            width,
            kind: FieldKind::Exact,
            translation: crate::info::Translation::None,
            format: None,
        };
        let fields = vec![
            field(1, "port", 9),
            field(2, "_pad", 7),
            field(3, "tag", 72),
        ];
        PacketSchema { fields }
    }

    proptest! {
        #[test]
        fn metadata_and_payload_come_back(port in 0_u16..512, tag in any::<[u8; 9]>(), payload: Vec<u8>) {
            let metadata = [(1, port.to_be_bytes().to_vec()), (2, vec![5]), (3, tag.to_vec())]
                .map(|(metadata_id, value)| PacketMetadata { metadata_id, value: canonical(&value) });
            let out = PacketOut { payload, metadata: metadata.to_vec() };
            let frame = packet_out(&schema(), &out).unwrap();
            let back = packet_in(&schema(), &frame).unwrap();
            prop_assert_eq!((back.payload, back.metadata), (out.payload, out.metadata));
        }
    }

    #[test]
    fn a_header_that_the_compiler_left_out_is_in_no_packet() {
        let mut schema = schema();
        schema.fields.remove(1);
        let (payload, metadata) = (vec![1, 2, 3], Vec::new());
        let out = PacketOut { payload, metadata };
        assert_eq!(packet_out(&schema, &out).unwrap(), [1, 2, 3]);
        let back = packet_in(&schema, &[1, 2, 3]).unwrap();
        assert_eq!((back.payload, back.metadata), (vec![1, 2, 3], Vec::new()));
    }

    #[test]
    fn metadata_that_does_not_fit_is_refused() {
        let out = |metadata: &[(u32, &[u8])]| {
            let metadata = metadata.iter().map(|(metadata_id, value)| PacketMetadata {
                metadata_id: *metadata_id,
                value: value.to_vec(),
            });
            packet_out(
                &schema(),
                &PacketOut {
                    payload: vec![],
                    metadata: metadata.collect(),
                },
            )
        };
        assert!(
            out(&[(1, &[1]), (3, &[1])]).is_ok(),
            "padding may be left out"
        );
        assert!(out(&[(1, &[1])]).is_err());
        assert!(out(&[(1, &[2, 0]), (3, &[1])]).is_err());
        assert!(out(&[(1, &[1]), (1, &[1]), (3, &[1])]).is_err());
        assert!(out(&[(1, &[1]), (3, &[1]), (7, &[1])]).is_err());
        assert_eq!(packet_in(&schema(), &[0; 10]), None);
    }
}
