//! The codec of all messages: protobuf, where what would take far more memory than it has bytes is refused before it is
//! decoded. An empty element of a list has two bytes on the wire and some hundred in memory.

use crate::proto::p4::v1 as p4;
use prost::Message;
use prost::bytes::Buf as _;
use prost::encoding::{WireType, decode_key, decode_varint};
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

/// Bytes in memory that an element is taken for, by how deep it is: updates and the elements of a P4Info are large, what is
/// within an entry is small.
const ELEMENT: [usize; 4] = [512, 512, 512, 96];

/// prost refuses what is nested deeper.
const DEPTH: usize = 100;

/// What a message may take in memory once it is decoded, as [`ELEMENT`] has it.
pub(crate) trait Bounded {
    /// Bytes.
    const MOST: usize = 640 << 20;
}

/// What a switch may tell at once: its client has asked for it, and some send a table in one message.
const OF_A_SWITCH: usize = 4 << 30;

impl Bounded for p4::WriteRequest {}
impl Bounded for p4::WriteResponse {}
impl Bounded for p4::ReadRequest {}
impl Bounded for p4::ReadResponse {
    const MOST: usize = OF_A_SWITCH;
}
impl Bounded for p4::SetForwardingPipelineConfigRequest {}
impl Bounded for p4::SetForwardingPipelineConfigResponse {}
impl Bounded for p4::GetForwardingPipelineConfigRequest {}
impl Bounded for p4::GetForwardingPipelineConfigResponse {}
impl Bounded for p4::StreamMessageRequest {}
impl Bounded for p4::StreamMessageResponse {}
impl Bounded for p4::CapabilitiesRequest {}
impl Bounded for p4::CapabilitiesResponse {}

/// prost's codec with a bound on what a message takes.
#[derive(Debug, Clone, Default)]
pub(crate) struct BoundedCodec<T, U>(ProstCodec<T, U>);

impl<T, U> Codec for BoundedCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Bounded + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = BoundedDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        self.0.encoder()
    }

    fn decoder(&mut self) -> Self::Decoder {
        BoundedDecoder(self.0.decoder())
    }
}

/// prost's decoder behind the bound.
#[derive(Debug, Clone)]
pub(crate) struct BoundedDecoder<U>(ProstDecoder<U>);

impl<U: Message + Default + Bounded> Decoder for BoundedDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        // One message, which is in one piece.
        let bytes = buffer.chunk();
        let held = held(bytes, 0);
        if held > U::MOST {
            let (held, most) = (held >> 20, U::MOST >> 20);
            let what = format!(
                "a message that takes some {held} MiB of memory: at most {most}; make several of it"
            );
            return Err(Status::resource_exhausted(what));
        }
        self.0.decode(buffer)
    }
}

/// Bytes of memory that the elements of a message take, up to where it is none: so far it would be decoded. Strings may look
/// like messages: they are counted too high then, by a few times their own length.
fn held(mut bytes: &[u8], depth: usize) -> usize {
    let each = ELEMENT[depth.min(ELEMENT.len() - 1)];
    let mut held = bytes.len();
    while let Some((kind, inside)) = next(&mut bytes) {
        if kind == WireType::LengthDelimited {
            held += each;
            if depth < DEPTH {
                held += self::held(inside, depth + 1);
            }
        }
    }
    held
}

/// Takes a field from a message, with its bytes but those of a varint; `None` at the end, or where it is no message.
fn next<'a>(bytes: &mut &'a [u8]) -> Option<(WireType, &'a [u8])> {
    let (_, kind) = decode_key(bytes).ok()?;
    let length = match kind {
        WireType::Varint => {
            decode_varint(bytes).ok()?;
            0
        }
        WireType::SixtyFourBit => 8,
        WireType::ThirtyTwoBit => 4,
        WireType::LengthDelimited => usize::try_from(decode_varint(bytes).ok()?).ok()?,
        // prost skips groups: what is in them counts as if it were outside.
        WireType::StartGroup | WireType::EndGroup => 0,
    };
    Some((kind, bytes.split_off(..length)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4::{Entity, FieldMatch, TableEntry, Update, WriteRequest, entity, field_match};

    fn request(updates: usize, fields: usize) -> Vec<u8> {
        let exact = field_match::Exact { value: vec![1; 4] };
        let field = FieldMatch {
            field_id: 1,
            field_match_type: Some(field_match::FieldMatchType::Exact(exact)),
        };
        let entry = TableEntry {
            table_id: 1,
            r#match: vec![field; fields],
            ..TableEntry::default()
        };
        let update = Update {
            r#type: 1,
            entity: Some(Entity {
                entity: Some(entity::Entity::TableEntry(entry)),
            }),
        };
        let request = WriteRequest {
            updates: vec![update; updates],
            ..WriteRequest::default()
        };
        request.encode_to_vec()
    }

    #[test]
    fn the_largest_request_that_is_taken_fits() {
        let most = crate::Options::default().max_updates;
        let held = held(&request(most, 2), 0);
        assert!(held <= WriteRequest::MOST, "{held}");
        assert!(held > most * 400, "{held}");
    }

    #[test]
    fn empty_elements_are_many_bytes() {
        let count = 1 << 20;
        let many = [0x1a, 0].repeat(count);
        assert!(held(&many, 0) >= 512 * count);
        // Whatever is before or behind them.
        let group = [&[0x7b][..], &many, &[0x7c]].concat();
        let cut = [&many[..], &[0x1a, 5, 1]].concat();
        for bytes in [group, cut] {
            assert!(held(&bytes, 0) >= 512 * count);
        }
        assert!(held(&request(1, count), 0) > 96 * count);
        // However deep.
        let mut deep = many;
        for _ in 0..50 {
            let mut around = vec![0x1a];
            prost::encoding::encode_varint(deep.len() as u64, &mut around);
            around.append(&mut deep);
            deep = around;
        }
        assert!(held(&deep, 0) > 96 * count);
        let text = b"{\"no\": \"message\"}".repeat(1000);
        assert!(held(&text, 0) < 4 * text.len());
    }
}
