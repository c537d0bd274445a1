// Forwards frames by destination address; what is unknown goes to a multicast group.
#include <core.p4>
#include <v1model.p4>
#include "speed_headers.p4"

struct headers_t { ethernet_h ethernet; }
struct metadata_t {}

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
    table stations {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; flood; }
        default_action = flood(1);
        size = 65536;
    }
    apply { stations.apply(); }
}
control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == standard.ingress_port) { mark_to_drop(standard); }
    }
}
control compute(inout headers_t hdr, inout metadata_t meta) { apply {} }
control deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); } }
V1Switch(parse(), check(), ingress(), egress(), compute(), deparse()) main;
