//! From headers to bytes.

use super::core::Core;
use super::event::{Event, Observer};
use super::packet::Packet;
use crate::bits::Writer;
use crate::program::Program;

impl Core {
    /// Updates checksums, and writes the headers and what follows them to `out`.
    pub(super) fn deparse<O: Observer>(
        &mut self,
        program: &Program,
        packet: &mut Packet,
        out: &mut Vec<u8>,
        observer: &mut O,
    ) {
        for checksum in program.checksums.iter().filter(|checksum| checksum.update) {
            let wanted = checksum
                .condition
                .is_none_or(|condition| self.is_true(program, packet, condition));
            if wanted {
                let value = self.calculate(program, packet, checksum.calculation);
                if O::LISTENS && packet.get(checksum.field) != value {
                    let header = &program.headers[checksum.header as usize].name;
                    observer.event(Event::ChecksumSet { header, value });
                }
                packet.set(checksum.field, value);
            }
        }
        self.run(
            program,
            packet,
            program.deparser_primitives.clone(),
            observer,
        );
        out.clear();
        for header in &program.deparser {
            if packet.is_valid(program, *header) {
                // Each header begins with a byte of its own.
                packet.emit(program, *header, &mut Writer::new(out));
            }
        }
        out.extend_from_slice(packet.payload());
        out.truncate(packet.truncate);
    }
}
