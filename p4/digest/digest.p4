// A digest of fields of many widths: what each packet of a watched protocol looked like.

#include <core.p4>
#include <v1model.p4>

struct metadata_t {}

#include "ipv4.p4"

struct seen_t {
    bit<9> port;
    bit<4> ihl;
    bit<13> fragment_offset;
    bit<48> station;
    ports_h ports;
    bit<65> wide;
}

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action report() {
        digest<seen_t>(1, { standard.ingress_port, hdr.ipv4.ihl, hdr.ipv4.fragment_offset, hdr.ethernet.src,
            hdr.ports, 1w1 ++ hdr.ipv4.src ++ hdr.ipv4.dst });
        standard.egress_spec = 1;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table watched {
        key = {
            hdr.ipv4.protocol: exact;
        }
        actions = { report; drop; }
        default_action = drop();
        size = 256;
    }

    apply {
        watched.apply();
    }
}

V1Switch(parse(), no_check(), ingress(), no_egress(), compute(), deparse()) main;
