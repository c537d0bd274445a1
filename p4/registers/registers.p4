// Registers: the packets of each port are numbered, and of each port the sum of lengths is kept in 80 bits.

#include <core.p4>
#include <v1model.p4>

struct metadata_t {}

#include "ethernet.p4"

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<16>>(512) numbers;
    register<bit<80>>(512) lengths;

    apply {
        bit<16> number;
        bit<80> length;
        bit<32> port = (bit<32>)standard.ingress_port;

        // Nothing else comes between reading and writing.
        @atomic {
            numbers.read(number, port);
            number = number + 1;
            numbers.write(port, number);
            lengths.read(length, port);
            lengths.write(port, length + (bit<80>)standard.packet_length);
        }
        hdr.ethernet.type = number;
        standard.egress_spec = 1;
    }
}

V1Switch(parse(), no_check(), ingress(), no_egress(), no_compute(), deparse()) main;
