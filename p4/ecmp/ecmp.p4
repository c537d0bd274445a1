// Equal-cost multipath: a selector chooses a next hop from a group by a hash of the flow, so that packets of a flow stay
// in order. A member that is in a group twice gets twice the flows.

#include <core.p4>
#include <v1model.p4>

struct metadata_t {}

#include "ipv4.p4"

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action_selector(HashAlgorithm.crc16, 64, 16) paths;

    action via(bit<48> station, bit<9> port) {
        hdr.ethernet.dst = station;
        standard.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table routes {
        key = {
            hdr.ipv4.dst: lpm;
            hdr.ipv4.src: selector;
            hdr.ipv4.dst: selector;
            hdr.ipv4.protocol: selector;
            hdr.ports.src: selector;
            hdr.ports.dst: selector;
        }
        actions = { via; drop; }
        implementation = paths;
        size = 4096;
    }

    apply {
        // BMv2 has no default action in tables of an action profile.
        if (!routes.apply().hit) {
            drop();
        }
    }
}

V1Switch(parse(), no_check(), ingress(), no_egress(), compute(), deparse()) main;
