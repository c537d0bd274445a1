// Routes IPv4: verifies the header checksum, longest prefix, next hop, addresses of the frame, TTL and new checksum.
#include <core.p4>
#include <v1model.p4>
#include "speed_headers.p4"

struct headers_t { ethernet_h ethernet; ipv4_h ipv4; }
struct metadata_t { bit<32> next_hop; }

parser parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x800: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}
control check(inout headers_t hdr, inout metadata_t meta) {
    apply { verify_checksum(hdr.ipv4.isValid(), IPV4_WORDS(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16); }
}
control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action discard() { mark_to_drop(standard); }
    action route(bit<32> next_hop, port_t port) {
        meta.next_hop = next_hop;
        standard.egress_spec = port;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { route; discard; }
        default_action = discard();
        size = 65536;
    }
    action resolve(mac_t dst) { hdr.ethernet.dst = dst; }
    table neighbours {
        key = { meta.next_hop: exact; }
        actions = { resolve; discard; }
        default_action = discard();
        size = 4096;
    }
    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1 && standard.checksum_error == 0) {
            routes.apply();
            neighbours.apply();
        } else {
            discard();
        }
    }
}
control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action source(mac_t src) { hdr.ethernet.src = src; }
    table interfaces {
        key = { standard.egress_port: exact; }
        actions = { source; NoAction; }
        default_action = NoAction();
        size = 512;
    }
    apply { interfaces.apply(); }
}
control compute(inout headers_t hdr, inout metadata_t meta) {
    apply { update_checksum(hdr.ipv4.isValid(), IPV4_WORDS(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16); }
}
control deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.ipv4); }
}
V1Switch(parse(), check(), ingress(), egress(), compute(), deparse()) main;
