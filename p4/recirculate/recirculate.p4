// Recirculation: a stack of labels of any depth, of which each pass takes one away. The last label is the port.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

header label_h {
    bit<1> last;
    bit<7> port;
}

struct headers_t {
    ethernet_h ethernet;
    label_h label;
}

struct metadata_t {
    @field_list(1)
    bit<8> passes;
}

parser parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.label);
        transition accept;
    }
}

control check(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 2w0 ++ hdr.label.port;
    }
}

control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        meta.passes = meta.passes + 1;
        if (hdr.label.last == 0) {
            recirculate_preserving_field_list(1);
        } else {
            hdr.ethernet.src = 40w0 ++ meta.passes;
        }
        hdr.label.setInvalid();
    }
}

control compute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.label);
    }
}

V1Switch(parse(), check(), ingress(), egress(), compute(), deparse()) main;
