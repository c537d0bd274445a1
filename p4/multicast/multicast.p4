// Multicast: a group's replicas, each with its instance in the last bits of the destination; none goes back.

#include <core.p4>
#include <v1model.p4>

struct metadata_t {}

#include "ethernet.p4"

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action replicate(bit<16> group) {
        standard.mcast_grp = group;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table groups {
        key = {
            hdr.ethernet.dst: exact;
        }
        actions = { replicate; drop; }
        default_action = drop();
        size = 1024;
    }

    apply {
        groups.apply();
    }
}

control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.ethernet.dst[15:0] = standard.egress_rid;
        if (standard.egress_port == standard.ingress_port) {
            mark_to_drop(standard);
        }
    }
}

V1Switch(parse(), no_check(), ingress(), egress(), no_compute(), deparse()) main;
