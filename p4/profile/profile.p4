// An action profile: many destinations share few next hops, and a next hop that moves is one update.

#include <core.p4>
#include <v1model.p4>

struct metadata_t {}

#include "ipv4.p4"

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action_profile(16) next_hops;

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
        }
        actions = { via; drop; }
        implementation = next_hops;
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
