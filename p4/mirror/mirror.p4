// Port mirroring: a clone of session 1 as the frame came in, or of session 2 as it goes out. A clone keeps the port that
// its packet came in at, and says in its source address of which kind it is.

#include <core.p4>
#include <v1model.p4>

struct metadata_t {
    @field_list(1)
    bit<9> came_in_at;
}

#include "ethernet.p4"

const bit<32> CLONED_IN_INGRESS = 1;
const bit<32> CLONED_IN_EGRESS = 2;

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action as_it_came() {
        clone_preserving_field_list(CloneType.I2E, 1, 1);
    }

    table watched {
        key = {
            hdr.ethernet.type: exact;
        }
        actions = { as_it_came; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    apply {
        meta.came_in_at = standard.ingress_port;
        standard.egress_spec = 1;
        watched.apply();
        // The clone has the destination from before.
        hdr.ethernet.dst = 0x0a00000000ff;
    }
}

control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action as_it_goes() {
        clone_preserving_field_list(CloneType.E2E, 2, 1);
    }

    table watched_out {
        key = {
            hdr.ethernet.type: exact;
        }
        actions = { as_it_goes; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    apply {
        if (standard.instance_type == CLONED_IN_INGRESS) {
            hdr.ethernet.src = 39w1 ++ meta.came_in_at;
        } else if (standard.instance_type == CLONED_IN_EGRESS) {
            hdr.ethernet.src = 39w2 ++ meta.came_in_at;
        } else {
            watched_out.apply();
        }
    }
}

V1Switch(parse(), no_check(), ingress(), egress(), no_compute(), deparse()) main;
