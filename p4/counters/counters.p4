// Counters: packets and bytes of each ingress port, packets of each egress port, bytes of each entry of a table.

#include <core.p4>
#include <v1model.p4>

struct metadata_t {}

#include "ethernet.p4"

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(512, CounterType.packets_and_bytes) received;
    direct_counter(CounterType.bytes) forwarded;

    action send(bit<9> port) {
        forwarded.count();
        standard.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table forward {
        key = {
            hdr.ethernet.dst: exact;
        }
        actions = { send; drop; }
        default_action = drop();
        counters = forwarded;
        size = 64;
    }

    apply {
        received.count((bit<32>)standard.ingress_port);
        forward.apply();
    }
}

control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    counter(512, CounterType.packets) sent;

    apply {
        sent.count((bit<32>)standard.egress_port);
    }
}

V1Switch(parse(), no_check(), ingress(), egress(), no_compute(), deparse()) main;
