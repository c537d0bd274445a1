// Two meters (RFC 2698): packets of a port by an indirect meter, bytes of a customer by a direct one. The worse of the
// two colours marks the packet: green AF11, yellow AF12, red is dropped.

#include <core.p4>
#include <v1model.p4>

struct metadata_t {
    bit<2> port_colour;
    bit<2> customer_colour;
}

#include "ipv4.p4"

const bit<2> GREEN = 0;
const bit<2> YELLOW = 1;
const bit<2> RED = 2;

// DSCP and ECN: the code point above two bits of ECN.
const bit<8> AF11 = 0x28;
const bit<8> AF12 = 0x30;

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    meter(512, MeterType.packets) port_rate;
    direct_meter<bit<2>>(MeterType.bytes) customer_rate;

    action customer(bit<9> port) {
        customer_rate.read(meta.customer_colour);
        standard.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard);
    }

    table customers {
        key = {
            hdr.ipv4.src: exact;
        }
        actions = { customer; drop; }
        default_action = drop();
        meters = customer_rate;
        size = 1024;
    }

    apply {
        port_rate.execute_meter((bit<32>)standard.ingress_port, meta.port_colour);
        if (customers.apply().hit) {
            if (meta.port_colour == RED || meta.customer_colour == RED) {
                drop();
            } else if (meta.port_colour == YELLOW || meta.customer_colour == YELLOW) {
                hdr.ipv4.dscp_ecn = AF12;
            } else {
                hdr.ipv4.dscp_ecn = AF11;
            }
        }
    }
}

V1Switch(parse(), no_check(), ingress(), no_egress(), compute(), deparse()) main;
