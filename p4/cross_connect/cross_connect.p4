// A patch panel: what comes in at port 0 goes out at port 1, and the other way round; so with 2 and 3, 4 and 5.
// No table is asked, so it shows what a switch costs by itself.

#include <core.p4>
#include <v1model.p4>

struct metadata_t {}

#include "ethernet.p4"

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = standard.ingress_port ^ 1;
    }
}

V1Switch(parse(), no_check(), ingress(), no_egress(), no_compute(), deparse()) main;
