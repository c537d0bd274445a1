// Every way in which a packet is copied or comes again, chosen by the frame's destination.
#include <core.p4>
#include <v1model.p4>
#include "speed_headers.p4"

struct headers_t { ethernet_h ethernet; }
struct metadata_t {
    @field_list(1) bit<8> turns;
    bit<1> again;
    bit<1> mirror;
}

parser parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}
control check(inout headers_t hdr, inout metadata_t meta) { apply {} }
control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action forward(port_t port) { standard.egress_spec = port; }
    action flood(bit<16> group) { standard.mcast_grp = group; }
    action mirror_ingress(bit<32> session, port_t port) {
        clone_preserving_field_list(CloneType.I2E, session, 1);
        standard.egress_spec = port;
    }
    action mirror_egress(port_t port) { meta.mirror = 1; standard.egress_spec = port; }
    action recirculate_to(port_t port) { meta.again = 1; standard.egress_spec = port; }
    action resubmit_to(port_t port) {
        standard.egress_spec = port;
        hdr.ethernet.src = hdr.ethernet.src + 1;
        resubmit_preserving_field_list(1);
    }
    table ways {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; flood; mirror_ingress; mirror_egress; recirculate_to; resubmit_to; }
        default_action = forward(1);
        size = 64;
    }
    apply {
        if (meta.turns == 2) { standard.egress_spec = 2; }
        else { meta.turns = meta.turns + 1; ways.apply(); }
    }
}
control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (meta.again == 1) {
            hdr.ethernet.src = hdr.ethernet.src + 0x100;
            recirculate_preserving_field_list(1);
        }
        if (meta.mirror == 1 && standard.instance_type == 0) {
            hdr.ethernet.type = 0x88b5;
            clone_preserving_field_list(CloneType.E2E, 2, 1);
        }
    }
}
control compute(inout headers_t hdr, inout metadata_t meta) { apply {} }
control deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); } }
V1Switch(parse(), check(), ingress(), egress(), compute(), deparse()) main;
