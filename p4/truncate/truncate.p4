// A capture port: frames leave it cut to the length of an entry, and shorter ones as they are.

#include <core.p4>
#include <v1model.p4>

struct metadata_t {}

#include "ethernet.p4"

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action capture(bit<32> length) {
        truncate(length);
    }

    table snap {
        key = {
            standard.ingress_port: exact;
        }
        actions = { capture; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    apply {
        standard.egress_spec = 1;
        snap.apply();
    }
}

V1Switch(parse(), no_check(), ingress(), no_egress(), no_compute(), deparse()) main;
