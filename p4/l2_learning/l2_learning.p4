// A learning bridge: frames to a known address go to its port, all others to every port but their own.
// An unknown source is told the control plane by a digest; it answers with an entry in `sources` and one in `forward`.

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

// Multicast group 1 has every port as a replica.
const bit<16> FLOOD = 1;

struct headers_t {
    ethernet_h ethernet;
}

struct metadata_t {}

struct learned_t {
    bit<48> address;
    bit<9> port;
}

parser parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control check(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action learn() {
        digest<learned_t>(1, { hdr.ethernet.src, standard.ingress_port });
    }

    action known() {}

    // An address at another port than before is learned again.
    table sources {
        key = {
            hdr.ethernet.src: exact;
            standard.ingress_port: exact;
        }
        actions = { known; learn; }
        default_action = learn();
        support_timeout = true;
        size = 4096;
    }

    action send(bit<9> port) {
        standard.egress_spec = port;
    }

    action flood() {
        standard.mcast_grp = FLOOD;
    }

    table forward {
        key = {
            hdr.ethernet.dst: exact;
        }
        actions = { send; flood; }
        default_action = flood();
        size = 4096;
    }

    apply {
        sources.apply();
        forward.apply();
    }
}

control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == standard.ingress_port) {
            mark_to_drop(standard);
        }
    }
}

control compute(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(parse(), check(), ingress(), egress(), compute(), deparse()) main;
