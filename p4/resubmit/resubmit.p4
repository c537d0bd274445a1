// Resubmission: the first pass looks up a class and sends the frame, as it came, to ingress again; the second one
// forwards by the class that it kept. Class 0 is final at once.

#include <core.p4>
#include <v1model.p4>

struct metadata_t {
    @field_list(1)
    bit<8> class;
}

#include "ethernet.p4"

const bit<32> RESUBMITTED = 6;

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action classify(bit<8> class) {
        meta.class = class;
        resubmit_preserving_field_list(1);
    }

    table classes {
        key = {
            hdr.ethernet.type: exact;
        }
        actions = { classify; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    action send(bit<9> port) {
        standard.egress_spec = port;
    }

    table by_class {
        key = {
            meta.class: exact;
        }
        actions = { send; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    apply {
        if (standard.instance_type == RESUBMITTED) {
            by_class.apply();
        } else {
            standard.egress_spec = 1;
            classes.apply();
            // Lost by the resubmission: the packet begins anew.
            hdr.ethernet.src = 0;
        }
    }
}

V1Switch(parse(), no_check(), ingress(), no_egress(), no_compute(), deparse()) main;
