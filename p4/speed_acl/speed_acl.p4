// Permits or denies IPv4 by masks on addresses, protocol and ports, then forwards by destination.
#include <core.p4>
#include <v1model.p4>
#include "speed_headers.p4"

struct headers_t { ethernet_h ethernet; ipv4_h ipv4; ports_h ports; }
struct metadata_t {}

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
        transition select(hdr.ipv4.fragment, hdr.ipv4.protocol) {
            (0, 6): ports;
            (0, 17): ports;
            default: accept;
        }
    }
    state ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}
control check(inout headers_t hdr, inout metadata_t meta) { apply {} }
control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) matched;
    action permit() { matched.count(); }
    action deny() { matched.count(); mark_to_drop(standard); exit; }
    table rules {
        key = {
            hdr.ipv4.src: ternary;
            hdr.ipv4.dst: ternary;
            hdr.ipv4.protocol: ternary;
            hdr.ports.src: ternary;
            hdr.ports.dst: ternary;
        }
        actions = { permit; deny; }
        default_action = deny();
        counters = matched;
        size = 4096;
    }
    action forward(port_t port) { standard.egress_spec = port; }
    action discard() { mark_to_drop(standard); }
    table stations {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; discard; }
        default_action = discard();
        size = 4096;
    }
    apply {
        if (hdr.ipv4.isValid()) { rules.apply(); }
        stations.apply();
    }
}
control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply {} }
control compute(inout headers_t hdr, inout metadata_t meta) { apply {} }
control deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.ipv4); packet.emit(hdr.ports); }
}
V1Switch(parse(), check(), ingress(), egress(), compute(), deparse()) main;
